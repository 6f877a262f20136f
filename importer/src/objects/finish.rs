//! The changes to a chart's object between its rendering and the cluster. [`Finish::finish`] applies the site's choices
//! and patches, replaces image references with the addresses that nodes pull from, adds pull secrets to pods, and marks
//! CRDs to be kept when the release is removed. Pure functions; docs/decisions/0022-charts-at-the-site.md gives the
//! reasons.

use std::collections::{BTreeMap, BTreeSet};

use manifests::{
    Address, CompileQuestion, Compiler, Expansion, KnownImages, is_definition, pod_specs,
};
use planner::{RELEASE, vocabulary as v};
use schemas::{Digest, ImagePlace, ImageReference, KubernetesName, Namespace, ReleaseName};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use store::Record;

use crate::choices::{patches, workloads};
use crate::model::blocker::ContentBlocker;
use crate::model::error::Error;
use crate::objects::pull_secret;
use crate::records::record::addresses;
use crate::records::site::{PartChoices, SitePatch};

/// The annotation with the events at which Helm creates an object.
pub(crate) const HOOK: &str = "helm.sh/hook";
/// The annotation of objects that Helm keeps when a release is removed.
pub(crate) const POLICY: &str = "helm.sh/resource-policy";

/// The data for finishing the objects of a release.
#[derive(Debug)]
pub(crate) struct Finish {
    known: KnownImages,
    expansion: Expansion,
    logins: BTreeMap<Namespace, KubernetesName>,
    release: ReleaseName,
    /// The pull secret of pods in other namespaces, if there is a login.
    elsewhere: Option<KubernetesName>,
    /// The namespace of the release.
    namespace: Namespace,
    wide: BTreeSet<(String, String)>,
    replicas: BTreeMap<String, u64>,
    choices: PartChoices,
    patches: Vec<SitePatch>,
    jobs: BTreeMap<String, Value>,
}

/// The problems with finished objects.
#[derive(Debug, Default)]
pub(crate) struct FinishProblems {
    /// The images of containers that the archive does not include.
    pub(crate) missing: BTreeSet<ImageReference>,
    /// The patches that do not apply.
    pub(crate) unfit: Vec<ContentBlocker>,
}

/// The inputs of a [`Finish`].
#[derive(Clone, Debug)]
pub(crate) struct FinishInputs {
    pub(crate) record: Record,
    /// The pull secrets for the registry, by namespace.
    pub(crate) logins: BTreeMap<Namespace, KubernetesName>,
    pub(crate) release: ReleaseName,
    pub(crate) namespace: Namespace,
    /// The cluster-scoped kinds of the chart's objects (group and kind), as the cluster serves them.
    pub(crate) wide: BTreeSet<(String, String)>,
    /// The numbers of pods that another field manager has set, by object.
    pub(crate) replicas: BTreeMap<String, u64>,
    /// The site's choices for the release's workloads.
    pub(crate) choices: PartChoices,
    /// The site's patches for the Solution.
    pub(crate) patches: Vec<SitePatch>,
    /// The live Jobs of the release, as Helm applied them, by object.
    pub(crate) jobs: BTreeMap<String, Value>,
}

impl FinishInputs {
    /// Returns the site's choices and patches that apply to these objects; null if none applies. They determine how the
    /// objects are finished.
    pub(crate) fn of_site(&self, objects: &[&Value]) -> Value {
        let rules = self.choices.rules.iter().map(|sourced| &sourced.rule);
        let reached = rules.filter(|rule| {
            objects.iter().any(|object| {
                let text = |pointer| manifests::text(object, pointer);
                let is_meant = rule.is_for(text("/kind"), text("/metadata/name"));
                is_meant && !pod_specs(object).is_empty()
            })
        });
        let reached: Vec<_> = reached.collect();
        let patches = self.patches.iter();
        let patches =
            patches.filter(|patch| objects.iter().any(|object| patch.patch.is_for(object)));
        let patches: Vec<_> = patches.map(|patch| &patch.said).collect();
        if reached.is_empty() && patches.is_empty() {
            return Value::Null;
        }
        json!({ "workloads": reached, "patches": patches })
    }
}

impl Finish {
    /// Prepares the data that is the same for all objects of a release.
    pub(crate) fn new(inputs: &FinishInputs) -> Result<Self, Error> {
        let images = addresses(&inputs.record)?;
        let of_site = images.iter().flat_map(|(place, address)| {
            let forms = forms(address);
            forms.into_iter().map(|form| (place.clone(), form))
        });
        let recorded = inputs.record.images.iter();
        let published =
            recorded.filter_map(|image| Some((image.image.clone(), image.reference.clone()?)));
        let known: Vec<(ImagePlace, ImageReference)> = published.chain(of_site).collect();
        Ok(Self {
            known: KnownImages::new(
                known
                    .iter()
                    .map(|(place, reference)| (place.clone(), reference)),
            ),
            expansion: Expansion {
                images,
                ..Expansion::default()
            },
            logins: inputs.logins.clone(),
            release: inputs.release.clone(),
            elsewhere: (!inputs.logins.is_empty())
                .then(|| pull_secret::secret_name(&inputs.record.name)),
            namespace: inputs.namespace.clone(),
            wide: inputs.wide.clone(),
            replicas: inputs.replicas.clone(),
            choices: inputs.choices.clone(),
            patches: inputs.patches.clone(),
            jobs: inputs.jobs.clone(),
        })
    }

    /// Finishes an object, and adds its problems to `problems`.
    pub(crate) fn finish(
        &self,
        mut object: Value,
        problems: &mut FinishProblems,
    ) -> Result<Value, Error> {
        self.place(&mut object);
        // The form without the site's choices determines whether a live Job is kept.
        let published = is_lasting_job(&object).then(|| object.clone());
        self.choose(&mut object, problems);
        let mut finished = self.finish_chosen(object, problems)?;
        if let Some(published) = published {
            let published = self.finish_chosen(published, &mut FinishProblems::default())?;
            self.leave(&published, &mut finished);
        }
        Ok(finished)
    }

    /// Applies the site's choices and patches to an object. Most fields of an existing Pod are immutable, so choices do
    /// not apply to Pods. Hooks are recreated.
    fn choose(&self, object: &mut Value, problems: &mut FinishProblems) {
        if object["kind"] != "Pod" || is_hook(object) {
            workloads::lay(&self.choices, object);
        }
        for patch in &self.patches {
            if patch.patch.is_for(object) {
                problems.unfit.extend(patches::apply(patch, object));
            }
        }
    }

    /// Keeps the template of a live Job whose published form has not changed, since the API server rejects a change to
    /// it. A Job with site choices gets an annotation with the digest of its published form.
    fn leave(&self, published: &Value, job: &mut Value) {
        let made = Digest::new(Sha256::digest(published["spec"].to_string()).into()).hex();
        let text = |pointer| manifests::text(job, pointer);
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        if let Some(existing) = self.jobs.get(&format!("Job {namespace}/{name}")) {
            let is_same = existing["metadata"]["annotations"][v::INPUTS] == made.as_str();
            if is_same || existing["spec"] == published["spec"] {
                job["spec"] = existing["spec"].clone();
            }
        }
        if job["spec"] != published["spec"] {
            job["metadata"]["annotations"][v::INPUTS] = json!(made);
        }
    }

    /// Finishes an object that already has the site's choices and patches.
    pub(crate) fn finish_chosen(
        &self,
        mut object: Value,
        problems: &mut FinishProblems,
    ) -> Result<Value, Error> {
        self.place(&mut object);
        forget_our_marks(&mut object);
        self.mark_hook(&mut object);
        if is_definition(&object) {
            keep(&mut object);
            return Ok(object);
        }
        let compiler = Compiler {
            images: &self.known,
            namespaces: &[],
            templates: &[],
        };
        for remark in compiler.compile(&mut object) {
            if let CompileQuestion::Missing(reference) = remark.what {
                problems.missing.insert(reference);
            }
        }
        self.expansion.expand(&mut object)?;
        self.scale(&mut object);
        for pod in pod_specs(&object) {
            let namespace = manifests::text(&object, "/metadata/namespace");
            let secret = self
                .logins
                .iter()
                .find(|(space, _)| space.as_str() == namespace);
            let secret = secret.map(|(_, secret)| secret);
            let secret = secret.or(self.elsewhere.as_ref());
            if let (Some(secret), Some(pod)) = (secret, object.pointer_mut(&pod)) {
                pull_secret::log_in(pod, secret.as_str());
            }
        }
        Ok(object)
    }

    /// Sets the namespace of an object, as Helm does.
    fn place(&self, object: &mut Value) {
        let text = |pointer| manifests::text(object, pointer).to_owned();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let is_wide = self.wide.contains(&(group.to_owned(), kind));
        let is_placed = !text("/metadata/namespace").is_empty();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            if is_wide {
                metadata.remove("namespace");
            } else if !is_placed {
                metadata.insert("namespace".to_owned(), json!(self.namespace));
            }
        }
    }

    /// Marks a hook as the release's own, as Helm does for all other objects. Without the mark, Helm would delete any
    /// object of the same name.
    fn mark_hook(&self, object: &mut Value) {
        let annotations = object.pointer_mut("/metadata/annotations");
        let annotations = annotations.and_then(Value::as_object_mut);
        if let Some(annotations) = annotations.filter(|annotations| annotations.contains_key(HOOK))
        {
            let marks = [
                (RELEASE.0, json!(self.release)),
                (RELEASE.1, json!(self.namespace)),
            ];
            annotations.extend(marks.map(|(key, value)| (key.to_owned(), value)));
        }
    }

    /// Sets the number of pods that another field manager has set. Any other number would be a conflict.
    fn scale(&self, object: &mut Value) {
        let text = |pointer| manifests::text(object, pointer);
        let (kind, namespace) = (text("/kind"), text("/metadata/namespace"));
        let what = format!("{kind} {namespace}/{}", text("/metadata/name"));
        let wanted = self.replicas.get(&what).copied();
        if let (Some(wanted), Some(replicas)) = (wanted, object.pointer_mut("/spec/replicas")) {
            *replicas = json!(wanted);
        }
    }
}

/// Checks whether an object is a hook of Helm.
fn is_hook(object: &Value) -> bool {
    object["metadata"]["annotations"].get(HOOK).is_some()
}

/// Checks whether an object is a Job that exists as long as the release.
fn is_lasting_job(object: &Value) -> bool {
    object["apiVersion"] == "batch/v1" && object["kind"] == "Job" && !is_hook(object)
}

/// Returns the forms in which a chart can write an address that it received in parts.
fn forms(address: &Address) -> Vec<ImageReference> {
    let Address {
        registry,
        path,
        tag,
        digest,
    } = address;
    let repository = format!("{registry}/{path}");
    let forms = [
        format!("{repository}:{tag}@{digest}"),
        format!("{repository}:{tag}"),
        format!("{repository}@{digest}"),
    ];
    forms.iter().filter_map(|form| form.parse().ok()).collect()
}

/// Marks a CRD to be kept by Helm. Deleting a CRD would delete all of its objects.
fn keep(definition: &mut Value) {
    definition["metadata"]["annotations"][POLICY] = json!("keep");
}

/// Removes our labels and annotations. They mark the owner of an object, which is Helm here.
fn forget_our_marks(object: &mut Value) {
    for field in ["labels", "annotations"] {
        let marks = object.pointer_mut(&format!("/metadata/{field}"));
        if let Some(marks) = marks.and_then(Value::as_object_mut) {
            marks.retain(|key, _| !key.starts_with(v::PREFIX));
        }
    }
}

/// Returns the kinds of these objects: the API version by group and kind.
pub(crate) fn kinds_of<'a>(
    objects: impl IntoIterator<Item = &'a Value>,
) -> BTreeMap<(String, String), String> {
    let kind = |object: &Value| {
        let api_version = manifests::text(object, "/apiVersion");
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let kind = manifests::text(object, "/kind");
        ((group.to_owned(), kind.to_owned()), api_version.to_owned())
    };
    objects.into_iter().map(kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::record::tests::record;
    use crate::records::site::tests::held;
    use schemas::PartName;
    use store::RecordedImage;

    fn finish(object: Value) -> (Value, Vec<String>) {
        let (finished, problems) = finish_with(object, |_| ());
        let missing = problems.missing.iter().map(ToString::to_string);
        (finished, missing.collect())
    }

    /// Finishes an object with changed inputs.
    fn finish_with(
        object: Value,
        change: impl FnOnce(&mut FinishInputs),
    ) -> (Value, FinishProblems) {
        let mut inputs = inputs();
        change(&mut inputs);
        let mut problems = FinishProblems::default();
        let finish = Finish::new(&inputs).unwrap();
        let finished = finish.finish(object, &mut problems).unwrap();
        (finished, problems)
    }

    fn inputs() -> FinishInputs {
        let mut record = record("1.0.0");
        record.images = vec![RecordedImage {
            image: "web:7".parse().unwrap(),
            digest: Digest::new([7; 32]),
            reference: Some("quay.io/org/web:v7".parse().unwrap()),
        }];
        record.endpoint = format!("r.test:5000/{}", record.id());
        FinishInputs {
            record,
            logins: [("prod".parse().unwrap(), "login".parse().unwrap())].into(),
            release: "web".parse().unwrap(),
            namespace: "prod".parse().unwrap(),
            wide: [
                (String::new(), "Namespace".to_owned()),
                (
                    "apiextensions.k8s.io".to_owned(),
                    "CustomResourceDefinition".to_owned(),
                ),
            ]
            .into(),
            replicas: [("Deployment prod/w".to_owned(), 4)].into(),
            choices: PartChoices::default(),
            patches: Vec::new(),
            jobs: BTreeMap::new(),
        }
    }

    /// Returns the choices of the site file for the workloads of this release.
    fn choices(spec: &str) -> PartChoices {
        held(spec, "{}").reaching(&"shop".parse().unwrap(), PartName::Carried("web"))
    }

    fn patches(spec: &str) -> Vec<SitePatch> {
        held(&format!("{{patches: {{shop: [{spec}]}}}}"), "{}").patches(&"shop".parse().unwrap())
    }

    const LABELS: &str = "{workloads: [{set: {labels: {team: shop}}}]}";

    #[test]
    fn what_the_site_chooses_and_patches_is_finished_like_the_chart() {
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "w" },
            "spec": { "replicas": 1, "template": { "spec": { "containers": [{ "name": "c", "image": "x:1" }] } } },
        });
        let patch = "{target: {kind: Deployment, namespace: prod}, patch: {spec: {template: {spec: {containers: [{name: c, image: 'quay.io/org/web:v7'}]}}}}},
            {target: {kind: Deployment}, patch: [{op: remove, path: /spec/none}]}";
        let (finished, problems) = finish_with(deployment, |inputs| {
            let entry = "{part: web, workload: w, set: {replicas: 3, labels: {team: shop}}}";
            inputs.choices = choices(&format!("{{workloads: [{entry}]}}"));
            inputs.patches = patches(patch);
        });
        let template = &finished["spec"]["template"];
        assert_eq!(template["metadata"]["labels"]["team"], "shop");
        // Another field manager has set this number.
        assert_eq!(finished["spec"]["replicas"], 4);
        let image = template["spec"]["containers"][0]["image"].as_str().unwrap();
        assert!(
            image.starts_with("r.test:5000/shop/web:7@sha256"),
            "{image}"
        );
        assert!(problems.missing.is_empty());
        let unfit = problems.unfit[0].to_string();
        assert!(unfit.contains("does not fit Deployment `w`"), "{unfit}");
        assert_eq!(problems.unfit.len(), 1);
    }

    #[test]
    fn a_job_that_stands_is_left_and_a_pod_that_is_no_hook() {
        let job = |command: &str| {
            json!({
                "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "j" },
                "spec": { "template": { "spec": { "containers": [{ "name": "c", "command": [command] }] } } },
            })
        };
        let made = |job: Value, spec: &str, existing: Option<&Value>| {
            let (finished, _) = finish_with(job, |inputs| {
                inputs.choices = choices(spec);
                let existing = existing.map(|job| ("Job prod/j".to_owned(), job.clone()));
                inputs.jobs = existing.into_iter().collect();
            });
            finished
        };
        let label = |job: &Value| job["spec"]["template"]["metadata"]["labels"]["team"].clone();
        let (plain, chosen) = (made(job("a"), "{}", None), made(job("a"), LABELS, None));
        assert_eq!(
            (label(&plain), label(&chosen)),
            (Value::Null, json!("shop"))
        );
        // Changes to the choices do not affect a live Job.
        let others = "{workloads: [{set: {labels: {team: other}}}]}";
        assert_eq!(made(job("a"), LABELS, Some(&plain))["spec"], plain["spec"]);
        for spec in ["{}", others, LABELS] {
            let left = made(job("a"), spec, Some(&chosen));
            let of = |job: &Value| json!([job["spec"], job["metadata"]["annotations"]]);
            assert_eq!(of(&left), of(&chosen), "{spec}");
        }
        // The API server decides about another Job of the publisher.
        let next = made(job("b"), LABELS, Some(&chosen));
        assert_eq!(
            next["spec"]["template"]["spec"]["containers"][0]["command"],
            json!(["b"])
        );

        let of_pod = |hook: &str| {
            let mut object = pod("quay.io/org/web:v7");
            object["metadata"]["annotations"] = json!({ hook: "pre-install" });
            let (finished, _) = finish_with(object, |inputs| inputs.choices = choices(LABELS));
            finished["metadata"]["labels"]["team"].clone()
        };
        assert_eq!([of_pod(HOOK), of_pod("a")], [json!("shop"), Value::Null]);
    }

    #[test]
    fn what_decides_of_the_site_is_what_reaches_something() {
        let web = pod("quay.io/org/web:v7");
        let of_site = |spec: &str, patch: &str| {
            let inputs = FinishInputs {
                choices: choices(spec),
                patches: patches(patch),
                ..inputs()
            };
            inputs.of_site(&[&web])
        };
        let nothing = [
            of_site("{}", ""),
            of_site("{workloads: [{part: db, set: {labels: {a: b}}}]}", ""),
            of_site(
                "{workloads: [{set: {replicas: 2}}, {workload: x, set: {labels: {a: b}}}]}",
                "",
            ),
            of_site("{}", "{target: {kind: Job}, patch: {}}"),
        ];
        assert_eq!(
            nothing,
            [Value::Null, Value::Null, Value::Null, Value::Null]
        );
        let something = [
            of_site(LABELS, ""),
            of_site("{}", "{target: {kind: Pod}, patch: {}}"),
            of_site("{}", "{target: {kind: Pod}, patch: {spec: {}}}"),
        ];
        let different: BTreeSet<String> = something.iter().map(Value::to_string).collect();
        assert!(
            different.len() == 3 && !different.contains("null"),
            "{different:?}"
        );
    }

    fn pod(image: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" },
            "spec": { "containers": [{ "name": "c", "image": image }] },
        })
    }

    #[test]
    fn an_image_gets_its_address_whichever_way_it_is_written() {
        let digest = Digest::new([7; 32]);
        let repository = "r.test:5000/shop/web";
        let whole = format!("{repository}:7@{digest}");
        for written in [
            "quay.io/org/web:v7".to_owned(),
            format!("{repository}:7"),
            format!("{repository}@{digest}"),
            whole.clone(),
        ] {
            let (finished, missing) = finish(pod(&written));
            let image = &finished["spec"]["containers"][0]["image"];
            assert_eq!((image, missing.len()), (&json!(whole), 0), "{written}");
            assert_eq!(
                finished["spec"]["imagePullSecrets"],
                json!([{ "name": "login" }])
            );
            assert_eq!(finished["metadata"]["namespace"], "prod");
        }
        let (_, missing) = finish(pod("quay.io/org/other:1"));
        assert_eq!(missing, ["quay.io/org/other:1"]);
    }

    #[test]
    fn images_are_found_in_arguments_and_custom_resources_too() {
        let (finished, missing) = finish(json!({
            "apiVersion": "a.test/v1", "kind": "Thing", "metadata": { "name": "t" },
            "spec": { "image": "quay.io/org/web:v7", "args": ["--image=quay.io/org/web:v7"] },
        }));
        let text = finished["spec"].to_string();
        assert_eq!(
            text.matches("r.test:5000/shop/web:7@sha256").count(),
            2,
            "{text}"
        );
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn a_number_of_pods_that_others_have_set_stays() {
        let replicas = |name: &str| {
            let deployment = json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": { "name": name }, "spec": { "replicas": 1 },
            });
            finish(deployment).0["spec"]["replicas"].clone()
        };
        assert_eq!([replicas("w"), replicas("x")], [4, 1]);
    }

    #[test]
    fn a_hook_says_whose_it_is() {
        let annotations = |given: Value| {
            let mut object = pod("quay.io/org/web:v7");
            object["metadata"]["annotations"] = given;
            finish(object).0["metadata"]["annotations"].clone()
        };
        let marked = json!({
            "helm.sh/hook": "pre-install",
            "meta.helm.sh/release-name": "web",
            "meta.helm.sh/release-namespace": "prod",
        });
        let theirs = json!({
            "helm.sh/hook": "pre-install",
            "meta.helm.sh/release-name": "other",
        });
        assert_eq!(
            annotations(json!({ "helm.sh/hook": "pre-install" })),
            marked
        );
        assert_eq!(annotations(theirs), marked);
        assert_eq!(annotations(json!({ "a": "b" })), json!({ "a": "b" }));
    }

    #[test]
    fn definitions_stay_and_our_marks_go() {
        let label = format!("{}solution", v::PREFIX);
        let (finished, _) = finish(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "d", "labels": { label: "shop", "a": "b" } },
        }));
        let expected = json!({
            "name": "d", "labels": { "a": "b" }, "annotations": { POLICY: "keep" },
        });
        assert_eq!(finished["metadata"], expected);
        // A kind with the same name in another group is not a CRD.
        let (own, _) = finish(json!({
            "apiVersion": "shop.test/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "d" },
        }));
        assert_eq!(own["metadata"], json!({ "name": "d", "namespace": "prod" }));
        let (space, _) = finish(json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "n", "namespace": "x" },
        }));
        assert_eq!(space["metadata"], json!({ "name": "n" }));
    }
}

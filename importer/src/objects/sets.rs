//! The objects of manifest sets for one environment: placeholders are expanded, metadata is rebuilt, and objects are
//! ordered by set and stage. The entry point is [`SetInputs::objects`]. A pure function of the archive and the choices;
//! docs/decisions/0016-manifests.md gives the reasons.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubernetes::Object;
use manifests::{Address, Expansion, ObjectKinds, is_definition, pod_specs};
use planner::{
    DesiredObject, Entry, Inventory, Ownership, SolutionPart, SolutionParts, vocabulary as v,
};
use schemas::{
    ChartRelease, Digest, EnvironmentName, Namespace, ObjectSet, OwnNamespace, PartName, Phase,
    SetName, SolutionName, Strategy,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use validator::{AcceptedArchive, PackagedChart, PackagedSet};

use crate::choices::parameters::{self, number_of};
use crate::choices::patches::Patches;
use crate::choices::workloads;
use crate::limits;
use crate::model::error::Error;
use crate::model::parameters::{KeptValues, ParameterValues};
use crate::model::request::PlanRequest;
use crate::objects::{crd, pull_secret};
use crate::records::namespace_record::{self, Labels, NamespaceRecord};
use crate::records::record::addresses;
use crate::records::site::{HeldSite, PartChoices};

/// Returns the parts of an archive without its operator.
pub(crate) fn parts(accepted: &AcceptedArchive) -> SolutionParts<'_> {
    let sets = accepted.sets().iter().map(part_of);
    let charts = accepted.charts().iter().map(|chart| SolutionPart {
        name: chart.release.name.as_str(),
        needs: &chart.release.needs,
    });
    let operator = accepted.manifest().spec.operator.as_ref();
    let template = operator.and_then(|operator| operator.template.as_ref());
    let needs = template.map_or(&[][..], |template| &template.needs);
    SolutionParts::new(sets.chain(charts).collect(), needs)
}

fn part_of(carried: &PackagedSet) -> SolutionPart<'_> {
    SolutionPart {
        name: carried.set.name.as_str(),
        needs: &carried.set.needs,
    }
}

/// The inputs for the objects of sets.
#[derive(Debug)]
pub(crate) struct SetInputs<'a> {
    pub(crate) solution: &'a SolutionName,
    pub(crate) environment: &'a EnvironmentName,
    /// The environment's namespace, which replaces the namespaces of sets that are not fixed.
    pub(crate) namespace: &'a Namespace,
    /// The site configuration for workloads.
    pub(crate) site: &'a HeldSite,
    /// The sets, each after those that it needs.
    pub(crate) sets: &'a [&'a PackagedSet],
    /// The CRDs of charts with webhook conversion, by release. They contain no placeholders.
    pub(crate) definitions: &'a BTreeMap<SetName, Vec<&'a Value>>,
    /// The kinds that the archive defines.
    pub(crate) kinds: ObjectKinds,
    pub(crate) expansion: Expansion,
    /// The pull secret, if the registry requires a login.
    pub(crate) login: Option<PullSecret>,
    /// The Secret of the sensitive parameters, if they have values.
    pub(crate) sensitive: Option<Value>,
}

/// A pull secret.
#[derive(Clone, Debug)]
pub(crate) struct PullSecret {
    /// The name in the environment's namespace.
    pub(crate) name: String,
    /// The content.
    pub(crate) content: PullSecretContent,
    /// The name of copies in other namespaces. It is ours, so that copies cannot collide with a Secret of the site.
    pub(crate) copy: String,
}

/// The content of a pull secret.
#[derive(Clone, Debug)]
pub(crate) enum PullSecretContent {
    /// The content of the Secret, which is copied to every other namespace with pods of the release.
    Known(Value),
    /// The user may not read the Secret, so existing copies do not change.
    Unreadable,
    /// The Secret does not exist.
    Absent,
}

impl PullSecret {
    /// Returns the recorded copies that do not change, because the Secret cannot be read and pods still use them.
    pub(crate) fn kept_copies(&self, recorded: &Inventory, namespace: &Namespace) -> Vec<Entry> {
        let PullSecretContent::Unreadable = self.content else {
            return Vec::new();
        };
        let is_copy = |entry: &&Entry| {
            let is_elsewhere = entry.namespace.as_deref() != Some(namespace.as_str());
            entry.kind == "Secret" && entry.name == self.copy && is_elsewhere
        };
        recorded.entries.iter().filter(is_copy).cloned().collect()
    }

    /// Returns the copy of the Secret for a namespace other than the environment's.
    fn in_namespace(&self, namespace: &str) -> Option<Value> {
        let PullSecretContent::Known(content) = &self.content else {
            return None;
        };
        Some(json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": self.copy, "namespace": namespace },
            "type": content["type"],
            "data": content["data"],
        }))
    }
}

impl SetInputs<'_> {
    /// Returns all objects in the order to apply them: by set, and by stage within a set.
    pub(crate) fn objects(&self, patches: &mut Patches<'_>) -> Result<Vec<DesiredObject>, Error> {
        let mut all = Vec::new();
        // The environment itself creates its namespace, with the pull secret in it.
        let mut made = BTreeSet::from([self.namespace.to_string()]);
        let mut logins = BTreeSet::from([self.namespace.to_string()]);
        let mut sensitive = self.sensitive.as_ref();
        for carried in self.sets {
            let set = &carried.set.name;
            let chosen = PartName::Carried(set.as_str());
            let chosen = self.site.reaching(self.solution, chosen);
            let begin = all.len();
            // The Secret belongs to the first set, so that it exists before any part uses it.
            if let Some(secret) = sensitive.take() {
                all.push(self.desired(set, self.object(secret.clone(), carried)?));
            }
            for object in &carried.objects {
                let document = &object.document;
                if self.is_the_environments_namespace(document) {
                    continue;
                }
                let object = self.patched(document, carried, &chosen, patches)?;
                if object.gvk().kind == "Namespace" {
                    made.insert(object.name().to_owned());
                }
                all.push(self.desired(set, object));
            }
            for definition in self.definitions.get(set).into_iter().flatten() {
                let object = self.object(crd::published(definition), carried)?;
                all.push(self.desired(set, object));
            }
            for own in carried.set.namespaces.iter().filter(|own| own.fixed) {
                if made.insert(own.name.to_string()) {
                    let space = json!({
                        "apiVersion": "v1",
                        "kind": "Namespace",
                        "metadata": { "name": own.name },
                    });
                    let object = self.object(space, carried)?;
                    all.push(self.desired(set, object));
                }
            }
            for space in spaces_of_pods(&carried.set, &all[begin..]) {
                let login = self.login.as_ref();
                let login = login.and_then(|login| login.in_namespace(&space));
                if let Some(login) = login.filter(|_| logins.insert(space)) {
                    let object = self.object(login, carried)?;
                    all.push(self.desired(set, object));
                }
            }
            all[begin..].sort_by_key(|carried| carried.stage);
        }
        Ok(all)
    }

    /// Returns the labels of the environment's namespace in these sets.
    pub(crate) fn space_labels(
        &self,
        sets: &[&PackagedSet],
        patches: &mut Patches<'_>,
    ) -> Result<Labels, Error> {
        let mut all = Vec::new();
        for carried in sets {
            let documents = carried.objects.iter().map(|object| &object.document);
            for document in
                documents.filter(|document| self.is_the_environments_namespace(document))
            {
                let space = self.patched(document, carried, &PartChoices::default(), patches)?;
                let labels = space.labels().into_iter();
                let labels = labels.filter(|(key, _)| namespace_record::may_be_given(key));
                let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
                all.push(labels.map(owned).collect::<Labels>());
            }
        }
        Ok(namespace_record::joined(&all))
    }

    /// Returns an object of a set with its ownership rule. Content that other writers put into a Secret of parameters
    /// is never trusted.
    fn desired(&self, set: &SetName, object: Object) -> DesiredObject {
        let desired = DesiredObject::of_part(set.clone(), object, &self.kinds);
        match number_of(desired.object.reference(), self.solution, self.namespace) {
            Some(_) => DesiredObject {
                ownership: Ownership::Sensitive,
                ..desired
            },
            None => desired,
        }
    }

    /// Checks whether an object is the environment's namespace, which the environment itself creates.
    fn is_the_environments_namespace(&self, document: &Value) -> bool {
        let meant = |name: &str| {
            let mut own = self.expansion.namespaces.iter();
            name == self.namespace.as_str()
                || own.any(|(own, meant)| own.as_str() == name && meant == self.namespace)
        };
        document["apiVersion"] == "v1"
            && document["kind"] == "Namespace"
            && document["metadata"]["name"].as_str().is_some_and(meant)
    }

    /// Returns the applied form of an object, with the site's choices and patches. Choices must not recreate a Job. A
    /// Job with choices therefore keeps the digest of its inputs without them in one annotation, and has the digest of
    /// its actual inputs in a second one.
    fn patched(
        &self,
        document: &Value,
        carried: &PackagedSet,
        chosen: &PartChoices,
        patches: &mut Patches<'_>,
    ) -> Result<Object, Error> {
        let mut object = document.clone();
        self.expansion.expand(&mut object)?;
        if !patches.is_empty() && !self.kinds.is_cluster_scoped(&object) {
            let namespace = self.namespace_of(&object["metadata"]["namespace"], carried);
            object["metadata"]["namespace"] = json!(namespace);
        }
        let plain = is_job(&object).then(|| object.clone());
        // Most fields of an existing Pod are immutable.
        if object["kind"] != "Pod" {
            workloads::lay(chosen, &mut object);
        }
        let plain = plain.filter(|plain| *plain != object);
        let plain = plain.map(|mut plain| {
            patches.clone().apply(&mut plain);
            self.object(plain, carried)
        });
        patches.apply(&mut object);
        let object = self.object(object, carried)?;
        match plain.transpose()? {
            Some(plain) => Ok(Object::new(with_inputs_of(&plain, object.into_value()))?),
            None => Ok(object),
        }
    }

    /// Returns an object with its final metadata, pull secrets and digests. Placeholders must be expanded already.
    fn object(&self, mut object: Value, carried: &PackagedSet) -> Result<Object, Error> {
        self.place(&mut object, carried);
        for pod in pod_specs(&object) {
            let inside = object["metadata"]["namespace"] == self.namespace.as_str();
            if let (Some(pod), Some(login)) = (object.pointer_mut(&pod), &self.login) {
                let secret = if inside { &login.name } else { &login.copy };
                pull_secret::log_in(pod, secret);
            }
        }
        normalize(&mut object);
        if is_job(&object) {
            let inputs = Digest::new(Sha256::digest(object.to_string()).into()).hex();
            object["metadata"]["annotations"][v::INPUTS] = json!(inputs);
        }
        if is_definition(&object) {
            object["metadata"]["annotations"][v::DEFINED_BY] = json!(self.expansion.version);
        }
        Ok(Object::new(object)?)
    }

    /// Replaces the metadata of an object: its namespace, the permitted labels and annotations, and our own labels.
    fn place(&self, object: &mut Value, carried: &PackagedSet) {
        let wide = self.kinds.is_cluster_scoped(object);
        let mut given = object["metadata"].take();
        let mut metadata = json!({ "name": given["name"].take() });
        let mut labels = texts(given["labels"].take());
        labels.insert(v::SOLUTION.to_owned(), json!(self.solution));
        let namespace = (!wide).then(|| self.namespace_of(&given["namespace"], carried));
        if namespace.as_deref() != Some(self.namespace.as_str()) {
            // The names of such objects do not show which environment they belong to.
            labels.insert(v::ENVIRONMENT.to_owned(), json!(self.environment));
            labels.insert(v::NAMESPACE.to_owned(), json!(self.namespace));
        }
        metadata["labels"] = json!(labels);
        let annotations = texts(given["annotations"].take());
        if !annotations.is_empty() {
            metadata["annotations"] = json!(annotations);
        }
        if let Some(namespace) = namespace {
            metadata["namespace"] = json!(namespace);
        }
        object["metadata"] = metadata;
    }

    /// Returns the namespace of an object: its own, else the first of its set.
    fn namespace_of(&self, given: &Value, carried: &PackagedSet) -> String {
        let of_set = || {
            let first = carried.set.namespaces.first();
            let first = first.and_then(|own| self.expansion.namespaces.get(&own.name));
            first.unwrap_or(self.namespace).to_string()
        };
        given.as_str().map_or_else(of_set, str::to_owned)
    }
}

fn is_job(object: &Value) -> bool {
    object["apiVersion"] == "batch/v1" && object["kind"] == "Job"
}

/// Sets the input digest of a Job to that of the plain Job, and keeps its own digest in another annotation.
fn with_inputs_of(plain: &Object, mut job: Value) -> Value {
    let annotations = &mut job["metadata"]["annotations"];
    annotations[v::CHOSEN] = annotations[v::INPUTS].take();
    annotations[v::INPUTS] = json!(plain.annotations().get(v::INPUTS));
    job
}

/// Returns the namespaces in which a set may have pods: its fixed namespaces, where its programs may create pods, and
/// those of its workloads.
fn spaces_of_pods(set: &ObjectSet, objects: &[DesiredObject]) -> BTreeSet<String> {
    let own = set.namespaces.iter().filter(|own| own.fixed);
    let own = own.map(|own| own.name.to_string());
    let objects = objects.iter().map(|desired| &desired.object);
    let run = objects.filter(|object| !pod_specs(object.as_value()).is_empty());
    let spaces = run.filter_map(|object| object.namespace().map(str::to_owned));
    own.chain(spaces).collect()
}

/// Returns the labels or annotations of an object without those with our own prefix, which an archive must not set.
fn texts(given: Value) -> BTreeMap<String, Value> {
    match given {
        Value::Object(given) => given
            .into_iter()
            .filter(|(key, _)| !key.starts_with(v::PREFIX))
            .collect(),
        _ => BTreeMap::new(),
    }
}

/// Removes fields that the cluster or controllers set, and converts fields to the stored form of Kubernetes. Otherwise,
/// every later apply would be a change.
fn normalize(object: &mut Value) {
    if let Value::Object(fields) = object {
        fields.remove("status");
    }
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    match kind.as_str() {
        "Secret" => normalize_secret(object),
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
            let webhooks = object["webhooks"].as_array_mut();
            for webhook in webhooks.into_iter().flatten() {
                forget_empty_bundle(webhook, "/clientConfig");
            }
        }
        "APIService" => forget_empty_bundle(object, "/spec"),
        "CustomResourceDefinition" => {
            forget_empty_bundle(object, "/spec/conversion/webhook/clientConfig");
        }
        _ => {}
    }
}

/// Moves `stringData` into `data`, the only form that Kubernetes stores.
fn normalize_secret(object: &mut Value) {
    let Value::Object(fields) = object else {
        return;
    };
    let Some(Value::Object(texts)) = fields.remove("stringData") else {
        return;
    };
    let data = fields.entry("data").or_insert_with(|| json!({}));
    for (key, text) in texts {
        data[key] = json!(STANDARD.encode(text.as_str().unwrap_or_default()));
    }
}

/// Removes an empty certificate bundle, which another program such as cert-manager fills in.
fn forget_empty_bundle(object: &mut Value, client: &str) {
    if let Some(Value::Object(client)) = object.pointer_mut(client)
        && client
            .get("caBundle")
            .is_some_and(|bundle| matches!(bundle.as_str(), None | Some("" | "Cg==")))
    {
        client.remove("caBundle");
    }
}

/// Returns the packaged objects of an archive as they could be at any site, to determine the rights that they need.
pub(crate) fn of_any_site(
    accepted: &AcceptedArchive,
    environment: &EnvironmentName,
    namespace: &Namespace,
) -> Result<Vec<DesiredObject>, Error> {
    let charts = accepted.charts().iter();
    let charts = charts.map(|chart| of_release(&chart.release, BTreeSet::new()));
    let charts: Vec<PackagedSet> = charts.collect();
    let definitions = definitions_of(accepted.charts().iter());
    // Charts can also use the Secret of the parameters, so it is included for them.
    let sets: Vec<&PackagedSet> = accepted.sets().iter().chain(&charts).collect();
    let images = accepted.images().iter().map(|image| {
        let address = Address {
            registry: String::new(),
            path: String::new(),
            tag: String::new(),
            digest: image.root.digest,
        };
        (image.place.clone(), address)
    });
    let id = &accepted.statement().predicate.id;
    let declared = &accepted.manifest().spec.parameters;
    let values = declared.iter().map(|(name, parameter)| {
        let value = parameter.default.clone();
        (name.clone(), value.unwrap_or_default())
    });
    let rendering = SetInputs {
        solution: id.name(),
        environment,
        namespace,
        site: &HeldSite::default(),
        sets: &sets,
        definitions: &definitions,
        kinds: kinds(accepted),
        expansion: Expansion {
            images: images.collect(),
            namespaces: namespaces(&sets, namespace),
            parameters: values.collect(),
            ..Expansion::default()
        },
        // A copy may be created in each namespace.
        login: Some(PullSecret {
            name: String::new(),
            content: PullSecretContent::Known(json!({})),
            copy: pull_secret::secret_name(id.name()).to_string(),
        }),
        sensitive: declared
            .values()
            .any(|parameter| parameter.sensitive)
            .then(|| parameters::secret(id.name(), 1, namespace, &KeptValues::default())),
    };
    let mut objects = rendering.objects(&mut Patches::new(&[]))?;
    let number =
        |desired: &DesiredObject| number_of(desired.object.reference(), id.name(), namespace);
    if let Some(first) = objects
        .iter()
        .find(|desired| number(desired) == Some(1))
        .cloned()
    {
        // Rights to Secrets are granted by name, so every possible number needs one.
        for number in 2..=limits::SECRET_NUMBERS {
            let values = KeptValues::default();
            let object = Object::new(parameters::secret(id.name(), number, namespace, &values))?;
            objects.push(DesiredObject {
                object,
                ..first.clone()
            });
        }
    }
    Ok(objects)
}

/// Returns the kinds that an archive defines.
pub(crate) fn kinds(accepted: &AcceptedArchive) -> ObjectKinds {
    let all = accepted.crds().iter().chain(accepted.converted_crds());
    ObjectKinds::new(all.map(|crd| &crd.document))
}

/// Returns the CRDs with webhook conversion by release. If multiple releases have the same CRD, it belongs to the
/// first.
pub(crate) fn definitions_of<'c>(
    charts: impl Iterator<Item = &'c PackagedChart>,
) -> BTreeMap<SetName, Vec<&'c Value>> {
    let mut known = BTreeSet::new();
    let own = charts.map(|chart| {
        let all = chart
            .definitions
            .iter()
            .map(|definition| &definition.document);
        let new = all.filter(|definition| known.insert(rules::definition_name(definition)));
        (chart.release.name.clone().into(), new.collect())
    });
    own.collect()
}

/// Returns the values for placeholders in an environment, except for namespaces.
pub(crate) fn expansion(
    asked: &PlanRequest<'_>,
    place: &NamespaceRecord,
    parameters: ParameterValues,
) -> Result<Expansion, Error> {
    Ok(Expansion {
        images: addresses(&asked.record)?,
        namespaces: BTreeMap::new(),
        name: asked.id.name().to_string(),
        version: asked.id.version().to_string(),
        environment: place.environment.to_string(),
        parameters,
    })
}

/// Returns a set for the objects of a release that Helm does not install, with these namespaces.
pub(crate) fn of_release(release: &ChartRelease, namespaces: BTreeSet<Namespace>) -> PackagedSet {
    let fixed = |name| OwnNamespace { name, fixed: true };
    PackagedSet {
        set: ObjectSet {
            name: release.name.clone().into(),
            namespaces: namespaces.into_iter().map(fixed).collect(),
            needs: release.needs.clone(),
            strategy: Strategy::Managed,
            when: None,
            phase: Phase::default(),
        },
        objects: Vec::new(),
    }
}

/// Returns the namespaces that replace those of these sets, if `namespace` is the environment's.
pub(crate) fn namespaces(
    sets: &[&PackagedSet],
    namespace: &Namespace,
) -> BTreeMap<Namespace, Namespace> {
    let own = sets.iter().flat_map(|carried| &carried.set.namespaces);
    meant(own, namespace)
}

/// Returns the namespaces that replace these, if `namespace` is the environment's.
pub(crate) fn meant<'a>(
    own: impl IntoIterator<Item = &'a OwnNamespace>,
    namespace: &Namespace,
) -> BTreeMap<Namespace, Namespace> {
    let own = own.into_iter();
    let meant = own.map(|own| (own.name.clone(), own.in_environment(namespace).clone()));
    meant.collect()
}

#[cfg(test)]
mod tests {
    use manifests::CheckedPatch;
    use schemas::{ObjectSet, Patch, yaml};
    use validator::PackagedObject;

    use super::*;
    use crate::records::site::SitePatch;
    use crate::records::site::tests::held;

    fn set(set: Value, objects: &[Value]) -> PackagedSet {
        let set: ObjectSet = serde_json::from_value(set).unwrap();
        let object = |(number, document): (usize, &Value)| PackagedObject {
            path: format!("manifests/{}/{number}", set.name).parse().unwrap(),
            document: document.clone(),
        };
        PackagedSet {
            objects: objects.iter().enumerate().map(object).collect(),
            set,
        }
    }

    fn object(api_version: &str, kind: &str, name: &str) -> Value {
        json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name } })
    }

    /// Renders sets in the environment `prod` with the namespace `shop-prod`.
    fn rendered(sets: &[PackagedSet], login: Option<PullSecret>) -> Vec<DesiredObject> {
        by_site(sets, login, "[]", None)
    }

    /// Renders sets in the same environment with the site's patches and sensitive values.
    fn by_site(
        sets: &[PackagedSet],
        login: Option<PullSecret>,
        patch: &str,
        sensitive: Option<Value>,
    ) -> Vec<DesiredObject> {
        let all: Vec<Patch> = yaml::from_slice(patch.as_bytes()).unwrap();
        let checked = |said: Patch| SitePatch {
            from: String::new(),
            patch: CheckedPatch::new(&said).unwrap(),
            said,
        };
        let all: Vec<SitePatch> = all.into_iter().map(checked).collect();
        let mut patches = Patches::new(&all);
        let objects = with(sets, login, sensitive, |rendering| {
            rendering.objects(&mut patches).unwrap()
        });
        assert!(patches.unmet(&[]).is_empty());
        assert_eq!(patches.end().1, []);
        objects
    }

    /// Passes the inputs of these sets in that environment to a function.
    fn with<T>(
        sets: &[PackagedSet],
        login: Option<PullSecret>,
        sensitive: Option<Value>,
        make: impl FnOnce(&SetInputs<'_>) -> T,
    ) -> T {
        let sets: Vec<&PackagedSet> = sets.iter().collect();
        let parameters = [("size".parse().unwrap(), json!(3))];
        let (environment, namespace) = ("prod".parse().unwrap(), "shop-prod".parse().unwrap());
        let rendering = SetInputs {
            solution: &"shop".parse().unwrap(),
            environment: &environment,
            namespace: &namespace,
            site: &held("{workloads: [{set: {labels: {team: all}}}]}", "{}"),
            sets: &sets,
            definitions: &BTreeMap::new(),
            kinds: ObjectKinds::new([&json!({
                "spec": { "group": "shop.test", "scope": "Cluster", "names": { "kind": "Cart", "plural": "carts" } },
            })]),
            expansion: Expansion {
                namespaces: namespaces(&sets, &namespace),
                parameters: parameters.into(),
                ..Expansion::default()
            },
            login,
            sensitive,
        };
        make(&rendering)
    }

    fn names(carried: &[DesiredObject]) -> Vec<String> {
        let all = carried.iter();
        all.map(|desired| {
            format!(
                "{} {}",
                desired.part.as_ref().unwrap(),
                desired.object.reference()
            )
        })
        .collect()
    }

    #[test]
    fn objects_come_set_by_set_after_what_they_need_and_by_stage() {
        let late = set(
            json!({ "name": "late", "needs": ["early"], "namespaces": [{ "name": "rel" }] }),
            &[
                object("shop.test/v1", "Cart", "first"),
                object("apps/v1", "Deployment", "web"),
                object("v1", "Service", "web"),
            ],
        );
        let early = set(
            json!({ "name": "early", "namespaces": [{ "name": "own", "fixed": true }] }),
            &[
                object(
                    "admissionregistration.k8s.io/v1",
                    "ValidatingWebhookConfiguration",
                    "w",
                ),
                object("v1", "ConfigMap", "c"),
            ],
        );
        let all = rendered(&[early, late], None);
        let expected = [
            "early Namespace own",
            "early ConfigMap own/c",
            "early ValidatingWebhookConfiguration w",
            "late Service shop-prod/web",
            "late Deployment shop-prod/web",
            "late Cart first",
        ];
        assert_eq!(names(&all), expected);
        assert_eq!(all[5].resource, "carts");
    }

    #[test]
    fn definitions_of_charts_that_a_webhook_converts_are_the_environments_and_hold_no_placeholders()
    {
        let release = set(json!({ "name": "web" }), &[]);
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "carts.shop.test", "labels": { "app": "a" }, "finalizers": ["f"] },
            "spec": { "conversion": { "webhook": { "clientConfig": {
                "caBundle": "", "service": { "namespace": "$(namespace:none)" },
            } } } },
        });
        let definitions = BTreeMap::from([(release.set.name.clone(), vec![&definition])]);
        let objects = with(&[release], None, None, |rendering| {
            let rendering = SetInputs {
                definitions: &definitions,
                kinds: ObjectKinds::default(),
                expansion: Expansion::default(),
                login: None,
                sensitive: None,
                ..*rendering
            };
            rendering.objects(&mut Patches::new(&[])).unwrap()
        });
        let expected = "web CustomResourceDefinition carts.shop.test";
        assert_eq!(names(&objects), [expected]);
        let object = &objects[0].object;
        let service = json!({ "service": { "namespace": "$(namespace:none)" } });
        let spec = &object.as_value()["spec"]["conversion"]["webhook"]["clientConfig"];
        assert_eq!(*spec, service);
        let labels = object.labels();
        let owner = [v::SOLUTION, v::ENVIRONMENT, v::NAMESPACE, "app"].map(|label| labels[label]);
        assert_eq!(owner, ["shop", "prod", "shop-prod", "a"]);
        assert_eq!(object.as_value()["metadata"].get("finalizers"), None);
    }

    #[test]
    fn metadata_is_made_anew_and_says_whose_an_object_is() {
        let mut inside = object("v1", "Service", "web");
        inside["metadata"]["labels"] = json!({ "app": "web" });
        inside["metadata"]["annotations"] =
            json!({ format!("{}public", v::PREFIX): "true", "a": "b" });
        inside["status"] = json!({});
        let mut elsewhere = object("v1", "Service", "dns");
        elsewhere["metadata"]["namespace"] = json!("kube-system");
        let sets = [set(
            json!({ "name": "main", "namespaces": [{ "name": "rel" }] }),
            &[inside, elsewhere, object("shop.test/v1", "Cart", "first")],
        )];
        let all = rendered(&sets, None);
        let metadata = |index: usize| all[index].object.as_value()["metadata"].clone();
        let ours =
            json!({ v::SOLUTION: "shop", v::ENVIRONMENT: "prod", v::NAMESPACE: "shop-prod" });
        assert_eq!(
            metadata(0),
            json!({
                "name": "web", "namespace": "shop-prod",
                "labels": { "app": "web", v::SOLUTION: "shop" }, "annotations": { "a": "b" },
            })
        );
        assert_eq!(
            metadata(1),
            json!({ "name": "dns", "namespace": "kube-system", "labels": ours })
        );
        assert_eq!(metadata(2), json!({ "name": "first", "labels": ours }));
        assert!(all[0].object.as_value().get("status").is_none());
    }

    #[test]
    fn the_environments_namespace_is_made_with_the_environment() {
        let sets = [set(
            json!({ "name": "main", "namespaces": [{ "name": "rel" }, { "name": "shop-prod", "fixed": true }] }),
            &[
                object("v1", "Namespace", "rel"),
                object("v1", "Namespace", "shop-prod"),
            ],
        )];
        assert_eq!(names(&rendered(&sets, None)), [""; 0]);
    }

    #[test]
    fn the_environments_namespace_gets_the_labels_of_the_one_it_stands_for() {
        let mut rel = object("v1", "Namespace", "rel");
        rel["metadata"]["labels"] = json!({
            "a": "n$(param:size)",
            "kubernetes.io/metadata.name": "rel",
            (v::ENVIRONMENT): "theirs",
        });
        let mut other = object("v1", "Namespace", "other");
        other["metadata"]["labels"] = json!({ "b": "1" });
        let sets = [set(
            json!({ "name": "main", "namespaces": [{ "name": "rel" }, { "name": "other", "fixed": true }] }),
            &[rel, other],
        )];
        let labels = with(&sets, None, None, |rendering| {
            rendering.space_labels(rendering.sets, &mut Patches::new(&[]))
        });
        let expected = ("a".to_owned(), "n3".to_owned());
        assert_eq!(labels.unwrap(), [expected].into());
    }

    #[test]
    fn pods_log_in_with_what_their_namespace_has() {
        let theirs = json!([{ "name": "theirs" }]);
        let pod = |name: &str, namespace: &str, secrets: &Value| {
            let mut pod = object("v1", "Pod", name);
            pod["metadata"]["namespace"] = json!(namespace);
            pod["spec"] = json!({ "imagePullSecrets": secrets });
            pod
        };
        let sets = [set(
            json!({ "name": "main", "namespaces": [{ "name": "own", "fixed": true }] }),
            &[
                pod("a", "own", &theirs),
                pod("b", "shop-prod", &theirs),
                pod("c", "kube-system", &theirs),
                pod("d", "kube-system", &Value::Null),
            ],
        )];
        let login = PullSecret {
            name: "corp".to_owned(),
            content: PullSecretContent::Known(
                json!({ "type": "t", "data": { "k": "dg==" }, "metadata": { "uid": "u" } }),
            ),
            copy: "shop-registry-login".to_owned(),
        };
        let all = rendered(&sets, Some(login));
        let secrets =
            |index: usize| all[index].object.as_value()["spec"]["imagePullSecrets"].clone();
        assert_eq!(
            names(&all),
            [
                "main Namespace own",
                "main Secret kube-system/shop-registry-login",
                "main Secret own/shop-registry-login",
                "main Pod own/a",
                "main Pod shop-prod/b",
                "main Pod kube-system/c",
                "main Pod kube-system/d"
            ]
        );
        assert_eq!(secrets(5), secrets(3));
        assert_eq!(secrets(6), json!([{ "name": "shop-registry-login" }]));
        assert_eq!(
            secrets(3),
            json!([{ "name": "theirs" }, { "name": "shop-registry-login" }])
        );
        assert_eq!(
            secrets(4),
            json!([{ "name": "theirs" }, { "name": "corp" }])
        );
        let copied = all[1].object.as_value();
        assert_eq!(
            (&copied["type"], &copied["data"]),
            (&json!("t"), &json!({ "k": "dg==" }))
        );
    }

    #[test]
    fn copies_of_a_pull_secret_that_cannot_be_read_are_left_alone() {
        let pod = |space: &str| {
            let metadata = json!({ "name": "web", "namespace": space });
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": { "containers": [] } })
        };
        let sets = [set(
            json!({ "name": "main" }),
            &[pod("shop-prod"), pod("kube-system")],
        )];
        let login = |content| PullSecret {
            name: "corp".to_owned(),
            content,
            copy: "shop-registry-login".to_owned(),
        };
        let known = PullSecretContent::Known(json!({ "type": "t" }));
        let all = rendered(&sets, Some(login(known.clone())));
        let recorded = Inventory {
            entries: all.iter().filter_map(DesiredObject::entry).collect(),
            ..Inventory::default()
        };
        let kept = |content| {
            let kept = login(content).kept_copies(&recorded, &"shop-prod".parse().unwrap());
            let kept = kept.iter().map(|entry| entry.reference().to_string());
            kept.collect::<Vec<_>>()
        };
        let copy = "Secret kube-system/shop-registry-login";
        assert_eq!(kept(PullSecretContent::Unreadable), [copy]);
        assert!(kept(PullSecretContent::Absent).is_empty());
        assert!(kept(known).is_empty());
    }

    #[test]
    fn what_others_fill_in_is_left_out_and_what_is_stored_otherwise_is_written_so() {
        let mut webhook = object(
            "admissionregistration.k8s.io/v1",
            "MutatingWebhookConfiguration",
            "w",
        );
        webhook["webhooks"] = json!([
            { "name": "a", "clientConfig": { "caBundle": "" } },
            { "name": "b", "clientConfig": { "caBundle": "Cg==" } },
            { "name": "c", "clientConfig": { "caBundle": "Zm9v" } },
        ]);
        let mut secret = object("v1", "Secret", "s");
        secret["stringData"] = json!({ "a": "text" });
        secret["data"] = json!({ "b": "Yg==" });
        let sets = [set(json!({ "name": "main" }), &[webhook, secret])];
        let all = rendered(&sets, None);
        let (secret, webhook) = (all[0].object.as_value(), all[1].object.as_value());
        assert_eq!(secret["data"], json!({ "a": "dGV4dA==", "b": "Yg==" }));
        assert!(secret.get("stringData").is_none());
        let left = json!([
            { "name": "a", "clientConfig": {} },
            { "name": "b", "clientConfig": {} },
            { "name": "c", "clientConfig": { "caBundle": "Zm9v" } },
        ]);
        assert_eq!(webhook["webhooks"], left);
    }

    #[test]
    fn a_job_says_what_it_was_made_of() {
        let job = |command: &str| {
            let mut job = object("batch/v1", "Job", "j");
            job["spec"] = json!({ "command": command });
            let sets = [set(json!({ "name": "main" }), &[job])];
            rendered(&sets, None)[0].entry().unwrap().inputs.unwrap()
        };
        assert_eq!(job("a"), job("a"));
        assert_ne!(job("a"), job("b"));
    }

    fn job() -> Value {
        json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": { "name": "setup" },
            "spec": { "parallelism": "$(param:size)", "template": { "spec": { "containers": [] } } },
        })
    }

    #[test]
    fn the_site_patches_what_is_applied_here_and_a_job_that_it_patches_is_another_one() {
        let sets = [set(json!({ "name": "main" }), &[job()])];
        let patch = "[{target: {kind: Job, namespace: shop-prod}, json: [{op: test, path: /spec/parallelism, value: 3}]},
                      {target: {kind: Job, name: setup}, merge: {spec: {backoffLimit: 1}, metadata: {labels: {team: shop}}}}]";
        let [plain, patched] =
            ["[]", patch].map(|patch| by_site(&sets, None, patch, None).remove(0));
        let (plain, patched) = (plain.object, patched.object);
        assert_eq!(patched.as_value()["spec"]["backoffLimit"], 1);
        assert_eq!(patched.labels()["team"], "shop");
        assert_eq!(patched.labels()[v::SOLUTION], "shop");
        assert_eq!(patched.reference(), plain.reference());
        assert_ne!(
            patched.annotations()[v::INPUTS],
            plain.annotations()[v::INPUTS]
        );
    }

    #[test]
    fn what_the_site_chooses_makes_no_other_job() {
        let sets = [set(json!({ "name": "main" }), &[job()])];
        let made = |site: &HeldSite| {
            with(&sets, None, None, |rendering| {
                let rendering = SetInputs {
                    site,
                    kinds: ObjectKinds::default(),
                    expansion: Expansion {
                        parameters: [("size".parse().unwrap(), json!(3))].into(),
                        ..Expansion::default()
                    },
                    login: None,
                    sensitive: None,
                    ..*rendering
                };
                let objects = rendering.objects(&mut Patches::new(&[])).unwrap();
                objects.into_iter().next().unwrap().object
            })
        };
        let site = |label: &str| {
            let file = json!({ "workloads": [{ "set": { "labels": { "team": label } } }] });
            held(&file.to_string(), "{}")
        };
        let [plain, one, other] =
            [HeldSite::default(), site("a"), site("b")].map(|site| made(&site));
        assert_eq!(one.labels()["team"], "a");
        let of =
            |job: &Object, annotation| job.annotations().get(annotation).map(ToString::to_string);
        assert_eq!(of(&plain, v::INPUTS), of(&one, v::INPUTS));
        assert_eq!(of(&other, v::INPUTS), of(&one, v::INPUTS));
        assert_eq!(of(&plain, v::CHOSEN), None);
        assert_ne!(of(&other, v::CHOSEN), of(&one, v::CHOSEN));
    }

    #[test]
    fn sensitive_values_are_there_before_whatever_uses_them() {
        let sets = [
            set(json!({ "name": "later" }), &[job()]),
            set(json!({ "name": "main" }), &[job()]),
        ];
        let (shop, prod) = ("shop".parse().unwrap(), "shop-prod".parse().unwrap());
        let values = [("password".parse().unwrap(), json!("$(param:none)"))];
        let values = KeptValues {
            parameters: values.into(),
            ..KeptValues::default()
        };
        let secret = parameters::secret(&shop, 2, &prod, &values);
        let objects = by_site(&sets, None, "[]", Some(secret));
        let names: Vec<String> = objects
            .iter()
            .map(|desired| desired.object.reference().to_string())
            .collect();
        let expected = [
            "Secret shop-prod/shop-parameters-2",
            "Job shop-prod/setup",
            "Job shop-prod/setup",
        ];
        assert_eq!(names, expected);
        let secret = &objects[0].object;
        assert_eq!(secret.labels()[v::SOLUTION], "shop");
        let held = STANDARD.encode("\"$(param:none)\"");
        assert_eq!(secret.as_value()["data"]["password"], held);
    }
}

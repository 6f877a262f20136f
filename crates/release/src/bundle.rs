//! An OLM bundle: its `ClusterServiceVersion` as the objects that OLM would make of it.

use serde_json::{Value, json};

use crate::notes::{Note, Weight, names};
use manifests::{Object, Objects, list, shown, text};

/// What a `ClusterServiceVersion` says of its release.
#[derive(Debug, Default)]
pub(crate) struct About {
    /// Its name without the version.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
    /// What people call it.
    pub(crate) display_name: String,
    /// The images it lists.
    pub(crate) images: Vec<(String, String)>,
    /// Whether its operator can watch the namespace that it runs in only.
    pub(crate) own_namespace: bool,
}

/// The package's name, if a document is the annotations of a bundle.
pub(crate) fn package(document: &Value) -> Option<&str> {
    const PACKAGE: &str = "operators.operatorframework.io.bundle.package.v1";
    document["annotations"][PACKAGE].as_str()
}

/// The names of packages that a release's bundles give.
pub(crate) fn packages<'a>(objects: &'a Objects<'_>) -> impl Iterator<Item = &'a str> {
    objects
        .kindless
        .iter()
        .filter_map(|(_, document)| package(document))
}

/// Takes every `ClusterServiceVersion` apart. Gives what the first says of the release.
pub(crate) fn expand(objects: &mut Vec<Object<'_>>, notes: &mut Vec<Note>) -> Option<About> {
    let is_bundle = |object: &Object<'_>| {
        object.group() == "operators.coreos.com" && object.kind() == "ClusterServiceVersion"
    };
    let (bundles, mut all): (Vec<_>, Vec<_>) =
        std::mem::take(objects).into_iter().partition(is_bundle);
    let mut about = None;
    for bundle in &bundles {
        about.get_or_insert_with(|| About::of(bundle));
        all.extend(deployments(bundle));
        for (list, role, binding) in [
            ("permissions", "Role", "RoleBinding"),
            ("clusterPermissions", "ClusterRole", "ClusterRoleBinding"),
        ] {
            all.extend(permissions(bundle, list, role, binding));
        }
        note(bundle, notes);
    }
    *objects = all;
    about
}

impl About {
    fn of(bundle: &Object<'_>) -> Self {
        let value = &bundle.value;
        let version = text(value, "/spec/version");
        let name = bundle.name();
        let stem = name.strip_suffix(version).unwrap_or(name);
        let stem = stem
            .strip_suffix(".v")
            .or_else(|| stem.strip_suffix('.'))
            .unwrap_or(stem);
        let related = list(value, "/spec/relatedImages").iter();
        let mode = |mode: &Value| {
            matches!(text(mode, "/type"), "OwnNamespace" | "SingleNamespace")
                && mode["supported"] == true
        };
        Self {
            name: stem.to_owned(),
            version: version.to_owned(),
            display_name: text(value, "/spec/displayName").to_owned(),
            images: related
                .map(|image| {
                    (
                        text(image, "/name").to_owned(),
                        text(image, "/image").to_owned(),
                    )
                })
                .collect(),
            own_namespace: list(value, "/spec/installModes").iter().any(mode),
        }
    }
}

fn made<'a>(bundle: &Object<'_>, value: Value) -> Object<'a> {
    Object {
        place: bundle.place.clone(),
        text: None,
        value,
    }
}

fn deployments<'a>(bundle: &Object<'_>) -> Vec<Object<'a>> {
    let deployments = list(&bundle.value, "/spec/install/spec/deployments").iter();
    let object = |deployment: &Value| {
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": { "name": deployment["name"], "labels": deployment["label"] },
            "spec": deployment["spec"],
        })
    };
    deployments
        .map(|deployment| made(bundle, object(deployment)))
        .collect()
}

fn permissions<'a>(bundle: &Object<'_>, field: &str, role: &str, binding: &str) -> Vec<Object<'a>> {
    let pointer = format!("/spec/install/spec/{field}");
    let mut objects = Vec::new();
    for (number, permission) in (1..).zip(list(&bundle.value, &pointer)) {
        let account = match text(permission, "/serviceAccountName") {
            "" => "default",
            account => account,
        };
        // Several permissions of one account stay several roles.
        let name = format!("{account}-{number}");
        let group = "rbac.authorization.k8s.io";
        objects.push(made(
            bundle,
            json!({
                "apiVersion": format!("{group}/v1"),
                "kind": role,
                "metadata": { "name": name },
                "rules": permission["rules"],
            }),
        ));
        objects.push(made(
            bundle,
            json!({
                "apiVersion": format!("{group}/v1"),
                "kind": binding,
                "metadata": { "name": name },
                "roleRef": { "apiGroup": group, "kind": role, "name": name },
                "subjects": [{ "kind": "ServiceAccount", "name": account }],
            }),
        ));
    }
    objects
}

fn note(bundle: &Object<'_>, notes: &mut Vec<Note>) {
    let value = &bundle.value;
    let mut say = |weight, about: String, text: String| notes.push(Note::new(weight, about, text));
    say(Weight::Made, bundle.title(), "taken apart: its deployments, permissions and images are in the draft; icons, descriptions and examples are not".to_owned());
    for webhook in list(value, "/spec/webhookdefinitions") {
        let about = format!("webhook `{}`", shown(text(webhook, "/generateName")));
        say(Weight::Decide, about, "needs a Service and a certificate, which an import does not make; turn the operator's webhooks off by argument or variable".to_owned());
    }
    let required = list(value, "/spec/customresourcedefinitions/required");
    if !required.is_empty() {
        let needed = names(required.iter().map(|crd| text(crd, "/name")));
        say(
            Weight::Decide,
            "required CRDs".to_owned(),
            format!("the operator needs {needed} of another operator, which the site must have"),
        );
    }
    if !list(value, "/spec/apiservicedefinitions/owned").is_empty() {
        say(Weight::Decide, "API services".to_owned(), "an operator that serves its own API needs an APIService, which an import does not make".to_owned());
    }
    for (field, why) in [
        (
            "minKubeVersion",
            "an import does not ask for it, so tell your sites",
        ),
        (
            "replaces",
            "spec.upgradeFrom can hold the range of versions to upgrade from",
        ),
    ] {
        let value = shown(text(value, &format!("/spec/{field}")));
        if !value.is_empty() {
            let about = format!("field `{field}`");
            say(Weight::Lost, about, format!("is `{value}`; {why}"));
        }
    }
}

//! The custom resource definitions of a release, each for a file of its own.

use std::collections::{BTreeMap, BTreeSet};

use manifests::{Object, text};
use schemas::KubernetesName;
use serde_json::Value;

use crate::ReleaseError;
use crate::notes::{Note, Weight};
use crate::rights;

/// The definitions of a release.
#[derive(Debug)]
pub(crate) struct Definitions<'a>(Vec<&'a Object<'a>>);

/// Whether an object is a definition that clusters take.
pub(crate) fn is_definition(object: &Object<'_>) -> bool {
    rules::is_definition(&object.value)
}

impl<'a> Definitions<'a> {
    pub(crate) fn of(objects: &'a [Object<'a>]) -> Self {
        Self(
            objects
                .iter()
                .filter(|object| is_definition(object))
                .collect(),
        )
    }

    fn documents(&self) -> impl Iterator<Item = &'a Value> {
        self.0.iter().map(|object| &object.value)
    }

    /// The API groups.
    pub(crate) fn groups(&self) -> BTreeSet<&'a str> {
        self.documents().map(|it| text(it, "/spec/group")).collect()
    }

    /// The kinds, each with its group.
    pub(crate) fn kinds(&self) -> BTreeSet<(&'a str, &'a str)> {
        let kind = |it| (text(it, "/spec/group"), text(it, "/spec/names/kind"));
        self.documents().map(kind).collect()
    }

    /// The resources of the whole cluster, by group and plural.
    pub(crate) fn cluster_scoped(&self) -> BTreeSet<(&'a str, &'a str)> {
        self.documents().filter_map(rules::cluster_scoped).collect()
    }

    /// Each definition in a file of its own, as it stands.
    pub(crate) fn files(
        &self,
        notes: &mut Vec<Note>,
    ) -> Result<BTreeMap<String, Vec<u8>>, ReleaseError> {
        let mut files = BTreeMap::new();
        for object in &self.0 {
            if rules::converts_by_webhook(&object.value) {
                notes.push(Note::new(Weight::Decide, object.title(), "converts its versions by a webhook, which a Solution cannot have, so `solution pack` refuses it; if every version has the same fields, or only one is in use, write `conversion: {strategy: None}` into its file"));
            }
            files.insert(path(object)?, rights::own(object).into_bytes());
        }
        if files.is_empty() {
            // `pack` wants the directory.
            files.insert("operator/deploy/crds/.gitkeep".to_owned(), Vec::new());
        }
        Ok(files)
    }
}

/// The file of a definition, named after it. The name is checked first, since it becomes a path.
fn path(object: &Object<'_>) -> Result<String, ReleaseError> {
    let refuse = || ReleaseError::Name {
        place: object.place.clone(),
        what: object.title(),
    };
    let name: KubernetesName = object.name().parse().map_err(|_| refuse())?;
    let path = archive::crd_path(name.as_str()).or_else(|_| {
        // Longer than a path of an archive may be.
        let hash = files::digest(name.as_str().as_bytes()).hex();
        let cut: String = name.as_str().chars().take(70).collect();
        archive::crd_path(&format!("{cut}-{}", &hash[..12]))
    });
    path.map(|path| path.to_string()).map_err(|_| refuse())
}

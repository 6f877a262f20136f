//! The sets of objects that a Solution carries as they are: read and patched before the images are known, compiled when
//! their references are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use manifests::{Compiler, KnownImages, Object};
use schemas::{Namespace, ObjectSet, OwnNamespace, SourceSet, yaml};
use serde_json::Value;

use crate::error::PackError;
use crate::operator::TextFile;

/// A set whose files were read and patched.
#[derive(Debug)]
pub(crate) struct LoadedSet {
    pub(crate) source: SourceSet,
    /// The objects of the set itself, in order.
    objects: Vec<Value>,
    /// Definitions of custom resources, which are the cluster's.
    definitions: Vec<Value>,
}

/// Reads a set; `below` resolves the paths of `solution.yaml`.
pub(crate) fn load(
    source: &SourceSet,
    below: impl Fn(&Path) -> Result<PathBuf, PackError>,
) -> Result<LoadedSet, PackError> {
    let mut files = Vec::new();
    for path in &source.files {
        files.extend(manifests::read(&below(path)?)?.files);
    }
    let mut objects = manifests::parse(&files)?;
    if let Some((place, _)) = objects.kindless.first() {
        return Err(PackError::NoObject(place.to_string()));
    }
    for (number, patch) in (1..).zip(&source.patches) {
        let failed = |error| PackError::Patch {
            set: source.name.clone(),
            number,
            source: Box::new(error),
        };
        manifests::patch(&mut objects.all, patch).map_err(failed)?;
    }
    let (definitions, own): (Vec<_>, Vec<_>) = objects
        .all
        .into_iter()
        .partition(is_the_clusters_definition);
    let values = |objects: Vec<Object<'_>>| objects.into_iter().map(|it| it.value).collect();
    Ok(LoadedSet {
        source: source.clone(),
        objects: values(own),
        definitions: values(definitions),
    })
}

/// Whether an object is a definition that belongs to no environment: one with webhook conversion names a namespace.
fn is_the_clusters_definition(object: &Object<'_>) -> bool {
    object.kind() == "CustomResourceDefinition"
        && object.group() == "apiextensions.k8s.io"
        && object
            .value
            .pointer("/spec/conversion/strategy")
            .is_none_or(|it| it != "Webhook")
}

impl LoadedSet {
    /// The set as `manifest.yaml` has it.
    pub(crate) fn set(&self) -> ObjectSet {
        let SourceSet {
            name,
            needs,
            strategy,
            when,
            phase,
            namespaces,
            ..
        } = &self.source;
        let reaches_out = self.reaches_out();
        let namespaces = namespaces.iter().map(|namespace| OwnNamespace {
            name: namespace.name.clone(),
            fixed: namespace.fixed.unwrap_or(reaches_out),
        });
        ObjectSet {
            name: name.clone(),
            namespaces: namespaces.collect(),
            needs: needs.clone(),
            strategy: *strategy,
            when: when.clone(),
            phase: *phase,
        }
    }

    /// Whether objects of the set are outside of its namespaces: their names, and what refers to them, cannot be made anew
    /// for each site.
    fn reaches_out(&self) -> bool {
        let own: BTreeSet<&str> = self
            .source
            .namespaces
            .iter()
            .map(|it| it.name.as_str())
            .collect();
        self.objects.iter().any(|object| {
            let namespace = manifests::text(object, "/metadata/namespace");
            let elsewhere = !namespace.is_empty() && !own.contains(namespace);
            elsewhere || manifests::is_cluster_scoped(object, &self.definitions)
        })
    }

    /// The definitions of custom resources, as files of the archive.
    pub(crate) fn definitions(&self) -> Result<Vec<TextFile>, PackError> {
        let file = |definition: &Value| {
            let name = manifests::text(definition, "/metadata/name");
            let path = archive::crd_path(name);
            Ok(TextFile {
                path: path.map_err(|_| PackError::FileName(name.into()))?,
                bytes: yaml::to_string(definition).into_bytes(),
            })
        };
        self.definitions.iter().map(file).collect()
    }

    /// The files of the set in the archive, compiled.
    pub(crate) fn files(&self, images: &KnownImages) -> Vec<TextFile> {
        let set = self.set();
        let moved: Vec<Namespace> = set
            .namespaces
            .iter()
            .filter(|namespace| !namespace.fixed)
            .map(|namespace| namespace.name.clone())
            .collect();
        let compiler = Compiler {
            images,
            namespaces: &moved,
            templates: &self.source.pod_templates,
        };
        let file = |(place, object): (usize, &Value)| {
            let mut object = object.clone();
            // What is left is for the check of the draft to name, which compiles again.
            compiler.compile(&mut object);
            let text = |pointer| manifests::text(&object, pointer);
            TextFile {
                path: archive::object_path(&set.name, place, text("/kind"), text("/metadata/name")),
                bytes: yaml::to_string(&object).into_bytes(),
            }
        };
        (1..).zip(&self.objects).map(file).collect()
    }
}

//! Checks of `manifests/`: the sets of objects that a site applies as they are (docs/format-manifests.md).

use archive::OpenError;
use schemas::{ArchivePath, ObjectSet, Solution, limits, yaml};
use serde_json::Value;

use crate::catalogue::operator::YAML;
use crate::files::Files;
use crate::finding::Findings;

/// An object that an archive carries, with the file it stands in.
#[derive(Clone, Debug, PartialEq)]
pub struct CarriedObject {
    /// Its file.
    pub path: ArchivePath,
    /// The document, with placeholders.
    pub document: Value,
}

/// A set of objects.
#[derive(Clone, Debug, PartialEq)]
pub struct CarriedSet {
    /// What the manifest says of it.
    pub set: ObjectSet,
    /// Its objects in their order.
    pub objects: Vec<CarriedObject>,
}

/// Reads and checks the objects of all sets. `solution` is none when the manifest could not be read.
pub(crate) fn check(
    files: &Files<'_>,
    solution: Option<&Solution>,
    findings: &mut Findings,
) -> Result<Vec<CarriedSet>, OpenError> {
    let sets = solution.into_iter().flat_map(|it| &it.spec.manifests);
    let mut sets: Vec<CarriedSet> = sets
        .map(|set| CarriedSet {
            set: set.clone(),
            objects: Vec::new(),
        })
        .collect();
    for entry in files.below("manifests/") {
        let Some(bytes) = files.read(entry, limits::YAML_SIZE, &YAML, findings)? else {
            continue;
        };
        let mut names = entry.path.as_str().split('/').skip(1);
        let name = names.next().unwrap_or_default();
        let set = sets.iter_mut().find(|it| it.set.name.as_str() == name);
        match (set, yaml::from_slice::<Value>(&bytes)) {
            (Some(set), Ok(document)) => set.objects.push(CarriedObject {
                path: entry.path.clone(),
                document,
            }),
            (None, Ok(_)) => {}
            (_, Err(error)) => findings.add(&YAML, &entry.path, error),
        }
    }
    Ok(sets)
}

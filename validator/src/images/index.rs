//! `index.json`, read for the one thing that does not follow from the images: each image's `ref`.

use std::collections::BTreeMap;

use schemas::{IMAGE_REFERENCE_ANNOTATION, ImagePlace, ImageReference, json};
use serde::Deserialize;

use crate::catalogue::images::INDEX;
use crate::error::CheckError;
use crate::files::Files;
use crate::finding::Findings;
use crate::limits::INDEX_SIZE;

const PATH: &str = "index.json";
/// The annotation by which OCI tools find an image in a layout.
const NAME_ANNOTATION: &str = "org.opencontainers.image.ref.name";

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// The `ref` of each image; none when the file is missing or wrong.
pub(super) fn references(
    files: &Files<'_>,
    findings: &mut Findings,
) -> Result<Option<BTreeMap<ImagePlace, ImageReference>>, CheckError> {
    let Some(entry) = files.get(PATH) else {
        findings.add(&INDEX, PATH, "is not in the archive");
        return Ok(None);
    };
    let Some(bytes) = files.read(entry, INDEX_SIZE, &INDEX, findings)? else {
        return Ok(None);
    };
    match parse(&bytes) {
        Ok(references) => Ok(Some(references)),
        Err(message) => {
            findings.add(&INDEX, PATH, message);
            Ok(None)
        }
    }
}

fn parse(bytes: &[u8]) -> Result<BTreeMap<ImagePlace, ImageReference>, String> {
    let index: Index = json::from_slice(bytes).map_err(|error| error.to_string())?;
    let mut references = BTreeMap::new();
    for entry in index.manifests {
        let Some(name) = entry.annotations.get(NAME_ANNOTATION) else {
            continue;
        };
        let place: ImagePlace = name.parse().map_err(|error| format!("{error}"))?;
        if let Some(reference) = entry.annotations.get(IMAGE_REFERENCE_ANNOTATION) {
            let reference = reference.parse().map_err(|error| format!("{error}"))?;
            references.insert(place, reference);
        }
    }
    Ok(references)
}

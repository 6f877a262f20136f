//! The image index `index.json`. It is only read for the `ref` of each image, which cannot be derived from the images
//! themselves. The entry point is [`parse`].

use std::collections::BTreeMap;

use archive::OpenError;
use rules::catalogue::images::INDEX;
use schemas::{ImagePlace, ImageReference, json, known_keys};
use serde::Deserialize;

use crate::files::ListedFiles;
use crate::finding::Findings;
use crate::limits::INDEX_SIZE;

/// The path of the index in an archive.
pub const PATH: &str = "index.json";

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    annotations: Annotations,
}

/// The annotations that are read. Others are ignored.
#[derive(Default, Deserialize)]
struct Annotations {
    /// The name by which OCI tools find an image in a layout.
    #[serde(rename = "org.opencontainers.image.ref.name")]
    name: Option<String>,
    /// [`schemas::IMAGE_REFERENCE_ANNOTATION`].
    #[serde(rename = "solutions.metalk8s.scality.com/ref")]
    reference: Option<String>,
}

/// Reads the `ref` of each image. Returns `None` if the file is missing or invalid.
pub(super) fn references(
    files: &ListedFiles<'_>,
    findings: &mut Findings,
) -> Result<Option<BTreeMap<ImagePlace, ImageReference>>, OpenError> {
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

/// Returns the `ref` of each image in the bytes of `index.json`, or a description of the problem.
pub fn parse(bytes: &[u8]) -> Result<BTreeMap<ImagePlace, ImageReference>, String> {
    let index: Index = json::from_slice_of(bytes, known_keys::IMAGE_DOCUMENT)
        .map_err(|error| error.to_string())?;
    let mut references = BTreeMap::new();
    for Entry { annotations } in index.manifests {
        let Some(name) = annotations.name else {
            continue;
        };
        let place: ImagePlace = name.parse().map_err(|error| format!("{error}"))?;
        if let Some(reference) = annotations.reference {
            let reference = reference.parse().map_err(|error| format!("{error}"))?;
            references.insert(place, reference);
        }
    }
    Ok(references)
}

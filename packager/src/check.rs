//! What is checked of the images beside the rules that archives have too (`validator::rules`).

use std::path::Path;

use schemas::{Operator, SourceImage};
use sources::Collected;
use validator::rules;

use crate::error::PackError;

/// Checks the texts that should be platforms.
pub(crate) fn platforms(images: &[SourceImage]) -> Result<(), PackError> {
    images.iter().try_for_each(|image| {
        let bad = sources::not_a_platform(&image.platforms);
        bad.map_or(Ok(()), |text| {
            Err(PackError::Platform {
                place: image.place(),
                text: text.to_owned(),
            })
        })
    })
}

/// Checks what only the sources could tell: the references under which images were saved.
pub(crate) fn collected(
    images: &[Collected],
    operator: Option<&Operator>,
) -> Result<(), PackError> {
    let references = images
        .iter()
        .filter_map(|image| Some((image.place.clone(), image.reference.as_ref()?)));
    rules::check_references(operator, references)
        .map_err(PackError::in_file(Path::new("solution.yaml")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_platform_is_named() {
        for text in ["linux", "linux/", "linux/arm/v7/x", "Linux amd64"] {
            let image = SourceImage {
                name: "app".parse().unwrap(),
                tag: "1".parse().unwrap(),
                source: "oci:x".parse().unwrap(),
                reference: None,
                platforms: vec!["linux/arm64".to_owned(), text.to_owned()],
            };
            assert!(
                platforms(&[image])
                    .unwrap_err()
                    .to_string()
                    .contains(&format!("`{text}` in `platforms` is not a platform"))
            );
        }
    }
}

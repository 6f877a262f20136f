//! Evidence that a chart needs an image: the place that names it, and the reason why this place counts. The main type
//! is [`ImageEvidence`].

use manifests::Mention;
use manifests::reference::{normal, repository};
use schemas::ImageReference;

/// A place that names an image or may name one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageEvidence {
    /// The place in words: a document of a chart and a field in it, or a value.
    pub place: String,
    /// The image reference in its complete form.
    pub reference: ImageReference,
    /// The reason why the place counts.
    pub reason: EvidenceReason,
}

/// The reason why a place counts as the name of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvidenceReason {
    /// The form of the text or its surrounding fields.
    Text(Mention),
    /// Several fields contain parts of the reference.
    Parts,
    /// A default value in a custom resource definition.
    Default,
    /// An annotation in `Chart.yaml`.
    Annotation,
    /// A value with the repository, which no rendered object names.
    Value,
}

impl ImageEvidence {
    /// Returns true if the evidence is for exactly this image.
    #[must_use]
    pub fn is_of(&self, image: &ImageReference) -> bool {
        normal(image.as_str()).is_some_and(|complete| complete == self.reference)
    }

    /// Returns true if the evidence matches a reference, a repository, or the last components of a repository.
    #[must_use]
    pub fn is_about(&self, image: &str) -> bool {
        let Some(wanted) = normal(image) else {
            return false;
        };
        if self.reference == wanted {
            return true;
        }
        let is_pinned = image.contains('@') || wanted.as_str().ends_with(image);
        let own = repository(&self.reference);
        !is_pinned && (own == repository(&wanted) || own.ends_with(&format!("/{image}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_asked_for_by_any_part_that_ends_its_repository() {
        let evidence = ImageEvidence {
            place: String::new(),
            reference: "docker.io/org/app:1".parse().unwrap(),
            reason: EvidenceReason::Parts,
        };
        for (image, is_about) in [
            ("org/app:1", true),
            ("docker.io/org/app:1", true),
            ("org/app", true),
            ("docker.io/org/app", true),
            ("app", true),
            ("org/app:2", false),
            ("pp", false),
            ("r.test/org/app", false),
            ("A B", false),
        ] {
            assert_eq!(evidence.is_about(image), is_about, "{image}");
        }
    }
}

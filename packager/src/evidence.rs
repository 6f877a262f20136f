//! Evidence that a chart needs an image: what names it, where, and why that counts.

use manifests::Mention;
use manifests::reference::{normal, repository};
use schemas::ImageReference;

/// One place that names an image, or may.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageEvidence {
    /// The place, for people: a document of a chart and a field of it, or a value.
    pub place: String,
    /// The image in its complete form.
    pub reference: ImageReference,
    /// The reason why the place counts.
    pub reason: EvidenceReason,
}

/// The reason why a place counts as one that names an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvidenceReason {
    /// What the text is, or what stands beside it.
    Text(Mention),
    /// Several fields are its parts.
    Parts,
    /// A default value of a definition of custom resources.
    Default,
    /// An annotation of `Chart.yaml` lists it.
    Annotation,
    /// A value has its repository, and nothing that was rendered has it.
    Value,
}

impl ImageEvidence {
    /// Whether it names exactly this image.
    #[must_use]
    pub fn is_of(&self, image: &ImageReference) -> bool {
        normal(image.as_str()).is_some_and(|complete| complete == self.reference)
    }

    /// Whether it is about this image: a whole reference, a repository, or the end of one.
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

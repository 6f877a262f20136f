//! What an archive can have beyond format 1, each with the capability that its readers must know (docs/reference/format.md, 11).

use schemas::{Capability, SolutionSpec};

/// The objects that are applied as they are, of archives that require [`Feature::Manifests`].
pub const MANIFESTS: &str = "manifests";

/// The Helm charts, of archives that require [`Feature::Charts`].
pub const CHARTS: &str = "charts";

/// The programs in the head of an archive that requires [`Feature::ProgramsInHead`].
pub(crate) const BIN: &str = "bin";

/// The end of every released capability: the first version of each.
const RELEASED: &str = "-1.0.0";

/// The end of a second version.
const SECOND: &str = "-1.1.0";

/// The end of the drafts that came before. Only what a site keeps may have them.
const DRAFT: &str = "-0.1.0";

/// Something that an archive has beyond format 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// Helm charts (docs/reference/format-charts.md).
    Charts,
    /// Helm charts whose files are read as Helm reads them, in place of [`Self::Charts`].
    ChartsAsHelm,
    /// Layers of images that have addresses elsewhere too (docs/reference/format-foreign-layers.md).
    ForeignLayers,
    /// Objects that are applied as they are (docs/reference/format-manifests.md).
    Manifests,
    /// The part of an operator's Deployment beneath what an import sets of it (docs/reference/format-operator-template.md).
    OperatorTemplate,
    /// What has to be there before it is deployed (docs/reference/format-prerequisites.md). An archive that has no images needs it
    /// too: readers of before its time expect some.
    Prerequisites,
    /// Programs for the site, among the images (docs/reference/format-programs.md).
    Programs,
    /// Programs for the site below `bin/`: what only a draft had.
    ProgramsInHead,
    /// Signatures and other referrers beside images that something names by name alone (docs/reference/format-referrers.md).
    Referrers,
}

impl Feature {
    /// All of them, in the order of a statement.
    pub const ALL: [Self; 9] = [
        Self::Charts,
        Self::ChartsAsHelm,
        Self::ForeignLayers,
        Self::Manifests,
        Self::OperatorTemplate,
        Self::Prerequisites,
        Self::Programs,
        Self::ProgramsInHead,
        Self::Referrers,
    ];

    /// Returns the capability that the statement requires of a reader.
    ///
    /// # Panics
    ///
    /// Never: the names are inside the grammar of capabilities.
    #[must_use]
    pub fn capability(self) -> Capability {
        let version = match self {
            Self::ProgramsInHead => DRAFT,
            Self::ChartsAsHelm => SECOND,
            _ => RELEASED,
        };
        let name = format!("{}{version}", self.name()).parse();
        name.expect("the names of capabilities are inside their grammar")
    }

    fn name(self) -> &'static str {
        match self {
            Self::Charts | Self::ChartsAsHelm => "charts",
            Self::ForeignLayers => "foreign-layers",
            Self::Manifests => "manifests",
            Self::OperatorTemplate => "operator-template",
            Self::Prerequisites => "prerequisites",
            Self::Programs | Self::ProgramsInHead => "programs",
            Self::Referrers => "referrers",
        }
    }

    /// Whether a statement that requires this much requires the feature, released or as the draft that it was.
    #[must_use]
    pub fn is_among(self, requires: &[Capability]) -> bool {
        requires.iter().any(|it| Self::of(it) == Some(self))
    }

    /// Whether a capability is a draft of one that was released since.
    #[must_use]
    pub fn is_draft(capability: &Capability) -> bool {
        Self::of(capability).is_some() && capability.as_str().ends_with(DRAFT)
    }

    /// Whether a Solution's manifest has the feature. Programs are listed as images, and so is what
    /// refers to an image; only the images' own documents tell of foreign layers.
    #[must_use]
    pub fn is_in(self, solution: &SolutionSpec) -> bool {
        match self {
            Self::Charts | Self::ChartsAsHelm => !solution.charts.is_empty(),
            Self::Manifests => !solution.manifests.is_empty() || !solution.parameters.is_empty(),
            Self::OperatorTemplate => {
                let operator = solution.operator.as_ref();
                operator.is_some_and(|operator| operator.template.is_some())
            }
            Self::Prerequisites => {
                !schemas::is_default(&solution.prerequisites) || solution.images.is_empty()
            }
            Self::ForeignLayers | Self::Programs | Self::ProgramsInHead | Self::Referrers => false,
        }
    }

    /// The feature that a capability stands for, if this version knows it.
    #[must_use]
    pub fn of(capability: &Capability) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        if let Some(found) = all.find(|it| it.capability() == *capability) {
            return Some(found);
        }
        let name = capability.as_str().strip_suffix(DRAFT)?;
        let mut all = Self::ALL.into_iter();
        all.find(|it| !matches!(it, Self::Programs | Self::ChartsAsHelm) && it.name() == name)
    }

    /// The directory that it gives a meaning to.
    pub(crate) fn directory(self) -> Option<&'static str> {
        match self {
            Self::Charts | Self::ChartsAsHelm => Some(CHARTS),
            Self::Manifests => Some(MANIFESTS),
            Self::ProgramsInHead => Some(BIN),
            Self::ForeignLayers
            | Self::OperatorTemplate
            | Self::Prerequisites
            | Self::Programs
            | Self::Referrers => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_capability_is_known_released_and_as_a_draft() {
        for feature in Feature::ALL {
            assert_eq!(Feature::of(&feature.capability()), Some(feature));
            if feature == Feature::ChartsAsHelm {
                continue;
            }
            let draft: Capability = format!("{}-0.1.0", feature.name()).parse().unwrap();
            let of_draft = Feature::of(&draft).unwrap();
            assert_eq!(of_draft.name(), feature.name());
            assert!(Feature::is_draft(&draft));
        }
        assert!(!Feature::is_draft(&Feature::Charts.capability()));
        for unknown in [
            "charts-1.2.0",
            "manifests-1.1.0",
            "charts-0.2.0",
            "charts",
            "-1.0.0",
            "helm-0.1.0",
        ] {
            let unknown = unknown.parse().unwrap();
            assert_eq!(Feature::of(&unknown), None, "{unknown}");
            assert!(!Feature::is_draft(&unknown), "{unknown}");
        }
        let drafts = ["programs-0.1.0".parse().unwrap()];
        assert!(Feature::ProgramsInHead.is_among(&drafts));
        assert!(!Feature::Programs.is_among(&drafts));
    }
}

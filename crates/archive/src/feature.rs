//! The optional features of archives beyond format 1. Each has a capability that the statement requires of readers
//! (docs/reference/format.md, 11). [`Feature::from_capability`] maps a capability to its feature.

use schemas::{Capability, SolutionSpec};

/// The directory of manifests that are applied unchanged, in archives that require [`Feature::Manifests`].
pub const MANIFESTS: &str = "manifests";

/// The directory of Helm charts, in archives that require [`Feature::Charts`].
pub const CHARTS: &str = "charts";

/// The directory of programs in the head of an archive that requires [`Feature::ProgramsInHead`].
pub(crate) const BIN: &str = "bin";

/// The version suffix of released capabilities: their first version.
const RELEASED: &str = "-1.0.0";

/// The version suffix of a capability's second version.
const SECOND: &str = "-1.1.0";

/// The version suffix of the drafts that preceded the releases. Only archives that a site already keeps may have it.
const DRAFT: &str = "-0.1.0";

/// A feature beyond format 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// Helm charts (docs/reference/format-charts.md).
    Charts,
    /// Helm charts whose files are read as Helm reads them. It replaces [`Self::Charts`].
    ChartsAsHelm,
    /// Image layers that also have addresses outside of the archive (docs/reference/format-foreign-layers.md).
    ForeignLayers,
    /// Objects that are applied unchanged (docs/reference/format-manifests.md).
    Manifests,
    /// The part of an operator's Deployment below the fields that an import sets
    /// (docs/reference/format-operator-template.md).
    OperatorTemplate,
    /// Conditions that a cluster must meet before deployment (docs/reference/format-prerequisites.md). Archives without
    /// images need it too, because earlier readers require at least one image.
    Prerequisites,
    /// Programs for the site, packaged as images (docs/reference/format-programs.md).
    Programs,
    /// Programs for the site below `bin/`. Only a draft of the format has it.
    ProgramsInHead,
    /// Signatures and other referrers of images that something refers to by name only
    /// (docs/reference/format-referrers.md).
    Referrers,
}

impl Feature {
    /// Every feature, in the order of a statement.
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

    /// Returns the capability that the statement requires of readers.
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

    /// Returns whether `requires` contains the feature, as released or as its draft.
    #[must_use]
    pub fn is_among(self, requires: &[Capability]) -> bool {
        requires
            .iter()
            .any(|capability| Self::from_capability(capability) == Some(self))
    }

    /// Returns whether a capability is the draft of a capability that was released later.
    #[must_use]
    pub fn is_draft(capability: &Capability) -> bool {
        Self::from_capability(capability).is_some() && capability.as_str().ends_with(DRAFT)
    }

    /// Returns whether a Solution's manifest uses the feature. Always false for programs and referrers, which the
    /// manifest lists as images, and for foreign layers, which only the images' own documents show.
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

    /// Returns the feature of a capability, if this version supports it.
    #[must_use]
    pub fn from_capability(capability: &Capability) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        if let Some(found) = all.find(|feature| feature.capability() == *capability) {
            return Some(found);
        }
        // The draft of programs is `ProgramsInHead`, which was found above. Charts as Helm reads them had no draft.
        let name = capability.as_str().strip_suffix(DRAFT)?;
        let mut all = Self::ALL.into_iter();
        all.find(|feature| {
            !matches!(feature, Self::Programs | Self::ChartsAsHelm) && feature.name() == name
        })
    }

    /// The top-level directory that the feature defines.
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
            assert_eq!(
                Feature::from_capability(&feature.capability()),
                Some(feature)
            );
            if feature == Feature::ChartsAsHelm {
                continue;
            }
            let draft: Capability = format!("{}-0.1.0", feature.name()).parse().unwrap();
            let of_draft = Feature::from_capability(&draft).unwrap();
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
            assert_eq!(Feature::from_capability(&unknown), None, "{unknown}");
            assert!(!Feature::is_draft(&unknown), "{unknown}");
        }
        let drafts = ["programs-0.1.0".parse().unwrap()];
        assert!(Feature::ProgramsInHead.is_among(&drafts));
        assert!(!Feature::Programs.is_among(&drafts));
    }
}

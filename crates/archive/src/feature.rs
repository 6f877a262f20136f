//! What an archive can have beyond format 1, each with the capability that its readers must know (docs/format.md, 11).

use schemas::{Capability, SolutionSpec};

/// The objects that are applied as they are, of archives that require [`Feature::Manifests`].
pub const MANIFESTS: &str = "manifests";

/// The Helm charts, of archives that require [`Feature::Charts`].
pub const CHARTS: &str = "charts";

/// The programs that an archive includes, of those that require [`Feature::Programs`].
pub const PROGRAMS: &str = "bin";

/// Something that an archive has beyond format 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// Helm charts (docs/format-charts.md).
    Charts,
    /// Objects that are applied as they are (docs/format-manifests.md).
    Manifests,
    /// The part of an operator's Deployment beneath what an import sets of it (docs/format-operator-template.md).
    OperatorTemplate,
    /// What has to be there before it is deployed (docs/format-prerequisites.md). An archive that has no images needs it
    /// too: readers of before its time expect some.
    Prerequisites,
    /// Programs for the site (docs/format-programs.md).
    Programs,
    /// Signatures and other referrers beside images that something names by name alone (docs/format-referrers.md).
    Referrers,
}

impl Feature {
    /// All of them, in the order of a statement.
    pub const ALL: [Self; 6] = [
        Self::Charts,
        Self::Manifests,
        Self::OperatorTemplate,
        Self::Prerequisites,
        Self::Programs,
        Self::Referrers,
    ];

    /// Returns the capability that the statement requires of a reader.
    ///
    /// # Panics
    ///
    /// Never: the names are inside the grammar of capabilities.
    #[must_use]
    pub fn capability(self) -> Capability {
        self.name()
            .parse()
            .expect("the names of capabilities are inside their grammar")
    }

    fn name(self) -> &'static str {
        match self {
            Self::Charts => "charts-0.1.0",
            Self::Manifests => "manifests-0.1.0",
            Self::OperatorTemplate => "operator-template-0.1.0",
            Self::Prerequisites => "prerequisites-0.1.0",
            Self::Programs => "programs-0.1.0",
            Self::Referrers => "referrers-0.1.0",
        }
    }

    /// Whether a Solution's manifest has the feature. Programs are files that no manifest names, and what refers to an
    /// image is listed as an image.
    #[must_use]
    pub fn is_in(self, solution: &SolutionSpec) -> bool {
        match self {
            Self::Charts => !solution.charts.is_empty(),
            Self::Manifests => !solution.manifests.is_empty() || !solution.parameters.is_empty(),
            Self::OperatorTemplate => {
                let operator = solution.operator.as_ref();
                operator.is_some_and(|operator| operator.template.is_some())
            }
            Self::Prerequisites => {
                !schemas::is_default(&solution.prerequisites) || solution.images.is_empty()
            }
            Self::Programs | Self::Referrers => false,
        }
    }

    /// The feature that a capability stands for, if this version knows it.
    #[must_use]
    pub fn of(capability: &Capability) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|feature| feature.name() == capability.as_str())
    }

    /// The directory that it gives a meaning to.
    pub(crate) fn directory(self) -> Option<&'static str> {
        match self {
            Self::Charts => Some(CHARTS),
            Self::Manifests => Some(MANIFESTS),
            Self::OperatorTemplate | Self::Prerequisites | Self::Referrers => None,
            Self::Programs => Some(PROGRAMS),
        }
    }
}

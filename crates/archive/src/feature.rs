//! What an archive can have beyond format 1, each with the capability that its readers must know (docs/format.md, 11).

use schemas::Capability;

/// The objects that are applied as they are, of archives that require [`Feature::Manifests`].
pub const MANIFESTS: &str = "manifests";

/// Something that an archive has beyond format 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// Objects that are applied as they are (docs/format-manifests.md).
    Manifests,
}

impl Feature {
    const ALL: [Self; 1] = [Self::Manifests];

    /// What the statement requires of a reader.
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
            Self::Manifests => "manifests-0.1.0",
        }
    }

    /// The feature that a capability stands for, if this version knows it.
    #[must_use]
    pub fn of(capability: &Capability) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|feature| feature.name() == capability.as_str())
    }

    /// The directory that it gives a meaning to.
    pub(crate) fn directory(self) -> &'static str {
        match self {
            Self::Manifests => MANIFESTS,
        }
    }
}

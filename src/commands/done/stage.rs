//! How far a change has come, in words.

/// What a change is at, where Helm is not running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    Before,
    Pushed,
    /// A pod pulls an image.
    Proof,
    /// The operator is awaited.
    Rollout,
    /// What is carried as it is, is awaited.
    Settling,
    /// What ran before is put back.
    Restoring,
}

impl Stage {
    /// When the change was interrupted, behind `interrupted`.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Before => "",
            Self::Pushed => " after all images were pushed",
            Self::Proof => " while a pod was pulling an image",
            Self::Rollout => " while waiting for the operator",
            Self::Settling => " while waiting for the applied objects",
            Self::Restoring => " while restoring the previous version",
        }
    }
}

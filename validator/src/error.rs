//! Why an archive could not be checked. What is wrong with an archive is not here: that is a finding.

/// Checking did not come to an end; trying again may help.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The archive could not be opened or read to its end, or the caller asked to stop.
    #[error(transparent)]
    Read(#[from] archive::OpenError),
}

//! Why an archive could not be checked. What is wrong with an archive is not here: that is a finding.

/// Checking did not come to an end; trying again may help.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
}

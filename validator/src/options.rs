//! Options of a check. The main type is [`CheckOptions`], which selects the accepted signatures and the depth of the
//! check.

use std::num::NonZeroUsize;

use schemas::{Digest, Envelope, KeyId, SolutionId, StatementTime};
use signing::{Policies, Trust};

/// The rule for accepting signatures.
#[derive(Clone, Debug)]
pub enum SignaturePolicy {
    /// Only accepts archives that trusted keys have signed.
    Check {
        /// The trusted keys; `None` if the site has no key for this Solution.
        trust: Option<TrustedKeys>,
        /// An archive that needs no signature. If it has signatures, they are checked anyway.
        allow_unsigned: Option<AllowUnsigned>,
    },
    /// Only accepts the archive that was accepted earlier.
    Accepted(PriorAcceptance),
    /// Skips the signatures and checks everything else. The archive is never accepted.
    Skip,
    /// Skips the signatures without a finding, because the archive will be signed later.
    Later,
}

/// An archive that was accepted earlier. Its signatures were checked then; later changes of the trusted keys do not
/// revoke that decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorAcceptance {
    /// SHA-256 of the signed statement.
    pub archive_id: Digest,
    /// The trusted keys whose signatures counted; empty if the archive was allowed to be unsigned.
    pub signers: Vec<KeyId>,
}

/// The keys that a site trusts.
#[derive(Clone, Debug)]
pub enum TrustedKeys {
    /// Accepts these keys for every archive.
    Keys(Trust),
    /// Accepts the keys of the policy for the archive's Solution.
    Policies(Policies),
}

impl From<Trust> for TrustedKeys {
    fn from(trust: Trust) -> Self {
        Self::Keys(trust)
    }
}

/// A user's decision to accept one unsigned archive, by its Solution id. There is no option to accept all unsigned
/// archives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowUnsigned(pub SolutionId);

/// The depth of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckDepth {
    /// Reads every byte.
    Everything,
    /// Reads only the documents that an import uses: the manifest, image documents and configurations, and the files of
    /// the operator. Layers are verified while they are pushed.
    Documents,
}

/// The options of a check.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// The rule for accepting signatures.
    pub signatures: SignaturePolicy,
    /// Detached envelopes, whose signatures count too. Each must belong to this archive.
    pub detached: Vec<Envelope>,
    /// The depth of the check.
    pub depth: CheckDepth,
    /// The maximum number of threads that read and hash. Optical discs and hard disks are read by one thread.
    pub threads: NonZeroUsize,
    /// The time that `expires` is compared with; `None` skips the comparison. Libraries do not read the clock.
    pub now: Option<StatementTime>,
}

impl CheckOptions {
    /// Returns options for a check of the documents without a time.
    pub(crate) fn of_documents(signatures: SignaturePolicy) -> Self {
        Self {
            signatures,
            detached: Vec::new(),
            depth: CheckDepth::Documents,
            threads: NonZeroUsize::MIN,
            now: None,
        }
    }
}

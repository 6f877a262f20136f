//! Options of a check.

use std::num::NonZeroUsize;

use schemas::{Digest, Envelope, KeyId, SolutionId, StatementTime};
use signing::{Policies, Trust};

/// The signatures that count.
#[derive(Clone, Debug)]
pub enum Signatures {
    /// Only archives that trusted keys have signed are accepted.
    Check {
        /// The trusted keys; none when the site has no key for this Solution.
        trust: Option<TrustedKeys>,
        /// An archive that may be without any signature. A signature that is there is checked all the same.
        allow_unsigned: Option<AllowUnsigned>,
    },
    /// The archive is the one that was accepted before.
    Accepted(AcceptedBefore),
    /// Everything but the signatures is checked, and the archive is never accepted.
    Skip,
    /// The signatures are skipped likewise, and nothing is said of it: who signs is not decided yet.
    Later,
}

/// An archive that was accepted before. Who signed was judged then; later changes of trust do not take that back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedBefore {
    /// SHA-256 of the signed statement.
    pub archive_id: Digest,
    /// The trusted keys whose signatures counted; empty if it was allowed to be unsigned.
    pub signers: Vec<KeyId>,
}

/// The keys that a site trusts.
#[derive(Clone, Debug)]
pub enum TrustedKeys {
    /// These keys count, whatever the archive.
    Keys(Trust),
    /// The keys of the one policy for the archive's Solution count.
    Policies(Policies),
}

impl From<Trust> for TrustedKeys {
    fn from(trust: Trust) -> Self {
        Self::Keys(trust)
    }
}

/// The decision of a person to use one unsigned archive, by its Solution id. There is no way to allow all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowUnsigned(pub SolutionId);

/// The depth to which an archive is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Every byte.
    Everything,
    /// The documents that an import uses besides layers: the manifest, the images' documents and configurations, the
    /// operator's files. Layers are verified while they are pushed.
    Documents,
}

/// The options of a check.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// The signatures that count.
    pub signatures: Signatures,
    /// Envelopes beside the archive, whose signatures count too. Each must be about this archive.
    pub detached: Vec<Envelope>,
    /// The depth to which the archive is read.
    pub depth: Depth,
    /// Threads that read and hash, at most: discs, and disks with heads, are read by one.
    pub threads: NonZeroUsize,
    /// The time at which to judge `expires`; none leaves it unjudged. Libraries do not read the clock.
    pub now: Option<StatementTime>,
}

impl CheckOptions {
    /// Returns options for the documents alone, at no time in particular.
    pub(crate) fn of_documents(signatures: Signatures) -> Self {
        Self {
            signatures,
            detached: Vec::new(),
            depth: Depth::Documents,
            threads: NonZeroUsize::MIN,
            now: None,
        }
    }
}

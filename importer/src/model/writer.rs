//! Who writes to a cluster, and how others are met who write at the same time.

use std::fmt;
use std::time::Duration;

use deployer::{Clock, Gone, Leases};

/// Who writes, by which clock a Lease is renewed, and how others are met who write at the same time.
#[derive(Clone)]
pub struct Writer {
    /// A name by which others recognise who is at work: user, host, process.
    pub name: String,
    /// Who it is, for people: user and host.
    pub person: String,
    /// The clock.
    pub clock: Clock,
    /// Which other writers are known to have ended without giving the Lease back.
    pub gone: Gone,
    /// Counts the Lease while it is held.
    pub leases: Leases,
    /// What happens while another writer is at work.
    pub turn: Turn,
}

/// What a writer does while another one is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It gives up.
    Refuse,
    /// It waits, at most this long.
    Wait(Duration),
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Writer({})", self.name)
    }
}

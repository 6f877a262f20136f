//! A Lease that another writer holds.

use std::fmt;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// A Lease that another writer holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct HeldLease {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    #[serde(rename = "lease")]
    pub name: String,
    /// The name of the holder, as in the Lease.
    pub holder: String,
    /// The time at which the holder acquired it, by the holder's clock.
    #[serde(serialize_with = "in_seconds", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub since: Option<SystemTime>,
    /// The time after which another writer can take it if it is not renewed.
    #[serde(skip)]
    pub expires_in: Duration,
}

impl fmt::Display for HeldLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            namespace,
            name,
            holder,
            ..
        } = self;
        let seconds = self.expires_in.as_secs_f64().ceil();
        write!(
            f,
            "{holder} holds the lease {namespace}/{name}, which expires in {seconds} s unless it is renewed"
        )
    }
}

/// Serializes a time as RFC 3339 in UTC and whole seconds.
#[expect(clippy::ref_option, reason = "serde gives the field as it is")]
fn in_seconds<S: Serializer>(time: &Option<SystemTime>, serializer: S) -> Result<S::Ok, S::Error> {
    let time = time.and_then(|time| Timestamp::try_from(time).ok());
    let time = time.and_then(|time| Timestamp::from_second(time.as_second()).ok());
    time.map(|time| time.to_string()).serialize(serializer)
}

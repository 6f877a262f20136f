//! The stored form of a request in a plan file: the fields that determine the plan. The user who asked and passwords are
//! not included.

use std::collections::BTreeSet;
use std::time::Duration;

use planner::RecreateRequest;
use registry::RegistryAddress;
use serde::{Deserialize, Serialize};
use store::{MissingImagePolicy, PlacementChoice};

use crate::limits;
use crate::model::error::Error;
use crate::model::request::{
    Exceptions, Goal, LeftOpen, PullLogin, Request, RequestContext, TimeLimits,
};
use crate::model::writer::Verb;
use crate::objects::releases::accepts_reads;

/// A request in a plan file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FiledRequest {
    registry: RegistryAddress,
    pull_registry: Option<RegistryAddress>,
    #[serde(default, skip_serializing_if = "schemas::is_default")]
    placement: PlacementChoice,
    #[serde(default, skip_serializing_if = "schemas::is_default")]
    missing: MissingImagePolicy,
    goal: Goal,
    pub(super) allowed: Exceptions,
    accepted: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    recreate: BTreeSet<RecreateRequest>,
    verb: Verb,
    from_site: BTreeSet<LeftOpen>,
    wait: Seconds,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<Seconds>,
}

/// Checks whether an id accepts only effects that the plan shows. Ids of reads are always allowed: the plan lists the
/// reads that they accept, and they have no meaning in another plan.
fn accepts_only(id: &str, shown: Option<&str>) -> bool {
    shown == Some(id) || accepts_reads(id)
}

/// A waiting time in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u64")]
struct Seconds(u64);

impl TryFrom<u64> for Seconds {
    type Error = String;

    fn try_from(seconds: u64) -> Result<Self, String> {
        if seconds <= limits::WAIT {
            Ok(Self(seconds))
        } else {
            Err(format!("a wait of {seconds} seconds exceeds the limit"))
        }
    }
}

impl FiledRequest {
    /// Returns the stored form of a request. A request with a password has none.
    pub(super) fn new(request: &Request) -> Result<Self, Error> {
        if let Goal::Deployed(target) = &request.goal
            && let PullLogin::Made(_) | PullLogin::Offered(_) = target.pull_login
        {
            return Err(Error::Password);
        }
        Ok(Self {
            registry: request.registry.clone(),
            pull_registry: request.pull_registry.clone(),
            placement: request.placement,
            missing: request.missing,
            goal: request.goal.clone(),
            allowed: request.allowed,
            accepted: request.accepted.clone(),
            recreate: request.recreate.clone(),
            verb: request.verb,
            from_site: request.from_site.clone(),
            wait: Seconds(request.limits.wait.as_secs()),
            limit: request.limits.total.map(|limit| Seconds(limit.as_secs())),
        })
    }

    /// Returns the request without ids that the plan does not show. They accept no part of this plan, and a reader
    /// could not see their meaning.
    pub(super) fn accepting(mut self, shown: Option<&str>) -> Self {
        self.accepted.retain(|id| accepts_only(id, shown));
        self
    }

    /// Checks whether only ids are accepted that the plan shows.
    pub(super) fn accepts_only(&self, shown: Option<&str>) -> bool {
        self.accepted.iter().all(|id| accepts_only(id, shown))
    }

    /// Returns the request on behalf of the user who applies the file.
    pub(super) fn into_request(self, context: RequestContext) -> Request {
        let limits = TimeLimits {
            wait: Duration::from_secs(self.wait.0),
            total: self.limit.map(|limit| Duration::from_secs(limit.0)),
        };
        Request {
            pull_registry: self.pull_registry,
            placement: self.placement,
            missing: self.missing,
            allowed: self.allowed,
            accepted: self.accepted,
            recreate: self.recreate,
            verb: self.verb,
            from_site: self.from_site,
            // The user who applies a plan can see that the cluster is running, so nodes are not awaited.
            ..Request::new(self.registry, self.goal, limits, context)
        }
    }
}

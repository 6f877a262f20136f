//! A cluster that was planned and is away when its turn comes: it is waited for, and must still be the same.

use std::time::Duration;

use deployer::Waited;

use super::change::{Pushers, change};
use super::changed::Changed;
use super::live::MemberLive;
use super::planned::MemberPlan;
use super::told;
use crate::failure::{self, Failure};

/// Changes a cluster as it was planned, once it is up where it is waited for.
pub(super) async fn change_once_up(
    plan: &MemberPlan,
    longest: Option<Duration>,
    pushers: &Pushers,
    live: &MemberLive<'_>,
) -> Changed {
    told::cluster_begun(&plan.name);
    let up = match longest {
        Some(longest) => wait(plan, longest, live).await,
        None => Ok(()),
    };
    let changed = match up {
        Ok(()) => change(plan, pushers, live).await,
        Err(failure) => {
            live.end(&format!("failed: {}", failure.in_one_line()));
            Changed {
                failure: Some(failure),
                ..Changed::default()
            }
        }
    };
    told::cluster_ended(&plan.name, &changed);
    changed
}

async fn wait(plan: &MemberPlan, longest: Duration, live: &MemberLive<'_>) -> Result<(), Failure> {
    let waited = live.arrival(longest).wait(&plan.cluster).await;
    if waited.map_err(Failure::unknown)? == Waited::No {
        return Ok(());
    }
    let uid = importer::cluster_uid(&plan.cluster).await;
    let same = uid.and_then(|uid| importer::check_uid(&uid, Some(&plan.system)));
    same.map_err(failure::member)
}

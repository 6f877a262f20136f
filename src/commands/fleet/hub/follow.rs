//! A hub is told how far a fleet is while it changes, and nothing waits for that.

use std::time::Duration;

use fleet::FleetProgress;
use tokio::sync::watch::Receiver;
use tokio::time::timeout;

use super::super::apply::Towards;
use super::FleetHub;
use crate::failure::Failure;
use crate::render;

/// Between two exchanges with a hub that has nothing to be told: pauses are noticed within that time.
const LOOK: Duration = Duration::from_secs(3);

/// A hub that was looked at.
pub(in crate::commands::fleet) struct LookedHub<'a> {
    hub: FleetHub<'a>,
    /// Why it does not answer, if it does not.
    away: Option<Failure>,
}

/// Looks at a hub, if there is one. Whatever is wrong with it, it delays no rollback.
pub(in crate::commands::fleet) async fn look(
    hub: Option<FleetHub<'_>>,
    towards: Towards,
) -> Result<Option<LookedHub<'_>>, Failure> {
    let Some(hub) = hub else {
        return Ok(None);
    };
    let away = match hub.look().await {
        Err(failure) if towards == Towards::Before => Some(failure),
        looked => looked?,
    };
    Ok(Some(LookedHub { hub, away }))
}

/// Does something to a fleet, and tells its hub meanwhile how far that is: always the latest alone. What was decided in the
/// hub is known before it begins, unless the hub is away. Returns why the hub does not know the end, if so.
pub(in crate::commands::fleet) async fn beside<T>(
    hub: Option<LookedHub<'_>>,
    progress: Receiver<FleetProgress>,
    work: impl Future<Output = T>,
) -> (T, Option<Failure>) {
    let Some(LookedHub { hub, away }) = hub else {
        return (work.await, None);
    };
    let first = progress.borrow().clone();
    let behind = match away {
        None => hub.exchange(Some(&first), |_| {}).await.err(),
        away => away,
    };
    futures::join!(work, hub.follow(progress, behind))
}

impl LookedHub<'_> {
    /// Where it will be shown, for people.
    pub(in crate::commands::fleet) fn show(&self) {
        let (context, fleet) = (self.hub.context, &self.hub.file.document().metadata.name);
        render::line!("hub       {context}: SolutionRollout {fleet}");
        if let Some(away) = &self.away {
            render::note!(
                "note: {}; the rollback continues without the hub",
                away.in_one_line()
            );
        }
    }
}

impl FleetHub<'_> {
    async fn follow(
        &self,
        mut progress: Receiver<FleetProgress>,
        mut behind: Option<Failure>,
    ) -> Option<Failure> {
        loop {
            let news = async {
                if behind.is_none() {
                    drop(progress.changed().await);
                } else {
                    // Whatever happens meanwhile, one that is away is asked no more often.
                    drop(progress.wait_for(FleetProgress::has_ended).await);
                }
            };
            drop(timeout(LOOK, news).await);
            let latest = progress.borrow_and_update().clone();
            behind = self.exchange(Some(&latest), |_| {}).await.err();
            if latest.has_ended() {
                return behind;
            }
        }
    }
}

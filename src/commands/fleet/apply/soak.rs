//! The time that a wave has to be good before the next one begins.

use std::time::Duration;

use anyhow::anyhow;
use fleet::FleetJournal;
use importer::Goal;
use schemas::{FleetWave, Timeout};
use serde_json::json;

use super::super::journal::decided;
use super::super::status::judge;
use super::gate::{Gates, id_of};
use super::planned::{MemberPlan, PlannedWork};
use super::rollout::Towards;
use super::told;
use crate::environment;
use crate::failure::Failure;
use crate::progress::Waiting;

/// Between two looks at clusters that have to stay good.
const LOOK: Duration = Duration::from_secs(10);

impl Gates<'_> {
    /// Waits until a wave was good for as long as it has to be, and fails if it does not stay so. A cluster that cannot be
    /// seen for a while is waited for as well.
    pub(super) async fn soak(
        &self,
        wave: &FleetWave,
        members: &[&MemberPlan],
    ) -> Result<(), Failure> {
        let soak = wave.soak.as_ref().map(Timeout::duration);
        let Some(soak) = soak.filter(|_| self.towards == Towards::File) else {
            return Ok(());
        };
        let (name, waiting) = (&wave.name, Waiting::new(self.output));
        loop {
            self.check_goes_on()?;
            let now = environment::now().map_err(Failure::unknown)?;
            let left = self.journal.read()?.soaks(name, soak, now);
            let unseen = self.check_good(wave, members).await?;
            let unseen = unseen.map(|why| why.in_one_line());
            let is_news = match &unseen {
                None if left.is_zero() => return Ok(()),
                None => {
                    let minutes = left.as_secs().div_ceil(60);
                    waiting.tell(&format!("soak time of wave {name}: {minutes} min left"))
                }
                Some(why) => waiting.tell(why),
            };
            if is_news {
                told::soaking(name, left.as_secs(), unseen);
            }
            let next = if left.is_zero() { LOOK } else { left.min(LOOK) };
            tokio::time::sleep(next).await;
        }
    }

    /// Remembers that a wave is as the file asks.
    pub(super) fn be_good(
        &self,
        wave: &FleetWave,
        members: &[&MemberPlan],
        changed: bool,
    ) -> Result<(), Failure> {
        if wave.soak.is_none() || self.towards != Towards::File {
            return Ok(());
        }
        let now = environment::now().map_err(Failure::unknown)?;
        let goal = id_of(members, chosen);
        let be_good = |it: &mut FleetJournal| it.be_good(&wave.name, &goal, changed, now);
        self.journal.change(be_good).map(drop)
    }

    /// Remembers that a wave is about to be changed.
    pub(super) fn be_bad(&self, wave: &FleetWave) -> Result<(), Failure> {
        let decided = decided()?;
        let be_bad = |it: &mut FleetJournal| match self.towards {
            Towards::File => it.be_bad(wave, decided.at),
            Towards::Before | Towards::Gone => it.go_back(wave, decided),
        };
        self.journal.change(be_bad).map(drop)
    }

    /// Fails if a cluster of a wave is not good any more. Returns why one cannot be seen, if that is so.
    async fn check_good(
        &self,
        wave: &FleetWave,
        members: &[&MemberPlan],
    ) -> Result<Option<Failure>, Failure> {
        let mut unseen = None;
        for member in members {
            let name = &member.name;
            let status = match importer::status(&member.cluster, None).await {
                Ok(status) => status,
                Err(error) => {
                    let context = format!("cannot read the status of cluster {name}");
                    unseen = Some(Failure::from(error).context(context));
                    continue;
                }
            };
            for deployment in &member.deployments {
                if deployment.deploys().is_none() {
                    continue;
                }
                let status = judge(&deployment.placed, &status);
                if !status.is_ready() {
                    self.be_bad(wave)?;
                    let wave = &wave.name;
                    let not_good = anyhow!(
                        "wave {wave} did not stay ready during its soak time: {name}: {status}"
                    );
                    return Err(Failure::no(not_good)
                        .hint("check the clusters with `solution fleet status`"));
                }
            }
        }
        Ok(unseen)
    }
}

/// What the file chooses for a deployment. What it only refers to is secret, and has no place in an id that others read.
/// What was removed is no part of it either: the next run finds nothing of that.
fn chosen(work: &PlannedWork) -> Option<String> {
    let PlannedWork::Deploy(work) = work else {
        return None;
    };
    match &work.request.goal {
        Goal::Deployed(target) => Some(json!(target.fleet).to_string()),
        Goal::Available | Goal::Activated => None,
    }
}

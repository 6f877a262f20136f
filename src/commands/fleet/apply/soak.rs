//! The time that a wave has to be good before the next one begins.

use std::time::Duration;

use anyhow::anyhow;
use importer::Goal;
use schemas::{FleetWave, Timeout, WaveName};
use serde_json::json;

use super::super::status::judge;
use super::gate::Gates;
use super::planned::{MemberPlan, PlannedWork};
use crate::environment;
use crate::failure::{Failure, Outcome};
use crate::progress::Waiting;

/// Between two looks at clusters that have to stay good.
const LOOK: Duration = Duration::from_secs(10);

impl Gates<'_> {
    /// Waits until a wave was good for as long as it has to be, and fails if it does not stay so.
    pub(super) async fn soak(
        &self,
        wave: &FleetWave,
        members: &[&MemberPlan],
    ) -> Result<(), Failure> {
        let Some(soak) = wave.soak.as_ref().map(Timeout::duration) else {
            return Ok(());
        };
        let waiting = Waiting::new(self.output);
        loop {
            self.check_paused()?;
            let now = environment::now().map_err(Failure::unknown)?;
            let left = self.journal.read()?.soaks(&wave.name, soak, now);
            self.check_good(&wave.name, members).await?;
            if left.is_zero() {
                return Ok(());
            }
            let minutes = left.as_secs().div_ceil(60);
            waiting.tell(&format!(
                "wave {} is to be good for {minutes} min more",
                wave.name
            ));
            tokio::time::sleep(left.min(LOOK)).await;
        }
    }

    /// Remembers that a wave is as the file asks.
    pub(super) fn be_good(
        &self,
        wave: &FleetWave,
        members: &[&MemberPlan],
        changed: bool,
    ) -> Result<(), Failure> {
        if wave.soak.is_none() {
            return Ok(());
        }
        let now = environment::now().map_err(Failure::unknown)?;
        let goal = self.id(members, chosen);
        self.journal
            .change(|it| it.be_good(&wave.name, &goal, changed, now))
    }

    /// Fails if a cluster of a wave is not good any more.
    async fn check_good(&self, wave: &WaveName, members: &[&MemberPlan]) -> Result<(), Failure> {
        for member in members {
            let status = importer::status(&member.cluster, None).await?;
            for deployment in &member.deployments {
                let status = judge(&self.file.spec().solutions[deployment.solution], &status);
                if !status.is_ready() {
                    let (name, hint) = (&member.name, "see `solution fleet status`");
                    let not_good = anyhow!("wave {wave} did not stay good: {name}: {status}");
                    return Err(Failure::new(Outcome::No, not_good).hint(hint));
                }
            }
        }
        Ok(())
    }
}

/// What the file chooses for a deployment. What it only refers to is secret, and has no place in an id that others read.
fn chosen(work: &PlannedWork) -> String {
    match &work.request.goal {
        Goal::Deployed(target) => json!(target.fleet).to_string(),
        Goal::Available | Goal::Activated => String::new(),
    }
}

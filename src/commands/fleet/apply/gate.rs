//! What a wave waits for before it begins: that the fleet is not paused, that the one before was good long enough, and that
//! somebody has approved its plan.

use anyhow::anyhow;
use fleet::{FleetFile, FleetJournal, FleetRevision, IdPart, fleet_id};
use schemas::FleetWave;

use super::super::journal::{JournalFile, decided};
use super::planned::{MemberPlan, PlannedWork};
use super::planned_wave::PlannedWave;
use super::rollout::{Rollout, Towards};
use crate::args::Output;
use crate::commands::question::agreed;
use crate::failure::Failure;
use crate::{interrupt, render};

/// The gates of a fleet's waves. Each that is closed is told as why no further cluster is begun. On the way back all are
/// open; on the way out only a pause closes one, by which somebody else can end it.
pub(super) struct Gates<'a> {
    pub(super) file: &'a FleetFile,
    pub(super) journal: JournalFile<'a>,
    pub(super) towards: Towards,
    pub(super) revision: Option<FleetRevision>,
    pub(super) output: Output,
}

/// Fails if somebody has asked this program to end, while what was begun still has some time.
pub(super) fn check_interrupted() -> Result<(), Failure> {
    if interrupt::cancel().is_asked() {
        return Err(Failure::unknown(anyhow!("interrupted")));
    }
    Ok(())
}

impl<'a> Gates<'a> {
    /// The gates of a change.
    pub(super) fn of(rollout: &Rollout<'a>) -> Result<Self, Failure> {
        let &Rollout {
            file,
            path,
            towards,
            revision,
            output,
            ..
        } = rollout;
        Ok(Self {
            file,
            journal: JournalFile::of(file, path)?,
            towards,
            revision,
            output,
        })
    }
}

impl Gates<'_> {
    /// Fails if no further cluster may be begun: somebody has asked this program to end, or the fleet is paused.
    pub(super) fn check_goes_on(&self) -> Result<(), Failure> {
        check_interrupted()?;
        if self.towards == Towards::Before {
            return Ok(());
        }
        let journal = self.journal.read()?;
        let by = match journal.paused() {
            None if !self.file.spec().paused => return Ok(()),
            None => "its file",
            Some(by) => by,
        };
        let paused = anyhow!("the fleet is paused (by {by}), so no further cluster was changed");
        Err(Failure::unknown(paused)
            .hint("resume it with `solution fleet resume`, or with `paused: false` in the file"))
    }

    /// Fails if more clusters of a wave were left out than may fail: what they would have shown is not known.
    pub(super) fn check_left_out(&self, wave: &PlannedWave<'_>) -> Result<(), Failure> {
        let PlannedWave { wave, left_out, .. } = wave;
        if *left_out <= wave.max_failures || self.towards != Towards::File {
            return Ok(());
        }
        let (name, may) = (&wave.name, wave.max_failures);
        let count = render::count(*left_out, "cluster");
        let left_out =
            anyhow!("{count} of wave {name} could not be reached, but only {may} may fail");
        let hint = "restore access to them, choose other clusters with `--cluster` or `--group`, or raise `maxFailures`";
        Err(Failure::unknown(left_out).hint(hint))
    }

    /// Fails if a wave has to be approved and is not; whoever reads its plan may do so now.
    pub(super) async fn check_approved(
        &self,
        wave: &FleetWave,
        members: &[&MemberPlan],
    ) -> Result<(), Failure> {
        if !wave.approve || self.towards != Towards::File {
            return Ok(());
        }
        let (name, plan) = (&wave.name, id_of(members, |work| Some(work.essence())));
        if self.journal.read()?.is_approved(name, &plan) {
            return Ok(());
        }
        let question = format!("approve wave {name} (plan {plan})?");
        if agreed(&question, self.output).await? {
            let decided = decided()?;
            let approve = |it: &mut FleetJournal| it.approve(name.clone(), plan, decided);
            return self.journal.change(approve).map(drop);
        }
        let unapproved = anyhow!("wave {name} waits for the approval of its plan {plan}");
        Err(Failure::unknown(unapproved).hint(format!(
            "approve it with `solution fleet approve FILE {name} {plan}`, then run the same command again"
        )))
    }
}

/// The id of something that deployments of these clusters have.
pub(super) fn id_of(
    members: &[&MemberPlan],
    text: impl Fn(&PlannedWork) -> Option<String>,
) -> String {
    let mut texts = Vec::new();
    for member in members {
        for deployment in &member.deployments {
            let text = deployment.work.as_ref().and_then(&text);
            texts.extend(text.map(|text| (member, &deployment.placed, text)));
        }
    }
    fleet_id(texts.iter().map(|(member, deployment, text)| IdPart {
        cluster: &member.name,
        uid: &member.uid,
        deployment,
        text,
    }))
}

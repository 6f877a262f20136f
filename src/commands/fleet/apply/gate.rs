//! What a wave waits for before it begins: that the fleet is not paused, that the one before was good long enough, and that
//! somebody has approved its plan.

use anyhow::anyhow;
use fleet::{FleetFile, IdPart, fleet_id};
use schemas::FleetWave;

use super::super::journal::{JournalFile, decided};
use super::planned::{MemberPlan, PlannedWork};
use crate::args::Output;
use crate::commands::question::agreed;
use crate::failure::Failure;

/// The gates of a fleet's waves. Each that is closed is told as why no further cluster is begun.
pub(super) struct Gates<'a> {
    pub(super) file: &'a FleetFile,
    pub(super) journal: JournalFile<'a>,
    pub(super) output: Output,
}

impl Gates<'_> {
    /// Fails if the fleet is paused.
    pub(super) fn check_paused(&self) -> Result<(), Failure> {
        let by = match self.journal.read()?.paused {
            None if !self.file.spec().paused => return Ok(()),
            None => "its file".to_owned(),
            Some(paused) => paused.by,
        };
        let paused = anyhow!("the fleet is paused (by {by}), so no further cluster was begun");
        Err(Failure::unknown(paused)
            .hint("`solution fleet resume`, or `paused: false` in the file, lets it go on"))
    }

    /// Fails if a wave has to be approved and is not; whoever reads its plan may do so now.
    pub(super) async fn check_approved(
        &self,
        wave: &FleetWave,
        members: &[&MemberPlan],
    ) -> Result<(), Failure> {
        if !wave.approve {
            return Ok(());
        }
        let (name, plan) = (&wave.name, self.id(members, |work| work.planned.essence()));
        if self.journal.read()?.approved(name, &plan).is_some() {
            return Ok(());
        }
        let question = format!("approve wave {name} (plan {plan})?");
        if agreed(&question, self.output).await? {
            let decided = decided()?;
            return self
                .journal
                .change(|it| it.approve(name.clone(), plan, decided));
        }
        let unapproved =
            anyhow!("wave {name} is not begun before somebody approves its plan {plan}");
        Err(Failure::unknown(unapproved).hint(format!(
            "`solution fleet approve FILE {name} {plan}`, then run the same command again"
        )))
    }

    /// The id of something that all deployments of these clusters have.
    pub(super) fn id(
        &self,
        members: &[&MemberPlan],
        text: impl Fn(&PlannedWork) -> String,
    ) -> String {
        let spec = self.file.spec();
        let mut texts = Vec::new();
        for member in members {
            for deployment in &member.deployments {
                let text = deployment.work.as_ref().map(&text);
                texts.push((
                    member.at,
                    &member.uid,
                    deployment.solution,
                    text.unwrap_or_default(),
                ));
            }
        }
        fleet_id(texts.iter().map(|(cluster, uid, solution, text)| IdPart {
            cluster: &spec.clusters[*cluster].name,
            uid,
            solution: &spec.solutions[*solution],
            text,
        }))
    }
}

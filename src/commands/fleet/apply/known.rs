//! Which clusters a fleet knows: it tells of one that leaves the file.

use fleet::{FleetJournal, KnownCluster};

use super::super::journal::JournalFile;
use super::PlannedMember;
use super::gate::Gates;
use super::planned::MemberPlan;
use super::rollout::{Rollout, Towards};
use crate::failure::{self, Failure};

impl Rollout<'_> {
    /// Remembers which clusters the names of the file stand for, before any of them is changed.
    pub(super) fn know(&self, planned: &[PlannedMember]) -> Result<(), Failure> {
        if self.towards != Towards::File {
            return Ok(());
        }
        let plans = planned
            .iter()
            .filter_map(|member| member.plan.as_ref().ok());
        let has_any = |plan: &&MemberPlan| plan.deployments.iter().any(|it| it.deploys().is_some());
        let mut known = Ok(());
        JournalFile::of(self.file, self.path)?.change(|journal| {
            known = plans.filter(has_any).try_for_each(|plan| {
                let (name, uid) = (&plan.name, &plan.uid);
                let cluster = KnownCluster { name, uid };
                match &self.file.spec().clusters[plan.at].uid {
                    Some(_) => {
                        journal.pin(cluster);
                        Ok(())
                    }
                    None => journal.know(cluster),
                }
            });
        })?;
        known.map_err(failure::identity)
    }
}

impl Gates<'_> {
    /// Forgets these clusters if nothing that the fleet brought is left there.
    pub(super) fn forget<'m>(
        &self,
        members: impl Iterator<Item = &'m MemberPlan>,
    ) -> Result<(), Failure> {
        if self.towards != Towards::Gone {
            return Ok(());
        }
        let forget = |journal: &mut FleetJournal| members.for_each(|it| journal.forget(&it.uid));
        self.journal.change(forget).map(drop)
    }
}

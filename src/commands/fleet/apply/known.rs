//! Which clusters a fleet knows: it tells of one that leaves the file.

use fleet::{FleetJournal, KnownCluster};

use super::gate::Gates;
use super::planned::MemberPlan;
use super::rollout::Towards;
use crate::failure::Failure;

impl Gates<'_> {
    /// Remembers that these clusters are about to become as the file says.
    pub(super) fn know(&self, members: &[&MemberPlan]) -> Result<(), Failure> {
        if self.towards != Towards::File {
            return Ok(());
        }
        let has_any = |it: &&&MemberPlan| it.deployments.iter().any(|it| it.deploys().is_some());
        let know = |journal: &mut FleetJournal| {
            for MemberPlan { name, uid, .. } in members.iter().filter(has_any) {
                journal.know(KnownCluster { name, uid });
            }
        };
        self.journal.change(know).map(drop)
    }

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

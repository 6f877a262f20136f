//! A change of the clusters of a fleet, from the plans of all of them on.

use super::super::arrivals::Arrivals;
use super::super::hub::{FleetHub, follow};
use super::super::reach::Reaching;
use super::PlannedMember;
use super::carry_out::carry_out;
use super::hindrance::refuse_twice;
use super::plan::{DeployableSource, plan};
use super::rollout::Rollout;
use crate::cluster;
use crate::failure::{Failure, Outcome};

impl Rollout<'_> {
    /// Plans these clusters from a source, shows what that comes to, and changes them.
    pub(in crate::commands::fleet) fn run(
        &self,
        places: &[usize],
        source: &impl DeployableSource,
    ) -> Result<Outcome, Failure> {
        let (management, longest) = (&self.choices.management, self.choices.turn.timeout());
        let kubeconfig = management.kubeconfig.as_ref();
        let hub = self.choices.hub.as_ref();
        let hub = FleetHub::of(hub, kubeconfig, self.file, self.path)?;
        let waves = fleet::waves(self.file.spec(), self.members);
        cluster::block_on(async {
            let arrivals = self.choices.arrival.longest();
            let arrivals = arrivals.map(|longest| Arrivals::within(longest, self.output));
            let reaching = Reaching::new(self.file, self.path, management, longest, arrivals)?;
            let plans = reaching.each(places, async |at, member| {
                let wave = waves.iter().find(|it| it.clusters.contains(&at));
                let wave = wave.map(|it| &it.wave.name);
                Box::pin(plan(self, source, at, wave, member)).await
            });
            let (plans, hub) = futures::join!(plans, follow::look(hub, self.towards));
            let (plans, hub) = (places.iter().zip(plans), hub?);
            let planned = plans.map(|(at, plan)| PlannedMember {
                at: *at,
                name: self.file.spec().clusters[*at].name.to_string(),
                plan,
            });
            let mut planned: Vec<PlannedMember> = planned.collect();
            refuse_twice(&mut planned);
            Box::pin(carry_out(self, hub, planned)).await
        })
    }
}

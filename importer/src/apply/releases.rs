//! Has Helm install, upgrade, roll back and uninstall releases; and sees meanwhile what keeps their objects, since Helm takes
//! those back that do not come up, and with them whatever they could tell.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deployer::{Cluster, Conflicts, Object, ObjectRef, Standing, Unsettled};
use helm::{Access, Helm, HelmError, Home, Release, Renderer, Upgrade};
use schemas::SolutionName;
use tokio::time::{Instant, sleep};
use watch::Cancel;

use crate::apply::behind::Behind;
use crate::apply::leased::Leased;
use crate::limits;
use crate::model::error::Error;
use crate::model::event::{Event, ReleaseChange};
use crate::model::namespace_record::NamespaceRecord;
use crate::model::release::{RecordedRelease, joined};
use crate::model::request::{Adopt, HelmProgram};
use crate::model::vocabulary as v;
use crate::plan::Ready;
use crate::plan::deployment::Deployment;
use crate::plan::finish::is_definition;
use crate::plan::losses;
use crate::plan::releases::{Mend, PlannedRelease, Step, sent};
use crate::plan::standing::StandingRelease;
use crate::renderer;

/// Kinds whose objects can be seen to wait for something.
const AWAITED: [&str; 5] = ["Deployment", "StatefulSet", "DaemonSet", "Job", "Pod"];

/// A program that is run for a change, and how it reaches the cluster.
#[derive(Clone, Debug)]
pub(crate) struct Hand {
    helm: Helm,
    access: Access,
    /// The Solution whose releases it changes.
    solution: SolutionName,
}

impl Hand {
    pub(crate) fn new(
        helm: &Helm,
        (asked, cluster): (&HelmProgram, &Cluster),
        solution: &SolutionName,
    ) -> Self {
        Self {
            helm: helm.clone(),
            access: asked.access(cluster),
            solution: solution.clone(),
        }
    }

    /// Runs Helm in a thread of its own; it is asked to end where nobody waits for it any more.
    async fn run(
        &self,
        work: impl FnOnce(&Helm, &Access, Cancel<'_>) -> Result<(), HelmError> + Send + 'static,
    ) -> Result<(), HelmError> {
        struct Ends(Arc<AtomicBool>);
        impl Drop for Ends {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let ends = Ends(Arc::default());
        let (flag, hand) = (Arc::clone(&ends.0), self.clone());
        let run = move || work(&hand.helm, &hand.access, Cancel::when(&flag));
        let done = tokio::task::spawn_blocking(run).await;
        done.expect("a run of Helm does not panic")
    }

    /// Uninstalls a release; one that is not there any more has been uninstalled by others, and one that they have made anew
    /// stays.
    pub(crate) async fn uninstall(
        &self,
        release: &RecordedRelease,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        leased.lock.check()?;
        let (cluster, name) = (leased.cluster, &release.name);
        let standing = StandingRelease::read(cluster, &release.namespace, name).await?;
        if !standing.is_some_and(|it| it.is_of(&self.solution)) {
            return Ok(());
        }
        leased.begin().await?;
        (leased.tell)(Event::Release(
            release.to_string(),
            ReleaseChange::Uninstalling,
        ));
        let (of, wait) = (release.clone(), limits::RELEASE_WAIT);
        let run = self
            .run(move |helm, access, cancel| helm.uninstall(of_helm(&of), wait, access, cancel));
        run.await.map_err(|error| failed(release, error))?;
        leased.removed(release.to_string());
        Ok(())
    }

    async fn roll_back(
        &self,
        release: &RecordedRelease,
        revision: u32,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        leased.lock.check()?;
        (leased.tell)(Event::Release(
            release.to_string(),
            ReleaseChange::RollingBack(revision),
        ));
        let (cluster, name) = (leased.cluster, &release.name);
        let standing = StandingRelease::read(cluster, &release.namespace, name).await?;
        let objects = match &standing {
            Some(standing) => sent(cluster, standing, release).await?,
            None => Vec::new(),
        };
        let mut behind = Behind::taken_back(objects.iter().map(Object::reference));
        // Where Helm itself has begun to take it back, pods are behind already.
        behind.look(leased).await;
        let run = || {
            let (of, wait) = (release.clone(), limits::RELEASE_WAIT);
            self.run(move |helm, access, cancel| {
                helm.rollback(of_helm(&of), revision, wait, access, cancel)
            })
        };
        let mut done = behind.during(leased, run()).await?;
        if let Err(HelmError::Failed { .. }) = done {
            // Helm does not wait where a pod has failed, also where that one is about to go.
            if behind.has_found(leased).await {
                done = behind.during(leased, run()).await?;
            }
        }
        done.map_err(|error| failed(release, error))?;
        leased.changed(release.to_string());
        Ok(())
    }
}

impl Ready<'_> {
    /// Brings a release, if there is anything to do, and writes its revision down at once.
    pub(crate) async fn bring_release(
        &self,
        deployment: &Deployment,
        at: usize,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let planned = &deployment.releases.all[at];
        let (Step::Change(mend), Some(helm)) = (planned.step, &deployment.releases.helm) else {
            return Ok(());
        };
        let hand = self.hand(helm, leased);
        let release = &planned.recorded;
        leased.lock.check()?;
        leased.begin().await?;
        match mend {
            Mend::Nothing => {}
            Mend::Uninstall => hand.uninstall(release, leased).await?,
            Mend::RollBack(revision) => hand.roll_back(release, revision, leased).await?,
        }
        self.upgrade(&hand, planned, leased).await?;
        leased.changed(release.to_string());
        self.know_revision(release, leased).await?;
        self.progress(deployment, leased).write(leased).await
    }

    fn hand(&self, helm: &Helm, leased: &Leased<'_>) -> Hand {
        let asked = (&self.asked.request.helm, leased.cluster);
        Hand::new(helm, asked, self.asked.id.name())
    }

    /// Notes the revision that a release has now.
    async fn know_revision(
        &self,
        release: &RecordedRelease,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let (cluster, name) = (leased.cluster, &release.name);
        let standing = StandingRelease::read(cluster, &release.namespace, name).await?;
        let revision = standing.as_ref().map(StandingRelease::revision);
        leased.released(RecordedRelease {
            revision,
            ..release.clone()
        });
        Ok(())
    }

    /// The record of the namespace while this change is under way.
    pub(crate) fn progress(&self, deployment: &Deployment, leased: &Leased<'_>) -> NamespaceRecord {
        let solution = self.asked.id.name();
        let mut place = deployment.place.clone().seen(leased.uids());
        let new = joined(leased.releases(), &deployment.deployed.releases);
        let coming = match &deployment.standing {
            None => {
                let mut deployed = deployment.deployed.clone();
                deployed.releases = new;
                deployed
            }
            Some(standing) => {
                let mut deployed = standing.clone();
                deployed.labels = deployment.labels();
                // What was there is known by what it was made of until it is another one.
                let known = joined(leased.releases(), &standing.releases);
                deployed.releases = joined(&known, &new);
                deployed
            }
        };
        place.solutions.insert(solution.clone(), coming);
        let version = self.asked.id.version().clone();
        place.coming.insert(solution.clone(), version);
        place
    }

    /// Has Helm install or upgrade a release, and looks meanwhile at its objects.
    async fn upgrade(
        &self,
        hand: &Hand,
        planned: &PlannedRelease,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let release = &planned.recorded;
        let change = match planned.revision {
            None => ReleaseChange::Installing,
            Some(_) => ReleaseChange::Upgrading,
        };
        (leased.tell)(Event::Release(release.to_string(), change));
        let home = hand.helm.home().map_err(|error| failed(release, error))?;
        let home = Arc::new(home);
        let run = self.run_of(planned, &home)?;
        let kept = Arc::clone(&home);
        let work = hand.run(move |helm, access, cancel| {
            let done = run.go(helm, access, cancel);
            // It is there as long as Helm may look into it.
            drop(kept);
            done
        });
        let awaited = planned.objects.iter().map(Object::reference);
        let awaited = awaited.filter(|it| AWAITED.contains(&it.gvk.kind.as_str()));
        let awaited: Vec<ObjectRef> = awaited.cloned().collect();
        let (done, seen) = watched(leased, &awaited, work).await?;
        let Err(said) = done else {
            return Ok(());
        };
        Err(match (seen, said) {
            (Some(seen), said @ HelmError::Failed { .. }) => Error::Unready {
                release: release.to_string(),
                said,
                source: Box::new(deployer::Error::Unsettled(Box::new(seen))),
            },
            (_, said) => failed(release, said),
        })
    }

    /// All that a run needs, with what it sends written into its directory.
    fn run_of(&self, planned: &PlannedRelease, home: &Home) -> Result<UpgradeRun, Error> {
        let (id, release) = (&self.asked.id, &planned.recorded);
        let mut charts = self.asked.accepted.charts().iter();
        let chart = charts.find(|it| it.release.name == release.name);
        let (name, stream) = renderer::planned(&planned.objects);
        let written = home.write(name, stream.as_bytes());
        written.map_err(|source| {
            let program = self.asked.request.helm.renderer.0.clone();
            failed(release, HelmError::Run { program, source })
        })?;
        let (renderer, mut arguments) = self.asked.request.helm.renderer.clone();
        arguments.push(home.path("").into());
        Ok(UpgradeRun {
            release: release.clone(),
            chart: chart.map(|it| it.archive.clone()).unwrap_or_default(),
            values: planned.values.clone(),
            timeout: planned.timeout,
            renderer,
            arguments,
            take_ownership: self.asked.request.allowed.adopt.objects == Adopt::Allow,
            force_conflicts: self.asked.request.allowed.conflicts == Conflicts::Force,
            solution: id.name().clone(),
            description: format!("by solution: {id}"),
        })
    }
}

impl Ready<'_> {
    /// Takes the releases back that this change has brought or begun to bring, the last one first.
    pub(crate) async fn take_back_releases(
        &self,
        deployment: &Deployment,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let Some(helm) = &deployment.releases.helm else {
            return Ok(());
        };
        let hand = self.hand(helm, leased);
        let changed = deployment.releases.all.iter().rev();
        for planned in changed.filter(|it| it.changes()) {
            let release = &planned.recorded;
            let Some(back) = planned.back else {
                // One that others had begun is theirs, and may keep data.
                if planned.revision.is_none() || planned.step == Step::Change(Mend::Uninstall) {
                    hand.uninstall(release, leased).await?;
                }
                continue;
            };
            let (cluster, name) = (leased.cluster, &release.name);
            let standing = StandingRelease::read(cluster, &release.namespace, name).await?;
            if !standing.is_some_and(|it| it.is_back_at(back)) {
                check_definitions(&planned.before, deployment, cluster).await?;
                hand.roll_back(release, back, leased).await?;
            }
            let mut before = deployment.releases.before.iter();
            if let Some(before) = before.find(|it| it.is(&release.namespace, name)) {
                self.know_revision(before, leased).await?;
            }
        }
        Ok(())
    }

    /// Uninstalls the releases that this version does not have any more.
    pub(crate) async fn remove_releases(
        &self,
        deployment: &Deployment,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let Some(helm) = &deployment.releases.helm else {
            return Ok(());
        };
        let hand = self.hand(helm, leased);
        for release in &deployment.releases.going {
            hand.uninstall(release, leased).await?;
        }
        Ok(())
    }
}

/// Refuses to have Helm take these objects back if the definitions among them take something from objects.
async fn check_definitions(
    before: &[Object],
    deployment: &Deployment,
    cluster: &Cluster,
) -> Result<(), Error> {
    let Some(standing) = &deployment.standing else {
        return Ok(());
    };
    for definition in before.iter().filter(|it| is_definition(it.as_value())) {
        if let Some(live) = cluster.get(definition.reference()).await? {
            let (wanted, version) = (definition.as_value(), &standing.version);
            losses::check_replaced(cluster, &live, wanted, version).await?;
        }
    }
    Ok(())
}

/// What an upgrade is made of, as it goes to another thread.
struct UpgradeRun {
    release: RecordedRelease,
    chart: Vec<u8>,
    values: String,
    timeout: Duration,
    renderer: PathBuf,
    arguments: Vec<OsString>,
    take_ownership: bool,
    force_conflicts: bool,
    solution: SolutionName,
    description: String,
}

impl UpgradeRun {
    fn go(&self, helm: &Helm, access: &Access, cancel: Cancel<'_>) -> Result<(), HelmError> {
        let upgrade = Upgrade {
            release: of_helm(&self.release),
            chart: &self.chart,
            values: self.values.as_bytes(),
            timeout: self.timeout,
            renderer: Some(Renderer {
                program: &self.renderer,
                arguments: self.arguments.clone(),
            }),
            take_ownership: self.take_ownership,
            force_conflicts: self.force_conflicts,
            label: (v::RELEASE_OF, self.solution.as_str()),
            description: &self.description,
        };
        helm.upgrade(&upgrade, access, cancel)
    }
}

fn of_helm(release: &RecordedRelease) -> Release<'_> {
    Release {
        name: &release.name,
        namespace: &release.namespace,
    }
}

fn failed(release: &RecordedRelease, source: HelmError) -> Error {
    Error::Helm {
        release: release.to_string(),
        source,
    }
}

/// Waits for a run of Helm; and looks at these objects until it ends, for what keeps them, and for what they leave
/// behind when Helm takes them back. The Lease that is lost meanwhile ends it.
async fn watched(
    leased: &Leased<'_>,
    objects: &[ObjectRef],
    work: impl Future<Output = Result<(), HelmError>>,
) -> Result<(Result<(), HelmError>, Option<Unsettled>), Error> {
    let seen = Mutex::new(None);
    let told = Mutex::new(BTreeMap::new());
    let tell = |standing: Standing| {
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        let text = standing.to_string();
        if told.insert(standing.object.clone(), text.clone()) != Some(text) {
            (leased.tell)(Event::Standing(standing));
        }
    };
    let mut behind = Behind::watched(objects);
    let began = Instant::now();
    let look = async {
        loop {
            leased.lock.check()?;
            behind.look(leased).await;
            let there = existing(leased, objects).await;
            let settled = leased
                .cluster
                .wait_settled(&there, limits::RELEASE_LOOK, &tell)
                .await;
            if let Err(deployer::Error::Unsettled(mut found)) = settled
                && (found.cause().is_some() || found.has_failed())
            {
                // Not only since this look.
                found.after = began.elapsed();
                *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(*found);
            }
            sleep(limits::SERVED_POLL).await;
        }
    };
    let done = tokio::select! {
        done = work => done,
        lost = look => return lost,
    };
    let seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((done, seen))
}

/// Those of the objects that are there by now: hooks come and go.
async fn existing(leased: &Leased<'_>, objects: &[ObjectRef]) -> Vec<ObjectRef> {
    let wanted: Vec<&ObjectRef> = objects.iter().collect();
    // Whatever cannot be seen is left to Helm.
    let found = leased.cluster.get_all(&wanted).await.unwrap_or_default();
    let there = objects.iter().zip(found);
    there
        .filter_map(|(object, live)| live.map(|_| object.clone()))
        .collect()
}

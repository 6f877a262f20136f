//! The request of an administrator ([`Request`]). It contains every choice, and defaults are resolved before it is
//! created. [`Deadline`] limits the time that the change may take.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use helm::Helm;
use kubernetes::ConflictPolicy;
use planner::{AdoptionPolicy, RecreateRequest};
use registry::{Client, Credentials, RegistryAddress, Secret};
use schemars::JsonSchema;
use schemas::{
    ClusterName, EnvironmentName, KubernetesName, Namespace, PlacedVersion, SolutionId,
    StatementTime, WaveName,
};
use serde::{Deserialize, Serialize};
use store::{MissingImagePolicy, PlacementChoice, Record, ReplacePolicy};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use validator::AcceptedArchive;

use crate::limits;
use crate::model::blocker::Blocker;
use crate::model::layer::FleetChoices;
use crate::model::parameters::{AskedParameters, ParameterValues};
use crate::model::renderings::Renderings;
use crate::model::writer::{Authority, Verb, Writer};

/// A request to import, activate or deploy a version.
#[derive(Clone, Debug)]
pub struct Request {
    /// The registry to which images are pushed.
    pub registry: RegistryAddress,
    /// The registry from which nodes pull images: the same registry, possibly with another address. Without one, it is
    /// the address from which nodes pulled earlier images of the registry, or else the address for pushing.
    pub pull_registry: Option<RegistryAddress>,
    /// The choices about the repositories of the images.
    pub placement: PlacementChoice,
    /// The treatment of images that the archive does not have.
    pub missing: MissingImagePolicy,
    /// The goal of the request.
    pub goal: Goal,
    /// The exceptions that are allowed.
    pub allowed: Exceptions,
    /// The ids of accepted effects outside of the environment.
    pub accepted: BTreeSet<String>,
    /// The objects that are recreated if they cannot be changed in place.
    pub recreate: BTreeSet<RecreateRequest>,
    /// The versions that the same run deploys before this one, if plans are only shown. They count as ready and as
    /// deployed in their environments.
    pub before: BTreeSet<PlacedVersion>,
    /// The authority of the user. A namespace administrator deploys into the namespace and nothing else.
    pub authority: Authority,
    /// The command to record.
    pub verb: Verb,
    /// The part of a fleet's rollout that the change belongs to, for the record.
    pub fleet: FleetPart,
    /// The registries that come from the site configuration, since none were given.
    pub from_site: BTreeSet<LeftOpen>,
    /// The treatment of nodes that are not Ready.
    pub nodes: Nodes,
    /// The time limits of the change.
    pub limits: TimeLimits,
    /// Whether charts are installed by the `helm` program in the archive instead of the site's. It is the publisher's,
    /// and runs with the rights of the user who imports.
    pub use_included_helm: bool,
    /// The user, and the programs and files that their machine provides.
    pub context: RequestContext,
}

impl Request {
    /// Returns a request of a cluster administrator to import a version, without exceptions and without a part in a
    /// fleet. Images are pushed to the registry, and nodes pull from it.
    #[must_use]
    pub fn new(
        registry: RegistryAddress,
        goal: Goal,
        limits: TimeLimits,
        context: RequestContext,
    ) -> Self {
        Self {
            registry,
            pull_registry: None,
            placement: PlacementChoice::default(),
            missing: MissingImagePolicy::Push,
            goal,
            allowed: Exceptions::default(),
            accepted: BTreeSet::new(),
            recreate: BTreeSet::new(),
            before: BTreeSet::new(),
            authority: Authority::Cluster,
            verb: Verb::Import,
            fleet: FleetPart::default(),
            from_site: BTreeSet::new(),
            nodes: Nodes::AsTheyAre,
            limits,
            use_included_helm: false,
            context,
        }
    }
}

/// The user who makes a request, and the programs and files that their machine provides.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// The time to record.
    pub now: StatementTime,
    /// The writer to the cluster, by which other writers recognise this one.
    pub writer: Writer,
    /// The directory for unnamed temporary files while archives of older versions are read.
    pub scratch: PathBuf,
    /// The site's program that installs charts.
    pub helm: HelmProgram,
}

/// A part of a fleet's rollout.
#[derive(Clone, Debug, Default)]
pub struct FleetPart {
    /// The wave to which the cluster belongs.
    pub wave: Option<WaveName>,
    /// The revision of the fleet.
    pub revision: Option<StatementTime>,
    /// The name of the cluster in the fleet.
    pub cluster: Option<ClusterName>,
}

/// The time limits of a change to a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimits {
    /// The limit of each wait: for CRDs to be served, and for the operator to become ready.
    pub wait: Duration,
    /// The limit of the whole change, including charts; `None` if each part only has its own limit.
    pub total: Option<Duration>,
}

/// The treatment of nodes that are not Ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// Nodes are not awaited.
    AsTheyAre,
    /// Nodes are awaited for up to this time, before each step that needs them.
    Awaited(Duration),
}

/// The program that installs charts, and its configuration.
#[derive(Clone, Debug)]
pub struct HelmProgram {
    /// The path of the program; `None` if this machine has none.
    pub program: Option<PathBuf>,
    /// The command through which it pipes rendered manifests. The name of a directory is appended as an argument: see
    /// [`crate::postrender`].
    pub renderer: (PathBuf, Vec<OsString>),
    /// The limit on concurrent runs that change nothing. All plans that are created at the same time share it.
    pub turns: Arc<Semaphore>,
}

/// A choice that a request may leave open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LeftOpen {
    /// The registry to which images are pushed.
    Registry,
    /// The registry from which nodes pull images.
    PullRegistry,
    /// The namespace of the environment.
    Namespace,
    /// The registry credentials of nodes.
    PullSecret,
}

/// The goal of an import. Each goal includes the earlier ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Goal {
    /// The version is imported: it is recorded, and its images are in the registry. Running environments are not
    /// affected.
    Available,
    /// Its CRDs are active in the cluster.
    Activated,
    /// Its operator runs, with its CRDs or newer ones that serve the needed API versions.
    Deployed(Target),
}

/// The environment for a deployment. Choices that the request leaves open do not change in the environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Target {
    /// The environment.
    pub environment: EnvironmentName,
    /// The namespace. Without one, it is the only namespace of the environment, or that of its name if the environment
    /// is new.
    pub namespace: Option<Namespace>,
    /// The registry credentials of nodes.
    pub pull_login: PullLogin,
    /// The values of the Solution's parameters.
    #[serde(default, skip_serializing_if = "schemas::is_default")]
    pub parameters: Box<AskedParameters>,
    /// The choices of the planning fleet; `None` to keep the fleet choices of the environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Box<FleetChoices>>,
}

/// The registry credentials of nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PullLogin {
    /// The credentials of the running version.
    Keep,
    /// No credentials.
    None,
    /// A pull secret in the namespace.
    Secret(KubernetesName),
    /// A new pull secret with this login. The login is stored nowhere else.
    #[serde(skip)]
    Made(Login),
    /// A new pull secret with the login that this machine has for all environments. The Secret that the site
    /// configuration or the running version names has precedence.
    #[serde(skip)]
    Offered(Login),
}

/// A user name and password for a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The registry by the address that nodes use, without a path prefix.
    pub host: String,
    /// The user name.
    pub username: String,
    /// The password.
    pub password: Secret,
}

impl Login {
    /// Returns the login for nodes. Every pod of the namespace can read it, so it must not be the user who pushes.
    pub fn for_nodes(
        host: &str,
        found: Option<Credentials>,
        pushes: &Credentials,
    ) -> Result<Self, Blocker> {
        let host = host.to_owned();
        let Some(Credentials::Password { username, password }) = found else {
            return Err(Blocker::NoLogin { host });
        };
        match pushes {
            Credentials::Password { username: same, .. } if *same == username => {
                Err(Blocker::PushLogin { username })
            }
            _ => Ok(Self {
                host,
                username,
                password,
            }),
        }
    }
}

/// The exceptions that an administrator allows, each with a flag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Allowed")]
pub struct Exceptions {
    /// The adoption of objects that belong to no Solution.
    pub adopt: Adoption,
    /// Another archive of an imported version.
    pub replace: ReplacePolicy,
    /// An archive without a signature of the keys that signed earlier archives of the Solution.
    pub signers: ChangeSigners,
    /// An unsigned archive of a Solution whose earlier archives were signed.
    pub forget: ForgetSigners,
    /// An older version than the running one.
    pub downgrade: Downgrade,
    /// An environment that does not exist yet.
    pub create: CreateEnvironment,
    /// Fields of the Solution's objects that are owned by another field manager.
    pub conflicts: ConflictPolicy,
    /// CRDs that remove an API version in which objects may be stored.
    pub migrate: Migrate,
    /// A deployment without a test pull of its image.
    #[serde(default, skip_serializing_if = "schemas::is_default")]
    pub unproved: Unproved,
}

/// The adoption of objects that belong to no Solution, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adoption {
    /// The namespace.
    pub namespace: AdoptionPolicy,
    /// CRDs with the names of CRDs in the archive.
    pub crds: AdoptionPolicy,
    /// Objects with the names of objects in the archive.
    #[serde(default, skip_serializing_if = "schemas::is_default")]
    pub objects: AdoptionPolicy,
}

/// Whether an archive may be signed by other keys than earlier archives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChangeSigners {
    /// Only keys that signed an earlier archive are accepted.
    #[default]
    Refuse,
    /// Other keys are accepted.
    Allow,
}

/// Whether the recorded signers of a Solution are removed, so that an unsigned archive is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ForgetSigners {
    /// The recorded signers are kept.
    #[default]
    Refuse,
    /// The recorded signers are removed.
    Allow,
}

/// Whether an older version may replace a newer one in an environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Downgrade {
    /// A downgrade is refused.
    #[default]
    Refuse,
    /// A downgrade is allowed.
    Allow,
}

/// Whether a missing environment is created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CreateEnvironment {
    /// It is not created, so that a mistyped name does not create a namespace.
    #[default]
    Refuse,
    /// It is created.
    Allow,
}

/// Whether objects are rewritten, so that a CRD can remove the API version in which they were stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Migrate {
    /// Objects are not rewritten.
    #[default]
    Refuse,
    /// Objects are rewritten if a version is activated. A rollback to versions that need the removed API version is no longer possible.
    Allow,
}

/// Whether an operator is deployed without a test pull of its image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Unproved {
    /// It is not deployed: problems with the pull are reported before the deployment is changed.
    #[default]
    Refuse,
    /// It is deployed, for sites that do not allow a pod for the test pull.
    Allow,
}

/// The request and everything that does not depend on the cluster.
#[derive(Debug)]
pub(crate) struct PlanRequest<'a> {
    pub(crate) accepted: &'a AcceptedArchive,
    /// The registry with the archive's images; `None` if no registry is needed.
    pub(crate) client: Option<Client>,
    pub(crate) request: Request,
    pub(crate) id: SolutionId,
    pub(crate) record: Record,
    /// The time of planning.
    pub(crate) planned: SystemTime,
    /// A value for each parameter that may need a random one. Repeated planning uses the same values.
    pub(crate) generated: ParameterValues,
    /// A key for digests of secret values, if none is stored.
    pub(crate) digest_key: String,
    /// The renderings of charts. Repeated planning uses the same renderings.
    pub(crate) renderings: Renderings,
    /// The program that installs charts, after its version was checked.
    pub(crate) helm: OnceLock<Helm>,
    /// Set for an imagined cluster, which contains no objects.
    pub(crate) is_imagined: bool,
}

/// The time limits of a change: for each wait, and for the whole change if the request sets one.
#[derive(Debug)]
pub(crate) struct Deadline {
    limits: TimeLimits,
    began: Mutex<Instant>,
}

impl Deadline {
    pub(crate) fn new(limits: TimeLimits) -> Self {
        Self {
            limits,
            began: Mutex::new(Instant::now()),
        }
    }

    /// Starts the clock: before the first change to the cluster, and again before a rollback, which gets the full time.
    pub(crate) fn begin(&self) {
        *self.began.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns the time limit of the next wait.
    pub(crate) fn wait(&self) -> Duration {
        self.within(self.limits.wait)
    }

    /// Returns the time limit of a step whose own limit is `longest`.
    pub(crate) fn within(&self, longest: Duration) -> Duration {
        match self.left() {
            // An object that is ready already must be recognised even when the time is over.
            Some(left) => longest.min(left.max(limits::LEAST_WAIT)),
            None => longest,
        }
    }

    /// Returns the limit if it is exceeded.
    pub(crate) fn over(&self) -> Option<Duration> {
        self.limits
            .total
            .filter(|_| self.left() == Some(Duration::ZERO))
    }

    fn left(&self) -> Option<Duration> {
        let began = *self.began.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = self.limits.total?;
        Some(limit.saturating_sub(began.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_login_that_pushes_is_not_one_for_nodes() {
        let of = |name: &str| Credentials::Password {
            username: name.to_owned(),
            password: Secret::new("x".to_owned()),
        };
        let made = |found, pushes| Login::for_nodes("pull.test", found, &pushes);
        let login = made(Some(of("puller")), of("pusher")).unwrap();
        assert_eq!(
            (login.host.as_str(), login.username.as_str()),
            ("pull.test", "puller")
        );
        assert!(made(Some(of("puller")), Credentials::Anonymous).is_ok());
        let pushes = Blocker::PushLogin {
            username: "pusher".to_owned(),
        };
        assert_eq!(made(Some(of("pusher")), of("pusher")), Err(pushes));
        let none = Blocker::NoLogin {
            host: "pull.test".to_owned(),
        };
        let token = Credentials::IdentityToken(Secret::new("t".to_owned()));
        for found in [None, Some(token)] {
            assert_eq!(made(found, of("pusher")), Err(none.clone()));
        }
    }
}

#[cfg(test)]
mod deadline_tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn all_waits_of_a_change_end_at_its_limit_and_its_way_back_has_as_long() {
        let deadline = |total| {
            let wait = 60 * SECOND;
            Deadline::new(TimeLimits { wait, total })
        };
        let (none, minute) = (deadline(None), deadline(Some(60 * SECOND)));
        tokio::time::advance(50 * SECOND).await;
        assert_eq!(
            (none.wait(), none.within(300 * SECOND)),
            (60 * SECOND, 300 * SECOND)
        );
        assert_eq!(minute.wait(), 10 * SECOND);
        assert_eq!(minute.within(5 * SECOND), 5 * SECOND);
        assert_eq!(minute.over(), None);
        tokio::time::advance(10 * SECOND).await;
        assert_eq!((minute.wait(), minute.over()), (SECOND, Some(60 * SECOND)));
        assert_eq!(none.over(), None);
        minute.begin();
        assert_eq!((minute.wait(), minute.over()), (60 * SECOND, None));
    }
}

//! The request of an administrator, with every choice made.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use change::{Adopt, Recreate};
use deployer::Conflicts;
use helm::Helm;
use registry::{Client, Credentials, RegistryAddress, Secret};
use schemars::JsonSchema;
use schemas::{
    ClusterName, EnvironmentName, KubernetesName, Namespace, PlacedVersion, SolutionId,
    StatementTime, WaveName,
};
use serde::{Deserialize, Serialize};
use shelf::{Missing, PlacementChoice, Record, Replace};
use tokio::sync::Semaphore;
use validator::Accepted;

use crate::model::authority::Authority;
use crate::model::fleet::FleetChoices;
use crate::model::obstacle::Obstacle;
use crate::model::parameters::{AskedParameters, ParameterValues};
use crate::model::renderings::Renderings;
use crate::model::verb::Verb;
use crate::model::writer::Writer;

/// An import.
#[derive(Clone, Debug)]
pub struct Request {
    /// The registry that images are pushed to.
    pub registry: RegistryAddress,
    /// The registry that nodes pull images from: the same place, perhaps under another name. None for the name under
    /// which they pulled earlier images of that registry, else that of pushing.
    pub pull_registry: Option<RegistryAddress>,
    /// The choices about the repositories of the images.
    pub placement: PlacementChoice,
    /// The treatment of images that the archive does not have.
    pub missing: Missing,
    /// The goal of the request.
    pub goal: Goal,
    /// The exceptions that are allowed.
    pub allowed: Allowed,
    /// Ids of what was accepted that reaches beyond the environment.
    pub accepted: BTreeSet<String>,
    /// The objects that are removed and made anew where they cannot be changed in place.
    pub recreate: BTreeSet<Recreate>,
    /// The versions that the same run deploys before this one, where plans are only shown: they are taken for ready, and
    /// for deployed in their environments.
    pub before: BTreeSet<PlacedVersion>,
    /// The authority of whoever asks: an administrator of only a namespace deploys into it, and nothing else.
    pub authority: Authority,
    /// The verb that the request is recorded as.
    pub verb: Verb,
    /// The wave of a fleet that the cluster is changed in, for the record.
    pub wave: Option<WaveName>,
    /// The revision of the fleet that the change belongs to, for the record.
    pub fleet_revision: Option<StatementTime>,
    /// The name of the cluster in its fleet, for the record.
    pub fleet_cluster: Option<ClusterName>,
    /// The registries that come from the site's file, because nobody typed them.
    pub from_site: BTreeSet<LeftOpen>,
    /// The user and host that ask, for the record.
    pub by: String,
    /// The time to record.
    pub now: StatementTime,
    /// The writer at work on the cluster, for others who want to write at the same time.
    pub writer: Writer,
    /// Whether nodes are waited for that are not Ready.
    pub nodes: Nodes,
    /// The time that CRDs may take until they are served, and the operator until it is ready.
    pub wait: Duration,
    /// The time that the whole change to the cluster may take, charts included; none where each part has its own.
    pub limit: Option<Duration>,
    /// The directory for files without a name while archives of older versions are read.
    pub scratch: PathBuf,
    /// The program that charts are installed by.
    pub helm: HelmProgram,
    /// Whether that is the publisher's program instead.
    pub helm_from: HelmFrom,
}

/// The origin of the program that installs charts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HelmFrom {
    /// The site's own.
    #[default]
    Site,
    /// The one that the archive includes: it is the publisher's, and is run with the rights of whoever imports.
    Archive,
}

/// Whether nodes are waited for that are not Ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// Nodes are taken as they are.
    AsTheyAre,
    /// Nodes are awaited, for so long at each time, before whatever needs them.
    Awaited(Duration),
}

/// The program that installs charts, and what it is told.
#[derive(Clone, Debug)]
pub struct HelmProgram {
    /// The path of the program; none if this machine has none.
    pub program: Option<PathBuf>,
    /// The command that it pipes rendered manifests through, in front of the name of a directory: see
    /// [`crate::postrender`].
    pub renderer: (PathBuf, Vec<OsString>),
    /// The turns of runs that change nothing, which all plans that are made at the same time share.
    pub turns: Arc<Semaphore>,
}

/// A choice that a request may leave open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LeftOpen {
    /// The registry that images are pushed to.
    Registry,
    /// The registry that nodes pull images from.
    PullRegistry,
    /// The namespace of the environment.
    Namespace,
    /// The login of nodes to the registry.
    PullSecret,
}

/// The goal of an import. Each goal includes those before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Goal {
    /// The version is available: recorded, with its images at the registry. Nothing that runs is changed.
    Available,
    /// Its CRDs are those in the cluster.
    Activated,
    /// Its operator runs, with its CRDs or with newer ones that serve what it needs.
    Deployed(Target),
}

/// The environment that an operator runs in. Choices that are not made stay as they stand in the environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Target {
    /// The environment.
    pub environment: EnvironmentName,
    /// The namespace of it; none for the only one that it has, or that of its name when it is made.
    pub namespace: Option<Namespace>,
    /// The login of nodes to the registry.
    pub pull_login: PullLogin,
    /// The values of the Solution's parameters.
    #[serde(default, skip_serializing_if = "schemas::is_default")]
    pub parameters: Box<AskedParameters>,
    /// The choices of the fleet that plans; none for those that the environment has of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Box<FleetChoices>>,
}

/// The login of nodes to the registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PullLogin {
    /// The login that they use for the version that runs.
    Keep,
    /// No login.
    None,
    /// A Secret of the namespace.
    Secret(KubernetesName),
    /// A Secret that is made of this login, which is written nowhere else.
    #[serde(skip)]
    Made(Login),
    /// The same of the login that this machine has for all environments. The Secret that the site configuration or the
    /// running version names has precedence.
    #[serde(skip)]
    Offered(Login),
}

/// A user's name and password at a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The registry as nodes know it, without a prefix.
    pub host: String,
    /// The user's name.
    pub username: String,
    /// The password.
    pub password: Secret,
}

impl Login {
    /// The login that nodes get. Every pod of the namespace can read it, so that it must not be the one that pushes.
    pub fn for_nodes(
        host: &str,
        found: Option<Credentials>,
        pushes: &Credentials,
    ) -> Result<Self, Obstacle> {
        let host = host.to_owned();
        let Some(Credentials::Password { username, password }) = found else {
            return Err(Obstacle::NoLogin { host });
        };
        match pushes {
            Credentials::Password { username: same, .. } if *same == username => {
                Err(Obstacle::PushLogin { username })
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Allowed {
    /// The adoption of objects that belong to no Solution.
    pub adopt: Adoption,
    /// Another archive of an imported version.
    pub replace: Replace,
    /// An archive without a signature of the keys that signed earlier archives of the Solution.
    pub signers: ChangeSigners,
    /// An unsigned archive of a Solution whose earlier archives were signed.
    pub forget: ForgetSigners,
    /// An older version than the running one.
    pub downgrade: Downgrade,
    /// An environment that does not exist yet.
    pub create: CreateEnvironment,
    /// Fields of the Solution's objects that are owned by another field manager.
    pub conflicts: Conflicts,
    /// CRDs that remove an API version in which objects may be stored.
    pub migrate: Migrate,
    /// A deployment without a test pull of its image.
    #[serde(default, skip_serializing_if = "Unproved::is_refused")]
    pub unproved: Unproved,
}

impl Allowed {
    /// The permissions with no exception allowed.
    pub const NOTHING: Self = Self {
        adopt: Adoption {
            namespace: Adopt::Refuse,
            crds: Adopt::Refuse,
            objects: Adopt::Refuse,
        },
        replace: Replace::Refuse,
        signers: ChangeSigners::Refuse,
        forget: ForgetSigners::Refuse,
        downgrade: Downgrade::Refuse,
        create: CreateEnvironment::Refuse,
        conflicts: Conflicts::Refuse,
        migrate: Migrate::Refuse,
        unproved: Unproved::Refuse,
    };
}

/// The adoption of objects that belong to no Solution, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adoption {
    /// The namespace.
    pub namespace: Adopt,
    /// CRDs with the names of CRDs in the archive.
    pub crds: Adopt,
    /// Objects with the names of objects in the archive.
    #[serde(default = "refuse", skip_serializing_if = "is_refused")]
    pub objects: Adopt,
}

fn refuse() -> Adopt {
    Adopt::Refuse
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks in this way")]
fn is_refused(adopt: &Adopt) -> bool {
    *adopt == Adopt::Refuse
}

/// Whether an archive may be signed by other keys than earlier archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChangeSigners {
    /// Only keys that signed an earlier archive are accepted.
    Refuse,
    /// Other keys are accepted.
    Allow,
}

/// Whether the recorded signers of a Solution are removed, so that an unsigned archive is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ForgetSigners {
    /// The recorded signers are kept.
    Refuse,
    /// The recorded signers are removed.
    Allow,
}

/// Whether an older version may replace a newer one in an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Downgrade {
    /// A downgrade is refused.
    Refuse,
    /// A downgrade is allowed.
    Allow,
}

/// Whether a missing environment is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CreateEnvironment {
    /// It is not created, so that a mistyped name does not create a namespace.
    Refuse,
    /// It is created.
    Allow,
}

/// Whether objects are rewritten, so that a CRD can remove the API version in which they were stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Migrate {
    /// Objects are not rewritten.
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

impl Unproved {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks in this way")]
    fn is_refused(&self) -> bool {
        *self == Self::Refuse
    }
}

/// The request, with everything that does not depend on the cluster.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) accepted: &'a Accepted,
    /// The registry that has the archive's images; none where nothing is asked of one.
    pub(crate) client: Option<Client>,
    pub(crate) request: Request,
    pub(crate) id: SolutionId,
    pub(crate) record: Record,
    /// The time at which it was planned.
    pub(crate) planned: SystemTime,
    /// A value for each parameter that may have to be generated, the same however often it is decided.
    pub(crate) generated: ParameterValues,
    /// A key for digests of values that nobody may see, where none is kept.
    pub(crate) digest_key: String,
    /// The renderings of charts, kept in the same way.
    pub(crate) renderings: Renderings,
    /// The program that installs charts, once it has said its version.
    pub(crate) helm: OnceLock<Helm>,
    /// Whether the cluster is only imagined: nothing of anybody is in it.
    pub(crate) is_imagined: bool,
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
        let pushes = Obstacle::PushLogin {
            username: "pusher".to_owned(),
        };
        assert_eq!(made(Some(of("pusher")), of("pusher")), Err(pushes));
        let none = Obstacle::NoLogin {
            host: "pull.test".to_owned(),
        };
        let token = Credentials::IdentityToken(Secret::new("t".to_owned()));
        for found in [None, Some(token)] {
            assert_eq!(made(found, of("pusher")), Err(none.clone()));
        }
    }
}

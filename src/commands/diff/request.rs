//! What `solution diff` asks for.

use deployer::{Cluster, Conflicts};
use importer::{
    Adopt, Adoption, Allowed, Downgrade, Error, Goal, Obstacle, PullLogin, Request, Target,
};
use registry::RegistryAddress;
use schemas::{Namespace, SolutionId};
use shelf::Replace;
use validator::Accepted;

use super::arguments::{Arguments, Meant};
use crate::args::{ChangeArguments, Output};
use crate::commands::import;
use crate::failure::Failure;

/// What is compared with the environment: of an archive, one that is accepted.
pub(super) type Compared<'a> = Meant<'a, Box<Accepted>>;

/// What is compared; nothing where an archive is not accepted, which was said.
pub(super) fn compared(
    arguments: &Arguments,
    output: Output,
) -> Result<Option<Compared<'_>>, Failure> {
    let path = match arguments.meant()? {
        Meant::Deployed => return Ok(Some(Compared::Deployed)),
        Meant::Imported(name, version) => return Ok(Some(Compared::Imported(name, version))),
        Meant::Archive(path) => path,
    };
    let follows = "nothing was compared";
    let accepted = import::accept(path, &arguments.signers, follows, output)?;
    Ok(accepted.map(|it| Compared::Archive(Box::new(it.accepted))))
}

/// The registry that has an archive's images.
pub(super) struct ComparedRegistries {
    pub(super) registry: RegistryAddress,
    /// The same as nodes know it, if that is known.
    pub(super) pull_registry: Option<RegistryAddress>,
}

/// Where an archive's images would be pushed: as it was said, else where the same version was, else the newest one of the
/// Solution.
pub(super) async fn registries(
    arguments: &Arguments,
    cluster: &Cluster,
    id: &SolutionId,
) -> Result<ComparedRegistries, Failure> {
    if let Some(registry) = &arguments.registry {
        return Ok(ComparedRegistries {
            registry: registry.clone(),
            pull_registry: None,
        });
    }
    let record = match importer::imported_or_newest(cluster, id).await {
        Err(Error::Refused(obstacle @ Obstacle::NothingImported { .. })) => {
            let hint = "say with `--registry` where it would be pushed";
            return Err(Failure::unknown(obstacle).hint(hint));
        }
        found => found?,
    };
    Ok(ComparedRegistries {
        registry: record.registry()?,
        pull_registry: Some(record.pull_registry()?),
    })
}

/// The request of one who wants to know and not to do.
pub(super) fn request(
    arguments: &Arguments,
    namespace: Option<Namespace>,
    registries: ComparedRegistries,
) -> Result<Request, Failure> {
    let goal = Goal::Deployed(Target {
        environment: arguments.environment.clone(),
        namespace,
        pull_login: PullLogin::Keep,
        parameters: Box::new(arguments.parameters.asked()?),
    });
    let nobody = ChangeArguments::default();
    Ok(Request {
        allowed: allowed(arguments),
        ..import::of_goal(
            goal,
            &registries.registry,
            registries.pull_registry,
            &nobody,
        )?
    })
}

/// Whatever an administrator may allow is no reason not to show what it would come to; but whose archive it is.
fn allowed(arguments: &Arguments) -> Allowed {
    Allowed {
        adopt: Adoption {
            namespace: Adopt::Allow,
            crds: Adopt::Allow,
            objects: Adopt::Allow,
        },
        replace: Replace::Allow,
        downgrade: Downgrade::Allow,
        conflicts: Conflicts::Force,
        ..arguments.signers.allowed()
    }
}

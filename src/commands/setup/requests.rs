//! The requests with which `solution setup` checks answers.

use std::path::Path;

use registry::{Client, ClientOptions, Credentials, Refusal, RegistryAddress};
use shelf::{Preflight, RegistryObstacle};

use crate::args::{ClusterArguments, RegistryArguments};
use crate::commands::import::login;
use crate::failure::Failure;
use crate::{cluster, registries, render};

/// Connects to the cluster.
pub(super) fn cluster(arguments: &ClusterArguments) -> Result<String, Failure> {
    let cluster = cluster::block_on(cluster::connect(arguments))?;
    let context = cluster.context().map(|context| format!("{context} at "));
    let (server, version) = (cluster.server(), &cluster.version().text);
    let context = context.unwrap_or_default();
    Ok(format!("{context}{server} (Kubernetes {version})"))
}

/// Requests the registry's API.
pub(super) fn ping(
    address: &RegistryAddress,
    reach: &RegistryArguments,
    credentials: Credentials,
) -> Result<(), Failure> {
    let client = client(address, reach, credentials)?;
    cluster::block_on(async { Ok(client.ping().await?) })
}

/// Tests whether a login may push. Other obstacles are only shown, since another login does not remove them.
pub(super) fn pushes(
    address: &RegistryAddress,
    reach: &RegistryArguments,
    credentials: Credentials,
) -> Result<(), Failure> {
    let client = client(address, reach, credentials)?;
    let found = cluster::block_on(async { Ok(Preflight::make(&client, None).await?) })?;
    for obstacle in found.obstacles {
        let is_denied = matches!(
            obstacle,
            RegistryObstacle::PushRefused {
                why: Refusal::Denied,
                ..
            }
        );
        let failure = Failure::from(shelf::Error::Refused(obstacle));
        if is_denied {
            return Err(failure);
        }
        failure.lines().for_each(render::note);
    }
    Ok(())
}

fn client(
    address: &RegistryAddress,
    reach: &RegistryArguments,
    credentials: Credentials,
) -> Result<Client, Failure> {
    let options = ClientOptions {
        credentials,
        ..registries::reached(reach, address)?
    };
    Ok(Client::new(address, options)?)
}

/// Tests the login for nodes in a file. The registry is asked under the name that this machine knows.
pub(super) fn of_nodes(
    path: &Path,
    registry: &RegistryAddress,
    pulled: &RegistryAddress,
    reach: &RegistryArguments,
) -> Result<String, Failure> {
    let found = login::read(path, pulled)?;
    let pushes = registries::login(registry)?;
    let login = login::for_nodes(path, found.clone(), &pushes, pulled)?;
    ping(registry, reach, found.unwrap_or(Credentials::Anonymous))?;
    Ok(login.username)
}

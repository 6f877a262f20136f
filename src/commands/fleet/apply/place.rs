//! The cluster that a deployment goes to, and the registry that has its images.

use std::str::FromStr as _;

use importer::{HeldSite, NamedRegistry, PushDestination};
use registry::{AddressError, CertificateAuthority, Client, RegistryAddress};
use schemas::FleetCluster;

use super::super::member::Member;
use crate::args::RegistryArguments;
use crate::commands::import::ImageRegistry;
use crate::failure::Failure;
use crate::registries;

/// The cluster that is deployed to.
pub(in crate::commands::fleet) struct DeploymentPlace<'a> {
    /// Its place in the file.
    pub(in crate::commands::fleet) at: usize,
    pub(in crate::commands::fleet) member: &'a FleetCluster,
    pub(in crate::commands::fleet) reached: &'a Member,
    /// What the site keeps for all environments.
    pub(in crate::commands::fleet) site: &'a HeldSite,
}

impl DeploymentPlace<'_> {
    /// Where images go, as the fleet's file has it, else the site's.
    pub(super) fn destination(&self) -> Result<PushDestination, Failure> {
        let named = self.member.registry.as_deref();
        let named = named.map(ImageRegistry::from_str).transpose();
        let named = named.map_err(|error| unusable("registry", error))?;
        let named =
            named.map(|ImageRegistry { address, missing }| NamedRegistry { address, missing });
        let pull_registry = self.member.pull_registry.as_deref();
        let pull_registry = pull_registry.map(str::parse).transpose();
        let pull_registry = pull_registry.map_err(|error| unusable("pullRegistry", error))?;
        PushDestination::of(named, pull_registry, self.site).ok_or_else(|| {
            let none = "it has no registry, neither in the fleet's file nor in its site configuration";
            Failure::usage(none)
                .hint("add `registry` next to its name in the fleet's file, or to its site configuration with `solution site set`")
        })
    }
}

/// The client of a cluster's registry, with the authority of the fleet's file, else of the site's, if no other is named.
pub(in crate::commands::fleet) fn client(
    member: &FleetCluster,
    site: &HeldSite,
    registry: &RegistryAddress,
    reach: &RegistryArguments,
) -> Result<Client, Failure> {
    let options = registries::options_with(reach, || match &member.certificate_authority {
        Some(pem) => {
            let name = &member.name;
            let origin = format!("`certificateAuthority` of cluster {name} in the fleet's file");
            CertificateAuthority::new(origin, pem.clone().into_bytes()).map(Some)
        }
        None => site.certificate_authority(),
    })?;
    registries::client(registry, reach, options)
}

fn unusable(field: &str, error: AddressError) -> Failure {
    let context = format!("cannot use its `{field}`");
    Failure::no(error).context(context)
}

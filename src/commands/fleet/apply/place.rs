//! The cluster that a deployment goes to, and the registry that has its images.

use std::str::FromStr as _;

use importer::{HeldSite, NamedRegistry, PushDestination};
use registry::{AddressError, Client, RegistryAddress};
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
            let none = "it has no registry, neither in the fleet's file nor in its site's file";
            Failure::usage(none)
                .hint("add `registry` beside its name, or `registry` with `solution site set`")
        })
    }

    /// The registry's client, with the authority of the fleet's file, else of the site's, if no other is named.
    pub(super) fn client(
        &self,
        registry: &RegistryAddress,
        reach: &RegistryArguments,
    ) -> Result<Client, Failure> {
        let mut options = registries::options(reach)?;
        if options.ca.is_empty() {
            let own = self.member.certificate_authority.as_deref();
            let authority = own.or(self.site.certificate_authority());
            let authority = authority.map(|pem| pem.as_bytes().to_vec());
            options.ca.extend(authority);
        }
        registries::client(registry, reach, options)
    }
}

fn unusable(field: &str, error: AddressError) -> Failure {
    let context = format!("cannot use its `{field}`");
    Failure::no(error).context(context)
}

//! The validated content of a site file or of a fleet's choices: one layer of the configuration of an environment.
//! Parsing validates all of it, so a later step cannot fail because of an invalid layer.

use manifests::{CheckedPatch, PatchError};
use registry::{AddressError, RegistryAddress};
use schemas::{SiteError, SiteRule, SiteSpec, SolutionName, SolutionPattern};

/// The reason why a document is not a valid site file or choice of a fleet.
#[derive(Debug, thiserror::Error)]
pub enum SiteFileError {
    /// The document is invalid.
    #[error(transparent)]
    Document(#[from] SiteError),
    /// The address of a registry is invalid.
    #[error("cannot use `{field}`")]
    Address {
        /// The field that names the registry.
        field: &'static str,
        /// The error in the address.
        source: AddressError,
    },
    /// A file for one environment sets a field of the default file.
    #[error("`{0}` applies to all environments and belongs in the default file")]
    DefaultOnly(&'static str),
    /// A patch is invalid.
    #[error("cannot use {of}")]
    Patch {
        /// The patch, as messages call it.
        of: String,
        /// The error in the patch.
        source: Box<PatchError>,
    },
    /// The text is not PEM, or is something other than certificates.
    #[error("`certificateAuthority` contains no certificate")]
    NoCertificate,
}

/// The content of a site file or of a fleet's choices.
#[derive(Clone, Debug)]
pub(crate) struct SiteLayer {
    /// The name of the file or the fleet in messages.
    pub(crate) name: String,
    pub(crate) spec: SiteSpec,
    pub(crate) registry: Option<RegistryAddress>,
    pub(crate) pull_registry: Option<RegistryAddress>,
}

impl SiteLayer {
    /// Returns a layer for all environments.
    pub(crate) fn new(name: String, spec: SiteSpec) -> Result<Self, SiteFileError> {
        let address = |field, address: &Option<String>| {
            let wrong = |source| SiteFileError::Address { field, source };
            let parsed = address.as_ref().map(|text| text.parse()).transpose();
            parsed.map_err(wrong)
        };
        let registry = address("registry", &spec.registry)?;
        let pull_registry = address("pullRegistry", &spec.pull_registry)?;
        for (solution, patches) in &spec.patches {
            for (index, patch) in patches.iter().enumerate() {
                let wrong = |source| SiteFileError::Patch {
                    of: format!("patch {} for {solution}", index + 1),
                    source: Box::new(source),
                };
                CheckedPatch::new(patch).map_err(wrong)?;
            }
        }
        let authority = spec.certificate_authority.as_deref();
        if authority.is_some_and(|pem| !pem.contains("-----BEGIN CERTIFICATE-----")) {
            return Err(SiteFileError::NoCertificate);
        }
        Ok(Self {
            name,
            spec,
            registry,
            pull_registry,
        })
    }

    /// Returns a layer that does not apply to all environments. Fields of the default file are an error.
    pub(crate) fn of_environment(name: String, spec: SiteSpec) -> Result<Self, SiteFileError> {
        let layer = Self::new(name, spec)?;
        let of_all = [
            ("registry", layer.spec.registry.is_some()),
            ("pullRegistry", layer.spec.pull_registry.is_some()),
            (
                "certificateAuthority",
                layer.spec.certificate_authority.is_some(),
            ),
        ];
        match of_all.into_iter().find(|(_, chosen)| *chosen) {
            Some((field, _)) => Err(SiteFileError::DefaultOnly(field)),
            None => Ok(layer),
        }
    }

    /// Returns the entries for a part or a workload other than the operator, each with its name in messages.
    pub(crate) fn naming_any(&self) -> impl Iterator<Item = (String, &SiteRule)> {
        let rules = self.spec.workloads.iter();
        let is_named = |rule: &&SiteRule| rule.part.is_some() || rule.workload.is_some();
        let named = rules.filter(move |rule| is_named(rule) && !rule.is_the_operators());
        named.map(|rule| (self.sourced(rule), rule))
    }

    /// Returns the entries for a part or a workload of a single Solution, each with the Solution and its name in
    /// messages.
    pub(crate) fn naming(&self) -> impl Iterator<Item = (&SolutionName, String, &SiteRule)> {
        self.naming_any().filter_map(|(from, rule)| {
            let SolutionPattern::Name(only) = &rule.solutions else {
                return None;
            };
            Some((only, from, rule))
        })
    }

    /// Returns a note for each of these entries that sets fields for all workloads that only apply to operators.
    pub(crate) fn operators_alone(&self, is_meant: impl Fn(&SiteRule) -> bool) -> Vec<String> {
        let rules = self.spec.workloads.iter().filter(|rule| is_meant(rule));
        rules.filter_map(|rule| self.of_operators(rule)).collect()
    }

    fn of_operators(&self, rule: &SiteRule) -> Option<String> {
        let fields = rule.set.of_one_workload();
        if rule.part.is_some() || rule.is_the_operators() || fields.is_empty() {
            return None;
        }
        let (fields, from) = (fields.join(", "), self.sourced(rule));
        let whom = match &rule.workload {
            Some(_) => "no workload without `part`",
            None => "operators only",
        };
        Some(format!(
            "{fields} apply to {whom} ({from}): for another workload, set `part`, `workload` and, except for replicas, `container`"
        ))
    }

    /// Returns the name of an entry in messages.
    pub(crate) fn sourced(&self, rule: &SiteRule) -> String {
        format!("{}, entry for {}", self.name, rule.scope())
    }
}

//! What a site's file or a fleet chooses, checked: one layer of what holds for an environment. Only a checked one is a
//! layer, so that nothing in it stops a plan half-way.

use manifests::{CheckedPatch, PatchError};
use registry::{AddressError, RegistryAddress};
use schemas::{SiteError, SiteRule, SiteSpec, SolutionName, SolutionPattern};

/// The reason why something cannot be a site's file, or what a fleet chooses.
#[derive(Debug, thiserror::Error)]
pub enum SiteFileError {
    /// It is none.
    #[error(transparent)]
    Document(#[from] SiteError),
    /// A registry.
    #[error("cannot use `{field}`")]
    Address {
        /// The field that names the registry.
        field: &'static str,
        /// The error in the address.
        source: AddressError,
    },
    /// An environment has one of its own.
    #[error("`{0}` applies to all environments and belongs in the default file")]
    DefaultOnly(&'static str),
    /// A patch.
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

/// The choices of one of the site's files, or of a fleet.
#[derive(Clone, Debug)]
pub(crate) struct SiteLayer {
    /// The name in messages of whoever chooses.
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

    /// Returns a layer for less than all environments, which has nothing that is for all of them.
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

    /// Returns the entries that name a part or a workload other than the operator, each with its name in messages.
    pub(crate) fn naming_any(&self) -> impl Iterator<Item = (String, &SiteRule)> {
        let rules = self.spec.workloads.iter();
        let is_named = |it: &&SiteRule| it.part.is_some() || it.workload.is_some();
        let named = rules.filter(move |it| is_named(it) && !it.is_the_operators());
        named.map(|rule| (self.sourced(rule), rule))
    }

    /// Returns the entries for one Solution that name a part or a workload, each with the Solution and its name in messages.
    pub(crate) fn naming(&self) -> impl Iterator<Item = (&SolutionName, String, &SiteRule)> {
        self.naming_any().filter_map(|(from, rule)| {
            let SolutionPattern::Name(only) = &rule.solutions else {
                return None;
            };
            Some((only, from, rule))
        })
    }

    /// Says of each of these entries that chooses for all workloads what only makes sense for one that operators alone get
    /// it.
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

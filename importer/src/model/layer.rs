//! One layer of the configuration of an environment: the validated content of a site file ([`SiteLayer`]), or the
//! choices of a fleet for a Solution ([`FleetChoices`]). Parsing validates all of it, so a later step cannot fail
//! because of an invalid layer.
//!
//! The choices of a fleet are a layer above the site files and are stored with the deployment. They are validated again
//! whenever they are read.

use std::collections::BTreeMap;

use manifests::{CheckedPatch, PatchError};
use registry::{AddressError, RegistryAddress};
use schemas::{
    Digest, KubernetesName, SiteError, SiteRule, SiteSpec, SolutionName, SolutionPattern,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::model::parameters::ParameterValues;

/// The reason why a document is not a valid site file or choice of a fleet.
#[derive(Debug, thiserror::Error)]
pub enum SiteFileError {
    /// The document is invalid.
    #[error(transparent)]
    Document(#[from] SiteError),
    /// The address of a registry is invalid.
    #[error("cannot use `{0}`")]
    Address(&'static str, #[source] AddressError),
    /// A file for one environment sets a field of the default file.
    #[error("`{0}` applies to all environments and belongs in the default file")]
    DefaultOnly(&'static str),
    /// A patch is invalid.
    #[error("cannot use {0}")]
    Patch(String, #[source] Box<PatchError>),
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
            let wrong = |source| SiteFileError::Address(field, source);
            let parsed = address.as_ref().map(|text| text.parse()).transpose();
            parsed.map_err(wrong)
        };
        let registry = address("registry", &spec.registry)?;
        let pull_registry = address("pullRegistry", &spec.pull_registry)?;
        for (solution, patches) in &spec.patches {
            for (index, patch) in patches.iter().enumerate() {
                let wrong = |source| {
                    SiteFileError::Patch(
                        format!("patch {} for {solution}", index + 1),
                        Box::new(source),
                    )
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

/// The choices of a fleet for a Solution in an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FleetChoices {
    fleet: KubernetesName,
    site: SiteSpec,
}

impl FleetChoices {
    /// Returns the choices of a fleet. Content that is invalid in an environment's site file is an error.
    pub fn new(fleet: KubernetesName, site: SiteSpec) -> Result<Self, SiteFileError> {
        let choices = Self { fleet, site };
        choices.layer()?;
        Ok(choices)
    }

    /// Returns the fleet's name.
    #[must_use]
    pub fn fleet(&self) -> &KubernetesName {
        &self.fleet
    }

    /// Returns the digest of the values as JSON with sorted keys. The values contain no secrets.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::new(Sha256::digest(json!(self.site).to_string()).into())
    }

    /// Returns the name of the fleet in messages.
    pub(crate) fn name(&self) -> String {
        format!("the fleet {}", self.fleet)
    }

    /// Returns the choices as a layer of the environment's configuration.
    pub(crate) fn layer(&self) -> Result<SiteLayer, SiteFileError> {
        self.site.check()?;
        SiteLayer::of_environment(self.name(), self.site.clone())
    }

    /// Returns the values of a Solution's parameters.
    pub(crate) fn parameters(&self, solution: &SolutionName) -> Option<&ParameterValues> {
        self.site.parameters.get(solution)
    }

    /// Returns the pull secret for the registry.
    pub(crate) fn pull_secret(&self) -> Option<&KubernetesName> {
        self.site.pull_secret.as_ref()
    }

    /// Returns the choices that name this Solution.
    pub(crate) fn said_of(&self, solution: &SolutionName) -> Self {
        fn only<T: Clone>(
            all: &BTreeMap<SolutionName, T>,
            solution: &SolutionName,
        ) -> BTreeMap<SolutionName, T> {
            let own = all.get_key_value(solution).into_iter();
            own.map(|(name, value)| (name.clone(), value.clone()))
                .collect()
        }
        let site = SiteSpec {
            parameters: only(&self.site.parameters, solution),
            charts: only(&self.site.charts, solution),
            patches: only(&self.site.patches, solution),
            ..SiteSpec::default()
        };
        let fleet = self.fleet.clone();
        Self { fleet, site }
    }

    /// Returns the size of the choices as JSON, in bytes.
    pub(crate) fn size(&self) -> usize {
        let text = serde_json::to_string(&self.site);
        text.expect("choices have a JSON form").len()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Returns the choices of the fleet `shops`.
    pub(crate) fn choices(site: &str) -> FleetChoices {
        new(site).unwrap()
    }

    fn new(site: &str) -> Result<FleetChoices, SiteFileError> {
        let site = schemas::yaml::from_slice(site.as_bytes()).unwrap();
        FleetChoices::new("shops".parse().unwrap(), site)
    }

    /// Returns the same choices without validation, as a record may contain them.
    pub(crate) fn recorded(site: &Value) -> FleetChoices {
        serde_json::from_value(json!({ "fleet": "shops", "site": site })).unwrap()
    }

    #[test]
    fn a_fleet_chooses_what_an_environments_file_may() {
        let pem = "'-----BEGIN CERTIFICATE-----'";
        for (site, words) in [
            (
                "{registry: r.test}",
                "`registry` applies to all environments",
            ),
            (
                "{pullRegistry: r.test}",
                "`pullRegistry` applies to all environments",
            ),
            (
                &format!("{{certificateAuthority: {pem}}}"),
                "`certificateAuthority` applies to all environments",
            ),
            (
                "{patches: {shop: [{target: {kind: Job}}]}}",
                "cannot use patch 1 for shop",
            ),
            (
                "{workloads: [{set: {env: {POD_NAME: x}}}]}",
                "the entry for * sets the variable `POD_NAME`",
            ),
        ] {
            let refused = new(site).unwrap_err().to_string();
            assert!(refused.starts_with(words), "{site}: {refused}");
        }
        assert!(new("{pullSecret: a, parameters: {shop: {size: 1}}}").is_ok());
    }

    #[test]
    fn what_is_recorded_is_read_strictly() {
        let choices = choices("{parameters: {shop: {size: 1}}}");
        let mut value = json!(choices);
        let expected =
            json!({ "fleet": "shops", "site": { "parameters": { "shop": { "size": 1 } } } });
        assert_eq!(value, expected);
        assert_eq!(
            serde_json::from_value::<FleetChoices>(value.clone()).unwrap(),
            choices
        );
        value["more"] = json!(1);
        assert!(serde_json::from_value::<FleetChoices>(value).is_err());
    }

    #[test]
    fn what_is_said_of_a_solution_is_what_names_it() {
        let choices = choices(
            "{pullSecret: a, workloads: [{set: {labels: {a: b}}}],
              parameters: {shop: {size: 1}, cart: {size: 2}},
              charts: {cart: {db: {values: {a: 1}}}}}",
        );
        let expected = json!({ "parameters": { "shop": { "size": 1 } } });
        assert_eq!(
            json!(choices.said_of(&"shop".parse().unwrap()).site),
            expected
        );
    }
}

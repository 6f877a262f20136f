//! The choices of a fleet for a Solution in an environment ([`FleetChoices`]). They are a layer above the site files
//! and are stored with the deployment. They are validated again whenever they are read.

use std::collections::BTreeMap;

use schemas::{Digest, KubernetesName, SiteSpec, SolutionName};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::model::layer::{SiteFileError, SiteLayer};
use crate::model::parameters::ParameterValues;

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

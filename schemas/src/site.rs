//! The configuration of a site, kind `Site`: its registry, and settings of workloads, parameters, charts and patches.
//! [`Site::from_slice`] parses a file. The default file applies to all environments, and the file of an environment
//! takes precedence. Unknown fields are errors.

mod charts;
mod choices;
mod names;
mod reach;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::charts::{ChartChoices, ValuesKind, ValuesSource, merge_values};
pub use self::choices::{
    Affinity, Choices, Proxy, Resources, TaintEffect, Toleration, TolerationOperator,
};
pub use self::names::{LabelName, LabelValue, VariableName};
pub use self::reach::{PartName, ReachedRule, WorkloadKind};
use crate::manifest::{ManifestError, check_kind};
use crate::{
    API_VERSION, KubernetesName, ParameterName, Patch, ReleaseName, SolutionName, SolutionPattern,
    limits, yaml,
};

/// The configuration of a site (`site.yaml`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Site {
    /// Always the project's API group and version.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Always `Site`.
    #[schemars(extend("const" = "Site"))]
    pub kind: String,
    /// The settings.
    #[serde(default)]
    pub spec: SiteSpec,
}

/// The settings of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SiteSpec {
    /// The registry that images are pushed to, `HOST[:PORT][/PREFIX]`. Only in the default file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry: Option<String>,
    /// The registry that nodes pull from, if they use a different address. Only in the default file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_registry: Option<String>,
    /// The certificate authority (PEM) that signed the registry's certificate. Only in the default file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_authority: Option<String>,
    /// The Secret with which nodes log in to the registry. It must exist in each namespace of the environments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_secret: Option<KubernetesName>,
    /// Settings of workloads: operators, sets of manifests and charts. If multiple entries set a field of a workload,
    /// the most specific entry takes precedence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::SITE_RULES))]
    pub workloads: Vec<SiteRule>,
    /// The parameters of Solutions, by Solution name. Sensitive parameters cannot be set here, because others can read
    /// it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<SolutionName, BTreeMap<ParameterName, Value>>,
    /// The values of charts, by Solution name and release name. They override the publisher's values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub charts: BTreeMap<SolutionName, BTreeMap<ReleaseName, ChartChoices>>,
    /// Patches of the objects in sets of manifests, by Solution name, applied in this order. Targets use the names at
    /// this site.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub patches: BTreeMap<SolutionName, Vec<Patch>>,
}

/// Settings of some workloads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SiteRule {
    /// The Solutions. An exact name takes precedence over a prefix, a longer prefix over a shorter one, and `*` comes
    /// last.
    #[serde(default = "all")]
    pub solutions: SolutionPattern,
    /// The part: the name of a set or of a chart's release, or `operator`. Default: all parts, but `replicas`,
    /// `resources` and `env` then apply to the operator only. An entry with a part takes precedence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<KubernetesName>,
    /// The kind of the workload, if two workloads have the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<WorkloadKind>,
    /// The name of the workload. Without a part, `operator` is the operator's workload. Default: all workloads. An
    /// entry with a workload takes precedence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<KubernetesName>,
    /// The container that `resources` and `env` apply to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<KubernetesName>,
    /// The settings.
    pub set: Choices,
}

fn all() -> SolutionPattern {
    SolutionPattern::All
}

/// The labels that the import sets on every workload.
const OWN_LABELS: [&str; 2] = ["app", "heritage"];
const OWN_PREFIXES: [&str; 5] = [
    "app.kubernetes.io/",
    "deployment.kubernetes.io/",
    "helm.sh/",
    "meta.helm.sh/",
    "solutions.metalk8s.scality.com/",
];
const OWN_VARIABLES: [&str; 4] = [
    "WATCH_NAMESPACE",
    "POD_NAME",
    "POD_NAMESPACE",
    "OPERATOR_NAME",
];
/// The prefix of variables with an image's address.
const IMAGE_VARIABLES: &str = "RELATED_IMAGE_";
/// The variables that `proxy` sets.
const PROXY_VARIABLES: [&str; 3] = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];

/// The error of bytes that are not a valid site configuration.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The file is larger than [`limits::SITE_SIZE`].
    #[error("has {0} bytes; at most {max} are read", max = limits::SITE_SIZE)]
    Size(usize),
    /// The bytes are not a document of this kind.
    #[error(transparent)]
    Document(#[from] ManifestError),
    /// The file has more entries than [`limits::SITE_RULES`].
    #[error("has {0} entries in `workloads`; at most {max} are read", max = limits::SITE_RULES)]
    Rules(usize),
    /// The file has more patches than [`limits::SITE_PATCHES`].
    #[error("has {0} patches; at most {max} are read", max = limits::SITE_PATCHES)]
    Patches(usize),
    /// A release has values from more objects than [`limits::VALUES_SOURCES`].
    #[error("has {0} entries in one `valuesFrom`; at most {max} are read", max = limits::VALUES_SOURCES)]
    ValuesSources(usize),
    /// Two entries have the same workloads.
    #[error("two entries in `workloads` are for {0}")]
    Twice(String),
    /// An entry lacks a field that another field requires.
    #[error("{of} has `{field}`, which needs `{needs}`")]
    Needs {
        /// The entry.
        of: String,
        /// The present field.
        field: &'static str,
        /// The missing field.
        needs: &'static str,
    },
    /// An entry sets a label, annotation or variable that the import sets.
    #[error("{of} sets {what}, which the import sets itself")]
    Own {
        /// The entry.
        of: String,
        /// The label, annotation or variable.
        what: String,
    },
}

impl SiteRule {
    fn check(&self) -> Result<(), SiteError> {
        if let Some([field, needs]) = self.lacking() {
            let of = format!("the entry for {}", self.scope());
            return Err(SiteError::Needs { of, field, needs });
        }
        let own = |what: String| {
            let of = format!("the entry for {}", self.scope());
            Err(SiteError::Own { of, what })
        };
        let Choices {
            labels,
            annotations,
            env,
            ..
        } = &self.set;
        let is_own = |name: &&LabelName| {
            let name = name.as_str();
            OWN_LABELS.contains(&name) || OWN_PREFIXES.iter().any(|own| name.starts_with(own))
        };
        if let Some(name) = labels.keys().chain(annotations.keys()).find(is_own) {
            return own(format!("`{name}`"));
        }
        let is_own = |name: &&VariableName| {
            let name = name.as_str();
            OWN_VARIABLES.contains(&name) || name.starts_with(IMAGE_VARIABLES)
        };
        if let Some(name) = env.keys().find(is_own) {
            return own(format!("the variable `{name}`"));
        }
        let is_proxy = |name: &&VariableName| {
            PROXY_VARIABLES.contains(&name.as_str().to_ascii_uppercase().as_str())
        };
        match env.keys().find(is_proxy) {
            Some(name) => own(format!("the variable `{name}` (from `proxy`)")),
            None => Ok(()),
        }
    }
}

impl Site {
    /// Parses a site configuration.
    ///
    /// # Errors
    ///
    /// Fails if the file is too large or not a document of this kind, and as [`SiteSpec::check`] does.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, SiteError> {
        if bytes.len() as u64 > limits::SITE_SIZE {
            return Err(SiteError::Size(bytes.len()));
        }
        let site: Self = yaml::from_slice(bytes).map_err(ManifestError::from)?;
        check_kind(&site.api_version, &site.kind, "Site")?;
        site.spec.check()?;
        Ok(site)
    }
}

impl SiteSpec {
    /// Checks the limits, and that entries contradict neither each other nor the import.
    ///
    /// # Errors
    ///
    /// Returns the first violation.
    pub fn check(&self) -> Result<(), SiteError> {
        let rules = &self.workloads;
        if rules.len() > limits::SITE_RULES {
            return Err(SiteError::Rules(rules.len()));
        }
        let patches = self.patches.values().map(Vec::len).sum();
        if patches > limits::SITE_PATCHES {
            return Err(SiteError::Patches(patches));
        }
        let releases = self.charts.values().flat_map(BTreeMap::values);
        let most = releases.map(|release| release.values_from.len()).max();
        if let Some(sources) = most.filter(|most| *most > limits::VALUES_SOURCES) {
            return Err(SiteError::ValuesSources(sources));
        }
        let mut scopes = BTreeSet::new();
        for rule in rules {
            if !scopes.insert(rule.scope()) {
                return Err(SiteError::Twice(rule.scope()));
            }
            rule.check()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(spec: &str) -> Result<Site, SiteError> {
        let text = format!("apiVersion: {API_VERSION}\nkind: Site\nspec: {spec}");
        Site::from_slice(text.as_bytes())
    }

    #[test]
    fn what_the_import_sets_itself_cannot_be_chosen() {
        for (set, words) in [
            ("env: {WATCH_NAMESPACE: all}", "WATCH_NAMESPACE"),
            ("env: {RELATED_IMAGE_WEB: x}", "RELATED_IMAGE_WEB"),
            ("env: {https_proxy: x}", "from `proxy`"),
            ("labels: {app: x}", "`app`"),
            ("labels: {app.kubernetes.io/version: '2'}", "version"),
            (
                "annotations: {solutions.metalk8s.scality.com/config-hash: x}",
                "config-hash",
            ),
            ("annotations: {helm.sh/hook: x}", "helm.sh/hook"),
            ("image: x", "image"),
            ("command: [x]", "command"),
            ("securityContext: {privileged: true}", "privileged"),
            ("replicas: 0", "zero"),
        ] {
            let refused = site(&format!("{{workloads: [{{set: {{{set}}}}}]}}")).unwrap_err();
            assert!(refused.to_string().contains(words), "{set}: {refused}");
        }
        let weaker = "{workloads: [{set: {securityContext: {runAsUser: 0}}}]}";
        assert!(site(weaker).is_err());
    }

    #[test]
    fn two_entries_for_the_same_workloads_are_refused() {
        let twice = "{workloads: [{set: {}}, {solutions: '*', set: {}}]}";
        let refused = site(twice).unwrap_err();
        assert_eq!(refused.to_string(), "two entries in `workloads` are for *");
    }

    #[test]
    fn a_file_is_bounded() {
        let entries = |count: usize| {
            let entry = |number| format!("{{solutions: s{number}, set: {{}}}}");
            let entries: Vec<String> = (0..count).map(entry).collect();
            site(&format!("{{workloads: [{}]}}", entries.join(", ")))
        };
        assert!(entries(limits::SITE_RULES).is_ok());
        let refused = entries(limits::SITE_RULES + 1).unwrap_err();
        assert!(matches!(refused, SiteError::Rules(_)), "{refused}");
        let patches = |shop: usize, cart: usize| {
            let patches = |count| vec!["{target: {kind: Job}, merge: {}}"; count].join(", ");
            let (shop, cart) = (patches(shop), patches(cart));
            site(&format!("{{patches: {{shop: [{shop}], cart: [{cart}]}}}}"))
        };
        assert!(patches(limits::SITE_PATCHES - 1, 1).is_ok());
        let refused = patches(limits::SITE_PATCHES, 1).unwrap_err();
        assert!(matches!(refused, SiteError::Patches(257)), "{refused}");
        let large = vec![b'#'; usize::try_from(limits::SITE_SIZE).unwrap() + 1];
        assert!(matches!(Site::from_slice(&large), Err(SiteError::Size(_))));
    }
}

//! The configuration of an environment ([`HeldSite`]): the site files, and a fleet's choices above them. Each layer is
//! validated already, and this file combines the layers by their precedence.

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::Object;
use manifests::CheckedPatch;
use registry::{AuthorityError, CertificateAuthority, RegistryAddress};
use schemas::{
    ChartChoices, KubernetesName, PartName, Patch, ReachedRule, ReleaseName, SiteRule,
    SolutionName, SolutionPattern, SolutionSpec, by_path, choose,
};
use serde_json::{Value, json};

use crate::model::error::Error;
use crate::model::layer::{FleetChoices, SiteLayer};
use crate::model::parameters::ParameterValues;
use crate::records::site::part::{PartChoices, SourcedRule, counting};
use crate::records::site::{SiteFile, SitePatch, SiteValue, kept, text, unusable};

/// The configuration of an environment as layers, lowest precedence first: the site files, then the choices of a fleet
/// for one Solution.
#[derive(Clone, Debug, Default)]
pub struct HeldSite(Vec<SiteLayer>);

impl HeldSite {
    /// Returns notes about entries that only apply to the operator of a Solution that has other parts too.
    pub(crate) fn operators_alone(
        &self,
        solution: &SolutionName,
        spec: &SolutionSpec,
    ) -> Vec<String> {
        let layers = self.0.iter().filter(|_| spec.carries());
        let of_layer =
            |layer: &SiteLayer| layer.operators_alone(|rule| rule.solutions.matches(solution));
        layers.flat_map(of_layer).collect()
    }

    /// Returns the entries for a part or a workload of this Solution only, each with its name in messages.
    pub(crate) fn naming<'a>(
        &'a self,
        solution: &'a SolutionName,
    ) -> impl Iterator<Item = (String, &'a SiteRule)> {
        let all = self.0.iter().flat_map(SiteLayer::naming);
        let own = all.filter(move |(only, ..)| *only == solution);
        own.map(|(_, from, rule)| (from, rule))
    }

    /// Returns the entries for a part or a workload that apply to this Solution, including those that apply to further
    /// Solutions, each with its name in messages.
    pub(crate) fn naming_any<'a>(
        &'a self,
        solution: &'a SolutionName,
    ) -> impl Iterator<Item = (String, &'a SiteRule)> {
        let all = self.0.iter().flat_map(SiteLayer::naming_any);
        all.filter(move |(_, rule)| rule.solutions.matches(solution))
    }

    /// Returns the configuration of these files, the default one first.
    pub(crate) fn new(files: Vec<SiteFile>) -> Self {
        Self(files.into_iter().map(|file| file.layer).collect())
    }

    /// Returns the configuration with the choices of a fleet above it. Stored choices may be damaged, which is an
    /// error.
    pub(crate) fn under(mut self, fleet: Option<&FleetChoices>) -> Result<Self, Error> {
        if let Some(fleet) = fleet {
            let layer = fleet
                .layer()
                .map_err(|source| unusable(fleet.name(), source))?;
            self.0.push(layer);
        }
        Ok(self)
    }

    /// Returns the names in messages of the entries for the operator of this Solution only.
    pub(crate) fn of_operator(&self, solution: &SolutionName) -> impl Iterator<Item = String> {
        let of_file = move |layer: &SiteLayer| {
            let rules = layer.spec.workloads.iter();
            let own = rules.filter(|rule| {
                let is_own =
                    matches!(&rule.solutions, SolutionPattern::Name(only) if only == solution);
                is_own && rule.is_the_operators()
            });
            own.map(|rule| layer.sourced(rule)).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_file)
    }

    /// Returns the configuration in the ConfigMap of the default file.
    pub(crate) fn of_default(object: &Object) -> Result<Self, Error> {
        Ok(Self::new(vec![kept(text(object), None)?]))
    }

    /// Returns the registry to which images are pushed.
    #[must_use]
    pub fn registry(&self) -> Option<&RegistryAddress> {
        self.0.iter().find_map(|layer| layer.registry.as_ref())
    }

    /// Returns the registry from which nodes pull images, if they use another address.
    #[must_use]
    pub fn pull_registry(&self) -> Option<&RegistryAddress> {
        self.0.iter().find_map(|layer| layer.pull_registry.as_ref())
    }

    /// Returns the certificate authority of the registry. Invalid certificates are an error.
    pub fn certificate_authority(&self) -> Result<Option<CertificateAuthority>, AuthorityError> {
        let mut files = self.0.iter();
        let found = files.find_map(|layer| {
            let pem = layer.spec.certificate_authority.as_ref()?;
            let origin = format!("`certificateAuthority` of {}", layer.name);
            Some(CertificateAuthority::new(origin, pem.clone().into_bytes()))
        });
        found.transpose()
    }

    /// Returns the pull secret for the registry.
    pub(crate) fn pull_secret(&self) -> Option<&KubernetesName> {
        let mut files = self.0.iter().rev();
        files.find_map(|layer| layer.spec.pull_secret.as_ref())
    }

    /// Returns the values of a Solution's parameters by layer, lowest precedence first, each with its name in messages.
    pub(crate) fn parameters(&self, solution: &SolutionName) -> Vec<(String, ParameterValues)> {
        let layers = self.0.iter().filter_map(|layer| {
            let values = layer.spec.parameters.get(solution)?;
            Some((layer.name.clone(), values.clone()))
        });
        layers.collect()
    }

    /// Returns the choices for a release by layer, lowest precedence first.
    pub(crate) fn layers_of_chart<'a>(
        &'a self,
        solution: &'a SolutionName,
        release: &'a ReleaseName,
    ) -> impl Iterator<Item = (&'a SiteLayer, &'a ChartChoices)> {
        self.0.iter().filter_map(|layer| {
            let choices = layer.spec.charts.get(solution)?.get(release)?;
            Some((layer, choices))
        })
    }

    /// Returns the choices for a release one by one: the sources of values, and the effective values.
    fn settings_of_chart(&self, solution: &SolutionName, release: &ReleaseName) -> Vec<SiteValue> {
        let under = format!("charts.{solution}.{release}");
        let (mut sources, mut values) = (Vec::new(), BTreeMap::new());
        for (layer, choices) in self.layers_of_chart(solution, release) {
            sources.extend(choices.values_from.iter().map(|source| SiteValue {
                field: format!("{under}.valuesFrom"),
                value: json!(source),
                from: layer.name.clone(),
            }));
            for (path, value) in by_path(&choices.values) {
                let value = SiteValue {
                    field: format!("{under}.{path}"),
                    value,
                    from: layer.name.clone(),
                };
                choose(&mut values, path, value, |chosen| &chosen.value);
            }
        }
        sources.into_iter().chain(values.into_values()).collect()
    }

    /// Returns a note for each release with values in the files that the version does not have.
    pub(crate) fn unknown_releases(
        &self,
        solution: &SolutionName,
        spec: &SolutionSpec,
    ) -> Vec<String> {
        let is_known = |name: &ReleaseName| spec.charts.iter().any(|chart| chart.name == *name);
        let of_file = |layer: &SiteLayer| {
            let releases = layer.spec.charts.get(solution).into_iter().flatten();
            let unknown = releases.filter(|(name, _)| !is_known(name));
            let note = |(name, _): (&ReleaseName, _)| {
                let from = layer.name.clone();
                format!("unused values ({from}): this version has no release `{name}`")
            };
            unknown.map(note).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_file).collect()
    }

    /// Returns the patches for a Solution's objects in the order in which they are applied.
    pub(crate) fn patches(&self, solution: &SolutionName) -> Vec<SitePatch> {
        let of_file = |layer: &SiteLayer| {
            let patches = layer.spec.patches.get(solution).into_iter().flatten();
            let named = |(index, patch): (usize, &Patch)| SitePatch {
                from: format!(
                    "patch {} for {solution} of {}",
                    index + 1,
                    layer.name.clone()
                ),
                said: patch.clone(),
                patch: CheckedPatch::new(patch).expect("a layer is checked with its patches"),
            };
            patches.enumerate().map(named).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_file).collect()
    }

    /// Returns the choices for workloads of a part.
    pub(crate) fn reaching(&self, solution: &SolutionName, part: PartName<'_>) -> PartChoices {
        let of_file = |layer: &SiteLayer| {
            let rules = layer.spec.reaching(solution, part).into_iter();
            let sourced = |(rule, reached): (&SiteRule, ReachedRule)| SourcedRule {
                from: layer.sourced(rule),
                rule: reached,
            };
            rules.map(sourced).collect::<Vec<_>>()
        };
        PartChoices {
            is_operator: part == PartName::Operator,
            rules: self.0.iter().flat_map(of_file).collect(),
        }
    }

    /// Returns the choices for the operator's own container and its pods, each value with its source.
    pub(crate) fn operator_values(
        &self,
        solution: &SolutionName,
        deployment: &str,
    ) -> Vec<SiteValue> {
        let choices = self.reaching(solution, PartName::Operator);
        counting(choices.of("Deployment", deployment))
    }

    /// Returns the settings that apply to all Solutions, each value with its source. The certificate authority is only
    /// mentioned.
    #[must_use]
    pub fn settings(&self) -> Vec<SiteValue> {
        let mut values = Vec::new();
        let mut add = |field: &str, value: Option<String>, from: String| {
            let field = field.to_owned();
            let value = value.map(Value::from);
            values.extend(value.map(|value| SiteValue { field, value, from }));
        };
        for layer in &self.0 {
            let spec = &layer.spec;
            let authority = spec.certificate_authority.as_ref();
            add("registry", spec.registry.clone(), layer.name.clone());
            add(
                "pullRegistry",
                spec.pull_registry.clone(),
                layer.name.clone(),
            );
            let given = authority.map(|_| "(a certificate)".to_owned());
            add("certificateAuthority", given, layer.name.clone());
        }
        let mut files = self.0.iter().rev();
        if let Some(layer) = files.find(|layer| layer.spec.pull_secret.is_some()) {
            let secret = layer.spec.pull_secret.as_ref().map(ToString::to_string);
            add("pullSecret", secret, layer.name.clone());
        }
        values.extend(self.all_parameters());
        values.extend(self.all_charts());
        values.extend(self.all_patches());
        values
    }

    /// Returns all patches in the order in which they are applied.
    fn all_patches(&self) -> Vec<SiteValue> {
        let mut values = Vec::new();
        for layer in &self.0 {
            for (solution, patches) in &layer.spec.patches {
                values.extend(patches.iter().enumerate().map(|(index, patch)| SiteValue {
                    field: format!("patches.{solution}.{}", index + 1),
                    value: json!(patch),
                    from: layer.name.clone(),
                }));
            }
        }
        values
    }

    /// Returns the effective values of all releases.
    fn all_charts(&self) -> Vec<SiteValue> {
        let files = self.0.iter();
        let of_file = |layer: &'_ SiteLayer| {
            let solutions = layer.spec.charts.iter();
            let named = |(solution, releases): (&SolutionName, &BTreeMap<ReleaseName, _>)| {
                let releases: Vec<ReleaseName> = releases.keys().cloned().collect();
                let solution = solution.clone();
                releases
                    .into_iter()
                    .map(move |release| (solution.clone(), release))
            };
            solutions.flat_map(named).collect::<Vec<_>>()
        };
        let all: BTreeSet<(SolutionName, ReleaseName)> = files.flat_map(of_file).collect();
        let values = all.iter();
        let values =
            values.flat_map(|(solution, release)| self.settings_of_chart(solution, release));
        values.collect()
    }

    /// Returns the effective values of all parameters.
    fn all_parameters(&self) -> Vec<SiteValue> {
        let mut counting = BTreeMap::new();
        for layer in &self.0 {
            for (solution, values) in &layer.spec.parameters {
                for (name, value) in values {
                    let field = format!("parameters.{solution}.{name}");
                    counting.insert(field, (value.clone(), layer.name.clone()));
                }
            }
        }
        let value = |(field, (value, from))| SiteValue { field, value, from };
        counting.into_iter().map(value).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::layer::SiteFileError;
    use crate::model::layer::tests::{choices, recorded};
    use crate::records::site::{KEY, SiteTexts, operators_alone};

    const HEAD: &str = "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: Site\nspec: ";

    fn file(spec: &str, environment: Option<&str>) -> Result<SiteFile, SiteFileError> {
        let environment = environment.map(|name| name.parse().unwrap());
        SiteFile::read(format!("{HEAD}{spec}"), environment)
    }

    /// Returns the default file and that of an environment.
    pub(crate) fn held(default: &str, prod: &str) -> HeldSite {
        let files = [
            file(default, None).unwrap(),
            file(prod, Some("prod")).unwrap(),
        ];
        let objects = files.map(|file| Object::new(file.to_object()).unwrap());
        let texts = SiteTexts::from_objects(&objects);
        texts.held(Some(&"prod".parse().unwrap())).unwrap()
    }

    #[test]
    fn the_closest_entry_of_the_environments_own_file_counts() {
        let held = held(
            "{pullSecret: a, workloads: [
               {set: {replicas: 1, labels: {team: all, zone: z}}},
               {solutions: shop, set: {replicas: 2}},
               {solutions: shop, workload: operator, set: {priorityClassName: high}}]}",
            "{pullSecret: b, workloads: [{set: {replicas: 3, labels: {team: prod}}}]}",
        );
        let shop = "shop".parse().unwrap();
        let choices = |solution| {
            held.reaching(solution, PartName::Operator)
                .of_operator("a-operator")
        };
        assert_eq!(choices(&shop).replicas.unwrap().get(), 3);
        let seen: Vec<(String, String)> = held
            .operator_values(&shop, "shop-operator")
            .into_iter()
            .map(|setting| (format!("{}={}", setting.field, setting.value), setting.from))
            .collect();
        let expected = [
            (
                "labels.team=\"prod\"",
                "the site's file of prod, entry for *",
            ),
            ("labels.zone=\"z\"", "the site's file, entry for *"),
            (
                "priorityClassName=\"high\"",
                "the site's file, entry for shop operator",
            ),
            ("replicas=3", "the site's file of prod, entry for *"),
        ];
        let expected = expected.map(|(value, from)| (value.to_owned(), from.to_owned()));
        assert_eq!(seen, expected);
        assert_eq!(held.pull_secret().unwrap().as_str(), "b");
        let other = "other".parse().unwrap();
        assert_eq!(choices(&other).priority_class_name, None);
    }

    #[test]
    fn what_holds_for_workloads_of_a_part_is_shown_by_the_names_of_entries() {
        let held = held(
            "{workloads: [
               {set: {labels: {team: all}, tolerations: []}},
               {solutions: shop, part: db, workload: web, set: {replicas: 2, labels: {team: web}}},
               {solutions: shop, part: db, workload: web, container: c, set: {env: {A: b}}},
               {solutions: shop, part: db, workload: web, kind: Job, set: {priorityClassName: low}},
               {solutions: shop, part: cart, set: {priorityClassName: high}}]}",
            "{workloads: [{set: {labels: {team: prod}}}, {solutions: shop, part: db, workload: web, set: {replicas: 3}}]}",
        );
        let choices = held.reaching(&"shop".parse().unwrap(), PartName::Carried("db"));
        let shown = choices.named().into_iter().map(|named| {
            let values = choices
                .values(&named)
                .into_iter()
                .map(|setting| format!("{}={}", setting.field, setting.value));
            let values: Vec<String> = values.collect();
            let text = |text: Option<String>| text.unwrap_or_else(|| "*".to_owned());
            format!(
                "{} {} {}: {}",
                text(named.kind.map(|kind| kind.to_string())),
                text(named.workload.map(|name| name.to_string())),
                text(named.container.map(|name| name.to_string())),
                values.join(" ")
            )
        });
        let shown: Vec<String> = shown.collect();
        // An environment's file takes precedence over the default one, however specific its entries are.
        let expected = [
            "* * *: labels.team=\"prod\" tolerations=[]",
            "* web *: labels.team=\"prod\" replicas=3 tolerations=[]",
            "* web c: env.A=\"b\" labels.team=\"prod\" replicas=3 tolerations=[]",
            "Job web *: labels.team=\"prod\" priorityClassName=\"low\" replicas=3 tolerations=[]",
        ];
        assert_eq!(shown, expected);
        let web = &choices.named()[1];
        let from = choices.values(web).remove(1).from;
        assert_eq!(
            from,
            "the site's file of prod, entry for shop db, workload web"
        );
    }

    #[test]
    fn a_fleet_counts_before_the_environments_file_and_that_before_the_default_one() {
        let of = |size: u8, name: &str| {
            format!(
                "{{pullSecret: {name}, parameters: {{shop: {{size: {size}, {name}: 1}}}},
                  charts: {{shop: {{db: {{values: {{size: {size}}}}}}}}},
                  patches: {{shop: [{{target: {{kind: Job}}, merge: {{}}}}]}},
                  workloads: [{{set: {{replicas: {size}}}}}]}}"
            )
        };
        let fleet = choices(&of(3, "c"));
        let held = held(&of(1, "a"), &of(2, "b"));
        let held = held.under(Some(&fleet)).unwrap();
        let (shop, db) = ("shop".parse().unwrap(), "db".parse().unwrap());
        let names = [
            "the site's file",
            "the site's file of prod",
            "the fleet shops",
        ];
        let parameters = held.parameters(&shop).into_iter();
        let parameters: Vec<(String, Value)> = parameters
            .map(|(from, values)| (from, values[&"size".parse().unwrap()].clone()))
            .collect();
        let expected: Vec<(String, Value)> = names
            .iter()
            .zip([1, 2, 3])
            .map(|(name, size)| ((*name).to_owned(), json!(size)))
            .collect();
        assert_eq!(parameters, expected);
        let charts = held.layers_of_chart(&shop, &db);
        let charts: Vec<&str> = charts.map(|(layer, _)| layer.name.as_str()).collect();
        assert_eq!(charts, names);
        let patches: Vec<String> = held
            .patches(&shop)
            .into_iter()
            .map(|patch| patch.from)
            .collect();
        assert_eq!(
            patches,
            names.map(|name| format!("patch 1 for shop of {name}"))
        );
        assert_eq!(held.pull_secret().unwrap().as_str(), "c");
        let replicas = held.operator_values(&shop, "shop-operator").remove(0);
        assert_eq!(replicas.value, json!(3));
        assert_eq!(replicas.from, "the fleet shops, entry for *");
        let secret = held.settings().remove(0);
        assert_eq!(
            (secret.value, secret.from),
            (json!("c"), names[2].to_owned())
        );
    }

    #[test]
    fn a_recorded_layer_with_a_patch_that_could_never_be_applied_is_an_error() {
        for site in [
            json!({ "patches": { "shop": [{ "target": { "name": "(" }, "patch": {} }] } }),
            json!({ "registry": "r.test" }),
            json!({ "workloads": [{ "set": {} }, { "set": {} }] }),
        ] {
            let fleet = recorded(&site);
            let error = HeldSite::default().under(Some(&fleet)).unwrap_err();
            assert_eq!(error.to_string(), "cannot use the fleet shops", "{site}");
        }
    }

    #[test]
    fn a_site_whose_authority_cannot_be_used_is_named() {
        let site = |pem: &str| held(&format!("{{certificateAuthority: '{pem}'}}"), "{}");
        let broken = site("-----BEGIN CERTIFICATE----- AAAA");
        assert_eq!(
            broken.certificate_authority().unwrap_err().to_string(),
            "`certificateAuthority` of the site's file holds no certificate (PEM) that can be used"
        );
        assert_eq!(held("{}", "{}").certificate_authority(), Ok(None));
    }

    #[test]
    fn an_environments_file_has_no_registry_of_its_own() {
        for field in ["registry: r.test", "pullRegistry: r.test"] {
            assert!(file(&format!("{{{field}}}"), None).is_ok());
            let refused = file(&format!("{{{field}}}"), Some("prod")).unwrap_err();
            assert!(refused.to_string().contains("default file"), "{refused}");
        }
        let wrong = file("{registry: 'https://r.test'}", None).unwrap_err();
        assert_eq!(wrong.to_string(), "cannot use `registry`");
        let wrong = file("{certificateAuthority: x}", None).unwrap_err();
        assert!(wrong.to_string().contains("contains no certificate"));
    }

    #[test]
    fn parameters_and_patches_are_those_of_the_solution_and_say_where_they_stand() {
        let held = held(
            "{parameters: {shop: {size: 1, host: a}, other: {size: 9}},
              patches: {shop: [{target: {kind: Service}, merge: {spec: {}}}]}}",
            "{parameters: {shop: {size: 2}}, patches: {shop: [{target: {kind: Job}, json: []}]}}",
        );
        let shop = "shop".parse().unwrap();
        let parameters = held.parameters(&shop);
        let names: Vec<&str> = parameters.iter().map(|(from, _)| from.as_str()).collect();
        assert_eq!(names, ["the site's file", "the site's file of prod"]);
        assert_eq!(json!(parameters[0].1), json!({ "size": 1, "host": "a" }));
        let patches = held.patches(&shop);
        let names: Vec<&str> = patches.iter().map(|patch| patch.from.as_str()).collect();
        let expected = [
            "patch 1 for shop of the site's file",
            "patch 1 for shop of the site's file of prod",
        ];
        assert_eq!(names, expected);
        let seen: Vec<String> = held
            .settings()
            .into_iter()
            .map(|setting| setting.field)
            .collect();
        let expected = [
            "parameters.other.size",
            "parameters.shop.host",
            "parameters.shop.size",
            "patches.shop.1",
            "patches.shop.1",
        ];
        assert_eq!(seen, expected);
        assert_eq!(held.settings()[2].from, "the site's file of prod");
    }

    #[test]
    fn values_of_charts_count_together_and_say_where_they_stand() {
        let held = held(
            "{charts: {shop: {db: {values: {size: 1Gi, auth: {user: a, hosts: [x]}, tls: true}}}}}",
            "{charts: {shop: {db: {values: {size: 9Gi, auth: {hosts: []}, tls: {key: k}}}, old: {values: {}}}}}",
        );
        let (shop, db) = ("shop".parse().unwrap(), "db".parse().unwrap());
        assert_eq!(held.layers_of_chart(&shop, &db).count(), 2);
        let seen = held.settings().into_iter();
        let seen: Vec<(String, String)> =
            seen.map(|setting| (setting.field, setting.from)).collect();
        let (all, prod) = ("the site's file", "the site's file of prod");
        let expected = [
            ("charts.shop.db.auth.hosts", prod),
            ("charts.shop.db.auth.user", all),
            ("charts.shop.db.size", prod),
            ("charts.shop.db.tls.key", prod),
        ];
        let expected = expected.map(|(field, from)| (field.to_owned(), from.to_owned()));
        assert_eq!(seen, expected);
        let other = "other".parse().unwrap();
        assert_eq!(held.layers_of_chart(&other, &db).count(), 0);
        let spec = json!({"version": "1.0.0", "images": [],
            "charts": [{"name": "db", "chart": "db", "version": "1.0.0"}]});
        let spec = serde_json::from_value(spec).unwrap();
        let note = "unused values (the site's file of prod): this version has no release `old`";
        assert_eq!(held.unknown_releases(&shop, &spec), [note]);
    }

    #[test]
    fn a_patch_that_could_never_be_applied_is_refused_with_its_place() {
        for patch in [
            "{target: {kind: Job}}",
            "{target: {kind: Job}, json: {a: b}}",
            "{target: {name: '('}, patch: {}}",
        ] {
            let good = "{target: {kind: Job}, merge: {}}";
            let refused = file(&format!("{{patches: {{shop: [{good}, {patch}]}}}}"), None);
            let words = "cannot use patch 2 for shop";
            assert_eq!(refused.unwrap_err().to_string(), words, "{patch}");
        }
    }

    #[test]
    fn a_damaged_file_is_an_error_where_it_counts_only() {
        let mut damaged = file("{}", Some("prod")).unwrap().to_object();
        damaged["data"][KEY] = json!("{");
        let texts = SiteTexts::from_objects(&[Object::new(damaged).unwrap()]);
        let environment = |name: &str| name.parse().unwrap();
        assert!(texts.held(Some(&environment("test"))).is_ok());
        let error = texts.held(Some(&environment("prod"))).unwrap_err();
        assert_eq!(error.to_string(), "cannot use the site's file of prod");
    }

    #[test]
    fn what_makes_sense_for_one_workload_is_said_to_reach_operators_alone() {
        let spec = |carries: bool| -> SolutionSpec {
            let chart = json!([{"name": "db", "chart": "db", "version": "1.0.0"}]);
            let charts = if carries { chart } else { json!([]) };
            let spec = json!({"version": "1.0.0", "images": [], "charts": charts});
            serde_json::from_value(spec).unwrap()
        };
        let told = |rules: &str, carries| {
            let file = file(&format!("{{workloads: [{rules}]}}"), None).unwrap();
            let held = HeldSite::new(vec![file.clone()]);
            let of_solution = held.operators_alone(&"shop".parse().unwrap(), &spec(carries));
            (of_solution, operators_alone(&file))
        };
        let (of_solution, of_file) = told("{set: {replicas: 3, labels: {a: b}}}", true);
        assert_eq!(of_solution, of_file);
        let words = "replicas apply to operators only (the site's file, entry for *)";
        assert!(of_file[0].starts_with(words), "{of_file:?}");
        assert_eq!(told("{set: {replicas: 3}}", false).0, [""; 0]);
        assert_eq!(
            told("{solutions: cart, set: {replicas: 3}}", true).0,
            [""; 0]
        );
        let (_, unnamed) = told("{workload: web, set: {env: {A: b}}}", true);
        assert!(
            unnamed[0].starts_with("env apply to no workload without `part`"),
            "{unnamed:?}"
        );
        for rules in [
            "",
            "{set: {labels: {a: b}}}",
            "{workload: operator, set: {replicas: 3}}",
            "{part: operator, set: {replicas: 3}}",
            "{part: db, workload: db, set: {replicas: 3}}",
        ] {
            assert_eq!(told(rules, true), (Vec::new(), Vec::new()), "{rules}");
        }
    }
}

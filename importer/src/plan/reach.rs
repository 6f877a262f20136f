//! The reach of a site's configuration for workloads: the values that apply in a deployment ([`values`]), and the
//! entries and fields without effect ([`unreached`]).

use std::collections::BTreeSet;
use std::fmt;

use deployer::Object;
use schemas::{KubernetesName, PartName, SecurityContext, SiteRule, SolutionName, named, nearest};
use serde_json::Value;
use validator::{Accepted, CarriedSet};

use crate::model::site::{HeldSite, PartChoices, SiteValue};
use crate::plan::choices::{containers, is_scaled, reached};
use crate::plan::deployment::Deployment;
use crate::plan::operator::operator_name;

/// The maximum edit distance between an unknown name and a suggestion.
const NEAR: usize = 2;

/// The objects of one part.
pub(crate) struct PartObjects<'a> {
    pub(crate) name: &'a str,
    pub(crate) objects: Vec<&'a Value>,
}

/// Returns the parts of a deployment without its operator.
fn parts(deployment: &Deployment) -> Vec<PartObjects<'_>> {
    let mut parts: Vec<PartObjects<'_>> = Vec::new();
    for (part, object) in deployment.change.of_parts() {
        let object = object.as_value();
        match parts.iter_mut().find(|known| known.name == part.as_str()) {
            Some(known) => known.objects.push(object),
            None => parts.push(PartObjects {
                name: part.as_str(),
                objects: vec![object],
            }),
        }
    }
    let releases = deployment.releases.all.iter().map(|release| PartObjects {
        name: release.recorded.name.as_str(),
        objects: release.objects.iter().map(Object::as_value).collect(),
    });
    parts.extend(releases);
    parts
}

/// Returns the site's values for workloads of the deployment, each once with its source.
pub(crate) fn values(deployment: &Deployment) -> Vec<SiteValue> {
    let solution = &deployment.solution;
    let mut values = match deployment.operator() {
        Some(_) => {
            let operator = operator_name(solution.as_str());
            deployment.site.operator_values(solution, &operator)
        }
        None => Vec::new(),
    };
    for part in parts(deployment) {
        let chosen = PartName::Carried(part.name);
        let chosen = deployment.site.reaching(solution, chosen);
        for value in of_part(&chosen, &part.objects) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
    values
}

fn of_part(chosen: &PartChoices, objects: &[&Value]) -> Vec<SiteValue> {
    let all = objects.iter();
    all.flat_map(|object| reached(chosen, object)).collect()
}

/// Returns notes on entries for this Solution that name parts it does not have, on entries that only operators use, and
/// on fields without effect. Sets that are not installed here count as parts.
pub(crate) fn unreached(deployment: &Deployment, accepted: &Accepted) -> Vec<String> {
    let (site, solution) = (&deployment.site, &deployment.solution);
    let mut all = site.operators_alone(solution, &accepted.manifest().spec);
    let mut parts = parts(deployment);
    parts.extend(of_sets(accepted.sets()));
    if deployment.releases.are_known() {
        all.extend(unnamed(deployment, &parts));
    }
    all.extend(meaningless(site, solution, &parts));
    all
}

/// Returns the packaged sets as parts.
pub(crate) fn of_sets(sets: &[CarriedSet]) -> impl Iterator<Item = PartObjects<'_>> {
    sets.iter().map(|carried| PartObjects {
        name: carried.set.name.as_str(),
        objects: carried
            .objects
            .iter()
            .map(|object| &object.document)
            .collect(),
    })
}

fn unnamed(deployment: &Deployment, parts: &[PartObjects<'_>]) -> BTreeSet<String> {
    let named = deployment.site.naming(&deployment.solution);
    let notes = named.filter_map(|(from, rule)| {
        let missing = missing(rule, parts)?;
        Some(format!(
            "{from} has no effect: this version has no {missing}"
        ))
    });
    notes.collect()
}

/// Returns notes on fields of entries that have no effect on any of their workloads. Not all kinds have a number of
/// replicas, and `securityContext` is only supported for operators.
pub(crate) fn meaningless(
    site: &HeldSite,
    solution: &SolutionName,
    parts: &[PartObjects<'_>],
) -> BTreeSet<String> {
    let mut notes = BTreeSet::new();
    for (from, rule) in site.naming_any(solution) {
        let workloads: Vec<&Value> = workloads(rule, parts).collect();
        let fields = [
            (
                "replicas",
                // An entry without the names of a part and a workload sets the replicas of operators only, and has its
                // own note.
                rule.set.replicas.is_some()
                    && rule.part.is_some()
                    && !workloads.iter().any(|workload| is_scaled(workload)),
            ),
            (
                "securityContext",
                rule.set.security_context != SecurityContext::default(),
            ),
        ];
        let names: BTreeSet<String> = workloads.into_iter().map(kind_and_name).collect();
        let names = named(names.into_iter().collect());
        let fields = fields.into_iter().filter(|(_, is_idle)| *is_idle);
        notes.extend(
            fields
                .filter(|_| !names.is_empty())
                .map(|(field, _)| format!("{field} has no effect on {names} ({from})")),
        );
    }
    notes
}

fn kind_and_name(object: &Value) -> String {
    let text = |pointer| manifests::text(object, pointer);
    format!("{} {}", text("/kind"), text("/metadata/name"))
}

/// Returns the parts that an entry applies to.
fn meant<'a, 'p>(
    rule: &'a SiteRule,
    parts: &'a [PartObjects<'p>],
) -> impl Iterator<Item = &'a PartObjects<'p>> {
    let is_meant = |part: &&PartObjects<'_>| {
        let named = rule.part.as_ref();
        named.is_none_or(|name| name.as_str() == part.name)
    };
    parts.iter().filter(is_meant)
}

/// Returns the objects with pods in the parts that an entry applies to.
fn with_pods<'a>(
    rule: &'a SiteRule,
    parts: &'a [PartObjects<'_>],
) -> impl Iterator<Item = &'a Value> {
    let objects = meant(rule, parts).flat_map(|part| part.objects.iter().copied());
    objects.filter(|object| !manifests::pod_specs(object).is_empty())
}

/// Returns the workloads that an entry applies to.
fn workloads<'a>(
    rule: &'a SiteRule,
    parts: &'a [PartObjects<'_>],
) -> impl Iterator<Item = &'a Value> {
    with_pods(rule, parts).filter(|object| {
        let text = |pointer| manifests::text(object, pointer);
        let of_kind = rule
            .kind
            .is_none_or(|kind| kind.to_string() == text("/kind"));
        let named = rule.workload.as_ref();
        of_kind && named.is_none_or(|name| name.as_str() == text("/metadata/name"))
    })
}

/// A name in an entry that no part has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// The kind of the missing object, with the name.
    pub(crate) what: String,
    /// A similar name that exists.
    pub(crate) near: Option<String>,
}

impl Missing {
    fn new<'a>(
        what: String,
        name: &KubernetesName,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let near = nearest(name.as_str(), known, NEAR).map(str::to_owned);
        Self { what, near }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.near {
            Some(near) => write!(f, "; did you mean `{near}`?"),
            None => Ok(()),
        }
    }
}

/// Returns the first name in an entry that none of these parts has.
pub(crate) fn missing(rule: &SiteRule, parts: &[PartObjects<'_>]) -> Option<Missing> {
    let is_empty = meant(rule, parts).next().is_none();
    if let Some(part) = rule.part.as_ref().filter(|_| is_empty) {
        let what = format!("set of manifests or chart `{part}`");
        return Some(Missing::new(what, part, parts.iter().map(|part| part.name)));
    }
    let workload = rule.workload.as_ref()?;
    let named: Vec<&Value> = workloads(rule, parts).collect();
    if named.is_empty() {
        let what = match rule.kind {
            Some(kind) => format!("{kind} `{workload}`"),
            None => format!("workload `{workload}`"),
        };
        let known = with_pods(rule, parts).map(|object| manifests::text(object, "/metadata/name"));
        // An object with exactly this name has another kind, and is no suggestion.
        let others = known.filter(|name| *name != workload.as_str());
        return Some(Missing::new(what, workload, others));
    }
    let container = rule.container.as_ref()?;
    let known = || named.iter().flat_map(|object| containers(object));
    let has = known().any(|name| name == container.as_str());
    let what = || format!("container `{container}` in workload `{workload}`");
    (!has).then(|| Missing::new(what(), container, known()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::site::tests::held;

    #[test]
    fn a_field_that_no_workload_can_have_where_an_entry_reaches_is_said() {
        let workload = |kind: &str, name: &str| {
            json!({
                "apiVersion": "apps/v1", "kind": kind, "metadata": { "name": name },
                "spec": { "template": { "spec": { "containers": [{ "name": "c" }] } } },
            })
        };
        let agent = workload("DaemonSet", "agent");
        let both = [
            workload("DaemonSet", "both"),
            workload("Deployment", "both"),
        ];
        let parts = [PartObjects {
            name: "web",
            objects: vec![&agent, &both[0], &both[1]],
        }];
        let solution = "shop".parse().unwrap();
        let told = |entry: &str| -> Vec<String> {
            let site = held(&format!("{{workloads: [{{{entry}}}]}}"), "{}");
            let notes = meaningless(&site, &solution, &parts);
            notes.into_iter().collect()
        };
        for (entry, expected) in [
            (
                "solutions: shop, part: web, workload: agent, set: {replicas: 2}",
                "replicas has no effect on DaemonSet agent (the site's file, entry for shop web, workload agent)",
            ),
            (
                "part: web, workload: both, kind: DaemonSet, set: {replicas: 2, labels: {a: b}}",
                "replicas has no effect on DaemonSet both (the site's file, entry for * web, DaemonSet both)",
            ),
            (
                "part: web, set: {securityContext: {runAsNonRoot: true}}",
                "securityContext has no effect on DaemonSet agent, DaemonSet both, Deployment both (the site's file, entry for * web)",
            ),
        ] {
            assert_eq!(told(entry), [expected], "{entry}");
        }
        for entry in [
            // One of the two workloads has a number of replicas.
            "part: web, workload: both, set: {replicas: 2}",
            "part: web, workload: agent, set: {labels: {a: b}}",
            "part: web, workload: other, set: {replicas: 2}",
            "solutions: cart, part: web, workload: agent, set: {replicas: 2}",
            // These fields only apply to operators, which is another note.
            "set: {replicas: 2, securityContext: {runAsNonRoot: true}}",
            "workload: agent, set: {replicas: 2}",
            "part: operator, set: {replicas: 2, securityContext: {runAsNonRoot: true}}",
        ] {
            assert_eq!(told(entry), [""; 0], "{entry}");
        }
    }

    #[test]
    fn the_first_name_that_no_part_has_is_said() {
        let web = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
            "spec": { "template": { "spec": { "containers": [{ "name": "c" }] } } },
        });
        let service =
            json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "db" } });
        let parts = [PartObjects {
            name: "shop",
            objects: vec![&web, &service],
        }];
        for (entry, expected) in [
            ("part: shop", None),
            ("workload: web", None),
            ("part: shop, workload: web, container: c", None),
            ("part: cart", Some("set of manifests or chart `cart`")),
            (
                "part: hsop",
                Some("set of manifests or chart `hsop`; did you mean `shop`?"),
            ),
            ("part: shop, workload: cart", Some("workload `cart`")),
            // A Service has no pods.
            ("workload: db", Some("workload `db`")),
            ("workload: wbe", Some("workload `wbe`; did you mean `web`?")),
            ("workload: web, kind: Job", Some("Job `web`")),
            (
                "part: shop, workload: web, container: d",
                Some("container `d` in workload `web`"),
            ),
        ] {
            let text = format!("{{{entry}, set: {{}}}}");
            let rule: SiteRule = schemas::yaml::from_slice(text.as_bytes()).unwrap();
            let found = missing(&rule, &parts).map(|missing| missing.to_string());
            assert_eq!(found.as_deref(), expected, "{entry}");
        }
    }
}

//! What the site's choices for workloads reach in a deployment, and what of them reaches nothing.

use std::collections::BTreeSet;

use deployer::Object;
use schemas::{PartName, SiteRule};
use serde_json::Value;
use validator::{Accepted, CarriedSet};

use crate::model::site::{PartChoices, SiteValue};
use crate::plan::choices::{has_container, reached};
use crate::plan::deployment::Deployment;
use crate::plan::operator::operator_name;

/// The objects of one part.
pub(crate) struct PartObjects<'a> {
    pub(crate) name: &'a str,
    pub(crate) objects: Vec<&'a Value>,
}

/// The parts that a deployment has besides its operator.
fn parts(deployment: &Deployment) -> Vec<PartObjects<'_>> {
    let mut parts: Vec<PartObjects<'_>> = Vec::new();
    for (part, object) in deployment.change.of_parts() {
        let object = object.as_value();
        match parts.iter_mut().find(|it| it.name == part.as_str()) {
            Some(known) => known.objects.push(object),
            None => parts.push(PartObjects {
                name: part.as_str(),
                objects: vec![object],
            }),
        }
    }
    let releases = deployment.releases.all.iter().map(|it| PartObjects {
        name: it.recorded.name.as_str(),
        objects: it.objects.iter().map(Object::as_value).collect(),
    });
    parts.extend(releases);
    parts
}

/// Returns the values that the site's files choose for workloads of the deployment, each once with its source.
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

/// Says of each entry for this Solution alone that names what the version does not have that it reaches nothing, and of
/// others what reaches operators alone. Sets that are not installed here count.
pub(crate) fn unreached(deployment: &Deployment, accepted: &Accepted) -> Vec<String> {
    let (site, solution) = (&deployment.site, &deployment.solution);
    let mut all = site.operators_alone(solution, &accepted.manifest().spec);
    if deployment.releases.are_known() {
        all.extend(unnamed(deployment, accepted.sets()));
    }
    all
}

fn unnamed(deployment: &Deployment, sets: &[CarriedSet]) -> BTreeSet<String> {
    let mut parts = parts(deployment);
    parts.extend(sets.iter().map(|it| PartObjects {
        name: it.set.name.as_str(),
        objects: it.objects.iter().map(|it| &it.document).collect(),
    }));
    let named = deployment.site.naming(&deployment.solution);
    let notes = named.filter_map(|(from, rule)| {
        let why = missing(rule, &parts)?;
        Some(format!("{from} reaches nothing: this version has no {why}"))
    });
    notes.collect()
}

/// Returns the first name in an entry that none of these parts has.
pub(crate) fn missing(rule: &SiteRule, parts: &[PartObjects<'_>]) -> Option<String> {
    let is_meant = |it: &&PartObjects<'_>| {
        let named = rule.part.as_ref();
        named.is_none_or(|name| name.as_str() == it.name)
    };
    let mut objects = parts.iter().filter(is_meant).peekable();
    if let Some(part) = rule.part.as_ref().filter(|_| objects.peek().is_none()) {
        return Some(format!("set or chart `{part}`"));
    }
    let workload = rule.workload.as_ref()?;
    let named = objects.flat_map(|it| &it.objects).filter(|object| {
        let text = |pointer| manifests::text(object, pointer);
        let of_kind = rule.kind.is_none_or(|it| it.to_string() == text("/kind"));
        of_kind && text("/metadata/name") == workload.as_str()
    });
    let named = named.filter(|it| !manifests::pod_specs(it).is_empty());
    let named: Vec<&&Value> = named.collect();
    let container = rule.container.as_ref();
    match container {
        _ if named.is_empty() => Some(format!("workload `{workload}`")),
        Some(container) => {
            let mut named = named.iter();
            let has = named.any(|it| has_container(it, container.as_str()));
            (!has).then(|| format!("container `{container}` in workload `{workload}`"))
        }
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
            ("part: cart", Some("set or chart `cart`")),
            ("part: shop, workload: db", Some("workload `db`")),
            ("workload: web, kind: Job", Some("workload `web`")),
            (
                "part: shop, workload: web, container: d",
                Some("container `d` in workload `web`"),
            ),
        ] {
            let text = format!("{{{entry}, set: {{}}}}");
            let rule: SiteRule = schemas::yaml::from_slice(text.as_bytes()).unwrap();
            assert_eq!(missing(&rule, &parts).as_deref(), expected, "{entry}");
        }
    }
}

//! Data that a cluster administrator hands to another user. [`denied_rights`] returns the rights that a user lacks for a
//! verb, and [`missing_rights`] the roles with the rights that a plan lacks. [`imported_for`] returns the records that the administrator of a single namespace needs to deploy an
//! imported version: its record, the environment of the namespace, and the site configuration that applies to it.
//! docs/decisions/0012-least-privilege.md gives the reasons.

use std::collections::BTreeSet;

use kubernetes::{Access, Cluster};
use planner::vocabulary as v;
use schemas::{Digest, EnvironmentName, Namespace, SolutionId, SolutionName, Version};
use sha2::{Digest as _, Sha256};
use store::Record;

use crate::decide::rights::manifests::{PREFIX, Subject, WantedRights};
use crate::decide::rights::missing_alone;
use crate::decide::rights::roles::{Manifest, PlacedRules};
use crate::decide::rights::verbs::{RightsScope, RightsVerb};
use crate::model::blocker::{AdministratorTask, Blocker};
use crate::model::error::{Error, check_free};
use crate::records::record;
use crate::records::site::HeldSite;
use crate::records::visibility::{UnreadableParts, UnreadableScope};

/// Returns the rights that the user lacks for a verb with any Solution. A version can need more rights than that.
///
/// # Errors
///
/// Fails if the server cannot be asked.
pub async fn denied_rights(
    cluster: &Cluster,
    verb: RightsVerb,
    within: RightsScope,
) -> Result<Vec<Access>, Error> {
    let wanted = WantedRights {
        verbs: BTreeSet::from([verb]),
        archive: None,
        within,
        subjects: Vec::new(),
        impersonator: None,
        charts: Vec::new(),
    };
    let needs = wanted.required(&[])?;
    let wanted: Vec<Access> = needs.wanted().cloned().collect();
    Ok(cluster.denied(&wanted).await?)
}

/// Returns the roles with the rights that these blockers name, and their bindings if the user is known. The result is
/// empty if no right is missing.
///
/// # Panics
///
/// Never: rules have a JSON form.
#[must_use]
pub fn missing_rights<'a>(
    blockers: impl IntoIterator<Item = &'a Blocker>,
    id: &SolutionId,
    user: Option<&str>,
) -> Vec<Manifest> {
    let mut rules = PlacedRules::default();
    let missing = blockers.into_iter().filter_map(Blocker::missing_right);
    rules.add_parts(missing.cloned());
    let rules = rules.all();
    // Applying a role replaces the role with the same name. The digest in the name keeps roles for earlier missing
    // rights.
    let text = serde_json::to_string(&rules).expect("rules have a JSON form");
    let digest = Digest::new(Sha256::digest(text).into()).hex();
    let digest = &digest[..8];
    let name = format!("{PREFIX}:missing:{id}:{digest}");
    let in_records =
        |(place, _): &(Option<String>, _)| place.as_deref() == Some(v::RECORDS_NAMESPACE);
    let records = rules.iter().any(in_records).then(Manifest::records);
    let mut manifests: Vec<Manifest> = records.into_iter().collect();
    for (namespace, rules) in rules {
        manifests.push(Manifest::role(name.clone(), namespace.clone(), rules));
        let subject = user.map(|user| Subject::User(user.to_owned()).bound());
        let binding =
            subject.map(|subject| Manifest::binding(name.clone(), namespace, vec![subject]));
        manifests.extend(binding);
    }
    manifests
}

/// Reads a version that the administrator of `namespace` wants to deploy: its record, the environment of the namespace,
/// and the site configuration that applies there. The error lists all blockers if the namespace has no environment or
/// the version is not imported. If the version's record cannot be read, the error also lists the other missing rights,
/// so that they can be granted together.
pub async fn imported_for(
    cluster: &Cluster,
    namespace: &Namespace,
    solution: &SolutionName,
    version: &Version,
) -> Result<(Record, EnvironmentName, HeldSite), Error> {
    let mut sight = UnreadableParts::default();
    let state = sight
        .of_administrator(cluster, namespace, solution, version)
        .await?;
    let place = state.namespaces.first();
    let mut blockers = Vec::new();
    if place.is_none() {
        let unassigned = AdministratorTask::NamespaceUnassigned {
            namespace: namespace.clone(),
        };
        blockers.push(unassigned.into());
    }
    let record = state.record(solution, version);
    if sight.hides(&UnreadableScope::Version(solution.clone(), version.clone())) {
        let record = record::reference(solution, version);
        blockers.extend(missing_alone(cluster, namespace, &record).await?);
    } else if record.is_none() {
        blockers.push(Blocker::NotImported {
            solution: solution.clone(),
            version: version.clone(),
        });
    }
    match (record, place) {
        (Some(record), Some(place)) => {
            let site = state.site.held(Some(&place.environment))?;
            Ok((record.clone(), place.environment.clone(), site))
        }
        _ => Err(check_free(blockers, &[]).expect_err("one of both is missing")),
    }
}

#[cfg(test)]
mod tests {
    use kubernetes::{Access, RulePart};
    use serde_json::json;

    use super::*;
    use crate::model::blocker::MissingRight;

    #[test]
    fn missing_rights_become_roles_of_their_places_bound_to_the_user() {
        let pods = Access::new("list", "", "pods").namespace("prod");
        let log = Access::new("get", "", "pods")
            .subresource("log")
            .namespace("prod");
        let nodes = Access::new("list", "", "nodes");
        let url = MissingRight {
            namespace: None,
            part: RulePart::Url {
                verb: "get".to_owned(),
                url: "/metrics".to_owned(),
            },
        };
        let granted = Blocker::GrantNotHeld {
            role: "ClusterRole r".to_owned(),
            right: "get /metrics".to_owned(),
            missing: Box::new(url),
        };
        let mut blockers: Vec<Blocker> = [&pods, &log, &nodes].map(Blocker::denied).into();
        blockers.push(granted);
        let id: SolutionId = "shop-1.0.0".parse().unwrap();
        let missing = |user| serde_json::to_value(missing_rights(&blockers, &id, user)).unwrap();
        let bound = missing(Some("alice"));
        let kinds: Vec<&str> = bound
            .as_array()
            .unwrap()
            .iter()
            .map(|manifest| manifest["kind"].as_str().unwrap())
            .collect();
        let expected = ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];
        assert_eq!(kinds, expected);
        assert_eq!(
            bound[0]["rules"],
            json!([
                {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
                {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]},
            ])
        );
        assert_eq!(
            bound[2]["rules"],
            json!([
                {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
            ])
        );
        assert_eq!(bound[3]["subjects"][0]["name"], "alice");
        assert_eq!(missing(None).as_array().unwrap().len(), 2);
        assert!(missing_rights(&[], &id, Some("alice")).is_empty());
    }
}

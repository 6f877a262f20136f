//! The roles that give a user the rights that a plan lacks: [`missing_rights`].

use change::vocabulary as v;
use schemas::{Digest, SolutionId};
use sha2::{Digest as _, Sha256};

use crate::model::obstacle::Obstacle;
use crate::plan::rights::manifests::{PREFIX, Subject};
use crate::plan::rights::placed::PlacedRules;
use crate::plan::rights::roles::Manifest;

/// Returns the roles with the rights that these obstacles name, and their bindings if the user is known. The result is
/// empty if no right is missing.
///
/// # Panics
///
/// Never: rules have a JSON form.
#[must_use]
pub fn missing_rights<'a>(
    obstacles: impl IntoIterator<Item = &'a Obstacle>,
    id: &SolutionId,
    user: Option<&str>,
) -> Vec<Manifest> {
    let mut rules = PlacedRules::default();
    let missing = obstacles.into_iter().filter_map(Obstacle::missing_right);
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

#[cfg(test)]
mod tests {
    use deployer::{Access, RulePart};
    use serde_json::json;

    use super::*;
    use crate::model::obstacle::MissingRight;

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
        let granted = Obstacle::GrantNotHeld {
            role: "ClusterRole r".to_owned(),
            right: "get /metrics".to_owned(),
            missing: Box::new(url),
        };
        let mut obstacles: Vec<Obstacle> = [&pods, &log, &nodes].map(Obstacle::denied).into();
        obstacles.push(granted);
        let id: SolutionId = "shop-1.0.0".parse().unwrap();
        let missing = |user| serde_json::to_value(missing_rights(&obstacles, &id, user)).unwrap();
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

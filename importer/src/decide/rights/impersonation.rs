//! The rights of an account that acts on behalf of users: [`roles`]. They name the users, and each verb that may be used
//! on their behalf ([KEP-5284](https://kep.k8s.io/5284)). The API server also checks the rights of the user.

use kubernetes::PolicyRule;
use schemas::{KubernetesName, Namespace};

use crate::decide::rights::roles::{BindingSubject, Manifest};

/// The mode in which only the name and the groups of a user are set. It excludes nodes and ServiceAccounts.
const MODE: &str = "user-info";
/// The verbs of the API server, which a rule for all verbs stands for.
const VERBS: [&str; 8] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
];
/// The paths that every client reads: the version, and the kinds that are served.
const DISCOVERY: [&str; 7] = [
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/openapi/*",
    "/readyz",
    "/version",
];

/// The users and groups on whose behalf an account acts.
#[derive(Debug, Default)]
pub(super) struct Impersonated {
    pub(super) users: Vec<String>,
    pub(super) groups: Vec<String>,
}

/// Returns the roles and bindings of an account that acts on behalf of users and groups with these rules. Each rule is
/// in a namespace, or cluster-wide without one.
pub(super) fn roles(
    name: &str,
    namespace: &Namespace,
    account: &KubernetesName,
    names: Impersonated,
    placed: Vec<(Option<String>, Vec<PolicyRule>)>,
) -> Vec<Manifest> {
    let (namespaced, wide): (Vec<_>, Vec<_>) =
        placed.into_iter().partition(|(place, _)| place.is_some());
    let wide = wide.into_iter().flat_map(|(_, rules)| rules);
    let mut rules = who(names);
    rules.extend(everywhere().into_iter().chain(wide).map(on_behalf));
    let on_behalf =
        |(place, rules): (_, Vec<_>)| (place, rules.into_iter().map(on_behalf).collect());
    let all = std::iter::once((None, rules)).chain(namespaced.into_iter().map(on_behalf));
    let name = format!("{name}:impersonated");
    all.flat_map(|(place, rules)| {
        let subject = BindingSubject::account(namespace, account);
        let role = Manifest::role(name.clone(), place.clone(), rules);
        [role, Manifest::binding(name.clone(), place, vec![subject])]
    })
    .collect()
}

/// Returns the rules that name the users and groups.
fn who(names: Impersonated) -> Vec<PolicyRule> {
    let rule = |resource: &str, names| PolicyRule {
        api_groups: vec!["authentication.k8s.io".to_owned()],
        resources: vec![resource.to_owned()],
        resource_names: names,
        verbs: vec![format!("impersonate:{MODE}")],
        ..PolicyRule::default()
    };
    let mut rules = vec![rule("users", names.users), rule("groups", names.groups)];
    // A rule without names would allow all of them.
    rules.retain(|rule| !rule.resource_names.is_empty());
    rules
}

/// Returns the rules of every user: discovery, and questions about the user's own name and rights.
fn everywhere() -> Vec<PolicyRule> {
    let create = |group: &str, resources: &[&str]| PolicyRule {
        api_groups: vec![group.to_owned()],
        resources: resources.iter().map(ToString::to_string).collect(),
        verbs: vec!["create".to_owned()],
        ..PolicyRule::default()
    };
    let discovery = PolicyRule {
        non_resource_urls: DISCOVERY.map(str::to_owned).to_vec(),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    };
    let reviews = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"];
    vec![
        discovery,
        create("authentication.k8s.io", &["selfsubjectreviews"]),
        create("authorization.k8s.io", &reviews),
    ]
}

/// Returns the rule with which an account does the same on behalf of a user.
fn on_behalf(rule: PolicyRule) -> PolicyRule {
    let verbs = rule.verbs.iter().flat_map(|verb| match verb.as_str() {
        "*" => VERBS.to_vec(),
        verb => vec![verb],
    });
    let verbs = verbs.map(|verb| format!("impersonate-on:{MODE}:{verb}"));
    PolicyRule {
        verbs: verbs.collect(),
        ..rule
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_account_acts_only_on_behalf_of_named_users_and_with_named_verbs() {
        let rule = |verb: &str| PolicyRule {
            api_groups: vec![String::new()],
            resources: vec!["configmaps".to_owned()],
            verbs: vec![verb.to_owned()],
            ..PolicyRule::default()
        };
        let (namespace, account) = ("tools".parse().unwrap(), "console".parse().unwrap());
        let placed = vec![
            (None, vec![rule("list")]),
            (Some("prod".to_owned()), vec![rule("*")]),
        ];
        let names = Impersonated {
            users: vec!["oidc:a@site.test".to_owned()],
            groups: Vec::new(),
        };
        let found = roles("solution-user", &namespace, &account, names, placed);
        let found = serde_json::to_value(found).unwrap();
        assert_eq!(found[0]["metadata"]["name"], "solution-user:impersonated");
        let rules = found[0]["rules"].as_array().unwrap();
        let who = json!({
            "apiGroups": ["authentication.k8s.io"],
            "resources": ["users"],
            "resourceNames": ["oidc:a@site.test"],
            "verbs": ["impersonate:user-info"],
        });
        assert_eq!(rules[0], who);
        assert_eq!(rules.len(), 5, "no group is impersonated: {rules:#?}");
        assert!(rules[1..].iter().all(|rule| {
            let verbs = rule["verbs"].as_array().unwrap().iter();
            verbs.into_iter().all(|verb| {
                verb.as_str()
                    .unwrap()
                    .starts_with("impersonate-on:user-info:")
            })
        }));
        assert_eq!(rules[4]["verbs"], json!(["impersonate-on:user-info:list"]));
        assert_eq!(found[1]["subjects"][0]["kind"], "ServiceAccount");
        assert_eq!(found[2]["metadata"]["namespace"], "prod");
        assert_eq!(
            found[2]["rules"][0]["verbs"].as_array().unwrap().len(),
            VERBS.len()
        );
        assert_eq!(found[3]["kind"], "RoleBinding");
    }
}

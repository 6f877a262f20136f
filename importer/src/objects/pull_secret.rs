//! The pull secret for the registry, from a login that an administrator enters: [`secret`] for the object, and
//! [`log_in`] for pods.
//!
//! [`DefaultAccount`] holds the pull secrets of a namespace's `default` ServiceAccount, which most of an operator's
//! pods use. Server-side apply treats the list of pull secrets as one field, so an applier owns either all or none of
//! it. Secrets of other writers are therefore kept in the applied list, and an annotation records the added ones.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubernetes::{Cluster, Object, ObjectRef};
use planner::vocabulary as v;
use schemas::{KubernetesName, Namespace, SolutionName};
use serde_json::{Value, json};

use crate::model::error::Error;
use crate::model::request::{Login, PlanRequest, PullLogin, Target};
use crate::records::namespace_record::NamespaceRecord;
use crate::records::storage::read_if_allowed;

/// Returns the name of a Solution's pull secret.
///
/// # Panics
///
/// Never: a Solution's name is a DNS label that leaves room for the suffix.
pub(crate) fn secret_name(solution: &SolutionName) -> KubernetesName {
    format!("{solution}-registry-login")
        .parse()
        .expect("the name of a Secret")
}

/// Returns the login from which the Secret of the requested Solution is generated, if `pull_secret` names that Secret.
pub(crate) fn made<'a>(
    asked: &PlanRequest<'_>,
    target: &'a Target,
    pull_secret: Option<&KubernetesName>,
) -> Option<&'a Login> {
    match &target.pull_login {
        PullLogin::Made(login) => Some(login),
        PullLogin::Offered(login) => {
            let is_used = pull_secret == Some(&secret_name(asked.id.name()));
            (is_used && is_offered(asked, login)).then_some(login)
        }
        PullLogin::Keep | PullLogin::None | PullLogin::Secret(_) => None,
    }
}

/// Returns whether a login that is offered for all environments is for the registry that nodes pull from.
pub(crate) fn is_offered(asked: &PlanRequest<'_>, login: &Login) -> bool {
    login.host == asked.record.pull_host()
}

/// Adds the pull secret to those of a pod.
pub(crate) fn log_in(pod: &mut Value, secret: &str) {
    let Value::Object(pod) = pod else {
        return;
    };
    let secret = json!({ "name": secret });
    let secrets = pod.entry("imagePullSecrets").or_insert_with(|| json!([]));
    if secrets.is_null() {
        *secrets = json!([]);
    }
    if let Value::Array(secrets) = secrets
        && !secrets.contains(&secret)
    {
        secrets.push(secret);
    }
}

/// Returns the reference of the Secret with this name in a namespace.
pub(crate) fn reference(namespace: &Namespace, secret: &KubernetesName) -> ObjectRef {
    ObjectRef::namespaced("v1", "Secret", namespace.as_str(), secret.as_str())
}

/// Returns the pull secret of a Solution with this login.
pub(crate) fn secret(solution: &SolutionName, place: &NamespaceRecord, login: &Login) -> Value {
    let pair = STANDARD.encode(format!("{}:{}", login.username, login.password.reveal()));
    let config = json!({ "auths": { login.host.as_str(): { "auth": pair } } }).to_string();
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/dockerconfigjson",
        "metadata": {
            "name": secret_name(solution),
            "namespace": place.namespace,
            "labels": {
                v::MANAGED_BY: v::MANAGER,
                v::SOLUTION: solution,
                v::ENVIRONMENT: place.environment,
            },
        },
        "data": { ".dockerconfigjson": STANDARD.encode(config) },
    })
}

/// The separator of names in the annotation.
const BETWEEN: &str = ",";

/// The pull secrets of a namespace's `default` ServiceAccount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DefaultAccount {
    secrets: Vec<String>,
    /// The secrets that were added for Solutions.
    added: BTreeSet<String>,
}

impl DefaultAccount {
    /// Reads the account. A missing one has no secrets.
    pub(crate) async fn read(cluster: &Cluster, namespace: &Namespace) -> Result<Self, Error> {
        Ok(read_if_allowed(cluster, &Self::reference(namespace))
            .await?
            .as_ref()
            .map(Self::from_account)
            .unwrap_or_default())
    }

    /// Returns the reference of the account in a namespace.
    pub(crate) fn reference(namespace: &Namespace) -> ObjectRef {
        ObjectRef::namespaced("v1", "ServiceAccount", namespace.as_str(), "default")
    }

    pub(crate) fn from_account(account: &Object) -> Self {
        let secrets = account.as_value()["imagePullSecrets"].as_array();
        let names = secrets
            .into_iter()
            .flatten()
            .filter_map(|secret| secret["name"].as_str());
        let annotations = account.annotations();
        let added = annotations.get(v::PULL_SECRET).copied();
        let added = added.unwrap_or_default().split(BETWEEN);
        Self {
            secrets: names.map(str::to_owned).collect(),
            added: added
                .filter(|secret| !secret.is_empty())
                .map(str::to_owned)
                .collect(),
        }
    }

    /// Returns the account after a deployment, with its secret and those of the namespace's other Solutions. Added
    /// secrets that no Solution uses any more are removed.
    pub(crate) fn deployed(
        mut self,
        solution: &SolutionName,
        secret: Option<&str>,
        place: &NamespaceRecord,
    ) -> Self {
        let others = place.solutions.iter().filter(|(name, _)| *name != solution);
        let others = others.filter_map(|(_, other)| other.pull_secret.as_ref());
        let needed: BTreeSet<&str> = others.map(KubernetesName::as_str).chain(secret).collect();
        let added = std::mem::take(&mut self.added);
        let (stays, goes): (BTreeSet<String>, BTreeSet<String>) = added
            .into_iter()
            .partition(|secret| needed.contains(secret.as_str()));
        self.secrets.retain(|secret| !goes.contains(secret));
        self.added = stays;
        if let Some(secret) =
            secret.filter(|secret| !self.secrets.iter().any(|known| known == secret))
        {
            self.secrets.push(secret.to_owned());
            self.added.insert(secret.to_owned());
        }
        self
    }

    /// Returns the applied form of the account. A field that is left out keeps the values of its other owners.
    pub(crate) fn object(&self, namespace: &Namespace) -> Value {
        let mut object = json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": { "name": "default", "namespace": namespace },
        });
        if !self.added.is_empty() {
            let added: Vec<&str> = self.added.iter().map(String::as_str).collect();
            let added = added.join(BETWEEN);
            object["metadata"]["annotations"] = json!({ v::PULL_SECRET: added });
        }
        if !self.secrets.is_empty() {
            let secrets: Vec<Value> = self
                .secrets
                .iter()
                .map(|name| json!({ "name": name }))
                .collect();
            object["imagePullSecrets"] = Value::Array(secrets);
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::namespace_record;
    use crate::records::namespace_record::DeployedSolution;
    use crate::records::namespace_record::tests::namespace_record;

    fn account(secrets: &[&str], added: &[&str]) -> DefaultAccount {
        DefaultAccount {
            secrets: secrets.iter().map(|name| (*name).to_owned()).collect(),
            added: added.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    /// Returns a namespace whose Solutions use these pull secrets.
    fn place(solutions: &[(&str, &str)]) -> NamespaceRecord {
        let mut place = namespace_record("prod", "prod");
        for (name, secret) in solutions {
            let deployed = DeployedSolution {
                pull_secret: Some(secret.parse().unwrap()),
                ..namespace_record::tests::deployed("1.0.0")
            };
            place.solutions.insert(name.parse().unwrap(), deployed);
        }
        place
    }

    fn deployed(
        live: &DefaultAccount,
        secret: Option<&str>,
        place: &NamespaceRecord,
    ) -> DefaultAccount {
        let shop = "shop".parse().unwrap();
        live.clone().deployed(&shop, secret, place)
    }

    #[test]
    fn secrets_of_others_stay() {
        let (theirs, nobody) = (account(&["corp"], &[]), place(&[]));
        let ours = deployed(&theirs, Some("login"), &nobody);
        assert_eq!(ours, account(&["corp", "login"], &["login"]));
        assert_eq!(deployed(&ours, Some("login"), &nobody), ours);
        let other = account(&["corp", "other"], &["other"]);
        assert_eq!(deployed(&ours, Some("other"), &nobody), other);
        assert_eq!(deployed(&ours, None, &nobody), theirs);
        // A secret that existed before is not ours to remove.
        assert_eq!(deployed(&theirs, Some("corp"), &nobody), theirs);
    }

    #[test]
    fn a_secret_goes_with_the_last_solution_that_pulls_with_it() {
        let both = place(&[("shop", "login"), ("cart", "login")]);
        let live = account(&["corp", "login"], &["login"]);
        assert_eq!(deployed(&live, Some("login"), &both), live);
        assert_eq!(deployed(&live, None, &both), live);
        let alone = place(&[("shop", "login")]);
        assert_eq!(deployed(&live, None, &alone), account(&["corp"], &[]));
        // A secret that other writers added is kept.
        let theirs = account(&["login"], &[]);
        assert_eq!(deployed(&theirs, None, &alone), theirs);
    }

    #[test]
    fn each_solution_of_a_namespace_has_a_secret_of_its_own() {
        let cart = place(&[("cart", "cart-login")]);
        let live = account(&["cart-login"], &["cart-login"]);
        let both = deployed(&live, Some("shop-login"), &cart);
        let secrets = ["cart-login", "shop-login"];
        assert_eq!(both, account(&secrets, &secrets));
        // The Solutions do not replace each other's entries in turn.
        let places = place(&[("cart", "cart-login"), ("shop", "shop-login")]);
        assert_eq!(deployed(&both, Some("shop-login"), &places), both);
        let by_cart = both
            .clone()
            .deployed(&"cart".parse().unwrap(), Some("cart-login"), &places);
        assert_eq!(by_cart, both);
        assert_eq!(deployed(&both, None, &places), live);
    }

    #[test]
    fn what_is_applied_is_read_back() {
        let namespace: Namespace = "prod".parse().unwrap();
        for account in [
            account(&[], &[]),
            account(&["a"], &[]),
            account(&["a", "b"], &["b"]),
            account(&["a", "b", "c"], &["b", "c"]),
        ] {
            let object = Object::new(account.object(&namespace)).unwrap();
            assert_eq!(DefaultAccount::from_account(&object), account);
        }
    }
}

//! The pull secrets of a namespace's `default` ServiceAccount, which most of an operator's pods use. Server-side apply
//! treats the list of pull secrets as one field, so that an applier owns either all or none of it. Secrets of other
//! writers are therefore kept in the applied list, and an annotation records the added ones.

use std::collections::BTreeSet;

use change::vocabulary as v;
use deployer::{Cluster, Object, ObjectRef};
use schemas::{KubernetesName, Namespace, SolutionName};
use serde_json::{Value, json};

use crate::model::error::Error;
use crate::model::look::look;
use crate::model::namespace_record::NamespaceRecord;

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
        Ok(look(cluster, &Self::reference(namespace))
            .await?
            .as_ref()
            .map(Self::of)
            .unwrap_or_default())
    }

    /// Returns the reference of the account in a namespace.
    pub(crate) fn reference(namespace: &Namespace) -> ObjectRef {
        ObjectRef::namespaced("v1", "ServiceAccount", namespace.as_str(), "default")
    }

    pub(crate) fn of(account: &Object) -> Self {
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
    use crate::model::namespace_record::Deployed;
    use crate::model::namespace_record::{self, tests::namespace_record};

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
            let deployed = Deployed {
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
            assert_eq!(DefaultAccount::of(&object), account);
        }
    }
}

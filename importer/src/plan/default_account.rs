//! The pull secret on a namespace's default ServiceAccount, under which an operator's own pods mostly run. The list of
//! secrets there is one field for server-side apply: whoever sets it sets all of it. So what others put there is kept,
//! and a mark tells what was added.

use deployer::{Cluster, Object, ObjectRef};
use schemas::{Namespace, SolutionName};
use serde_json::{Value, json};

use crate::model::error::Error;
use crate::model::namespace_record::NamespaceRecord;
use crate::model::owner::look;
use crate::model::vocabulary as v;

/// What the default ServiceAccount of a namespace has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DefaultAccount {
    secrets: Vec<String>,
    /// The secret that was added for a Solution.
    added: Option<String>,
}

impl DefaultAccount {
    /// Reads it; one that is not there has nothing.
    pub(crate) async fn read(cluster: &Cluster, namespace: &Namespace) -> Result<Self, Error> {
        Ok(look(cluster, &Self::reference(namespace))
            .await?
            .as_ref()
            .map(Self::of)
            .unwrap_or_default())
    }

    /// The account of a namespace.
    pub(crate) fn reference(namespace: &Namespace) -> ObjectRef {
        ObjectRef::namespaced("v1", "ServiceAccount", namespace.as_str(), "default")
    }

    pub(crate) fn of(account: &Object) -> Self {
        let secrets = account.as_value()["imagePullSecrets"].as_array();
        let names = secrets
            .into_iter()
            .flatten()
            .filter_map(|secret| secret["name"].as_str());
        Self {
            secrets: names.map(str::to_owned).collect(),
            added: account
                .annotations()
                .get(v::PULL_SECRET)
                .map(|&name| name.to_owned()),
        }
    }

    /// As a deployment leaves it: with its secret; without one, what was added goes, unless another Solution of the
    /// namespace pulls with it.
    pub(crate) fn deployed(
        self,
        solution: &SolutionName,
        secret: Option<&str>,
        place: &NamespaceRecord,
    ) -> Self {
        let others = || place.solutions.iter().filter(|(name, _)| *name != solution);
        let needed = |added: &str| {
            others()
                .filter_map(|(_, other)| other.pull_secret.as_ref())
                .any(|other| other.as_str() == added)
        };
        match secret {
            Some(secret) => self.with(secret),
            None if self.added.as_deref().is_some_and(needed) => self,
            None => self.without_added(),
        }
    }

    /// With a Solution's secret instead of one that was added before.
    fn with(mut self, secret: &str) -> Self {
        if self.added.as_deref() == Some(secret) {
            return self;
        }
        self = self.without_added();
        if !self.secrets.iter().any(|known| known == secret) {
            self.secrets.push(secret.to_owned());
            self.added = Some(secret.to_owned());
        }
        self
    }

    /// Without what was added.
    pub(crate) fn without_added(mut self) -> Self {
        if let Some(added) = self.added.take() {
            self.secrets.retain(|secret| *secret != added);
        }
        self
    }

    /// As it is applied. A field that is left out is given back to whoever else sets it.
    pub(crate) fn object(&self, namespace: &Namespace) -> Value {
        let mut object = json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": { "name": "default", "namespace": namespace },
        });
        if let Some(added) = &self.added {
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
    use crate::model::namespace_record::tests::namespace_record;

    fn account(secrets: &[&str], added: Option<&str>) -> DefaultAccount {
        DefaultAccount {
            secrets: secrets.iter().map(|name| (*name).to_owned()).collect(),
            added: added.map(str::to_owned),
        }
    }

    #[test]
    fn secrets_of_others_stay() {
        let theirs = account(&["corp"], None);
        let ours = theirs.clone().with("login");
        assert_eq!(ours, account(&["corp", "login"], Some("login")));
        assert_eq!(ours.clone().with("login"), ours);
        assert_eq!(
            ours.clone().with("other"),
            account(&["corp", "other"], Some("other"))
        );
        assert_eq!(ours.without_added(), theirs);
        // One that was there before is nobody's to take away.
        assert_eq!(theirs.clone().with("corp"), theirs);
    }

    #[test]
    fn a_secret_goes_with_the_last_solution_that_pulls_with_it() {
        let mut place = namespace_record("prod", "prod");
        for name in ["shop", "cart"] {
            let deployed = Deployed {
                version: "1.0.0".parse().unwrap(),
                pull_secret: Some("login".parse().unwrap()),
                parameters: [].into(),
                sensitive: [].into(),
                secret: None,
                labels: [].into(),
                releases: Vec::new(),
                accepted: None,
            };
            place.solutions.insert(name.parse().unwrap(), deployed);
        }
        let shop = "shop".parse().unwrap();
        let live = account(&["corp", "login"], Some("login"));
        let deployed = |secret, place: &_| live.clone().deployed(&shop, secret, place);
        assert_eq!(deployed(Some("login"), &place), live);
        assert_eq!(deployed(None, &place), live);
        place.solutions.remove(&"cart".parse().unwrap());
        assert_eq!(deployed(None, &place), account(&["corp"], None));
        // What others put there is theirs.
        let theirs = account(&["login"], None);
        assert_eq!(theirs.clone().deployed(&shop, None, &place), theirs);
    }

    #[test]
    fn what_is_applied_is_read_back() {
        let namespace: Namespace = "prod".parse().unwrap();
        for account in [
            account(&[], None),
            account(&["a"], None),
            account(&["a", "b"], Some("b")),
        ] {
            let object = Object::new(account.object(&namespace)).unwrap();
            assert_eq!(DefaultAccount::of(&object), account);
        }
    }
}

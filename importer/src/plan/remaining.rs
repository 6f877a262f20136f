//! The objects that remain in a namespace after a Solution is removed: those that its programs or other users have
//! created. No inventory contains them, so no removal deletes them. [`remaining`] lists them, since they may contain
//! secrets or much data.

use change::{ReleaseEntry, vocabulary as v};
use deployer::{Cluster, Gvk, Object, ObjectRef};
use helm::stored::SECRET_TYPE;
use schemas::Namespace;
use schemas::named;

use crate::model::error::Error;
use crate::model::namespace_record::NamespaceRecord;

/// The kinds of objects in which programs store data.
const KINDS: [&str; 3] = ["PersistentVolumeClaim", "Secret", "ConfigMap"];
/// The name of the ConfigMap with the cluster's certificate authority, which every namespace has.
const AUTHORITIES: &str = "kube-root-ca.crt";
/// The annotation with the Helm release that an object belongs to.
const RELEASE: &str = "meta.helm.sh/release-name";

/// Returns notes on the objects that remain in the namespaces of a Solution after these objects and releases are
/// removed. Only the environment's namespace is listed in detail, since other namespaces have objects of other users.
pub(crate) async fn remaining(
    cluster: &Cluster,
    place: &NamespaceRecord,
    going: &[ObjectRef],
    releases: &[ReleaseEntry],
) -> Result<Vec<String>, Error> {
    let mut notes = Vec::new();
    let mut found = Vec::new();
    for kind in KINDS {
        let kind = Gvk::new("v1", kind);
        let all = match cluster
            .list(&kind, Some(place.namespace.as_str()), None)
            .await
        {
            Err(deployer::Error::Forbidden { .. }) => continue,
            all => all?,
        };
        let stays = all
            .iter()
            .filter(|object| stays(object, going) && !is_login(object, place));
        found.extend(stays.map(|object| object.reference().to_string()));
    }
    if !found.is_empty() {
        let (namespace, found) = (&place.namespace, named(found));
        notes.push(format!(
            "objects in namespace {namespace} that no Solution created are kept: {found}"
        ));
    }
    let mut elsewhere: Vec<&Namespace> =
        releases.iter().map(|release| &release.namespace).collect();
    elsewhere.sort();
    elsewhere.dedup();
    let elsewhere = elsewhere
        .into_iter()
        .filter(|namespace| **namespace != place.namespace);
    notes.extend(elsewhere.map(|namespace| {
        format!("objects in namespace {namespace} that other programs created are kept")
    }));
    Ok(notes)
}

/// Checks whether an object is a pull secret of the environment. The site created it and knows about it.
fn is_login(live: &Object, place: &NamespaceRecord) -> bool {
    let mut logins = place
        .solutions
        .values()
        .filter_map(|deployed| deployed.pull_secret.as_ref());
    live.gvk().kind == "Secret" && logins.any(|login| login.as_str() == live.name())
}

/// Checks whether an object is neither recorded nor owned by a removed object.
fn stays(live: &Object, going: &[ObjectRef]) -> bool {
    let value = live.as_value();
    let owners = value["metadata"]["ownerReferences"].as_array();
    let kept_by_others = [SECRET_TYPE, "kubernetes.io/service-account-token"];
    let kind = value["type"].as_str().unwrap_or_default();
    owners.is_none_or(Vec::is_empty)
        && !kept_by_others.contains(&kind)
        && ![AUTHORITIES, v::ENVIRONMENT_CONFIG].contains(&live.name())
        && !live.labels().contains_key(v::SOLUTION)
        && !live.annotations().contains_key(RELEASE)
        && !live.is_being_deleted()
        && !going
            .iter()
            .any(|removed| removed.is_same_object(live.reference()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_what_nobody_brought_is_named() {
        let stays_so = |more: Value| {
            let mut secret = json!({ "apiVersion": "v1", "kind": "Secret",
                "metadata": { "name": "key", "namespace": "prod" } });
            for (path, value) in more.as_object().unwrap() {
                match path.as_str() {
                    "type" => secret["type"] = value.clone(),
                    field => secret["metadata"][field] = value.clone(),
                }
            }
            stays(&Object::new(secret).unwrap(), &[])
        };
        assert!(stays_so(json!({})));
        assert!(stays_so(
            json!({ "labels": { "sealedsecrets.bitnami.com/sealed-secrets-key": "active" } })
        ));
        for more in [
            json!({ "ownerReferences": [{ "uid": "a" }] }),
            json!({ "type": SECRET_TYPE }),
            json!({ "labels": { v::SOLUTION: "shop" } }),
            json!({ "annotations": { RELEASE: "web" } }),
            json!({ "name": AUTHORITIES }),
            json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" }),
        ] {
            assert!(!stays_so(more.clone()), "{more}");
        }
        let secret = ObjectRef::namespaced("v1", "Secret", "prod", "key");
        let live = json!({ "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": "key", "namespace": "prod" } });
        assert!(!stays(&Object::new(live).unwrap(), &[secret]));
    }
}

//! The Secret that nodes log in to the registry with, made of a login that an administrator gives.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deployer::ObjectRef;
use schemas::{KubernetesName, Namespace, SolutionName};
use serde_json::{Value, json};

use crate::error::Error;
use crate::namespace_record::NamespaceRecord;
use crate::owner::owner_of;
use crate::request::Login;
use crate::session::Session;
use crate::vocabulary as v;

/// The name of the Secret that is made for a Solution.
///
/// # Panics
///
/// Never: a Solution's name is a DNS label that leaves room for the rest.
pub(crate) fn secret_name(solution: &SolutionName) -> KubernetesName {
    format!("{solution}-registry-login")
        .parse()
        .expect("the name of a Secret")
}

/// The Secret.
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

/// Removes the Secret if it is one that was made for the Solution; one of the site's own stays.
pub(crate) async fn remove(
    session: &mut Session<'_>,
    solution: &SolutionName,
    namespace: &Namespace,
    secret: &KubernetesName,
) -> Result<(), Error> {
    if *secret != secret_name(solution) {
        return Ok(());
    }
    let reference = ObjectRef::namespaced("v1", "Secret", namespace.as_str(), secret.as_str());
    session
        .remove(&reference, |live| owner_of(live, solution))
        .await
}

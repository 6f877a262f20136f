//! The pull secret for the registry, from a login that an administrator enters: [`secret`], and [`log_in`] for pods.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use change::vocabulary as v;
use deployer::ObjectRef;
use schemas::{KubernetesName, Namespace, SolutionName};
use serde_json::{Value, json};

use crate::model::namespace_record::NamespaceRecord;
use crate::model::request::{Asked, Login, PullLogin, Target};

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

/// Returns the login that the Secret of the asked Solution is made of, if `pull_secret` is that one.
pub(crate) fn made<'a>(
    asked: &Asked<'_>,
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
pub(crate) fn is_offered(asked: &Asked<'_>, login: &Login) -> bool {
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

//! What to do about nodes that cannot pull an image: the file to write, the Secret to make.

use deployer::{Error, PullProblem, Stuck};
use importer::Unpulled;
use schemas::KubernetesName;

use super::fixes::create_secret;

/// The Secret that a hint makes.
const LOGIN: &str = "registry-login";
const WHERE_READ: &str =
    "containerd reads it at the next pull if its `config_path` is /etc/containerd/certs.d";
const WITHOUT: &str = "skip the test pull with `--no-pull-proof`";

/// What to do, where the file that nodes lack is shown behind it; `usual` is what helps any pod.
pub(super) fn hints(unpulled: &Unpulled, usual: Option<&str>) -> Vec<String> {
    let Error::Pull(failure) = &unpulled.source else {
        return Vec::new();
    };
    let usual = usual.map(str::to_owned);
    match &failure.stuck {
        Stuck::Pull(PullProblem::UnknownAuthority) => vec![authority(unpulled)],
        Stuck::Pull(PullProblem::PlainHttp) => vec![format!(
            "give the registry a certificate, or write this on every node ({WHERE_READ})"
        )],
        Stuck::Pull(PullProblem::Unauthorized) => vec![login(unpulled)],
        Stuck::Pull(_) => usual.into_iter().collect(),
        // Nothing is known of the image: the pod itself is what cannot be.
        _ => usual.into_iter().chain([WITHOUT.to_owned()]).collect(),
    }
}

/// How nodes get to know the registry's authority.
fn authority(unpulled: &Unpulled) -> String {
    let host = &unpulled.host;
    let beside = match unpulled.authorities {
        Some(_) => "",
        None => ", with the registry's certificate authority (PEM) next to it as site-ca.crt",
    };
    format!(
        "write this on every node{beside} ({WHERE_READ}); k3s reads the authority from `tls` of {host} in /etc/rancher/k3s/registries.yaml, CRI-O in /etc/containers/certs.d/{host}"
    )
}

/// How nodes get a login, or another one.
fn login(unpulled: &Unpulled) -> String {
    let Unpulled {
        namespace, host, ..
    } = unpulled;
    if let Some(secret) = &unpulled.secret {
        return format!(
            "correct the login for {host} in Secret {secret} with `kubectl --namespace {namespace} create secret docker-registry {secret} --docker-server={host} --docker-username=… --docker-password=… --dry-run=client -o yaml | kubectl apply -f -` or `--pull-login FILE`"
        );
    }
    let secret: KubernetesName = LOGIN.parse().expect("the name of a Secret");
    let create = create_secret(&secret, namespace, None, host);
    format!("{create}; then use `--pull-secret {secret}`")
}

#[cfg(test)]
mod tests {
    use deployer::PullFailure;

    use super::*;

    fn hint(stuck: Stuck, secret: Option<&str>) -> String {
        let unpulled = Unpulled {
            image: "r.test:5000/app@sha256:0".to_owned(),
            architecture: None,
            namespace: "prod".parse().unwrap(),
            secret: secret.map(|name| name.parse().unwrap()),
            host: "r.test:5000".to_owned(),
            authorities: None,
            source: Error::Pull(Box::new(PullFailure {
                pod: "pull".to_owned(),
                node: None,
                stuck,
                detail: String::new(),
            })),
        };
        hints(&unpulled, Some("as usual")).join(" | ")
    }

    #[test]
    fn each_cause_has_its_next_step() {
        let pull = Stuck::Pull;
        let unknown = hint(pull(PullProblem::UnknownAuthority), None);
        assert!(
            unknown.starts_with("write this on every node, with the"),
            "{unknown}"
        );
        let create =
            "create the Secret with `kubectl --namespace prod create secret docker-registry";
        let none = hint(pull(PullProblem::Unauthorized), None);
        assert!(
            none.starts_with(&format!("{create} registry-login ")),
            "{none}"
        );
        assert!(
            none.ends_with("; then use `--pull-secret registry-login`"),
            "{none}"
        );
        let wrong = hint(pull(PullProblem::Unauthorized), Some("login"));
        let correct = "correct the login for r.test:5000 in Secret login with `kubectl --namespace prod create secret docker-registry login ";
        assert!(wrong.starts_with(correct), "{wrong}");
        assert_eq!(hint(pull(PullProblem::NoSuchHost), None), "as usual");
        assert_eq!(hint(Stuck::Quota, None), format!("as usual | {WITHOUT}"));
    }
}

//! Outcomes and hints for errors of imports and clusters: failed rollouts, other writers, and connections. The hints
//! are chosen by the cause that a diagnosis of the pods has found.

use std::time::Duration;

use importer::{Condition, OperatorStatus};
use kubernetes::{
    AwaitedCondition, CertificateReason, Error, ExpiryError, HeldLease, IdentityError, PodProblem,
    PullProblem, UnreadyObjects,
};

use super::fixes::{self, SKIP_REMOVE_SETS};
use super::registry::{OTHER_CLOCK, not_pushed};
use super::{Answer, Failure, Judge, NO, Outcome, fix, no, unknown};
use crate::{environment, holder};

const AGAIN: &str = "import the version that should run in this environment again";
const UNSERVED: &str = "check the component that should write it (a Job, cert-manager) and the logs of its pods, then run the same command again; until then the webhook rejects nothing";
const NEWER_PROGRAM: &str =
    "use the version of `solution` that wrote it, or a newer one, with this cluster";
const HELM: &str = "check the state of the release with `helm history RELEASE --namespace NAMESPACE`, fix the cause, then run the same command again";
const STORED: &str = "check with `helm history RELEASE --namespace NAMESPACE` whether Helm can read it, and find out who wrote that Secret";
const SCALED: &str = "scale it up again with `kubectl scale`";
const UNSETTLED: &str =
    "find the cause with `kubectl describe` of it and of its pods, and in their logs";
const CARRIED_SECURITY: &str = "set another level on the namespace (label pod-security.kubernetes.io/enforce), or add a patch to the site configuration (`solution site`) that gives the pod a security context that the level allows";
const NEVER_SERVED: &str = "check the component that should have written it (a Job, cert-manager) and why its pods did not start, then deploy the version again";
const NO_PASSWORD: &str = "create the Secret first, and name it with `--pull-secret`";
const NO_SENSITIVE: &str =
    "deploy once with the value and without a plan file: the environment then keeps the value";
const NO_SECRET_VALUE: &str = "put it into a Secret in the release's namespace and name the Secret in `valuesFrom` of the site configuration; or deploy once without a plan file";
const UNSCHEDULABLE: &str = "check with `kubectl describe pod` why no node fits: free resources, taints or the node selector; set `nodeSelector` and `tolerations` in the site configuration (`solution site`)";
/// Messages of the scheduler (of Kubernetes 1.36), each with a hint.
const SCHEDULER: [(&[&str], &str); 6] = [
    (
        &[
            "persistentvolume",
            "persistent volume",
            "volume node affinity",
            "enough free storage",
        ],
        "check the storage: `kubectl get storageclass,pvc,pv`; the claim needs a storage class that exists, or a default one, on the nodes where the pod may run",
    ),
    (
        &[
            "pod affinity",
            "pod anti-affinity",
            "pods anti-affinity",
            "topology spread",
        ],
        "add nodes, or choose fewer replicas or another affinity in the chart's values or the site configuration (`solution site`): the pod's (anti-)affinity or topology spread allows no node",
    ),
    (
        &["free ports"],
        "choose another port, or a node where it is free: another pod uses the host port that the pod requests",
    ),
    (
        &["insufficient", "too many pods"],
        "free resources on the nodes, add nodes, or choose smaller `resources` in the site configuration (`solution site`) or the chart's values",
    ),
    (
        &["node affinity", "node selector"],
        "label a node (`kubectl label node`), or correct `nodeSelector` in the site configuration (`solution site`) or the affinity in the chart's values: no node has the labels that the pod requires",
    ),
    (
        &["taint"],
        "add `tolerations` to the site configuration (`solution site`) or the chart's values, or remove the taint (`kubectl taint node`): all nodes that would fit have taints",
    ),
];
const OTHER_PLATFORM: &str = "use an archive for the node's platform, or keep the pod off that node with `nodeSelector` in the site configuration (`solution site`)";

impl Judge for Error {
    fn answer(&self) -> Answer {
        match self {
            Self::Rollout(failure) => of_seen(&failure.stuck, &failure.detail),
            Self::UnreadyObjects(unsettled) => unsettled.answer(),
            Self::Pull(failure) => of_seen(&failure.stuck, &failure.detail),
            Self::NodesNotReady { .. } => unknown(
                "find the cause with `kubectl describe node`; the Solution that provides their network must be deployed first: make the others need it, or list it first. To wait longer, use `--wait-for-cluster=SECONDS`",
            ),
            Self::StillThere { .. } => unknown(
                "check their finalizers, then run the same command again, with `--timeout` to wait longer",
            ),
            Self::Untrusted {
                reason: CertificateReason::Dates(_),
                ..
            } => unknown(
                "renew the API server's certificate, or correct the clock of this machine (`date`)",
            ),
            Self::Untrusted { .. } => unknown(
                "check `server`, `certificate-authority` and `tls-server-name` of the cluster in the kubeconfig",
            ),
            // `kubernetes` retries requests by the same rule.
            other if other.is_temporary() => unknown(
                "check that the API server and its admission webhooks respond, then run the same command again to complete the change",
            ),
            _ => NO,
        }
    }
}

impl Judge for UnreadyObjects {
    fn answer(&self) -> Answer {
        match self.cause() {
            Some(cause) => of_carried(&cause.stuck, &cause.detail),
            None if self.has_failed() => NO,
            None => PodProblem::NoCause.answer(),
        }
    }
}

impl Judge for PodProblem {
    fn answer(&self) -> Answer {
        match self {
            Self::Pull(problem) => problem.answer(),
            Self::Configuration => no("create the missing object, or correct its name in the pod"),
            Self::Crash { .. } => no("read the end of its log to see why the program stops"),
            Self::OutOfMemory => no(
                "raise its memory limit: `resources` in the site configuration (`solution site`), or the namespace's LimitRange",
            ),
            Self::WrongMachine => no(OTHER_PLATFORM),
            Self::NoProgram => no("check the command in the manifest against the image's content"),
            Self::Node => no(
                "read the message: the node lacks a mount or a device that the container requires",
            ),
            Self::Quota => no(
                "raise the namespace's ResourceQuota, or choose smaller `resources` in the site configuration (`solution site`)",
            ),
            Self::PodSecurity => no(
                "give the pod a security context that the level allows in the site configuration (`solution site`), or set another level on the namespace (label pod-security.kubernetes.io/enforce)",
            ),
            Self::PodRefused => no(
                "read the message: an admission rule rejects the pods, or their ServiceAccount is missing",
            ),
            Self::Unschedulable => unknown(UNSCHEDULABLE),
            Self::NotReady => unknown("check the readiness probe and the container's log"),
            Self::NoCause => unknown(
                "check that the cluster's controllers and nodes work, or wait longer with `--timeout`",
            ),
        }
    }
}

/// Returns the answer for a pod of a manifest set or chart. Only operators get a security context.
fn of_carried(stuck: &PodProblem, detail: &str) -> Answer {
    match stuck {
        PodProblem::PodSecurity => no(CARRIED_SECURITY),
        other => of_seen(other, detail),
    }
}

/// Returns the answer for a pod, based on the cluster's message.
fn of_seen(stuck: &PodProblem, detail: &str) -> Answer {
    match stuck {
        PodProblem::Unschedulable => unknown(of_scheduler(detail)),
        other => other.answer(),
    }
}

/// Returns the hint for the reason why the scheduler finds no node. Out of multiple reasons, it picks the rarest:
/// almost every cluster has nodes with taints.
fn of_scheduler(detail: &str) -> &'static str {
    let said = detail.to_ascii_lowercase();
    let reasons = SCHEDULER.iter();
    let mut reasons = reasons.filter(|(words, _)| words.iter().any(|word| said.contains(word)));
    reasons.next().map_or(UNSCHEDULABLE, |(_, hint)| hint)
}

impl Judge for PullProblem {
    fn answer(&self) -> Answer {
        match self {
            Self::UnknownAuthority => no(
                "install the registry's CA on every node (containerd: certs.d/<registry>/hosts.toml with `ca`)",
            ),
            Self::Certificate => {
                no("renew the registry's certificate, or use a host name that it contains")
            }
            Self::PlainHttp => no(
                "give the registry a certificate, or configure every node to use plain HTTP for it (containerd: certs.d/<registry>/hosts.toml with `server = \"http://...\"`)",
            ),
            Self::Unauthorized => no(
                "name a Secret of type kubernetes.io/dockerconfigjson with `--pull-secret`, or correct its credentials",
            ),
            Self::NotFound => no(
                "import the archive again, and check `--pull-registry`: the image is missing from the registry that nodes pull from",
            ),
            Self::Platform => no(OTHER_PLATFORM),
            Self::BadReference => {
                no("check the image reference in the manifest and `--pull-registry`")
            }
            Self::SecretUnread => unknown(
                "check that the pull secret is in the namespace; if the node was only slow to read it, it retries by itself",
            ),
            Self::Refused => unknown(
                "check that the registry runs and that nodes can reach its address and port",
            ),
            Self::NoSuchHost => unknown(
                "make the registry's host name resolve on the nodes, or set `--pull-registry` to a name that resolves",
            ),
            Self::TimedOut => unknown("check the network between the nodes and the registry"),
            Self::Other => unknown("read the message, and check with `crictl pull` on the node"),
        }
    }
}

/// Returns the hint for an operator that is not ready.
pub(crate) fn of_operator(operator: &OperatorStatus) -> Option<&'static str> {
    match (operator.condition, &operator.awaited) {
        (Condition::Ready | Condition::Unseen, _) => None,
        (Condition::Gone | Condition::OtherVersion | Condition::Changed, _) => Some(AGAIN),
        (Condition::NotReady, None) if operator.is_scaled_to_zero() => Some(SCALED),
        (Condition::NotReady, None) => Some(UNSETTLED),
        (Condition::NotReady, Some(awaited)) => match awaited {
            AwaitedCondition::Cause { stuck, .. } => stuck.answer().1,
            AwaitedCondition::Notice | AwaitedCondition::Pods | AwaitedCondition::Unseen => {
                PodProblem::NoCause.answer().1
            }
            AwaitedCondition::Node { .. }
            | AwaitedCondition::Image { .. }
            | AwaitedCondition::Start { .. }
            | AwaitedCondition::Former { .. } => None,
        },
    }
}

/// Returns the failure to connect to a cluster of a fleet.
pub(crate) fn unusable_member(error: Error) -> Failure {
    let hint = of_client_certificate(&error);
    let failure = Failure::unknown(error).context("cannot use the cluster");
    hint.into_iter().fold(failure, Failure::hint)
}

/// Returns the failure to connect to the cluster of a kubeconfig or a context.
pub(crate) fn unusable(error: Error) -> Failure {
    let is_known = of_client_certificate(&error).is_some();
    let failure = unusable_member(error);
    if is_known {
        return failure;
    }
    failure.hint(
        "check access with `kubectl version` in the same context, or choose another with `--kubeconfig` and `--context`",
    )
}

/// Returns the hint for the client certificate of a kubeconfig.
fn of_client_certificate(error: &Error) -> Option<&'static str> {
    match error {
        Error::Identity(problem) => Some(match problem {
            IdentityError::NoCertificate | IdentityError::NoKey => {
                "set `client-certificate` and `client-key` in the kubeconfig to PEM files, or `client-certificate-data` and `client-key-data` to their content in base64"
            }
            IdentityError::Encrypted => {
                "remove the passphrase with `openssl pkey -in FILE.key -out NEW.key`, and name the new file in `client-key`; kubectl cannot use an encrypted key either"
            }
            IdentityError::OtherKey => {
                "name the key of the certificate: `openssl x509 -pubkey -noout -in FILE.crt` and `openssl pkey -pubout -in FILE.key` must print the same"
            }
            IdentityError::Unsupported => {
                "get a certificate for an RSA (2048 bits or more), ECDSA (P-256, P-384) or Ed25519 key"
            }
        }),
        Error::Expiry(ExpiryError::Expired { .. }) => Some(
            "renew the client certificate (kubeadm: `kubeadm certs renew` on a control-plane node), or correct the clock of this machine",
        ),
        Error::Expiry(ExpiryError::NotYetValid { .. }) => Some(OTHER_CLOCK),
        _ => None,
    }
}

/// Describes the holder of the Lease.
pub(crate) fn in_words(held: &HeldLease) -> String {
    let environment = importer::leased_environment(&held.name);
    let environment = environment.map(|environment| format!("the environment {environment}"));
    let what = environment.as_deref().unwrap_or("this cluster");
    holder::at_work(&held.holder, what, held.since, environment::clock())
}

impl From<importer::Error> for Failure {
    fn from(error: importer::Error) -> Self {
        use importer::Error as E;
        let error = match error {
            E::Store(store::Error::Push(failure)) => {
                return not_pushed(&failure, ", so the cluster was not changed");
            }
            E::Store(error) => return error.into(),
            other => other,
        };
        match &error {
            E::Refused(blocker) => {
                let fix = fix(blocker);
                Self::no(error).hint(fix)
            }
            E::Registry(cause) => Self::judged(cause.answer(), error),
            E::Cluster(Error::LeaseHeld(held)) => {
                let hint = free_in(held.expires_in);
                Self::unknown(anyhow::anyhow!(in_words(held))).hint(hint)
            }
            // `Store` never reaches this match, because it is converted above.
            E::Store(_) | E::NoIdentity | E::Random(_) | E::Gate(_) => Self::unknown(error),
            E::Password => Self::new(Outcome::Usage, error).hint(NO_PASSWORD),
            E::Sensitive(_) => Self::new(Outcome::Usage, error).hint(NO_SENSITIVE),
            E::SecretValue(_) => Self::new(Outcome::Usage, error).hint(NO_SECRET_VALUE),
            E::RolledBack { source, .. } => {
                let (answer, log) = why(source);
                quoting(log, Self::judged(answer, error))
            }
            E::Unpulled(cause) => {
                let Answer(outcome, usual) = cause.source.answer();
                let (hints, files) = (fixes::hints(cause, usual), cause.files());
                let failure = Self::new(outcome, error).files(files);
                hints.into_iter().fold(failure, Self::hint)
            }
            E::Cleanup(_, source) => {
                quoting(log_of(source), Self::judged(source.answer(), error)).hint(SKIP_REMOVE_SETS)
            }
            E::NotRolledBack { source, .. } => match source.as_ref() {
                E::Cluster(cause) => Self::new(cause.answer().0, error),
                _ => Self::unknown(error),
            },
            E::Mixed {
                previous, source, ..
            } => {
                let whole = format!(
                    "run `solution deploy NAME {previous} --environment ENV` to restore version {previous}, or run the same command again to continue with the new version"
                );
                match source.as_ref() {
                    E::Cluster(cause) => {
                        let outcome = cause.answer().0;
                        quoting(log_of(cause), Self::new(outcome, error)).hint(whole)
                    }
                    _ => Self::unknown(error).hint(whole),
                }
            }
            E::Unserved { .. } => Self::unknown(error).hint(UNSERVED),
            E::Format { .. } => Self::no(error).hint(NEWER_PROGRAM),
            E::Cluster(_) | E::Unready { .. } | E::Helm(..) | E::Release(..) => {
                let (answer, log) = why(&error);
                quoting(log, Self::judged(answer, error))
            }
            E::Object(_)
            | E::Placeholder(_)
            | E::Rendered(..)
            | E::Record(..)
            | E::Name(..)
            | E::Site(..)
            | E::Rules(..)
            | E::Repository(_)
            | E::Expand(_)
            | E::Blocked(_) => Self::no(error),
        }
    }
}

/// Returns the hint for a Lease that another process holds, and that expires after this time.
fn free_in(time: Duration) -> String {
    let free = time.as_secs() + 1;
    format!("wait with `--wait`; if that process has died, its lock expires in {free} s")
}

/// Returns the reason why a version did not become ready, with the end of a log if that explains it.
fn why(error: &importer::Error) -> (Answer, Option<String>) {
    use importer::Error as E;
    match error {
        E::Cluster(cause) => (cause.answer(), log_of(cause)),
        E::Unready { source, .. } => (source.answer(), log_of(source)),
        // Helm was asked to end, so the signal determines the end of the program.
        E::Helm(_, helm::HelmError::Cancelled(_) | helm::HelmError::Killed { .. }) => {
            (unknown(HELM), None)
        }
        E::Helm(..) | E::Refused(_) => (no(HELM), None),
        E::Release(..) => (unknown(STORED), None),
        _ => (unknown(NEVER_SERVED), None),
    }
}

/// Adds the end of the container's log to a failure, if there is one.
fn quoting(log: Option<String>, failure: Failure) -> Failure {
    log.into_iter().fold(failure, |failure, log| {
        failure.quote("the container's last log lines", log)
    })
}

fn log_of(error: &Error) -> Option<String> {
    match error {
        Error::Rollout(failure) => failure.log.clone(),
        Error::UnreadyObjects(unsettled) => unsettled.cause()?.log.clone(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(error: importer::Error) -> (Outcome, Vec<String>) {
        let failure = Failure::from(error);
        (failure.outcome(), failure.hints.clone())
    }

    #[test]
    fn what_a_rollout_waits_for_decides_whether_trying_again_may_help() {
        let rollout = |stuck| {
            ended(importer::Error::Cluster(Error::Rollout(Box::new(
                kubernetes::RolloutFailure {
                    namespace: "n".to_owned(),
                    deployment: "app".to_owned(),
                    pod: None,
                    stuck,
                    detail: String::new(),
                    log: None,
                },
            ))))
        };
        for (stuck, outcome, hint) in [
            (
                PodProblem::Pull(PullProblem::UnknownAuthority),
                Outcome::No,
                "install the registry's CA",
            ),
            (
                PodProblem::Pull(PullProblem::Unauthorized),
                Outcome::No,
                "`--pull-secret`",
            ),
            (
                PodProblem::Pull(PullProblem::SecretUnread),
                Outcome::Unknown,
                "the pull secret is in",
            ),
            (
                PodProblem::Pull(PullProblem::Refused),
                Outcome::Unknown,
                "the registry runs",
            ),
            (PodProblem::Quota, Outcome::No, "ResourceQuota"),
            (PodProblem::NoCause, Outcome::Unknown, "wait longer"),
        ] {
            let (found, hints) = rollout(stuck.clone());
            assert_eq!((found, hints.len()), (outcome, 1), "{stuck:?}");
            assert!(hints[0].contains(hint), "{stuck:?}: {hints:?}");
        }
    }

    #[test]
    fn a_security_context_in_the_sites_workloads_is_advised_for_operators_alone() {
        for (stuck, field) in [
            (PodProblem::OutOfMemory, "`resources`"),
            (PodProblem::WrongMachine, "`nodeSelector`"),
            (PodProblem::Quota, "`resources`"),
            (PodProblem::Unschedulable, "`tolerations`"),
            (PodProblem::NotReady, "readiness probe"),
        ] {
            let carried = of_carried(&stuck, "");
            assert_eq!(carried.1, stuck.answer().1, "{stuck:?}");
            let advice = carried.1.unwrap();
            assert!(advice.contains(field), "{stuck:?}: {advice}");
        }
        let [operators, carried] = [
            PodProblem::PodSecurity.answer(),
            of_carried(&PodProblem::PodSecurity, ""),
        ];
        assert_eq!(operators.0, carried.0);
        let by_patch = |answer: &Answer| answer.1.unwrap().contains("a patch to");
        assert!(!by_patch(&operators) && by_patch(&carried));
    }

    #[test]
    fn a_pod_that_no_node_takes_gets_advice_for_the_reason_of_the_scheduler() {
        for (detail, hint) in [
            (
                "0/3 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 2 Insufficient cpu. preemption: 0/3 nodes are available",
                "`resources`",
            ),
            (
                "0/1 nodes are available: 1 node(s) had untolerated taint {a: b}.",
                "`tolerations`",
            ),
            (
                "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
                "kubectl label node",
            ),
            (
                "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules.",
                "fewer replicas",
            ),
            (
                "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
                "storageclass",
            ),
            (
                "0/1 nodes are available: persistentvolumeclaim \"data\" not found.",
                "storageclass",
            ),
            (
                "0/1 nodes are available: 1 node(s) had volume node affinity conflict.",
                "storageclass",
            ),
            (
                "0/1 nodes are available: 1 Insufficient ephemeral-storage.",
                "free resources",
            ),
            (
                "0/1 nodes are available: 1 Too many pods.",
                "free resources",
            ),
            (
                "no nodes available to schedule pods",
                "kubectl describe pod",
            ),
        ] {
            let answers = [of_seen, of_carried].map(|of| of(&PodProblem::Unschedulable, detail));
            for Answer(outcome, advice) in answers {
                assert_eq!(outcome, Outcome::Unknown);
                assert!(advice.unwrap().contains(hint), "{detail}: {advice:?}");
            }
        }
    }

    #[test]
    fn objects_that_do_not_settle_end_as_the_first_cause_that_was_found() {
        let unready = |state, stuck: Option<PodProblem>| kubernetes::UnreadyObject {
            object: kubernetes::ObjectRef::namespaced("batch/v1", "Job", "n", "job"),
            state,
            awaited: None,
            cause: stuck.map(|stuck| kubernetes::Cause {
                stuck,
                pod: None,
                detail: String::new(),
                log: None,
            }),
        };
        let pending = || kubernetes::Readiness::Pending("0 of 1 pods are ready".to_owned());
        let failed = || kubernetes::Readiness::Failed("no more attempts".to_owned());
        let not_found = Some(PodProblem::Pull(PullProblem::NotFound));
        for (objects, outcome, hint) in [
            (
                vec![unready(pending(), None)],
                Outcome::Unknown,
                "wait longer",
            ),
            (
                vec![unready(pending(), None), unready(pending(), not_found)],
                Outcome::No,
                "import the archive again",
            ),
            (vec![unready(failed(), None)], Outcome::No, ""),
        ] {
            let after = std::time::Duration::from_mins(1);
            let unsettled = UnreadyObjects { objects, after };
            let (found, hints) = ended(importer::Error::Cluster(Error::UnreadyObjects(Box::new(
                unsettled,
            ))));
            assert_eq!(found, outcome);
            assert!(hints.concat().contains(hint), "{hints:?}");
        }
    }
}

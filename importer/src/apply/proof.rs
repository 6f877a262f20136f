//! Proves that nodes can pull an image before a deployment changes anything else. A pod on each architecture pulls the
//! image by digest from the registry, with the same pull secrets as the deployment's own pods. The pod does not run the
//! image: it asks for a program that no image has. docs/decisions/0015-pull-proof.md gives the reasons.

use std::error::Error as _;
use std::time::Duration;

use kubernetes::{HeldLeases, Object, ObjectRef, PodProblem, Probe};
use planner::{DesiredObject, check_owner, owner_of, vocabulary as v, without_server_fields};
use schemas::SolutionName;
use serde_json::{Value, json};

use crate::apply::leased::Leased;
use crate::decide::deployment::Deployment;
use crate::decide::proof::{ANY, Proof};
use crate::model::error::{Error, FailedPull};
use crate::model::event::Event;
use crate::plan::Ready;

/// The program that the pod asks for, which no image has.
const NO_PROGRAM: &str = "/solution-pull-proof";
/// The pull secrets and accounts for the proof, and their state before it.
struct Logins {
    /// The operator's account, whose pull secrets the pods use. Pods of packaged workloads name their own.
    account: Option<Object>,
    /// The objects that were written, each with its former state, or `None` if it did not exist.
    before: Vec<(ObjectRef, Option<Object>)>,
}

/// A proof, and the context in which it is made.
struct Proving<'a> {
    proof: &'a Proof,
    deployment: &'a Deployment,
    /// The account that owns the pods, so that they are deleted with it. Pods of packaged workloads are recorded
    /// instead.
    account: Option<&'a Object>,
    /// The longest time without any visible progress.
    wait: Duration,
    leases: &'a HeldLeases,
}

impl Ready<'_> {
    /// Makes pods pull the image if the plan requires a proof. Only the pull secrets and accounts of the deployment are
    /// written for it, and they are restored if the image cannot be pulled.
    pub(crate) async fn prove(
        &self,
        deployment: &Deployment,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let Some(proof) = &self.proof else {
            return Ok(());
        };
        let Logins { account, before } = self.logins(deployment, leased).await?;
        let request = &self.asked.request;
        let proving = Proving {
            proof,
            deployment,
            account: account.as_ref(),
            wait: request.limits.wait,
            leases: &request.context.writer.leases,
        };
        let proven = proving.prove(leased).await;
        if let Err(Error::Unpulled(_)) = &proven {
            put_back(before, &deployment.solution, leased).await?;
        }
        proven
    }

    /// Writes the objects that pods pull with: a generated pull secret, and the operator's account if its secrets
    /// change.
    async fn logins(
        &self,
        deployment: &Deployment,
        leased: &mut Leased<'_>,
    ) -> Result<Logins, Error> {
        let (mut account, mut before) = (None, Vec::new());
        let own = deployment
            .change
            .changes()
            .map(|change| &change.desired)
            .filter(|desired| desired.part.is_none() && is_pulled_with(desired));
        for object in own.map(|desired| &desired.object) {
            let reference = object.reference();
            let live = leased.look(reference).await?;
            let is_account = reference.gvk.kind == "ServiceAccount";
            if is_account
                && live
                    .as_ref()
                    .is_some_and(|live| has_secrets_of(live, object))
            {
                // An account with the same pull secrets is used without a write.
                account = live;
                continue;
            }
            let decide = |live: Option<&Object>| {
                check_owner(object, live, &deployment.solution)?;
                Ok(Some(object.clone()))
            };
            let conflicts = self.asked.conflicts(object);
            let written = leased.put_with(conflicts, reference, decide).await?;
            let was = live.map(|live| Object::new(without_server_fields(live.into_value())));
            before.push((reference.clone(), was.transpose()?));
            account = written.filter(|_| is_account).or(account);
        }
        Ok(Logins { account, before })
    }
}

/// Restores the pull secrets and accounts that were written for the proof.
async fn put_back(
    before: Vec<(ObjectRef, Option<Object>)>,
    solution: &SolutionName,
    leased: &mut Leased<'_>,
) -> Result<(), Error> {
    for (reference, was) in before {
        let Some(was) = was else {
            leased
                .remove(&reference, |live| owner_of(live, solution))
                .await?;
            continue;
        };
        let decide = |live: Option<&Object>| {
            check_owner(&was, live, solution)?;
            Ok(Some(was.clone()))
        };
        leased.put(&reference, decide).await?;
    }
    Ok(())
}

/// Checks whether pods need the object to pull images.
fn is_pulled_with(desired: &DesiredObject) -> bool {
    match desired.object.gvk().kind.as_str() {
        "Secret" => true,
        "ServiceAccount" => !desired.is_the_namespaces(),
        _ => false,
    }
}

/// Checks whether the live account already has the pull secrets of the desired one.
fn has_secrets_of(live: &Object, account: &Object) -> bool {
    let secrets = |account: &Object| account.as_value()["imagePullSecrets"].clone();
    secrets(live) == secrets(account)
}

/// A pod of the proof, and the architecture of its node.
type Pulling = (Option<String>, Probe);

impl Proving<'_> {
    /// Makes a pod on each architecture pull the image. The pods are removed in any case.
    async fn prove(&self, leased: &mut Leased<'_>) -> Result<(), Error> {
        let mut pods = Vec::new();
        let mut proven = self.pull(leased, &mut pods).await;
        for (_, pod) in pods {
            let removed = pod.remove().await;
            proven = proven.and(removed.map_err(Error::from));
        }
        proven
    }

    /// Creates the pods, which are added to `pods` for their removal, and waits until each has pulled the image.
    async fn pull(&self, leased: &mut Leased<'_>, pods: &mut Vec<Pulling>) -> Result<(), Error> {
        // All pods are created before the first one is awaited, so that the nodes pull in parallel.
        for architecture in self.proof.places() {
            let architecture = architecture.map(str::to_owned);
            let pod = Object::new(self.pod(architecture.as_deref()))?;
            let made = self
                .make(&pod, leased)
                .await
                .map_err(|error| self.unpulled(architecture.as_ref(), error))?;
            pods.push((architecture, made));
        }
        let mut outcomes = Vec::new();
        for (architecture, pod) in pods.iter() {
            let tell = |awaited| {
                (leased.tell)(Event::Pulling {
                    image: self.proof.image.clone(),
                    architecture: architecture.clone(),
                    awaited,
                });
            };
            let pulled = pod
                .pulled(self.wait, &tell)
                .await
                .map_err(|error| self.unpulled(architecture.as_ref(), error.into()));
            let ends = pulled.as_ref().is_err_and(|error| !has_no_node(error));
            outcomes.push((architecture.clone(), pulled));
            // Any failure other than a missing node decides the proof, so the other pods are not awaited.
            if ends {
                break;
            }
        }
        for (architecture, error) in judge(outcomes)? {
            let detail = error.source().map(ToString::to_string).unwrap_or_default();
            (leased.tell)(Event::Unproved {
                architecture,
                detail,
            });
        }
        Ok(())
    }

    /// Creates a pod. If an interrupted run has left one, it is removed first.
    async fn make(&self, pod: &Object, leased: &mut Leased<'_>) -> Result<Probe, Error> {
        leased.lock.check()?;
        let made = leased.cluster.probe(pod, &v::manager(), self.leases).await;
        if !matches!(made, Err(kubernetes::Error::Changed { .. })) {
            return Ok(made?);
        }
        let reference = pod.reference();
        let solution = &self.deployment.solution;
        leased
            .remove(reference, |live| owner_of(live, solution))
            .await?;
        leased.wait_gone([reference.clone()], self.wait).await?;
        let made = leased.cluster.probe(pod, &v::manager(), self.leases).await;
        Ok(made?)
    }

    /// Returns the error for a pod that did not pull its image, with the registry, the pull secret and the namespace.
    fn unpulled(&self, architecture: Option<&String>, error: Error) -> Error {
        let proof = self.proof;
        match error {
            Error::Cluster(source @ kubernetes::Error::Pull(_)) => {
                Error::Unpulled(Box::new(FailedPull {
                    image: proof.image.clone(),
                    architecture: architecture.cloned(),
                    namespace: proof.namespace.clone(),
                    secret: self.deployment.deployed.pull_secret.clone(),
                    host: proof.host.clone(),
                    authorities: proof.authorities.clone(),
                    source,
                }))
            }
            other => other,
        }
    }

    /// Returns a pod that every PodSecurity level and nearly every quota accepts, and that starts no program.
    fn pod(&self, architecture: Option<&str>) -> Value {
        let deployment = self.deployment;
        let place = architecture.unwrap_or(ANY);
        let few = json!({ "cpu": "10m", "memory": "32Mi" });
        let mut spec = json!({
            "restartPolicy": "Never",
            "activeDeadlineSeconds": kubernetes::limits::PULLING.as_secs(),
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "securityContext": { "seccompProfile": { "type": "RuntimeDefault" } },
            "containers": [{
                "name": "pull",
                "image": self.proof.image,
                // An image in the node's cache proves nothing about the registry.
                "imagePullPolicy": "Always",
                "command": [NO_PROGRAM],
                "resources": { "requests": few, "limits": few },
                "securityContext": {
                    "allowPrivilegeEscalation": false,
                    "capabilities": { "drop": ["ALL"] },
                    "readOnlyRootFilesystem": true,
                    "runAsNonRoot": true,
                },
            }],
        });
        for (field, value) in &self.proof.like {
            spec[field] = value.clone();
        }
        if let Some(architecture) = architecture {
            spec["nodeSelector"]["kubernetes.io/arch"] = json!(architecture);
        }
        // If an interrupted run leaves the pod, it is deleted with the account that it tests.
        let owner = self.account.map(|account| {
            json!({
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "name": account.name(),
                "uid": account.uid(),
            })
        });
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": self.proof.pod(&deployment.solution, architecture),
                "namespace": deployment.namespace(),
                "labels": {
                    v::SOLUTION: deployment.solution,
                    v::PULL_PROOF: place,
                    v::MANAGED_BY: v::MANAGER,
                },
                "ownerReferences": Vec::from_iter(owner),
            },
            "spec": spec,
        })
    }
}

/// The outcome of the pod on an architecture, or of the one on any node.
type PullOutcome = (Option<String>, Result<(), Error>);

/// Checks that every pod that could be scheduled pulled the image. An architecture without a suitable node needs no
/// proof as long as another one has it, since the Deployment's pods cannot be scheduled there either. Returns the
/// architectures without a proof.
fn judge(outcomes: Vec<PullOutcome>) -> Result<Vec<(String, Error)>, Error> {
    let (mut proven, mut homeless) = (false, Vec::new());
    for (architecture, pulled) in outcomes {
        match (pulled, architecture) {
            (Ok(()), _) => proven = true,
            (Err(error), Some(architecture)) if has_no_node(&error) => {
                homeless.push((architecture, error));
            }
            (Err(error), _) => return Err(error),
        }
    }
    match homeless.pop() {
        Some((_, error)) if !proven => Err(error),
        last => Ok(homeless.into_iter().chain(last).collect()),
    }
}

fn has_no_node(error: &Error) -> bool {
    let Error::Unpulled(unpulled) = error else {
        return false;
    };
    match &unpulled.source {
        kubernetes::Error::Pull(failure) => failure.stuck == PodProblem::Unschedulable,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use kubernetes::{PullFailure, PullProblem};

    use super::*;

    fn failed(stuck: PodProblem) -> Result<(), Error> {
        Err(Error::Unpulled(Box::new(FailedPull {
            image: "app".to_owned(),
            architecture: None,
            namespace: "prod".parse().unwrap(),
            secret: None,
            host: "r.test".to_owned(),
            authorities: None,
            source: kubernetes::Error::Pull(Box::new(PullFailure {
                pod: "pull".to_owned(),
                node: None,
                stuck,
                detail: String::new(),
            })),
        })))
    }

    /// Returns the architectures without a proof, or the reason why the image is not proven.
    fn judged(outcomes: Vec<(&str, Result<(), Error>)>) -> Result<String, String> {
        let place = |place: &str| Some(place.to_owned()).filter(|place| !place.is_empty());
        let outcomes = outcomes.into_iter();
        let left: Vec<String> = judge(outcomes.map(|(at, pulled)| (place(at), pulled)).collect())
            .map_err(|error| error.source().unwrap().to_string())?
            .into_iter()
            .map(|(place, _)| place)
            .collect();
        Ok(left.join(" "))
    }

    #[test]
    fn an_architecture_without_a_node_for_the_pod_is_left_out_where_another_one_pulls() {
        let homeless = || failed(PodProblem::Unschedulable);
        let none = || Err("no node can run the pod, pod pull".to_owned());
        let both = judged(vec![("amd64", Ok(())), ("arm64", Ok(()))]);
        assert_eq!(both, Ok(String::new()));
        let one = judged(vec![("amd64", homeless()), ("arm64", Ok(()))]);
        assert_eq!(one, Ok("amd64".to_owned()));
        let neither = judged(vec![("amd64", homeless()), ("arm64", homeless())]);
        assert_eq!(neither, none());
        assert_eq!(judged(vec![("", homeless())]), none());
        let missing = failed(PodProblem::Pull(PullProblem::NotFound));
        let words = "the image cannot be pulled: the registry does not have the image, pod pull";
        let missing = judged(vec![("amd64", Ok(())), ("arm64", missing)]);
        assert_eq!(missing, Err(words.to_owned()));
    }
}

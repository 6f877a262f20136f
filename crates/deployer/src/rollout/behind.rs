//! Pods that a `StatefulSet`'s way back leaves behind. Its controller replaces no pod that is not ready by one of another
//! version before it has become ready, and so never one that was broken by the version that is given up
//! (kubernetes/kubernetes issue 67250).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Restart;
use super::scene::revision_of;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::object::{Object, ObjectRef, condition};

/// The revisions that `StatefulSet`s are known to have been on their way to, before they went back.
#[derive(Debug)]
pub enum Attempts {
    /// Those that were seen, by the set's uid.
    Seen(BTreeMap<String, BTreeSet<String>>),
    /// Any: the sets are being taken back.
    Any,
}

impl Cluster {
    /// Notes to which revisions these `StatefulSet`s are on their way; and of those that have gone back from one, or on to
    /// another, deletes its pods that are not ready, so that they are made anew. Returns these pods, and whether we may delete them.
    pub async fn clear_behind(
        &self,
        sets: &[ObjectRef],
        attempts: &mut Attempts,
    ) -> Result<Vec<(ObjectRef, Restart)>, Error> {
        let sets: Vec<&ObjectRef> = sets.iter().collect();
        let mut cleared = Vec::new();
        for set in self.get_all(&sets).await?.into_iter().flatten() {
            let Some(kept) = attempts.note(&set) else {
                continue;
            };
            for pod in self.pods_of(&set, &set).await? {
                let reference = pod.reference().clone();
                let is_behind = |pod: &Value| {
                    let of_pod = revision_of(pod).as_str();
                    let is_kept = |it| kept.iter().any(|kept| kept == it);
                    let given_up = |it| !is_kept(it) && attempts.has(&set, it);
                    !is_ready(pod) && of_pod.is_some_and(given_up)
                };
                if let Some(restart) = self.restart(pod, is_behind).await? {
                    cleared.push((reference, restart));
                }
            }
        }
        Ok(cleared)
    }
}

impl Attempts {
    /// Notes where a set is on its way to; the revisions that it has then. Of a set that is taken back, only once it is on no
    /// way any more: where it was on its way to is what is given up.
    fn note(&mut self, set: &Object) -> Option<[String; 2]> {
        let value = set.as_value();
        let status = &value["status"];
        if status["observedGeneration"] != value["metadata"]["generation"] {
            return None;
        }
        let [current, update] =
            ["currentRevision", "updateRevision"].map(|field| status[field].as_str());
        let (current, update) = (current?, update?);
        if current != update {
            let Self::Seen(seen) = self else {
                return None;
            };
            let seen = seen.entry(set.uid()?.to_owned()).or_default();
            seen.insert(update.to_owned());
        }
        Some([current.to_owned(), update.to_owned()])
    }

    /// Whether a set was on its way to a revision.
    fn has(&self, set: &Object, revision: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Seen(seen) => {
                let seen = set.uid().and_then(|uid| seen.get(uid));
                seen.is_some_and(|seen| seen.contains(revision))
            }
        }
    }
}

fn is_ready(pod: &Value) -> bool {
    condition(pod, "Ready").is_some_and(|ready| ready["status"] == "True")
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;

    use super::*;
    use crate::mock::{Answer, cluster};

    fn set(generation: u64, current: &str, update: &str) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "db", "namespace": "n", "uid": "set", "generation": generation},
            "spec": {"selector": {"matchLabels": {"app": "db"}}},
            "status": {"observedGeneration": 2, "currentRevision": current, "updateRevision": update},
        })
    }

    fn pod(name: &str, revision: &str, owner: &str, ready: &str) -> Value {
        json!({
            "metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": "7",
                "labels": {"controller-revision-hash": revision}, "ownerReferences": [{"uid": owner}]},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        })
    }

    /// What is deleted while the set is seen so, one after the other.
    async fn deleted(mut attempts: Attempts, sets: Vec<Value>) -> Vec<String> {
        let looks = sets.len();
        let sets = Mutex::new(sets.into_iter());
        let (cluster, seen) = cluster(move |seen| match seen.path.split('?').next().unwrap() {
            "/apis/apps/v1/namespaces/n/statefulsets/db" => {
                Answer::json(200, &sets.lock().unwrap().next().unwrap())
            }
            "/api/v1/namespaces/n/pods" => {
                let pods = [
                    pod("broken", "b", "set", "False"),
                    pod("works", "b", "set", "True"),
                    pod("former", "a", "set", "False"),
                    pod("foreign", "b", "other", "False"),
                ];
                Answer::json(200, &json!({ "items": pods }))
            }
            _ => Answer::json(200, &json!({})),
        })
        .await;
        let sets = [ObjectRef::namespaced("apps/v1", "StatefulSet", "n", "db")];
        let mut cleared = Vec::new();
        for _ in 0..looks {
            cleared.extend(cluster.clear_behind(&sets, &mut attempts).await.unwrap());
        }
        let seen = seen.lock().unwrap();
        let deletes = seen.iter().filter(|seen| seen.method == "DELETE");
        assert_eq!(deletes.count(), cleared.len());
        cleared.into_iter().map(|(pod, _)| pod.name).collect()
    }

    #[tokio::test]
    async fn a_pod_is_deleted_that_the_way_back_leaves_behind() {
        let seen = |sets: &[&Value]| {
            let sets = sets.iter().map(|it| (*it).clone()).collect();
            deleted(Attempts::Seen(BTreeMap::new()), sets)
        };
        let (there, back) = (set(2, "a", "b"), set(2, "a", "a"));
        assert_eq!(seen(&[&there, &back]).await, ["broken"]);
        assert_eq!(seen(&[&there, &set(2, "a", "c")]).await, ["broken"]);
        // Not before the controller has seen it, not where it has never left, and not where it has arrived.
        let none: [&str; 0] = [];
        assert_eq!(seen(&[&there, &set(3, "a", "a")]).await, none);
        assert_eq!(seen(&[&back, &back]).await, none);
        assert_eq!(seen(&[&there, &set(2, "b", "b")]).await, none);
        // Of what is taken back it need not have been seen.
        assert_eq!(deleted(Attempts::Any, vec![back]).await, ["broken"]);
        assert_eq!(deleted(Attempts::Any, vec![there]).await, none);
    }
}

//! Waiting until objects are gone, and saying what holds those that are not.

use std::fmt;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use watch::Tell;

use crate::cluster::Cluster;
use crate::cluster::wire::endure;
use crate::error::{Error, cut};
use crate::limits;
use crate::object::{Object, ObjectRef};

/// An object that is to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    /// The object.
    pub object: ObjectRef,
    /// Its unique id: another object that somebody makes under the same name is not waited for. Without it, any is.
    pub uid: Option<String>,
}

impl From<&ObjectRef> for Leaving {
    fn from(object: &ObjectRef) -> Self {
        Self {
            object: object.clone(),
            uid: None,
        }
    }
}

/// An object that should go and is still there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lingering {
    /// The object.
    pub object: ObjectRef,
    /// What holds it.
    pub hold: Hold,
}

/// What holds an object that should go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// Nobody has asked for it to be deleted.
    NotDeleted,
    /// Nothing that can be seen.
    Nothing,
    /// These finalizers, each of which some controller must remove.
    Finalizers(Vec<String>),
    /// What is in the namespace, in the cluster's own words.
    Content(String),
}

impl fmt::Display for Lingering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.object)?;
        match &self.hold {
            Hold::NotDeleted => f.write_str(" (not being deleted)"),
            Hold::Nothing => Ok(()),
            Hold::Finalizers(names) => {
                let names = cut(&names.join(", "), limits::MAX_SHOWN_VALUE);
                write!(f, " (held by {names})")
            }
            Hold::Content(words) => write!(f, " (held by its content: {words})"),
        }
    }
}

impl Cluster {
    /// Waits until none of the objects is there any more; else says which are and what holds them.
    pub async fn wait_gone(&self, objects: &[ObjectRef], deadline: Duration) -> Result<(), Error> {
        let leaving: Vec<Leaving> = objects.iter().map(Leaving::from).collect();
        self.wait_removed(&leaving, deadline, &|_| ()).await
    }

    /// The same of these very objects. Tells what holds one whenever that changes.
    pub async fn wait_removed(
        &self,
        objects: &[Leaving],
        deadline: Duration,
        tell: Tell<'_, Lingering>,
    ) -> Result<(), Error> {
        let end = Instant::now() + deadline;
        let mut waiting: Vec<(Leaving, Option<Hold>)> =
            objects.iter().map(|one| (one.clone(), None)).collect();
        loop {
            if let Some(left) = endure(self.left_of(waiting.clone()).await, end)? {
                waiting = left
                    .into_iter()
                    .map(|(leaving, told, live)| {
                        let hold = hold(&live);
                        if told.as_ref() != Some(&hold) {
                            tell(Lingering {
                                object: leaving.object.clone(),
                                hold: hold.clone(),
                            });
                        }
                        (leaving, Some(hold))
                    })
                    .collect();
                if waiting.is_empty() {
                    return Ok(());
                }
                if Instant::now() >= end {
                    return Err(still_there(waiting, deadline));
                }
            }
            tokio::time::sleep(limits::POLL.min(deadline)).await;
        }
    }

    /// Those that are still there.
    async fn left_of(
        &self,
        waiting: Vec<(Leaving, Option<Hold>)>,
    ) -> Result<Vec<(Leaving, Option<Hold>, Object)>, Error> {
        let mut served = Vec::new();
        for (leaving, told) in waiting {
            // A kind goes with its definition, and its objects with it.
            if self.serves(&leaving.object.gvk).await? {
                served.push((leaving, told));
            }
        }
        let references: Vec<&ObjectRef> = served.iter().map(|(one, _)| &one.object).collect();
        let live = self.get_all(&references).await?;
        Ok(served
            .into_iter()
            .zip(live)
            .filter_map(|((leaving, told), live)| Some((leaving, told, live?)))
            .filter(|(leaving, _, live)| {
                leaving.uid.is_none() || leaving.uid.as_deref() == live.uid()
            })
            .collect())
    }
}

fn still_there(left: Vec<(Leaving, Option<Hold>)>, after: Duration) -> Error {
    let lingering = left.into_iter().map(|(leaving, hold)| Lingering {
        object: leaving.object,
        hold: hold.unwrap_or(Hold::Nothing),
    });
    Error::StillThere {
        objects: lingering.map(|one| one.to_string()).collect(),
        after,
    }
}

fn hold(live: &Object) -> Hold {
    if !live.is_being_deleted() {
        return Hold::NotDeleted;
    }
    let value = live.as_value();
    let content = content(value);
    if live.gvk().kind == "Namespace" && !content.is_empty() {
        return Hold::Content(cut(&content, limits::MAX_SHOWN_VALUE));
    }
    let names: Vec<String> = finalizers(value).map(str::to_owned).collect();
    if names.is_empty() {
        Hold::Nothing
    } else {
        Hold::Finalizers(names)
    }
}

/// The finalizers of an object.
pub(crate) fn finalizers(value: &Value) -> impl Iterator<Item = &str> {
    let names = value["metadata"]["finalizers"].as_array();
    names.into_iter().flatten().filter_map(Value::as_str)
}

/// What the conditions of a namespace that is being emptied say is left in it.
fn content(namespace: &Value) -> String {
    let conditions = namespace["status"]["conditions"].as_array();
    let told = conditions
        .into_iter()
        .flatten()
        .filter(|condition| condition["status"] == "True")
        .filter_map(|condition| condition["message"].as_str());
    told.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    use serde_json::json;

    use super::*;
    use crate::mock::{Answer, cluster};

    fn leaving(uid: Option<&str>) -> Leaving {
        Leaving {
            object: ObjectRef::namespaced("v1", "ConfigMap", "n", "a"),
            uid: uid.map(str::to_owned),
        }
    }

    fn map(uid: &str, finalizers: &[&str]) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n", "uid": uid,
            "deletionTimestamp": "2026-11-22T12:00:00Z", "finalizers": finalizers}})
    }

    #[tokio::test(start_paused = true)]
    async fn what_holds_an_object_is_told_when_it_changes_and_named_at_the_end() {
        let looks = AtomicU64::new(0);
        let (cluster, _) = cluster(move |_| {
            let two = looks.fetch_add(1, Ordering::SeqCst) < 3;
            let finalizers = if two {
                &["x.test/a", "x.test/b"][..]
            } else {
                &["x.test/b"]
            };
            Answer::json(200, &map("u", finalizers))
        })
        .await;
        let told = Mutex::new(Vec::new());
        let tell = |one: Lingering| told.lock().unwrap().push(one.to_string());
        let deadline = Duration::from_secs(10);
        let result = cluster
            .wait_removed(&[leaving(None)], deadline, &tell)
            .await;
        assert_eq!(
            result.unwrap_err().to_string(),
            "still there after 10 s: ConfigMap n/a (held by x.test/b)"
        );
        assert_eq!(
            told.into_inner().unwrap(),
            [
                "ConfigMap n/a (held by x.test/a, x.test/b)",
                "ConfigMap n/a (held by x.test/b)"
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn another_object_of_the_name_is_not_waited_for() {
        for (uid, gone) in [(Some("old"), true), (Some("new"), false), (None, false)] {
            let (cluster, _) = cluster(|_| Answer::json(200, &map("new", &[]))).await;
            let waited = cluster
                .wait_removed(&[leaving(uid)], limits::POLL, &|_| ())
                .await;
            assert_eq!(waited.is_ok(), gone, "{uid:?}");
        }
    }

    #[test]
    fn a_namespace_is_held_by_what_is_left_in_it() {
        let message = "Some content in the namespace has finalizers remaining: x.test/a in 1 resource instances";
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "n", "deletionTimestamp": "2026-11-22T12:00:00Z"},
            "status": {"conditions": [
                {"type": "NamespaceDeletionContentFailure", "status": "False", "message": "All content was deleted"},
                {"type": "NamespaceFinalizersRemaining", "status": "True", "message": message}]}});
        let namespace = Object::new(namespace).unwrap();
        assert_eq!(hold(&namespace), Hold::Content(message.to_owned()));
    }
}

//! Writes to a cluster: apply and dry runs, conditional writes, deletion, and rewrites of unchanged objects
//! ([`Cluster::rewrite`]), which migrate them to the current storage version of their definition. Preconditions protect
//! the decisions of callers from changes by other writers.

pub(crate) mod apply;
pub(crate) mod diff;
pub(crate) mod drift;
pub(crate) mod put;
pub(crate) mod remove;

use futures::{StreamExt, TryStreamExt, stream};
use http::Method;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::cluster::request::Call;
use crate::error::Error;
use crate::limits;
use crate::object::Object;

const MERGE: &str = "application/merge-patch+json";

impl Cluster {
    /// Makes the server store objects again without changes. Objects that were deleted or written since they were read
    /// do not need it.
    pub async fn rewrite(&self, objects: &[Object]) -> Result<(), Error> {
        stream::iter(objects)
            .map(|object| self.rewrite_one(object))
            .buffer_unordered(limits::PARALLEL)
            .try_collect()
            .await
    }

    async fn rewrite_one(&self, seen: &Object) -> Result<(), Error> {
        let doing = format!("rewrite {}", seen.reference());
        let path = self.object_path(seen.reference()).await?;
        let call = Call::typed(Method::PATCH, path, MERGE, &as_seen(seen), &doing)?;
        match self.call(&call).await {
            Ok(_) | Err(Error::Changed { .. } | Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Replaces fields of an object's status. Fails with [`Error::Changed`] if the object has changed since it was
    /// read.
    pub async fn put_status(&self, seen: &Object, status: &Value) -> Result<(), Error> {
        let doing = format!("write the status of {}", seen.reference());
        let path = format!("{}/status", self.object_path(seen.reference()).await?);
        let mut written = as_seen(seen);
        written["status"] = status.clone();
        let call = Call::typed(Method::PATCH, path, MERGE, &written, &doing)?;
        self.call(&call).await.map(drop)
    }
}

/// Returns a patch without changes that requires this state of an object.
fn as_seen(seen: &Object) -> Value {
    json!({ "metadata": { "uid": seen.uid(), "resourceVersion": seen.resource_version() } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::{Answer, cluster};

    fn map(name: &str) -> Object {
        let metadata = json!({"name": name, "namespace": "n", "uid": "u", "resourceVersion": "7"});
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        Object::new(map).unwrap()
    }

    #[tokio::test]
    async fn what_others_wrote_or_removed_is_passed_over_and_a_refusal_is_told() {
        let (cluster, seen) = cluster(|request| {
            let status = match request.path.rsplit('/').next() {
                Some("changed") => 409,
                Some("gone") => 404,
                Some("refused") => 422,
                _ => 200,
            };
            Answer::json(status, &json!({"message": "field is required"}))
        })
        .await;
        let objects = ["there", "changed", "gone"].map(map);
        cluster.rewrite(&objects).await.unwrap();
        let error = cluster.rewrite(&[map("refused")]).await.unwrap_err();
        let words = "cannot rewrite ConfigMap n/refused: field is required";
        assert_eq!(error.to_string(), words);
        let seen = seen.lock().unwrap();
        let body: Value = serde_json::from_str(&seen[0].body).unwrap();
        assert_eq!(
            body,
            json!({"metadata": {"uid": "u", "resourceVersion": "7"}})
        );
        assert_eq!(seen[0].content_type, MERGE);
    }
}

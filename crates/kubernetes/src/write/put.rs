//! Conditional writes ([`Cluster::put`]). A write succeeds only if the object is still in the state on which the caller
//! based its decision. Otherwise, the caller must read the object and decide again.

use http::Method;
use serde_json::{Value, json};

use super::apply::{ApplyOutcome, ConflictPolicy, FieldManager, NO_DRY_RUN, PatchMode, guarded};
use crate::cluster::Cluster;
use crate::cluster::request::{Call, escape};
use crate::error::Error;
use crate::object::Object;
use crate::read::object_in;

/// The largest possible resource version, which no object has.
const NEVER: &str = "9223372036854775807";

impl Cluster {
    /// Applies an object if it is still in the state `seen`. It is created if it was absent, else applied with its uid
    /// and resourceVersion as preconditions. Returns the outcome and the new object.
    ///
    /// Fails with [`Error::Changed`] without writing if another client was faster.
    pub async fn put(
        &self,
        object: &Object,
        seen: Option<&Object>,
        manager: &FieldManager,
        conflicts: ConflictPolicy,
    ) -> Result<(ApplyOutcome, Object), Error> {
        let Some(seen) = seen else {
            let created = self.create(object, manager).await?;
            return Ok((ApplyOutcome::Created, created));
        };
        // The object may have been created without server-side apply. In that case, applying it would not remove
        // omitted fields.
        let claimed = self.claim_fields(seen, manager).await?;
        let seen = claimed.as_ref().unwrap_or(seen);
        let body = conditional(object, seen);
        self.patch(
            object,
            &body,
            Some(seen),
            manager,
            conflicts,
            PatchMode::Real,
        )
        .await
    }

    /// Checks whether [`Self::put`] would change an object in the state `seen`, by a dry run. If an admission webhook
    /// does not support dry runs, the answer is `true`.
    pub async fn would_change(
        &self,
        object: &Object,
        seen: &Object,
        manager: &FieldManager,
        conflicts: ConflictPolicy,
    ) -> Result<bool, Error> {
        if claim(seen, manager).is_some() {
            return Ok(true);
        }
        let body = conditional(object, seen);
        let tried = self.patch(
            object,
            &body,
            Some(seen),
            manager,
            conflicts,
            PatchMode::Dry,
        );
        match tried.await {
            Ok((applied, _)) => Ok(applied != ApplyOutcome::Unchanged),
            Err(Error::Invalid { message, .. }) if message.contains(NO_DRY_RUN) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Creates an object by applying it with a resource version that no object has, so that its fields count as
    /// applied. If the object does not exist, the server has nothing to compare the version with. If another client was
    /// faster, nothing is written.
    async fn create(&self, object: &Object, manager: &FieldManager) -> Result<Object, Error> {
        let mut body = object.as_value().clone();
        body["metadata"]["resourceVersion"] = json!(NEVER);
        let refuse = ConflictPolicy::Refuse;
        let created = self.patch(object, &body, None, manager, refuse, PatchMode::Real);
        match created.await {
            Ok((_, created)) => Ok(created),
            // Another client was faster, or the server compares the version even if the object does not exist:
            // Kubernetes guarantees neither behavior.
            Err(Error::Conflict { .. } | Error::Changed { .. }) => {
                self.create_only(object, manager).await
            }
            Err(error) => Err(error),
        }
    }

    /// Creates an object with a `POST`, which never changes an existing one, and then claims its fields as applied.
    async fn create_only(&self, object: &Object, manager: &FieldManager) -> Result<Object, Error> {
        let doing = format!("create {}", object.reference());
        let path = format!(
            "{}?fieldManager={}&fieldValidation=Strict",
            self.collection_path(object.gvk(), object.namespace())
                .await?,
            escape(manager.as_str()),
        );
        let reply = self
            .call(&Call::json(Method::POST, path, object.as_value(), &doing)?)
            .await
            .map_err(|error| guarded(object, error))?;
        let created = object_in(&reply, &doing)?;
        let claimed = self.claim_fields(&created, manager).await?;
        Ok(claimed.unwrap_or(created))
    }

    /// Changes the fields that this manager created without server-side apply to applied ones, as earlier versions of
    /// this program created objects that way. Returns the new object, or `None` if there is nothing to claim or another
    /// client was faster.
    pub async fn claim_fields(
        &self,
        seen: &Object,
        manager: &FieldManager,
    ) -> Result<Option<Object>, Error> {
        let Some(fields) = claim(seen, manager) else {
            return Ok(None);
        };
        let doing = format!("take over the fields of {}", seen.reference());
        let path = format!(
            "{}?fieldManager={}",
            self.object_path(seen.reference()).await?,
            escape(manager.as_str())
        );
        // The resource version makes the patch conditional, so that no concurrent write is lost.
        let fields = json!([
            { "op": "replace", "path": "/metadata/managedFields", "value": fields },
            { "op": "replace", "path": "/metadata/resourceVersion", "value": seen.resource_version() },
        ]);
        let call = Call::typed(
            Method::PATCH,
            path,
            "application/json-patch+json",
            &fields,
            &doing,
        )?;
        match self.call(&call).await {
            Ok(reply) => object_in(&reply, &doing).map(Some),
            // A controller was faster. The fields are claimed when the object is written the next time.
            Err(Error::Changed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl FieldManager {
    /// Checks whether all fields that this manager wrote count as applied.
    #[must_use]
    pub fn has_claimed(&self, seen: &Object) -> bool {
        claim(seen, self).is_none()
    }
}

/// Returns the object with preconditions on its current state.
fn conditional(object: &Object, seen: &Object) -> Value {
    let mut value = object.as_value().clone();
    value["metadata"]["uid"] = json!(seen.uid());
    value["metadata"]["resourceVersion"] = json!(seen.resource_version());
    value
}

/// Returns managed fields in which the fields created by this manager are applied ones; `None` if there are none to
/// change. The server removes only fields that were applied before, so fields that a later version omits would be kept
/// otherwise. `kubectl` does the same when it migrates an object to server-side apply.
fn claim(object: &Object, manager: &FieldManager) -> Option<Vec<Value>> {
    let fields = object
        .as_value()
        .pointer("/metadata/managedFields")?
        .as_array()?;
    let ours = |entry: &Value, operation: &str| {
        entry["manager"] == manager.as_str()
            && entry["operation"] == operation
            && entry["subresource"].is_null()
    };
    if !fields.iter().any(|entry| ours(entry, "Update")) {
        return None;
    }
    let applied = fields.iter().any(|entry| ours(entry, "Apply"));
    let mut claimed = Vec::new();
    for entry in fields {
        let mut entry = entry.clone();
        if ours(&entry, "Update") {
            if applied {
                continue;
            }
            entry["operation"] = json!("Apply");
        }
        claimed.push(entry);
    }
    Some(claimed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::{Answer, cluster};

    fn map(fields: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7", "managedFields": fields}})
    }

    fn wanted() -> Object {
        let value = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}});
        Object::new(value).unwrap()
    }

    fn entry(manager: &str, operation: &str) -> Value {
        json!({"manager": manager, "operation": operation, "fieldsV1": {}})
    }

    #[test]
    fn what_was_created_is_claimed_as_applied() {
        let manager = FieldManager::new("us").unwrap();
        let claimed = |fields: Value| claim(&Object::new(map(&fields)).unwrap(), &manager);
        let (theirs, applied) = (entry("them", "Update"), entry("us", "Apply"));
        assert_eq!(claimed(json!([theirs, applied])), None);
        assert_eq!(
            claimed(json!([theirs, entry("us", "Update")])),
            Some(vec![theirs.clone(), applied.clone()])
        );
        assert_eq!(
            claimed(json!([applied, entry("us", "Update")])),
            Some(vec![applied])
        );
        let mut status = entry("us", "Update");
        status["subresource"] = json!("status");
        assert_eq!(claimed(json!([status])), None);
    }

    /// Returns the requests of a write, and the last body.
    async fn written(seen: Option<Value>) -> (Vec<(String, String)>, Value) {
        let (cluster, requests) =
            cluster(|_| Answer::json(200, &map(&json!([entry("us", "Apply")])))).await;
        let manager = FieldManager::new("us").unwrap();
        let seen = seen.map(|seen| Object::new(seen).unwrap());
        cluster
            .put(&wanted(), seen.as_ref(), &manager, ConflictPolicy::Force)
            .await
            .unwrap();
        let requests = requests.lock().unwrap();
        let writes = requests.iter().filter(|request| request.method != "GET");
        let writes = writes.map(|request| (request.method.clone(), request.content_type.clone()));
        let last = serde_json::from_str(&requests.last().unwrap().body).unwrap();
        (writes.collect(), last)
    }

    #[tokio::test]
    async fn only_what_was_seen_is_written() {
        let patch = |kind: &str| ("PATCH".to_owned(), format!("application/{kind}"));
        let applied = patch("apply-patch+yaml");
        let state = |body: &Value| {
            let field = |name: &str| body["metadata"][name].as_str().map(str::to_owned);
            (field("uid"), field("resourceVersion"))
        };
        let (requests, body) = written(None).await;
        assert_eq!(requests, std::slice::from_ref(&applied));
        assert_eq!(state(&body), (None, Some(NEVER.to_owned())));

        let this = (Some("u".to_owned()), Some("7".to_owned()));
        let (requests, body) = written(Some(map(&json!([entry("us", "Apply")])))).await;
        assert_eq!(requests, std::slice::from_ref(&applied));
        assert_eq!(state(&body), this);
        // Created by an earlier version of this program.
        let (requests, body) = written(Some(map(&json!([entry("us", "Update")])))).await;
        assert_eq!(requests, [patch("json-patch+json"), applied]);
        assert_eq!(state(&body), this);
    }

    /// Answers of a server that refuses the precondition of a creation.
    fn conflicts() -> [Value; 2] {
        let stored = json!({"reason": "Conflict", "message": "the object has been modified"});
        let mut fields = stored.clone();
        fields["details"]["causes"] = json!([{
            "reason": "FieldManagerConflict", "field": ".data.x", "message": "conflict with \"kubectl\""}]);
        [stored, fields]
    }

    #[tokio::test]
    async fn somebody_quicker_keeps_his_object() {
        for answer in conflicts() {
            let (cluster, _) = cluster(move |request| match request.method.as_str() {
                "POST" => Answer::json(409, &json!({"reason": "AlreadyExists", "message": ""})),
                _ => Answer::json(409, &answer),
            })
            .await;
            let manager = FieldManager::new("us").unwrap();
            let error = cluster
                .put(&wanted(), None, &manager, ConflictPolicy::Force)
                .await
                .unwrap_err();
            assert!(matches!(error, Error::Changed { .. }), "{error}");
        }
    }

    #[tokio::test]
    async fn a_server_that_compares_with_nothing_creates_it_all_the_same() {
        for answer in conflicts() {
            let (cluster, requests) = cluster(move |request| {
                match (request.method.as_str(), request.content_type.as_str()) {
                    ("PATCH", "application/apply-patch+yaml") => Answer::json(409, &answer),
                    ("POST", _) => Answer::json(201, &map(&json!([entry("us", "Update")]))),
                    _ => Answer::json(200, &map(&json!([entry("us", "Apply")]))),
                }
            })
            .await;
            let manager = FieldManager::new("us").unwrap();
            let wanted = wanted();
            let put = cluster.put(&wanted, None, &manager, ConflictPolicy::Force);
            let (applied, _) = put.await.unwrap();
            assert_eq!(applied, ApplyOutcome::Created);
            let requests = requests.lock().unwrap();
            let writes = requests.iter().filter(|request| request.method != "GET");
            let writes: Vec<&str> = writes.map(|request| request.method.as_str()).collect();
            assert_eq!(writes, ["PATCH", "POST", "PATCH"]);
        }
    }
}

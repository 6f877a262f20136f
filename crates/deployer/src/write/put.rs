//! Writing what was decided about an object that was looked at: only if it is still the one that was seen. A decision
//! on what is gone by now is not carried out; whoever made it reads and decides again.

use http::Method;
use serde_json::{Value, json};

use super::apply::{Applied, Conflicts, FieldManager, NO_DRY_RUN, Run, guarded};
use crate::cluster::Cluster;
use crate::cluster::wire::{Call, escape};
use crate::error::Error;
use crate::object::Object;
use crate::read::object_in;

/// A version that nothing is stored in: the highest that there can be.
const NEVER: &str = "9223372036854775807";

impl Cluster {
    /// Makes an object be as described if it is still as it was `seen`: created if it was absent, else applied with its
    /// uid and resourceVersion as conditions. Returns what was done and the object as it is now.
    ///
    /// [`Error::Changed`] when somebody was quicker; then nothing was written.
    pub async fn put(
        &self,
        object: &Object,
        seen: Option<&Object>,
        manager: &FieldManager,
        conflicts: Conflicts,
    ) -> Result<(Applied, Object), Error> {
        let Some(seen) = seen else {
            let created = self.create(object, manager).await?;
            return Ok((Applied::Created, created));
        };
        // An object that was created otherwise, and of which a field that is left out would stay.
        let claimed = self.claim_fields(seen, manager).await?;
        let seen = claimed.as_ref().unwrap_or(seen);
        let body = conditional(object, seen);
        self.patch(object, &body, Some(seen), manager, conflicts, Run::Real)
            .await
    }

    /// Whether [`Self::put`] would change an object that is as it was `seen`. The server computes it and keeps nothing;
    /// where an admission webhook cannot be tried, it is taken to change.
    pub async fn would_change(
        &self,
        object: &Object,
        seen: &Object,
        manager: &FieldManager,
        conflicts: Conflicts,
    ) -> Result<bool, Error> {
        if claim(seen, manager).is_some() {
            return Ok(true);
        }
        let body = conditional(object, seen);
        let tried = self.patch(object, &body, Some(seen), manager, conflicts, Run::Dry);
        match tried.await {
            Ok((applied, _)) => Ok(applied != Applied::Unchanged),
            Err(Error::Invalid { message, .. }) if message.contains(NO_DRY_RUN) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Creates an object by applying it to a state that none has ever had, so that its fields count as applied. Where
    /// nothing is there, the server has nothing to compare that state with; where somebody was quicker, it writes nothing.
    async fn create(&self, object: &Object, manager: &FieldManager) -> Result<Object, Error> {
        let mut body = object.as_value().clone();
        body["metadata"]["resourceVersion"] = json!(NEVER);
        let refuse = Conflicts::Refuse;
        let created = self.patch(object, &body, None, manager, refuse, Run::Real);
        match created.await {
            Ok((_, created)) => Ok(created),
            // Somebody was quicker. Or a server compares the state even where nothing is there: Kubernetes promises neither.
            Err(Error::Conflict { .. } | Error::Changed { .. }) => {
                self.create_only(object, manager).await
            }
            Err(error) => Err(error),
        }
    }

    /// Creates an object by the request that does nothing else, and then has its fields count as applied.
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

    /// Has the fields that this manager created counted as applied: earlier versions of this program created objects
    /// otherwise. Returns the object as it is then; none if nothing was to be claimed, or somebody was quicker.
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
        // The version makes it conditional: nothing that somebody wrote meanwhile is lost.
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
            // A controller was quicker. The fields are claimed when the object is written next.
            Err(Error::Changed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl FieldManager {
    /// Whether everything that this manager wrote of an object counts as applied: nothing is left to be claimed.
    #[must_use]
    pub fn has_claimed(&self, seen: &Object) -> bool {
        claim(seen, self).is_none()
    }
}

/// The object, to be applied to this very state of it only.
fn conditional(object: &Object, seen: &Object) -> Value {
    let mut value = object.as_value().clone();
    value["metadata"]["uid"] = json!(seen.uid());
    value["metadata"]["resourceVersion"] = json!(seen.resource_version());
    value
}

/// The managed fields with those that this manager created as fields that it applied; none when there are no such. Else
/// what a later version leaves out would stay: the server takes away only what was applied before. `kubectl` does the
/// same when it moves an object to server-side apply.
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

    /// The requests that writing takes, and the last body.
    async fn written(seen: Option<Value>) -> (Vec<(String, String)>, Value) {
        let (cluster, requests) =
            cluster(|_| Answer::json(200, &map(&json!([entry("us", "Apply")])))).await;
        let manager = FieldManager::new("us").unwrap();
        let seen = seen.map(|seen| Object::new(seen).unwrap());
        cluster
            .put(&wanted(), seen.as_ref(), &manager, Conflicts::Force)
            .await
            .unwrap();
        let requests = requests.lock().unwrap();
        let writes = requests.iter().filter(|request| request.method != "GET");
        let writes = writes.map(|it| (it.method.clone(), it.content_type.clone()));
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
        // Made by an earlier version of this program.
        let (requests, body) = written(Some(map(&json!([entry("us", "Update")])))).await;
        assert_eq!(requests, [patch("json-patch+json"), applied]);
        assert_eq!(state(&body), this);
    }

    /// Answers of a server that finds fault with the state of what is to be created.
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
                .put(&wanted(), None, &manager, Conflicts::Force)
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
            let put = cluster.put(&wanted, None, &manager, Conflicts::Force);
            let (applied, _) = put.await.unwrap();
            assert_eq!(applied, Applied::Created);
            let requests = requests.lock().unwrap();
            let writes = requests.iter().filter(|it| it.method != "GET");
            let writes: Vec<&str> = writes.map(|it| it.method.as_str()).collect();
            assert_eq!(writes, ["PATCH", "POST", "PATCH"]);
        }
    }
}

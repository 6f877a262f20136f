//! Permissions of the user: access reviews, held rules, and rules that may be granted.

pub(crate) mod access;
pub(crate) mod grants;
pub(crate) mod held;

use http::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::cluster::wire::Call;
use crate::error::Error;

impl Cluster {
    /// Sends a review, an object that the server answers but does not store, and returns its status.
    async fn review<T: DeserializeOwned>(
        &self,
        kind: &str,
        spec: Value,
        doing: &str,
    ) -> Result<T, Error> {
        #[derive(Deserialize)]
        struct Review<T> {
            status: T,
        }
        const API: &str = "authorization.k8s.io/v1";
        let path = format!("/apis/{API}/{}s", kind.to_ascii_lowercase());
        let body = json!({"apiVersion": API, "kind": kind, "spec": spec});
        let call = Call::json(Method::POST, path, &body, doing)?;
        let review: Review<T> = self.call(&call).await?.parse(doing)?;
        Ok(review.status)
    }
}

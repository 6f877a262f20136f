//! Creation of repositories in Amazon ECR, which does not create them on push (Amazon ECR API Reference,
//! `CreateRepository`). The entry point is [`Client::create_repository`].

use std::time::SystemTime;

use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::json;

use crate::address::RepositoryPath;
use crate::aws::EcrApi;
use crate::client::Client;
use crate::error::{Error, Operation, RegistryVerb};
use crate::failure;

const CREATE: &str = "AmazonEC2ContainerRegistry_V20150921.CreateRepository";

/// An error answer of the API.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EcrError {
    #[serde(rename = "__type")]
    kind: String,
    #[serde(alias = "Message")]
    message: String,
}

impl Client {
    /// Creates a repository through the registry's API ([`Client::repository_api`]) unless it exists.
    pub async fn create_repository(
        &self,
        api: &EcrApi,
        repository: &RepositoryPath,
    ) -> Result<(), Error> {
        let operation = self.operation(RegistryVerb::CreateRepository, Some(repository));
        self.retrying(|| self.create_by(api, repository, &operation))
            .await
    }

    async fn create_by(
        &self,
        api: &EcrApi,
        repository: &RepositoryPath,
        operation: &Operation,
    ) -> Result<(), Error> {
        let body = json!({ "repositoryName": repository.as_str() }).to_string();
        let request = api.request(CREATE, body, self.now().unwrap_or(SystemTime::UNIX_EPOCH));
        let request =
            request.map_err(|reason| Error::RepositoryApi(Box::new(operation.clone()), reason))?;
        let answer = self.send_elsewhere(operation, request).await?;
        let status = answer.status();
        if status.is_success() {
            answer.pass_over(operation).await;
            return Ok(());
        }
        if status.is_server_error() {
            return answer.success(operation).await.map(drop);
        }
        let body = answer.error_body(operation).await;
        let EcrError { kind, message } = serde_json::from_slice(&body).unwrap_or_default();
        // The name of the error can follow the name of its protocol and a `#`.
        match kind.rsplit('#').next().unwrap_or_default() {
            "RepositoryAlreadyExistsException" => Ok(()),
            "ThrottlingException" => {
                let busy = StatusCode::TOO_MANY_REQUESTS;
                Err(failure::from_status(operation, busy, &body, None))
            }
            kind => Err(Error::RepositoryApi(
                Box::new(operation.clone()),
                failure::shortened(&format!("{kind} {message}")),
            )),
        }
    }
}

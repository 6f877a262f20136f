//! Tests of a registry's abilities before a push. They leave nothing behind:
//!
//! - `probe_upload` sends two bytes to an upload that is then cancelled.
//! - `probe_mount` mounts a blob in a repository that already has it.
//! - `probe_body` offers a large body to an upload that does not exist, and sends none of it.
//! - `probe_delete` deletes a manifest that cannot exist.
//!
//! An ability that cannot be tested in this way is reported as unknown. docs/decisions has the reasons.

use bytes::Bytes;
use futures::stream;
use reqwest::header::{CONTENT_RANGE, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, StatusCode, Url};
use schemars::JsonSchema;
use schemas::Digest;
use serde::{Deserialize, Serialize};

use crate::activity::Activity;
use crate::address::RepositoryPath;
use crate::answer::{self, Purpose};
use crate::auth::{TokenAccess, TokenScope};
use crate::blobs::Mount;
use crate::client::{Client, LoginChoice};
use crate::error::{Error, RegistryVerb};
use crate::limits;
use crate::manifests::ManifestDeletion;
use crate::open_upload::OpenUpload;
use crate::session::range_end;
use crate::transport::{OutgoingRequest, RequestBody};

/// The repositories and blobs used for the tests.
#[derive(Clone, Copy, Debug)]
pub struct PushProbe<'a> {
    /// A repository that accepts pushes.
    pub repository: &'a RepositoryPath,
    /// A blob and two repositories that have it, if known.
    pub mountable: Option<(Digest, &'a RepositoryPath, &'a RepositoryPath)>,
    /// The size of the largest blob to be pushed in bytes, if known.
    pub largest: Option<u64>,
}

/// Whether a registry supports something. The reasons are for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "answer", content = "reason", rename_all = "camelCase")]
pub enum Ability {
    /// It is supported.
    Yes,
    /// It is not supported, with the reason.
    No(String),
    /// It is unknown, with the reason.
    Unknown(String),
}

/// The support for blobs in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// Indicates whether the registry accepts parts.
    pub taken: Ability,
    /// The smallest part except the last one in bytes, if the registry states it.
    pub smallest: Option<u64>,
    /// Indicates whether an interrupted upload can be resumed because the registry reports its progress.
    pub resumed: Ability,
    /// Indicates whether an unfinished upload can be cancelled.
    pub cancelled: Ability,
}

/// The limit for the body of one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "camelCase")]
pub enum BodyLimit {
    /// No limit was found up to this number of bytes. Some proxies reject a body only after they received it.
    NoneSeen {
        /// The largest tested number of bytes.
        taken: u64,
    },
    /// There is a limit between these two numbers of bytes.
    Limited {
        /// A number of bytes that was rejected.
        refused: u64,
        /// A number of bytes that was not rejected.
        #[serde(skip_serializing_if = "Option::is_none")]
        taken: Option<u64>,
    },
    /// The limit is unknown.
    Unknown {
        /// The reason.
        reason: String,
    },
}

/// Free space for a push.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "camelCase")]
pub enum Space {
    /// A project and its quota, in bytes.
    Known {
        /// The project.
        project: String,
        /// The quota; missing if the project has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        /// Bytes in use.
        used: u64,
    },
    /// The project does not exist.
    NoProject {
        /// The project.
        project: String,
    },
    /// The free space is unknown.
    Unknown {
        /// The reason.
        reason: String,
    },
}

/// The abilities of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Cross-repository mounts.
    pub mount: Ability,
    /// Blobs in parts.
    pub chunks: Chunks,
    /// The largest body of one request.
    pub body: BodyLimit,
    /// Deleting manifests.
    pub delete: Ability,
}

impl Client {
    /// Tests the registry's abilities. A refusal is an answer; an error means that the registry could not be tested.
    pub async fn probe(&self, probe: &PushProbe<'_>) -> Result<Abilities, Error> {
        let chunks = self.probe_upload(probe.repository).await?;
        Ok(Abilities {
            mount: self.probe_mount(probe.mountable).await?,
            chunks,
            body: self.probe_body(probe.repository, probe.largest).await?,
            delete: self.probe_delete(probe.repository).await?,
        })
    }

    async fn probe_upload(&self, repository: &RepositoryPath) -> Result<Chunks, Error> {
        let operation = self.operation(RegistryVerb::CheckPush, Some(repository));
        let mut upload = self
            .retrying(|| self.open_upload(&operation, repository))
            .await?;
        let smallest = Some(upload.smallest_chunk).filter(|smallest| *smallest > 0);
        let (taken, resumed) = match smallest {
            // The registry states a minimum, so it supports parts. A shorter part would be refused.
            Some(_) => (Ability::Yes, Ability::Unknown(UNTRIED.to_owned())),
            None => self.probe_chunk(repository, &mut upload).await?,
        };
        Ok(Chunks {
            taken,
            smallest,
            resumed,
            cancelled: self.probe_cancelling(repository, upload.location).await?,
        })
    }

    /// Sends two bytes and asks the registry for the progress of the upload.
    async fn probe_chunk(
        &self,
        repository: &RepositoryPath,
        upload: &mut OpenUpload,
    ) -> Result<(Ability, Ability), Error> {
        let operation = self.operation(RegistryVerb::CheckPush, Some(repository));
        let scope = || TokenScope::new(repository, TokenAccess::PullPush);
        let mut ask = OutgoingRequest::new(Method::PATCH, upload.location.clone(), scope());
        let kind = HeaderValue::from_static("application/octet-stream");
        ask.headers.insert(CONTENT_TYPE, kind);
        let range = HeaderValue::from_static("0-1");
        ask.headers.insert(CONTENT_RANGE, range);
        ask.body = RequestBody::Bytes(Bytes::from_static(b"{}"));
        let untried = || Ability::Unknown(UNTRIED.to_owned());
        let answer = match self.send(&operation, ask).await?.success(&operation).await {
            Ok(answer) => answer,
            Err(error) => return Ok((refused(error)?, untried())),
        };
        if let Some(location) = answer.location() {
            let registry = self.base(&operation).await?;
            let (from, location) = (&upload.location, Some(location));
            upload.location =
                answer::resolve(&operation, registry, from, location, Purpose::Write)?;
        }
        let ask = OutgoingRequest::new(Method::GET, upload.location.clone(), scope());
        let resumed = match self.send(&operation, ask).await?.success(&operation).await {
            Ok(answer) if answer.header("range").and_then(range_end) == Some(2) => Ability::Yes,
            Ok(_) => Ability::No("it does not report the progress of an upload".to_owned()),
            Err(error) => refused(error)?,
        };
        Ok((Ability::Yes, resumed))
    }

    async fn probe_cancelling(
        &self,
        repository: &RepositoryPath,
        location: Url,
    ) -> Result<Ability, Error> {
        let operation = self.operation(RegistryVerb::CheckPush, Some(repository));
        let scope = TokenScope::new(repository, TokenAccess::PullPush);
        let ask = OutgoingRequest::new(Method::DELETE, location, scope);
        match self.send(&operation, ask).await?.success(&operation).await {
            Ok(_) => Ok(Ability::Yes),
            Err(error) => refused(error),
        }
    }

    async fn probe_mount(
        &self,
        mountable: Option<(Digest, &RepositoryPath, &RepositoryPath)>,
    ) -> Result<Ability, Error> {
        let Some((digest, from, to)) = mountable else {
            let why = "no blob is in two repositories yet, and a mounted blob cannot be removed";
            return Ok(Ability::Unknown(why.to_owned()));
        };
        match self.retrying(|| self.mount_blob(to, from, &digest)).await {
            Ok(Mount::Mounted) => Ok(Ability::Yes),
            Ok(Mount::Upload(upload)) => {
                self.cancel_upload(to, upload.location).await;
                let why =
                    "it requests an upload instead, so each repository receives the bytes again";
                Ok(Ability::No(why.to_owned()))
            }
            Err(error) => refused(error),
        }
    }

    /// Offers bodies of decreasing size to an upload that does not exist. A proxy with a limit refuses the request by
    /// its length. Otherwise the registry answers that the upload does not exist, or does not answer because it waits
    /// for the body. No byte of the body is sent in either case.
    async fn probe_body(
        &self,
        repository: &RepositoryPath,
        largest: Option<u64>,
    ) -> Result<BodyLimit, Error> {
        let sizes = limits::BODIES.into_iter();
        let sizes = sizes.filter(|size| largest.is_none_or(|largest| *size < largest));
        let mut below = None;
        for size in largest.into_iter().chain(sizes) {
            match self.takes_body(repository, size).await {
                Ok(true) => {
                    return Ok(match below {
                        Some(refused) => BodyLimit::Limited {
                            refused,
                            taken: Some(size),
                        },
                        None => BodyLimit::NoneSeen { taken: size },
                    });
                }
                Ok(false) => below = Some(size),
                Err(error) => {
                    let reason = error.to_string();
                    return Ok(BodyLimit::Unknown { reason });
                }
            }
        }
        Ok(match below {
            Some(refused) => BodyLimit::Limited {
                refused,
                taken: None,
            },
            None => BodyLimit::NoneSeen { taken: 0 },
        })
    }

    async fn takes_body(&self, repository: &RepositoryPath, size: u64) -> Result<bool, Error> {
        let operation = self.operation(RegistryVerb::CheckPush, Some(repository));
        let mut upload = [0; 16];
        // The random name cannot be in use. Without randomness, the name of zeros is not in use either.
        let _ = getrandom::fill(&mut upload);
        let upload = u128::from_be_bytes(upload);
        let path = format!("{repository}/blobs/uploads/{upload:032x}");
        let url = self.url(&operation, &path).await?;
        let scope = TokenScope::new(repository, TokenAccess::PullPush);
        let mut ask = OutgoingRequest::new(Method::PATCH, url, scope);
        let kind = HeaderValue::from_static("application/octet-stream");
        ask.headers.insert(CONTENT_TYPE, kind);
        let nothing = stream::pending::<std::io::Result<Bytes>>();
        ask.body = RequestBody::Stream {
            body: reqwest::Body::wrap_stream(nothing),
            size,
            activity: Activity::new(self.pace()),
        };
        let asking = tokio::time::timeout(limits::BODY_WAIT, self.send(&operation, ask));
        match asking.await {
            Ok(answer) => Ok(answer?.status() != StatusCode::PAYLOAD_TOO_LARGE),
            Err(_waits_for_the_body) => Ok(true),
        }
    }

    /// Tries to delete a manifest that does not exist: no content has a random digest.
    async fn probe_delete(&self, repository: &RepositoryPath) -> Result<Ability, Error> {
        let mut digest = [0; 32];
        if getrandom::fill(&mut digest).is_err() {
            return Ok(Ability::Unknown(UNTRIED.to_owned()));
        }
        let digest = Digest::new(digest);
        match self
            .retrying(|| self.remove_manifest(repository, digest))
            .await
        {
            Ok(ManifestDeletion::WasAbsent | ManifestDeletion::Done) => Ok(Ability::Yes),
            Err(error @ Error::KeepsAll(..)) => Ok(Ability::No(error.to_string())),
            Err(error) => refused(error),
        }
    }

    /// Returns the free space of a repository. Only Harbor reports the quotas of projects, and only to their members.
    pub async fn space(&self, repository: &RepositoryPath) -> Result<Space, Error> {
        let operation = self.operation(RegistryVerb::AskSpace, None);
        let unknown = |why: &str| {
            let reason = why.to_owned();
            Ok(Space::Unknown { reason })
        };
        let Some((project, _)) = repository.as_str().split_once('/') else {
            return unknown("the registry has no projects with quotas");
        };
        let path = "/api/v2.0/systeminfo";
        // The login is sent only after the server was identified as Harbor.
        let about = self
            .get_beside(&operation, path, LoginChoice::Nothing)
            .await?;
        let is_found = about.status() == StatusCode::OK;
        let about = about.error_body(&operation).await;
        let is_harbor = is_found && serde_json::from_slice::<AboutHarbor>(&about).is_ok();
        if !is_harbor {
            return unknown("only Harbor reports quotas, and this is a different registry");
        }
        let path = format!("/api/v2.0/projects/{project}/summary");
        let answer = self
            .get_beside(&operation, &path, LoginChoice::Login)
            .await?;
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => {
                let project = project.to_owned();
                return Ok(Space::NoProject { project });
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return unknown("Harbor reports the quota of a project only to its members");
            }
            _ => return unknown("Harbor does not report the project's quota"),
        }
        let summary = answer.error_body(&operation).await;
        let Ok(summary) = serde_json::from_slice::<ProjectSummary>(&summary) else {
            return unknown("Harbor does not report the project's quota");
        };
        Ok(Space::Known {
            project: project.to_owned(),
            // Harbor reports -1 for no limit.
            limit: u64::try_from(summary.quota.hard.storage).ok(),
            used: u64::try_from(summary.quota.used.storage).unwrap_or(0),
        })
    }
}

const UNTRIED: &str = "it was not tested";

/// Harbor's public description of itself (`GET /systeminfo` of its API 2.0).
#[derive(Deserialize)]
struct AboutHarbor {
    #[serde(rename = "auth_mode")]
    _auth_mode: String,
}

/// Harbor's summary of a project (`GET /projects/NAME/summary` of its API 2.0).
#[derive(Deserialize)]
struct ProjectSummary {
    quota: Quota,
}

#[derive(Deserialize)]
struct Quota {
    hard: Storage,
    used: Storage,
}

#[derive(Deserialize)]
struct Storage {
    storage: i64,
}

/// Converts a refusal to an ability. Returns an error if the registry did not answer, or if the answer is about
/// something else.
fn refused(error: Error) -> Result<Ability, Error> {
    if error.is_everywhere() {
        return Err(error);
    }
    match error {
        Error::Busy { .. } | Error::BadAnswer(..) => Ok(Ability::Unknown(error.to_string())),
        Error::Refused { .. } | Error::Denied(..) | Error::NoRepository(..) => {
            Ok(Ability::No(error.to_string()))
        }
        error => Err(error),
    }
}

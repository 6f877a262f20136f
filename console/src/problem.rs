//! A problem to report to the user of a page ([`Problem`]).

use std::fmt;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::texts;

/// A problem, its causes, and the next steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The HTTP status.
    #[serde(skip)]
    pub(crate) status: StatusCode,
    /// The problem.
    #[serde(rename = "error")]
    pub(crate) message: String,
    /// Its causes, the nearest one first.
    pub(crate) causes: Vec<String>,
    /// The next steps.
    pub(crate) hints: Vec<String>,
    /// The path at which the user can log in, if that is the next step.
    #[serde(skip)]
    pub(crate) log_in: Option<String>,
}

impl Problem {
    /// Returns a problem that this request cannot solve, such as a cluster that cannot be reached.
    #[must_use]
    pub fn new(message: impl Into<String>, causes: Vec<String>, hints: Vec<String>) -> Self {
        Self {
            status: StatusCode::BAD_GATEWAY,
            message: message.into(),
            causes,
            hints,
            log_in: None,
        }
    }

    /// Returns a problem with the request itself or with the state of the site.
    #[must_use]
    pub fn refused(message: impl Into<String>, causes: Vec<String>, hints: Vec<String>) -> Self {
        Self {
            status: StatusCode::CONFLICT,
            ..Self::new(message, causes, hints)
        }
    }

    pub(crate) fn with_status(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            ..Self::new(message, Vec::new(), Vec::new())
        }
    }

    pub(crate) fn not_found(what: impl fmt::Display) -> Self {
        Self::with_status(StatusCode::NOT_FOUND, texts::not_found(what))
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::with_status(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn internal(message: impl fmt::Display) -> Self {
        Self::with_status(StatusCode::INTERNAL_SERVER_ERROR, message.to_string())
    }
}

impl IntoResponse for Problem {
    /// Returns an empty response that carries the problem. The server renders it as a page or as JSON, because only the
    /// server knows which of them the client prefers.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

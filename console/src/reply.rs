//! The form of a reply ([`Visit`]): a page for people, or JSON for programs.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use maud::Markup;
use serde_json::Value;

use crate::page::{self, Section};
use crate::problem::Problem;

/// The version of the JSON results, which is that of the program's results.
const SCHEMA_VERSION: &str = "1";

/// The preferences of the client that sent a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    wants_json: bool,
}

impl Visit {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
        // Browsers list many types, and none of them is JSON.
        let mut types = accepted.unwrap_or_default().split(',');
        let wants_json = types.any(|kind| {
            let kind = kind.split(';').next().unwrap_or_default().trim();
            kind.eq_ignore_ascii_case("application/json")
        });
        Self { wants_json }
    }

    /// Returns true if the client prefers JSON.
    pub(crate) fn wants_json(self) -> bool {
        self.wants_json
    }

    /// Returns the page, or the JSON if the client prefers it.
    pub(crate) fn reply(
        self,
        section: Section,
        title: &str,
        body: impl FnOnce() -> Markup,
        json: impl FnOnce() -> Value,
    ) -> Response {
        if self.wants_json {
            return self::json(json());
        }
        page(section, title, &body())
    }

    /// Returns a problem in the form that the client prefers.
    pub(crate) fn problem(self, problem: &Problem) -> Response {
        let status = problem.status;
        if self.wants_json {
            return as_json(status, serde_json::to_value(problem).unwrap_or_default());
        }
        as_page(status, page::problem(problem))
    }
}

impl<S: Sync> FromRequestParts<S> for Visit {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.headers))
    }
}

/// Returns a page.
pub(crate) fn page(section: Section, title: &str, body: &Markup) -> Response {
    as_page(StatusCode::OK, page::page(section, title, body))
}

/// Returns a result of the program.
pub(crate) fn json(value: Value) -> Response {
    as_json(StatusCode::OK, value)
}

fn as_page(status: StatusCode, page: Markup) -> Response {
    (status, page).into_response()
}

/// Returns a result of the program, with the version of its schema.
fn as_json(status: StatusCode, mut value: Value) -> Response {
    if let Value::Object(fields) = &mut value {
        fields.insert("schemaVersion".to_owned(), SCHEMA_VERSION.into());
    }
    let body = value.to_string() + "\n";
    (status, [(CONTENT_TYPE, "application/json")], body).into_response()
}

/// Returns the redirection after a form was accepted, so that a reload does not send the form again.
pub(crate) fn see_other(path: &str) -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, path)]).into_response()
}

/// Returns a file of the program, which never changes under this name.
pub(crate) fn file(content_type: &'static str, content: &'static str) -> Response {
    let forever = "public, max-age=31536000, immutable";
    let headers = [(CONTENT_TYPE, content_type), (CACHE_CONTROL, forever)];
    (headers, content).into_response()
}

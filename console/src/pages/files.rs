//! The files of the program: the style sheet and the script.

use axum::http::Uri;
use axum::response::Response;

use crate::problem::Problem;
use crate::{assets, reply, texts};

/// `GET /assets/{name}`
pub(crate) async fn get(uri: Uri) -> Result<Response, Problem> {
    let found = assets::find(uri.path());
    let (content_type, content) = found.ok_or_else(|| Problem::not_found(texts::PAGE))?;
    Ok(reply::file(content_type, content))
}

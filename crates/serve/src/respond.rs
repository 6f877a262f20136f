//! The answers to requests: [`respond`] implements the pull part of the distribution specification with its lists and
//! errors. It performs no input or output: bodies are sent by the caller.

use std::sync::Arc;

use schemas::Document;
use serde::Serialize;

use crate::answer::{AnswerBody, AnswerStatus, Code, HttpAnswer};
use crate::content::{Content, INDEX, ServedBlob, ServedRepository};
use crate::head::{HeadFields, Method, RequestHead};
use crate::range::{self, ContentPart};
use crate::route::{self, RepositoryResource, RequestedDigest, Route, RouteQuery, TargetError};
use crate::{limits, metrics};

#[derive(Serialize)]
struct Tags<'a> {
    name: &'a str,
    tags: Vec<&'a str>,
}

#[derive(Serialize)]
struct Catalog<'a> {
    repositories: Vec<&'a str>,
}

/// Answers a request of an authorised client.
pub(crate) fn respond(
    head: &RequestHead,
    content: &Content,
    metrics: &metrics::ServerMetrics,
) -> HttpAnswer {
    if let Method::Other(_) = head.method {
        return HttpAnswer::error(Code::Unsupported, "this registry is read-only")
            .with("Allow", "GET, HEAD");
    }
    let answered = route::read(&head.target).map_err(misled);
    let answered = answered.and_then(|(route, query)| match route {
        Route::Base => Ok(HttpAnswer::json(&serde_json::Map::new())),
        Route::Metrics => Ok(HttpAnswer::bytes(
            metrics::TEXT,
            metrics.text(content.archives()),
        )),
        Route::Catalog => catalog(content, &query),
        Route::In(name, of) => {
            let repository = content.repository(&name, query.namespace.as_deref());
            match (repository, &of) {
                (_, RepositoryResource::Upload) => Err(HttpAnswer::error(
                    Code::Unsupported,
                    "this registry has no uploads",
                )
                .with("Allow", "")),
                (Some(repository), of) => {
                    of_repository(repository, &name, of, &query, &head.fields)
                }
                (None, _) => Err(HttpAnswer::error(
                    Code::NameUnknown,
                    "no archive has this repository",
                )),
            }
        }
    });
    answered.unwrap_or_else(|refusal| refusal)
}

/// Returns the error answer for an invalid target.
fn misled(misled: TargetError) -> HttpAnswer {
    match misled {
        TargetError::Nowhere => {
            let message = "not found: a registry serves paths below /v2/";
            HttpAnswer::error_as(AnswerStatus::NotFound, Code::Unsupported, message)
        }
        TargetError::Name => {
            HttpAnswer::error(Code::NameInvalid, "this is not the name of a repository")
        }
        TargetError::Digest => HttpAnswer::error(Code::DigestInvalid, "this is not a digest"),
        TargetError::Escape => {
            let message = "the path has `%` without two hexadecimal digits, or is not UTF-8";
            HttpAnswer::error(Code::NameInvalid, message)
        }
    }
}

fn of_repository(
    repository: &ServedRepository,
    name: &str,
    of: &RepositoryResource,
    query: &RouteQuery,
    fields: &HeadFields,
) -> Result<HttpAnswer, HttpAnswer> {
    match of {
        RepositoryResource::Tags => tags(repository, name, query),
        RepositoryResource::Tagged(tag) => {
            let found = repository.tagged(tag);
            let missing =
                || HttpAnswer::error(Code::ManifestUnknown, "the repository has no such tag");
            Ok(manifest(found.ok_or_else(missing)?, fields))
        }
        RepositoryResource::Manifest(named) => {
            let found = known_digest(named).and_then(|digest| repository.manifest(digest));
            let missing =
                || HttpAnswer::error(Code::ManifestUnknown, "the repository has no such manifest");
            Ok(manifest(found.ok_or_else(missing)?, fields))
        }
        RepositoryResource::Blob(named) => {
            let found = known_digest(named).and_then(|digest| repository.blob(digest));
            let missing =
                || HttpAnswer::error(Code::BlobUnknown, "the repository has no such blob");
            Ok(blob(found.ok_or_else(missing)?, fields))
        }
        RepositoryResource::Referrers(named) => {
            let of_type = query.artifact_type.as_deref();
            let answer =
                HttpAnswer::bytes(INDEX, repository.referrers(known_digest(named), of_type));
            Ok(match of_type {
                Some(_) => answer.with("OCI-Filters-Applied", "artifactType"),
                None => answer,
            })
        }
        RepositoryResource::Upload => Err(misled(TargetError::Nowhere)),
    }
}

fn known_digest(named: &RequestedDigest) -> Option<&schemas::Digest> {
    match named {
        RequestedDigest::Known(digest) => Some(digest),
        RequestedDigest::Other => None,
    }
}

fn manifest(document: &Arc<Document>, fields: &HeadFields) -> HttpAnswer {
    let digest = document.digest.to_string();
    let etag = format!("\"{digest}\"");
    let answer = HttpAnswer {
        status: AnswerStatus::Ok,
        fields: vec![("Docker-Content-Digest", digest), ("ETag", etag.clone())],
        body: AnswerBody::None,
    };
    if range::is_known(fields.if_none_match.as_deref(), &etag) {
        return HttpAnswer {
            status: AnswerStatus::NotModified,
            ..answer
        };
    }
    let body = AnswerBody::Document(Arc::clone(document));
    HttpAnswer { body, ..answer }.with("Content-Type", document.media_type.as_str())
}

fn blob(blob: &Arc<ServedBlob>, fields: &HeadFields) -> HttpAnswer {
    let (digest, size) = (blob.digest.to_string(), blob.size);
    let etag = format!("\"{digest}\"");
    let answer = HttpAnswer {
        status: AnswerStatus::Ok,
        fields: vec![
            ("Docker-Content-Digest", digest),
            ("ETag", etag.clone()),
            ("Accept-Ranges", "bytes".to_owned()),
        ],
        body: AnswerBody::None,
    };
    if range::is_known(fields.if_none_match.as_deref(), &etag) {
        return HttpAnswer {
            status: AnswerStatus::NotModified,
            ..answer
        };
    }
    let range = fields.range.as_deref();
    let range = range.filter(|_| range::is_same(fields.if_range.as_deref(), &etag));
    let (status, from, to) = match range::part(range, size) {
        ContentPart::All => (AnswerStatus::Ok, 0, size),
        ContentPart::Some(from, to) => (AnswerStatus::PartialContent, from, to),
        ContentPart::Unsatisfiable => {
            return HttpAnswer::error(Code::SizeInvalid, "the blob ends before this range")
                .with("Content-Range", format!("bytes */{size}"));
        }
    };
    let body = AnswerBody::Blob {
        blob: Arc::clone(blob),
        from,
        to,
    };
    let answer = HttpAnswer {
        status,
        body,
        ..answer
    };
    let answer = answer.with("Content-Type", "application/octet-stream");
    match status {
        AnswerStatus::PartialContent => {
            answer.with("Content-Range", format!("bytes {from}-{}/{size}", to - 1))
        }
        _ => answer,
    }
}

fn tags(
    repository: &ServedRepository,
    name: &str,
    query: &RouteQuery,
) -> Result<HttpAnswer, HttpAnswer> {
    let last = query.last.as_deref().unwrap_or_default();
    let (tags, next) = page(repository.tags_after(last), query)?;
    let path = format!("/v2/{name}/tags/list");
    Ok(linked(
        HttpAnswer::json(&Tags { name, tags }),
        &path,
        next,
        query,
    ))
}

fn catalog(content: &Content, query: &RouteQuery) -> Result<HttpAnswer, HttpAnswer> {
    let last = query.last.as_deref().unwrap_or_default();
    let (repositories, next) = page(content.names_after(last), query)?;
    let answer = HttpAnswer::json(&Catalog { repositories });
    Ok(linked(answer, "/v2/_catalog", next, query))
}

/// The start of the next page: the last entry of this page, and the number of entries.
type PageStart<'a> = Option<(&'a str, usize)>;

/// Returns the requested number of entries, and the start of the next page if there are more.
fn page<'a>(
    all: impl Iterator<Item = &'a str>,
    query: &RouteQuery,
) -> Result<(Vec<&'a str>, PageStart<'a>), HttpAnswer> {
    let wrong = |_| {
        HttpAnswer::error(
            Code::PaginationNumberInvalid,
            "`n` is not a number of entries",
        )
    };
    let n = query.n.as_deref().map(str::parse::<u32>);
    let n = n.transpose().map_err(wrong)?;
    let count = n.map_or(limits::PAGE, |n| limits::PAGE.min(n as usize));
    let mut all = all.peekable();
    let entries: Vec<&str> = all.by_ref().take(count).collect();
    let next = match (entries.last(), all.peek()) {
        (Some(last), Some(_)) => Some((*last, count)),
        _ => None,
    };
    Ok((entries, next))
}

fn linked(answer: HttpAnswer, path: &str, next: PageStart<'_>, query: &RouteQuery) -> HttpAnswer {
    let Some((last, count)) = next else {
        return answer;
    };
    let last = route::escape(last);
    let namespace = query.namespace.as_deref().map(route::escape);
    let namespace = namespace.map_or_else(String::new, |namespace| format!("&ns={namespace}"));
    let link = format!("<{path}?n={count}&last={last}{namespace}>; rel=\"next\"");
    answer.with("Link", link)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs::File;

    use serde_json::{Value, json};
    use sha2::Digest as _;

    use super::*;
    use crate::content::{ServedArchive, ServedImage};

    const MANIFEST: &str = r#"{"schemaVersion":2,"config":{"mediaType":"c","digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","size":0},"layers":[]}"#;

    fn digest() -> String {
        let digest = sha2::Sha256::digest(MANIFEST);
        schemas::Digest::new(digest.into()).to_string()
    }

    fn blob_digest() -> schemas::Digest {
        schemas::Digest::new([7; 32])
    }

    fn content(names: &[&str], tags: &[&str]) -> Content {
        let root = digest().parse().unwrap();
        let root = Arc::new(Document::read(root, MANIFEST.into()).unwrap().0);
        let blob = Arc::new(ServedBlob {
            digest: blob_digest(),
            file: Arc::new(File::open("/dev/null").unwrap()),
            offset: 0,
            size: 10,
        });
        let image = |name: &str, tag: &str| ServedImage {
            repository: name.to_owned(),
            tag: Some(tag.to_owned()),
            root: Arc::clone(&root),
            children: Vec::new(),
            blobs: vec![Arc::clone(&blob)],
        };
        let images = names
            .iter()
            .flat_map(|name| tags.iter().map(|tag| image(name, tag)));
        let mut content = Content::default();
        let brought = ServedArchive {
            name: "a.iso".to_owned(),
            images: images.collect(),
            mirrors: BTreeMap::new(),
        };
        content.add(&brought).unwrap();
        content
    }

    fn ask(content: &Content, target: &str, fields: HeadFields) -> HttpAnswer {
        let head = RequestHead {
            target: target.to_owned(),
            fields,
            ..RequestHead::default()
        };
        respond(&head, content, &metrics::ServerMetrics::default())
    }

    fn body(answer: &HttpAnswer) -> Value {
        match &answer.body {
            AnswerBody::Bytes(bytes) => serde_json::from_slice(bytes).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    fn field<'a>(answer: &'a HttpAnswer, name: &str) -> Option<&'a str> {
        let mut fields = answer.fields.iter();
        fields
            .find(|field| field.0 == name)
            .map(|field| field.1.as_str())
    }

    #[test]
    fn pages_follow_each_other_to_the_end() {
        let content = content(&["app"], &["a", "b", "c", "d", "e"]);
        let (mut target, mut seen) = ("/v2/app/tags/list?n=2".to_owned(), Vec::new());
        loop {
            let answer = ask(&content, &target, HeadFields::default());
            let tags = body(&answer)["tags"].clone();
            seen.push(tags);
            let Some(link) = field(&answer, "Link") else {
                break;
            };
            let (next, rel) = link.split_once('>').unwrap();
            assert_eq!(rel, "; rel=\"next\"");
            target = next[1..].to_owned();
        }
        assert_eq!(json!(seen), json!([["a", "b"], ["c", "d"], ["e"]]));
        for (query, expected) in [
            ("n=0", json!([])),
            ("n=99", json!(["a", "b", "c", "d", "e"])),
            ("last=bb", json!(["c", "d", "e"])),
            ("last=e&n=1", json!([])),
        ] {
            let answer = ask(
                &content,
                &format!("/v2/app/tags/list?{query}"),
                HeadFields::default(),
            );
            assert_eq!(body(&answer)["tags"], expected, "{query}");
            assert_eq!(field(&answer, "Link"), None, "{query}");
        }
        for wrong in ["-1", "x", "4294967296", "%20"] {
            let target = format!("/v2/app/tags/list?n={wrong}");
            let answer = ask(&content, &target, HeadFields::default());
            assert_eq!(answer.status, AnswerStatus::BadRequest, "{wrong}");
        }
    }

    #[test]
    fn repositories_are_listed_in_order_a_page_at_most() {
        let names: Vec<String> = (0..limits::PAGE + 5)
            .map(|n| format!("app-{n:05}"))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let content = content(&names, &["1"]);
        let answer = ask(&content, "/v2/_catalog", HeadFields::default());
        let listed = body(&answer)["repositories"].as_array().unwrap().len();
        assert_eq!(listed, limits::PAGE);
        assert_eq!(
            field(&answer, "Link"),
            Some("</v2/_catalog?n=1000&last=app-00999>; rel=\"next\"")
        );
    }

    #[test]
    fn what_is_not_there_is_named_by_the_code_of_its_kind() {
        let content = content(&["app"], &["1"]);
        let none = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
        let other = format!("sha512:{}", "0".repeat(128));
        for (target, status, code) in [
            ("/v2/app/manifests/2".to_owned(), 404, "MANIFEST_UNKNOWN"),
            (format!("/v2/app/manifests/{none}"), 404, "MANIFEST_UNKNOWN"),
            (
                format!("/v2/app/manifests/{other}"),
                404,
                "MANIFEST_UNKNOWN",
            ),
            (format!("/v2/app/blobs/{none}"), 404, "BLOB_UNKNOWN"),
            (format!("/v2/app/blobs/{other}"), 404, "BLOB_UNKNOWN"),
            ("/v2/app/blobs/sha256:1".to_owned(), 400, "DIGEST_INVALID"),
            ("/v2/other/tags/list".to_owned(), 404, "NAME_UNKNOWN"),
            (format!("/v2/other/referrers/{none}"), 404, "NAME_UNKNOWN"),
            ("/v2/APP/tags/list".to_owned(), 400, "NAME_INVALID"),
            ("/v2/app/blobs/uploads/".to_owned(), 405, "UNSUPPORTED"),
            ("/".to_owned(), 404, "UNSUPPORTED"),
        ] {
            let answer = ask(&content, &target, HeadFields::default());
            assert_eq!(answer.status.code(), status, "{target}");
            assert_eq!(body(&answer)["errors"][0]["code"], code, "{target}");
        }
    }

    #[test]
    fn a_content_is_sent_in_parts_or_not_at_all_if_it_is_known() {
        let content = content(&["app"], &["1"]);
        let of_blob = format!("/v2/app/blobs/{}", blob_digest());
        let etag = format!("\"{}\"", blob_digest());
        let text = |text: &str| Some(text.to_owned());
        let ranged = |range: &str, if_range: Option<String>| HeadFields {
            range: text(range),
            if_range,
            ..HeadFields::default()
        };
        for (fields, status, length, range) in [
            (HeadFields::default(), 200, 10, None),
            (ranged("bytes=2-4", None), 206, 3, Some("bytes 2-4/10")),
            (
                ranged("bytes=2-4", text(&etag)),
                206,
                3,
                Some("bytes 2-4/10"),
            ),
            (ranged("bytes=2-4", text("\"other\"")), 200, 10, None),
        ] {
            let answer = ask(&content, &of_blob, fields);
            assert_eq!(
                (answer.status.code(), answer.body.length()),
                (status, length)
            );
            assert_eq!(field(&answer, "Content-Range"), range);
        }
        let answer = ask(&content, &of_blob, ranged("bytes=10-", None));
        assert_eq!(answer.status, AnswerStatus::RangeNotSatisfiable);
        assert_eq!(field(&answer, "Content-Range"), Some("bytes */10"));
        for target in [
            "/v2/app/manifests/1",
            &format!("/v2/app/manifests/{}", digest()),
        ] {
            let answer = ask(&content, target, HeadFields::default());
            assert_eq!(
                field(&answer, "Docker-Content-Digest"),
                Some(digest().as_str())
            );
            let if_none_match = field(&answer, "ETag").map(str::to_owned);
            let fields = HeadFields {
                if_none_match,
                ..HeadFields::default()
            };
            let again = ask(&content, target, fields);
            assert_eq!(again.status, AnswerStatus::NotModified);
            assert!(
                !again
                    .head(crate::head::ConnectionFate::Keep)
                    .contains("Content-Length")
            );
        }
    }
}

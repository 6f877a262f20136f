//! The routes of a registry (distribution specification, "Endpoints"): [`read`] parses the target of a request. All
//! bytes come from a client, so names and digests are checked against their grammars.

use schemas::{Digest, ImageName};

use crate::limits;

/// The requested resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The endpoint that confirms that this is a registry.
    Base,
    /// The list of all repositories.
    Catalog,
    /// The server's metrics.
    Metrics,
    /// A resource of a repository.
    In(String, RepositoryResource),
}

/// A resource of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RepositoryResource {
    /// The list of its tags.
    Tags,
    /// The manifest of a tag.
    Tagged(String),
    /// A manifest.
    Manifest(RequestedDigest),
    /// A blob.
    Blob(RequestedDigest),
    /// The referrers of a manifest.
    Referrers(RequestedDigest),
    /// Uploads, which are not supported.
    Upload,
}

/// A digest in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestedDigest {
    /// A digest of the supported algorithm.
    Known(Digest),
    /// A digest of another algorithm, which no content has.
    Other,
}

/// The reason why a target is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetError {
    /// The path is not an endpoint of a registry.
    Nowhere,
    /// The name of the repository is malformed.
    Name,
    /// The digest is malformed.
    Digest,
    /// The target has `%` without two hexadecimal digits, or is not UTF-8.
    Escape,
}

/// The query parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RouteQuery {
    /// The requested number of entries.
    pub(crate) n: Option<String>,
    /// The entry after which the list starts.
    pub(crate) last: Option<String>,
    /// The artifact type to which a list of referrers is limited.
    pub(crate) artifact_type: Option<String>,
    /// The registry for which this server is used as a mirror (`ns`, a parameter of containerd).
    pub(crate) namespace: Option<String>,
}

/// Parses a target in origin form, `/PATH?QUERY`.
pub(crate) fn read(target: &str) -> Result<(Route, RouteQuery), TargetError> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = unescape(path, Plus::Kept)?;
    Ok((route(&path)?, parameters(query)?))
}

fn route(path: &str) -> Result<Route, TargetError> {
    match path {
        "/v2" | "/v2/" => return Ok(Route::Base),
        "/v2/_catalog" => return Ok(Route::Catalog),
        "/metrics" => return Ok(Route::Metrics),
        _ => {}
    }
    let path = path.strip_prefix("/v2/").ok_or(TargetError::Nowhere)?;
    if let Some((name, _)) = path.split_once("/blobs/uploads") {
        return Ok(Route::In(repository(name)?, RepositoryResource::Upload));
    }
    if let Some(name) = path.strip_suffix("/tags/list") {
        return Ok(Route::In(repository(name)?, RepositoryResource::Tags));
    }
    // The path is split from its end, because names can contain `manifests` or `blobs`.
    let (before, last) = path.rsplit_once('/').ok_or(TargetError::Nowhere)?;
    let (name, kind) = before.rsplit_once('/').ok_or(TargetError::Nowhere)?;
    let of: fn(&str) -> Result<RepositoryResource, TargetError> = match kind {
        "manifests" => |text| {
            if text.contains(':') {
                digest(text).map(RepositoryResource::Manifest)
            } else {
                Ok(RepositoryResource::Tagged(text.to_owned()))
            }
        },
        "blobs" => |text| Ok(RepositoryResource::Blob(digest(text)?)),
        "referrers" => |text| Ok(RepositoryResource::Referrers(digest(text)?)),
        _ => return Err(TargetError::Nowhere),
    };
    Ok(Route::In(repository(name)?, of(last)?))
}

/// Checks that a text has the grammar of a repository's name.
fn repository(text: &str) -> Result<String, TargetError> {
    let fits = text.len() <= limits::REPOSITORY;
    // A component of an image's name has the same grammar as a component of a repository's name.
    let is_name = fits
        && text
            .split('/')
            .all(|component| component.parse::<ImageName>().is_ok());
    is_name.then(|| text.to_owned()).ok_or(TargetError::Name)
}

/// Parses a digest: `algorithm:encoded` (image specification, "Digests").
fn digest(text: &str) -> Result<RequestedDigest, TargetError> {
    let (algorithm, encoded) = text.split_once(':').ok_or(TargetError::Digest)?;
    if algorithm == "sha256" {
        return text
            .parse()
            .map(RequestedDigest::Known)
            .map_err(|_| TargetError::Digest);
    }
    let encoding = |byte: u8| byte.is_ascii_alphanumeric() || b"=_-".contains(&byte);
    let components = |byte: u8| byte.is_ascii_alphanumeric() || b"+._-".contains(&byte);
    let is_digest = !encoded.is_empty()
        && encoded.bytes().all(encoding)
        && !algorithm.is_empty()
        && algorithm.bytes().all(components);
    is_digest
        .then_some(RequestedDigest::Other)
        .ok_or(TargetError::Digest)
}

fn parameters(query: &str) -> Result<RouteQuery, TargetError> {
    let mut read = RouteQuery::default();
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let field = match name {
            "n" => &mut read.n,
            "last" => &mut read.last,
            "artifactType" => &mut read.artifact_type,
            "ns" => &mut read.namespace,
            _ => continue,
        };
        // Of repeated parameters, the first one counts, as in most servers.
        if field.is_none() {
            *field = Some(unescape(value, Plus::Space)?);
        }
    }
    Ok(read)
}

/// The interpretation of `+`: only in a query is it a space.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plus {
    Kept,
    Space,
}

fn unescape(text: &str, plus: Plus) -> Result<String, TargetError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || (rest.next()? as char).to_digit(16);
                let pair = digit().zip(digit());
                let (high, low) = pair.ok_or(TargetError::Escape)?;
                u8::try_from(high * 16 + low).map_err(|_| TargetError::Escape)?
            }
            b'+' if plus == Plus::Space => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| TargetError::Escape)
}

/// Percent-encodes a text as the value of a parameter.
pub(crate) fn escape(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::new(), |mut escaped, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                escaped.push(char::from(byte));
            }
            byte => drop(write!(escaped, "%{byte:02X}")),
        }
        escaped
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn of(target: &str) -> Result<Route, TargetError> {
        read(target).map(|(route, _)| route)
    }

    #[test]
    fn targets_name_what_a_registry_has() {
        let known = || RequestedDigest::Known(DIGEST.parse().unwrap());
        let other = format!("sha512:{}", "a".repeat(128));
        for (target, name, expected) in [
            (
                "a/manifests/1.0",
                "a",
                RepositoryResource::Tagged("1.0".to_owned()),
            ),
            (
                "a/b/manifests/x",
                "a/b",
                RepositoryResource::Tagged("x".to_owned()),
            ),
            (
                "manifests/blobs/tags/list",
                "manifests/blobs",
                RepositoryResource::Tags,
            ),
            (
                "a/tags/manifests/list",
                "a/tags",
                RepositoryResource::Tagged("list".into()),
            ),
            (
                &format!("a/manifests/{DIGEST}"),
                "a",
                RepositoryResource::Manifest(known()),
            ),
            (
                &format!("a/blobs/{DIGEST}"),
                "a",
                RepositoryResource::Blob(known()),
            ),
            (
                &format!("a/referrers/{DIGEST}"),
                "a",
                RepositoryResource::Referrers(known()),
            ),
            (
                &format!("a/blobs/{other}"),
                "a",
                RepositoryResource::Blob(RequestedDigest::Other),
            ),
            ("a/blobs/uploads/", "a", RepositoryResource::Upload),
            ("a/blobs/uploads/123", "a", RepositoryResource::Upload),
        ] {
            let found = of(&format!("/v2/{target}"));
            assert_eq!(found, Ok(Route::In(name.to_owned(), expected)), "{target}");
        }
        let escaped = format!("/v2/a/blobs/{}", DIGEST.replace(':', "%3A"));
        assert_eq!(
            of(&escaped),
            Ok(Route::In("a".to_owned(), RepositoryResource::Blob(known())))
        );
        assert_eq!(of("/v2/"), Ok(Route::Base));
        assert_eq!(of("/v2/_catalog?n=1"), Ok(Route::Catalog));
        assert_eq!(of("/metrics"), Ok(Route::Metrics));
    }

    #[test]
    fn everything_else_is_refused_by_kind() {
        for (target, expected) in [
            ("/", TargetError::Nowhere),
            ("/v1/a", TargetError::Nowhere),
            ("/v2/a", TargetError::Nowhere),
            ("/v2/a/other/1", TargetError::Nowhere),
            ("/v2/a//manifests/1", TargetError::Name),
            ("/v2/A/manifests/1", TargetError::Name),
            ("/v2/../manifests/1", TargetError::Name),
            ("/v2/a%2f..%2fb/tags/list", TargetError::Name),
            ("/v2/a/blobs/sha256:00", TargetError::Digest),
            ("/v2/a/blobs/latest", TargetError::Digest),
            ("/v2/a/manifests/sha256:", TargetError::Digest),
            ("/v2/a/manifests/%", TargetError::Escape),
            ("/v2/a/manifests/%ff", TargetError::Escape),
            ("/v2/_catalog?last=%g0", TargetError::Escape),
        ] {
            assert_eq!(of(target), Err(expected), "{target}");
        }
        let long = format!("/v2/{}a/tags/list", "a/".repeat(limits::REPOSITORY));
        assert_eq!(of(&long), Err(TargetError::Name));
    }

    #[test]
    fn parameters_are_unescaped_and_the_first_counts() {
        let (_, query) = read("/v2/a/tags/list?n=2&last=a%26b+c&n=9&ns=docker.io&x").unwrap();
        let text = |text: &str| Some(text.to_owned());
        assert_eq!((query.n, query.last), (text("2"), text("a&b c")));
        assert_eq!(
            (query.namespace, query.artifact_type),
            (text("docker.io"), None)
        );
    }

    proptest! {
        #[test]
        fn any_target_is_read_and_escaping_can_be_undone(target: String, value: String) {
            let _ = read(&target);
            prop_assert_eq!(unescape(&escape(&value), Plus::Space), Ok(value));
        }
    }
}

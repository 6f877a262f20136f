//! The parser for request targets: [`RequestTarget::parse`] returns the object or list that a path of the API server
//! names.
//!
//! A target is parsed as the API server does: path and query are decoded before they are compared. A target that the
//! two parsers could read differently is rejected: characters that a client would encode (some parsers cut a target at
//! `#`), a duplicate parameter, and an invalid escape sequence.

use std::collections::BTreeSet;
use std::fmt;

/// The path of an object at an API server, independent of the version of its kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObjectPath {
    pub(crate) group: String,
    /// The plural of its kind.
    pub(crate) plural: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

impl fmt::Display for ObjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (plural, name) = (&self.plural, &self.name);
        match &self.namespace {
            Some(namespace) => write!(f, "{plural} {namespace}/{name}"),
            None => write!(f, "{plural} {name}"),
        }
    }
}

/// The target of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestTarget {
    /// One of the server's discovery documents (versions, kinds and their schemas), by its path.
    Discovery(String),
    /// An object, and the requested version of its kind.
    Object(ObjectPath, String),
    /// All objects of a kind: its group and plural, and the namespace if it is limited to one.
    Collection {
        group: String,
        plural: String,
        namespace: Option<String>,
        query: Query,
    },
    /// Any other target, such as subresources, streams of pods, proxies and health checks.
    Other,
}

/// The query of a list.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Query {
    /// True for a watch.
    pub(super) watch: bool,
    pub(super) labels: String,
}

impl RequestTarget {
    pub(super) fn parse(target: &str) -> Self {
        Self::read(target).unwrap_or(Self::Other)
    }

    fn read(target: &str) -> Option<Self> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = Query::parse(query)?;
        let segments: Vec<String> = path
            .strip_prefix('/')?
            .split('/')
            .map(segment)
            .collect::<Option<_>>()?;
        let names: Vec<&str> = segments.iter().map(String::as_str).collect();
        Some(match names[..] {
            ["version" | "api" | "apis"]
            | ["openapi", ..]
            | ["api", "v1"]
            | ["apis", _]
            | ["apis", _, _] => Self::Discovery(format!("/{}", segments.join("/"))),
            ["api", version @ "v1", ref rest @ ..] => Self::below("", version, rest, query),
            ["apis", group, version, ref rest @ ..] => Self::below(group, version, rest, query),
            _ => Self::Other,
        })
    }

    fn below(group: &str, version: &str, rest: &[&str], query: Query) -> Self {
        let object = |plural: &str, namespace: Option<&str>, name: &str| {
            let place = ObjectPath {
                group: group.to_owned(),
                plural: plural.to_owned(),
                namespace: namespace.map(str::to_owned),
                name: name.to_owned(),
            };
            Self::Object(place, version.to_owned())
        };
        let collection = |plural: &str, namespace: Option<&str>| Self::Collection {
            group: group.to_owned(),
            plural: plural.to_owned(),
            namespace: namespace.map(str::to_owned),
            query,
        };
        match *rest {
            // The deprecated form of a watch, which Helm does not use.
            ["watch", ..] => Self::Other,
            ["namespaces", namespace, plural] => collection(plural, Some(namespace)),
            ["namespaces", namespace, plural, name] => object(plural, Some(namespace), name),
            [plural] => collection(plural, None),
            [plural, name] => object(plural, None, name),
            _ => Self::Other,
        }
    }
}

/// The object or list that a template has read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LookupTarget {
    /// The namespace that contains it. `None` for cluster-scoped objects and lists of all namespaces.
    pub(crate) namespace: Option<String>,
    /// Its description for users.
    pub(crate) what: String,
}

impl LookupTarget {
    /// Returns the description of a request's target.
    pub(crate) fn parse(target: &str) -> Self {
        match RequestTarget::parse(target) {
            RequestTarget::Object(place, _) => Self {
                what: place.to_string(),
                namespace: place.namespace,
            },
            RequestTarget::Collection {
                plural,
                namespace: Some(namespace),
                ..
            } => Self {
                what: format!("all {plural} in {namespace}"),
                namespace: Some(namespace),
            },
            RequestTarget::Collection { plural, .. } => Self {
                what: format!("all {plural} in the whole cluster"),
                namespace: None,
            },
            RequestTarget::Discovery(_) | RequestTarget::Other => Self {
                what: target.to_owned(),
                namespace: None,
            },
        }
    }
}

impl Query {
    /// Parses a query. Returns `None` if it is ambiguous.
    fn parse(query: &str) -> Option<Self> {
        let mut found = Self::default();
        let mut names = BTreeSet::new();
        for pair in query.split('&').filter(|_| !query.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let [name, value] = [name, value].map(|part| decoded(part, Part::Query));
            let (name, value) = (name?, value?);
            match name.as_str() {
                // The server reads every other value as `true`, including an empty one.
                "watch" => found.watch = !matches!(value.as_str(), "0" | "false"),
                "labelSelector" => found.labels = value,
                _ => {}
            }
            if name.is_empty() || !names.insert(name) {
                return None;
            }
        }
        Some(found)
    }
}

/// The part of a target to which a text belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Path,
    Query,
}

impl Part {
    /// Returns the byte that an unescaped character represents, or `None` if it must be escaped.
    fn plain(self, byte: u8) -> Option<u8> {
        match byte {
            b'+' if self == Self::Query => Some(b' '),
            // Some servers have treated it as `&`.
            b';' if self == Self::Query => None,
            b'/' | b'?' if self == Self::Query => Some(byte),
            b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+'
            | b',' | b';' | b'=' | b':' | b'@' => Some(byte),
            _ => byte.is_ascii_alphanumeric().then_some(byte),
        }
    }
}

/// Decodes a segment of a path. Returns `None` if it is empty, names another directory, or is not in the encoding that
/// a client writes.
fn segment(text: &str) -> Option<String> {
    let text = decoded(text, Part::Path)?;
    let leads_elsewhere = text.contains('/') || matches!(text.as_str(), "" | "." | "..");
    (!leads_elsewhere).then_some(text)
}

fn decoded(text: &str, part: Part) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'%' {
            bytes.push(part.plain(*first)?);
            continue;
        }
        let [high, low, behind @ ..] = rest else {
            return None;
        };
        let digit = |digit: &u8| char::from(*digit).to_digit(16);
        bytes.push(u8::try_from(digit(high)? * 16 + digit(low)?).ok()?);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(
        group: &str,
        plural: &str,
        namespace: Option<&str>,
        watch: bool,
        labels: &str,
    ) -> RequestTarget {
        RequestTarget::Collection {
            group: group.to_owned(),
            plural: plural.to_owned(),
            namespace: namespace.map(str::to_owned),
            query: Query {
                watch,
                labels: labels.to_owned(),
            },
        }
    }

    #[test]
    fn paths_lead_to_objects_and_collections_and_nothing_else_counts() {
        let object = |group: &str, plural: &str, namespace: Option<&str>, name: &str| {
            RequestTarget::Object(
                ObjectPath {
                    group: group.to_owned(),
                    plural: plural.to_owned(),
                    namespace: namespace.map(str::to_owned),
                    name: name.to_owned(),
                },
                "v1".to_owned(),
            )
        };
        let discovery = |path: &str| RequestTarget::Discovery(path.to_owned());
        let expected = [
            ("/version", discovery("/version")),
            ("/apis/apps/v1?timeout=32s", discovery("/apis/apps/v1")),
            (
                "/openapi/v3/%61pis/apps/v1?hash=AB%2Fc",
                discovery("/openapi/v3/apis/apps/v1"),
            ),
            ("/api/v1/namespaces/a", object("", "namespaces", None, "a")),
            (
                "/api/v1/namespaces/a/secrets/b",
                object("", "secrets", Some("a"), "b"),
            ),
            (
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:x%3Ay",
                object(
                    "rbac.authorization.k8s.io",
                    "clusterroles",
                    None,
                    "system:x:y",
                ),
            ),
            (
                "/api/v1/namespaces/a/secrets?labelSelector=name%3Db%2Cowner%3Dhelm",
                all("", "secrets", Some("a"), false, "name=b,owner=helm"),
            ),
            (
                "/apis/apps/v1/deployments?watch=true",
                all("apps", "deployments", None, true, ""),
            ),
            ("/api/v1/pods?watch=1", all("", "pods", None, true, "")),
            ("/api/v1/pods?watch=false", all("", "pods", None, false, "")),
        ];
        for (target, expected) in expected {
            assert_eq!(RequestTarget::parse(target), expected, "{target}");
        }
    }

    #[test]
    fn a_query_is_read_as_the_server_reads_it_however_it_is_spelled() {
        let expected = [
            ("/api/v1/pods?watch", all("", "pods", None, true, "")),
            ("/api/v1/pods?watch=", all("", "pods", None, true, "")),
            ("/api/v1/pods?w%61tch=1", all("", "pods", None, true, "")),
            (
                "/api/v1/pods?%77%61%74%63%68=t%72ue",
                all("", "pods", None, true, ""),
            ),
            (
                "/api/v1/pods?watch=%66alse",
                all("", "pods", None, false, ""),
            ),
            ("/api/v1/pods?Watch=1", all("", "pods", None, false, "")),
            (
                "/api/v1/namespaces/a/secrets?label%53elector=owner+in+%28helm%29,a.test/b=c",
                all(
                    "",
                    "secrets",
                    Some("a"),
                    false,
                    "owner in (helm),a.test/b=c",
                ),
            ),
        ];
        for (target, expected) in expected {
            assert_eq!(RequestTarget::parse(target), expected, "{target}");
        }
    }

    #[test]
    fn everything_else_leads_nowhere() {
        for target in [
            "",
            "/",
            "*",
            "version",
            "/healthz",
            "/metrics",
            "/logs/",
            "//api/v1",
            "/api//v1",
            "/api/v2",
            "/api/v1/",
            "/api/v1/namespaces/a/",
            "/api/v1/namespaces/a/pods/b/exec",
            "/api/v1/namespaces/a/pods/b/log",
            "/api/v1/namespaces/a/services/b/proxy/c",
            "/api/v1/nodes/n/proxy/pods",
            "/api/v1/watch/pods",
            "/apis/apps/v1/watch/deployments",
            "/api/v1/namespaces/..%2Fb/secrets/c",
            "/api/v1/namespaces/a/secrets/%2E%2E",
            "/api/v1/namespaces/a/secrets/b%",
            "/api/v1/namespaces/a/secrets/b%f",
            "/api/v1/namespaces/a/secrets/%ff",
            "/version/../api/v1/secrets",
            // Some parsers cut a target here, and would read all Secrets.
            "/api/v1/namespaces/a/secrets#/b",
            "/api/v1/namespaces/a/secrets?limit=1#&watch=1",
            "/api/v1/namespaces/a/secrets\\b",
            "/api/v1/namespaces/a/sécrets/b",
            // Two parameters of one name: some parsers take the first and some the last.
            "/api/v1/pods?watch=0&watch=1",
            "/api/v1/pods?watch=0&w%61tch=1",
            "/api/v1/pods?limit=1&limit=2",
            "/api/v1/pods?limit=1;watch=1",
            "/api/v1/pods?limit=1&&watch=1",
            "/api/v1/pods?=1",
            "/api/v1/pods?watch=%zz",
            "/api/v1/pods?w%ff=1",
            "/api/v1/namespaces/a/secrets/b?w%=1",
            "/apis?a=1&a=2",
        ] {
            assert_eq!(
                RequestTarget::parse(target),
                RequestTarget::Other,
                "{target}"
            );
        }
    }

    #[test]
    fn what_was_looked_at_has_a_name_and_a_place() {
        for (target, namespace, what) in [
            (
                "/api/v1/namespaces/kube-system/secrets/s",
                Some("kube-system"),
                "secrets kube-system/s",
            ),
            (
                "/apis/apps/v1/namespaces/a/deployments?limit=1",
                Some("a"),
                "all deployments in a",
            ),
            ("/api/v1/secrets", None, "all secrets in the whole cluster"),
            ("/api/v1/namespaces/a", None, "namespaces a"),
        ] {
            let namespace = namespace.map(str::to_owned);
            let what = what.to_owned();
            assert_eq!(
                LookupTarget::parse(target),
                LookupTarget { namespace, what },
                "{target}"
            );
        }
    }
}

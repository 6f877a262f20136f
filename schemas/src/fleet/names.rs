//! Names in a fleet, and of the objects from which its facts are read. Each is a checked type, so that a mistyped name
//! is an error in the file.

use crate::name::{checked_name, is_dns_label, is_dns_subdomain};
use crate::{limits, pattern};

checked_name! {
    /// The name of a cluster in its fleet: a DNS subdomain, since labels and objects are named by it.
    ClusterName, "name of a cluster", "a DNS subdomain: labels of lower-case letters, digits and `-` joined by `.`, at most 253",
    is_dns_subdomain, pattern::DNS_SUBDOMAIN
}
checked_name! {
    /// The name of a group of clusters: a DNS label.
    GroupName, "name of a group", "a DNS label: lower-case letters, digits and `-`, at most 63, no `-` at either end",
    is_dns_label, pattern::DNS_LABEL
}
checked_name! {
    /// The name of a wave: a DNS label.
    WaveName, "name of a wave", "a DNS label: lower-case letters, digits and `-`, at most 63, no `-` at either end",
    is_dns_label, pattern::DNS_LABEL
}
checked_name! {
    /// The name of a fact, by which expressions call it: `facts.NAME`.
    FactName, "name of a fact", "letters, digits and `_`, at most 63, no digit first, and no reserved word of CEL",
    is_fact_name
}
checked_name! {
    /// The UID of an object of Kubernetes, which stands for its cluster.
    ClusterUid, "UID", "a UUID in lower case, in quotes: `kubectl get namespace kube-system -o jsonpath={.metadata.uid}`",
    is_uid, pattern::UID
}
checked_name! {
    /// The group and version of an API.
    ServedVersion, "API version", "v1, or GROUP/VERSION such as apps/v1",
    is_served_version
}
checked_name! {
    /// The kind of an object that a fact comes from. Facts are shown, so that a Secret is none.
    KindName, "name of a kind", "an upper-case letter, then letters and digits, at most 63; not Secret, since facts are shown",
    |text| text != "Secret"
        && text.len() <= 63
        && text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric()),
    pattern::KIND
}
checked_name! {
    /// The place of a fact in its object.
    FactPath, "JSON Pointer", "empty, or parts that each begin with `/`, with `~0` for `~` and `~1` for `/` (RFC 6901), at most 1024 characters",
    |text| text.len() <= limits::VALUE_POINTER
        && (text.is_empty() || text.starts_with('/'))
        && text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1'])),
    pattern::FACT_PATH
}

/// The reserved words of CEL (language definition, "Syntax").
const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];

fn is_fact_name(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !RESERVED.contains(&text)
}

fn is_uid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    lengths.eq([8, 4, 4, 4, 12]) && text.bytes().all(|byte| byte == b'-' || hex(byte))
}

fn is_served_version(text: &str) -> bool {
    let is_version = |text: &str| text.starts_with('v') && is_dns_label(text);
    match text.split_once('/') {
        Some((group, version)) => is_dns_subdomain(group) && is_version(version),
        None => is_version(text),
    }
}

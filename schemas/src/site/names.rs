//! Names and values of Kubernetes labels, annotations and variables that a site sets. The grammar is that of
//! Kubernetes, so that the API server accepts each value.

use crate::name::checked_name;
use crate::{KubernetesName, pattern};

checked_name! {
    /// The name of a label, an annotation or a resource: `[PREFIX/]NAME`, the prefix a DNS subdomain.
    LabelName, "label name", "[PREFIX/]NAME: letters, digits, `-`, `_` and `.`, at most 63, a letter or digit at both ends",
    is_label_name
}
checked_name! {
    /// The value of a label.
    LabelValue, "label value", "empty, or at most 63 letters, digits, `-`, `_` and `.`, a letter or digit at both ends",
    |text| text.is_empty() || is_label_text(text), pattern::LABEL_VALUE
}
checked_name! {
    /// The name of an environment variable.
    VariableName, "variable name", "letters, digits, `_`, `-` and `.`, no digit first",
    |text| !text.is_empty()
        && text.len() <= 253
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}
fn is_label_text(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= 63 && bytes.iter().copied().all(inner) && end(bytes.first()) && end(bytes.last())
}

fn is_label_name(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => prefix.parse::<KubernetesName>().is_ok() && is_label_text(name),
        None => is_label_text(text),
    }
}

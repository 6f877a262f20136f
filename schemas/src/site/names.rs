//! Names and values of Kubernetes that a site chooses.

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
checked_name! {
    /// An amount of a resource, such as `250m` or `64Mi`.
    Quantity, "quantity", "digits, perhaps with a fraction, and m, k, M, G, T, Ki, Mi, Gi or Ti",
    is_quantity, pattern::QUANTITY
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

fn is_quantity(text: &str) -> bool {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let number_is_one = match number.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(number),
    };
    let units = ["", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"];
    text.len() <= 32 && number_is_one && units.contains(&unit)
}

//! Amounts of resources in the notation of Kubernetes. Only the notation is checked here, without a conversion to a
//! number.

use crate::name::checked_name;
use crate::pattern;

checked_name! {
    /// An amount of a resource, such as `250m` or `64Mi`.
    Quantity, "quantity", "digits, perhaps with a fraction, and m, k, M, G, T, Ki, Mi, Gi or Ti",
    is_quantity, pattern::QUANTITY
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

//! Formats of texts in schemas (`k8s.io/kube-openapi`, `pkg/validation/strfmt`). Only formats with short rules that are
//! equal in all versions of the API server are checked. All texts are accepted for the other formats, such as email
//! addresses, URLs, ISBNs and credit card numbers.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

/// Checks whether the API server may accept a text for a format. Unknown formats accept every text.
pub(super) fn may_be(text: &str, format: &str) -> bool {
    match format.replace('-', "").as_str() {
        "ipv4" => is_v4(text) || (text.contains('.') && is_v6(text)),
        "ipv6" => is_v6(text),
        "cidr" => is_cidr(text),
        "uuid" => is_uuid(text, [b"", b""]),
        "uuid3" => is_uuid(text, [b"3", b""]),
        "uuid4" => is_uuid(text, [b"4", b"89ab"]),
        "uuid5" => is_uuid(text, [b"5", b"89ab"]),
        "hexcolor" => {
            let digits = text.strip_prefix('#').unwrap_or(text);
            matches!(digits.len(), 3 | 6) && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        }
        "byte" => is_base64(text),
        "date" => is_date(text),
        "datetime" => is_date_time(text),
        "duration" => may_be_duration(text),
        "hostname" => is_hostname(text),
        _ => true,
    }
}

/// Checks for an IPv4 address, whose numbers may have leading zeros.
fn is_v4(text: &str) -> bool {
    let numbers = || text.split('.');
    let is_number = |number: &str| {
        let digits = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
        digits
            && number.trim_start_matches('0').len() <= 3
            && number.parse::<u64>().is_ok_and(|value| value < 256)
    };
    text.parse::<Ipv4Addr>().is_ok() || (numbers().count() == 4 && numbers().all(is_number))
}

/// Checks for an IPv6 address, which may end in an IPv4 address.
fn is_v6(text: &str) -> bool {
    match text.rsplit_once(':') {
        Some((front, last)) if last.contains('.') => {
            is_v4(last) && format!("{front}:0.0.0.0").parse::<Ipv6Addr>().is_ok()
        }
        _ => text.parse::<Ipv6Addr>().is_ok(),
    }
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let most = match (is_v4(address), is_v6(address)) {
        (true, _) => 32,
        (_, true) => 128,
        _ => return false,
    };
    let is_number = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
    is_number && bits.parse::<u32>().is_ok_and(|bits| bits <= most)
}

/// Checks for a UUID. `begin` are the allowed first digits of the third and fourth group; empty allows all.
fn is_uuid(text: &str, begin: [&[u8]; 2]) -> bool {
    let text = text.to_ascii_lowercase();
    let mut rest = text.as_bytes();
    for (part, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if part > 0 {
            rest = rest.strip_prefix(b"-").unwrap_or(rest);
        }
        let Some((digits, others)) = rest.split_at_checked(length) else {
            return false;
        };
        let choice = part.checked_sub(2).and_then(|index| begin.get(index));
        let is_one =
            choice.is_none_or(|allowed| allowed.is_empty() || allowed.contains(&digits[0]));
        if !is_one || !digits.iter().all(u8::is_ascii_hexdigit) {
            return false;
        }
        rest = others;
    }
    rest.is_empty()
}

/// Checks for Base64 in the standard alphabet, with padding and without line breaks.
pub(super) fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    !digits.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - digits.len() <= 2
        && digits.bytes().all(known)
}

fn is_date(text: &str) -> bool {
    let number = |from, to| {
        let digits: &str = text.get(from..to)?;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse::<u32>().ok()).flatten()
    };
    let dashes = text.len() == 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[7] == b'-';
    let (Some(year), Some(month), Some(day), true) =
        (number(0, 4), number(5, 7), number(8, 10), dashes)
    else {
        return false;
    };
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

fn is_date_time(text: &str) -> bool {
    static TIME: LazyLock<Regex> = LazyLock::new(|| {
        // As in the API server's pattern, the dot before fractions is not escaped.
        let time = r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$";
        Regex::new(time).expect("the pattern is constant")
    });
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    let within =
        |parts: regex::Captures<'_>| parts[1] <= *"23" && parts[2] <= *"59" && parts[3] <= *"59";
    is_date(date) && TIME.captures(time).is_some_and(within)
}

/// Checks whether a text may be a duration: a number followed by a letter, which may be its unit.
fn may_be_duration(text: &str) -> bool {
    let mut rest = text.trim_start_matches(['+', '-']);
    if rest == "0" {
        return true;
    }
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = rest[at..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        if rest.trim_start().starts_with(char::is_alphabetic) {
            return true;
        }
    }
    false
}

/// Checks for a DNS label that begins with a letter (RFC 1035).
pub(super) fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= 63
        && text.bytes().all(inner)
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && !text.ends_with('-')
}

/// Checks whether a text may be a host name: labels of letters, digits, symbols and `-`.
fn is_hostname(text: &str) -> bool {
    let label = |part: &str| {
        let inner = |c: char| c.is_alphanumeric() || c == '-' || !c.is_ascii();
        // ASCII characters that are symbols in Unicode.
        let inner = |c: char| inner(c) || "$+<=>^`|~".contains(c);
        (1..=63).contains(&part.len()) && part.chars().all(inner)
    };
    text.len() <= 255
        && text.split('.').all(label)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_of_a_format_or_not() {
        for (format, those, others) in [
            ("ipv4", ["10.0.0.1", "010.0.0.1"], ["10.0.0", "10.0.0.256"]),
            (
                "ipv6",
                ["fd00::1", "::ffff:010.0.0.001"],
                ["10.0.0.1", "::1%eth0"],
            ),
            (
                "cidr",
                ["10.0.0.0/8", "::/128"],
                ["10.0.0.0/33", "10.0.0.0"],
            ),
            (
                "date",
                ["2024-02-29", "2000-02-29"],
                ["1900-02-29", "2024-2-29"],
            ),
            (
                "date-time",
                ["2024-01-01T00:00:00Z", "2024-01-01t00:00:00.5+01:00"],
                ["2024-01-01", "2024-01-01T24:00:00Z"],
            ),
            ("duration", ["1h30m", "22 ns"], ["5", "soon"]),
            ("byte", ["aGk=", "aGkh"], ["aGk", ""]),
            ("hexcolor", ["#fff", "ABCDEF"], ["#ff", "#ggg"]),
            ("hostname", ["a.example.test", "über.test"], ["a_b", ".a"]),
            (
                "uuid4",
                [
                    "7D3C0A0E-0000-4000-8000-000000000000",
                    "7d3c0a0e000040008000000000000000",
                ],
                ["7d3c0a0e-0000-4000-c000-000000000000", "7d3c0a0e"],
            ),
        ] {
            assert_eq!(
                those.map(|text| may_be(text, format)),
                [true, true],
                "{format}"
            );
            assert_eq!(
                others.map(|text| may_be(text, format)),
                [false, false],
                "{format}"
            );
        }
        assert!(may_be("anything", "isbn") && may_be("anything", "nonsense"));
    }

    #[test]
    fn a_label_begins_with_a_letter_and_ends_with_no_hyphen() {
        let longest = "a".repeat(63);
        assert!(["a", "a-1", &longest].into_iter().all(is_label));
        let longer = "a".repeat(64);
        let others = ["", "-a", "1a", "a-", "A", "a.b", &longer];
        assert_eq!(others.into_iter().find(|text| is_label(text)), None);
    }
}

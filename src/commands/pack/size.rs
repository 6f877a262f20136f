//! A number of bytes, as it is typed.

use std::fmt;
use std::str::FromStr;

/// A number of bytes: `500M` and `10G` as disks count, `10Gi` as memory does, as everywhere in Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size(pub(super) u64);

/// Each unit, with its number of bytes.
const UNITS: [(&str, u64); 9] = [
    ("Ti", 1 << 40),
    ("T", 1_000_000_000_000),
    ("Gi", 1 << 30),
    ("G", 1_000_000_000),
    ("Mi", 1 << 20),
    ("M", 1_000_000),
    ("Ki", 1 << 10),
    ("k", 1000),
    ("", 1),
];

const SYNTAX: &str = "expected a whole number and a unit, such as `500M`, `10G` or `10Gi`";
const TOO_LARGE: &str = "the size is too large";

impl FromStr for Size {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let end = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(end);
        let unit = UNITS.iter().find(|(name, _)| *name == unit);
        let (_, bytes) = unit.filter(|_| end != 0).ok_or(SYNTAX)?;
        let number: u64 = number.parse().map_err(|_| TOO_LARGE)?;
        number.checked_mul(*bytes).map(Self).ok_or(TOO_LARGE)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |(_, bytes): &&(&str, u64)| self.0 != 0 && self.0.is_multiple_of(*bytes);
        let (name, bytes) = UNITS.iter().find(whole).unwrap_or(&("", 1));
        write!(f, "{}{name}", self.0 / bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_numbers_with_the_units_of_kubernetes() {
        for (text, bytes) in [
            ("0", 0),
            ("1", 1),
            ("500M", 500_000_000),
            ("10G", 10_000_000_000),
            ("64Gi", 64 << 30),
            ("3k", 3000),
            ("3Ki", 3072),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
            assert_eq!(Size(bytes).to_string(), text);
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in [
            "", "G", "-1", "+1", "1.5G", "1 G", "1GB", "1g", "1K", "0x10", "१",
        ] {
            assert_eq!(text.parse::<Size>(), Err(SYNTAX), "{text}");
        }
        for text in ["18446744073709551616", "18446745T", "16777216Ti"] {
            assert_eq!(text.parse::<Size>(), Err(TOO_LARGE), "{text}");
        }
    }
}

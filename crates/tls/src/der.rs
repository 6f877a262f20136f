//! A minimal DER parser (X.690) for the two fields of a certificate that this crate needs: [`validity`] and
//! [`public_key`]. It accepts every version of X.509 (RFC 5280, section 4.1).

/// The tag of the version, which certificates of version 1 omit.
const VERSION: u8 = 0xa0;
/// The tag of a time with a two-digit year.
const UTC_TIME: u8 = 0x17;
/// The tag of a time with a four-digit year.
const GENERALIZED_TIME: u8 = 0x18;

/// The validity period of a certificate, as RFC 3339 in UTC with whole seconds. Such texts sort in the order of the
/// times that they represent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Validity {
    /// The first valid second.
    pub(crate) from: String,
    /// The last valid second.
    pub(crate) until: String,
}

/// Returns the validity of a certificate.
pub(crate) fn validity(certificate: &[u8]) -> Option<Validity> {
    let (validity, _) = field(certificate, 3)?;
    let (from, rest) = element(validity.content)?;
    let (until, _) = element(rest)?;
    Some(Validity {
        from: time(&from)?,
        until: time(&until)?,
    })
}

/// Returns the `subjectPublicKeyInfo` of a certificate.
pub(crate) fn public_key(certificate: &[u8]) -> Option<&[u8]> {
    Some(field(certificate, 5)?.0.whole)
}

/// Returns a field of a certificate and the bytes after it. Field 0 is the serial number, followed by the signature
/// algorithm, the issuer, the validity, the subject and the public key.
fn field(certificate: &[u8], number: usize) -> Option<(Element<'_>, &[u8])> {
    let (certificate, _) = element(certificate)?;
    let (fields, _) = element(certificate.content)?;
    let (first, after) = element(fields.content)?;
    let mut rest = if first.tag == VERSION {
        after
    } else {
        fields.content
    };
    for _ in 0..number {
        rest = element(rest)?.1;
    }
    element(rest)
}

/// Converts a time to RFC 3339. In DER, times are in UTC, with seconds and without fractions.
fn time(element: &Element<'_>) -> Option<String> {
    let text = std::str::from_utf8(element.content).ok()?;
    let digits = text.strip_suffix('Z')?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = match (element.tag, digits.len()) {
        // Years below 50 belong to the 21st century (RFC 5280, section 4.1.2.5.1).
        (UTC_TIME, 12) if digits < "50" => format!("20{digits}"),
        (UTC_TIME, 12) => format!("19{digits}"),
        (GENERALIZED_TIME, 14) => digits.to_owned(),
        _ => return None,
    };
    let part = |at: usize| &digits[at..at + 2];
    let (year, month, day) = (&digits[..4], part(4), part(6));
    let (hour, minute, second) = (part(8), part(10), part(12));
    Some(format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z"))
}

/// A DER element.
struct Element<'a> {
    tag: u8,
    whole: &'a [u8],
    content: &'a [u8],
}

/// Returns the first element and the bytes after it.
fn element(input: &[u8]) -> Option<(Element<'_>, &[u8])> {
    let (&tag, rest) = input.split_first()?;
    let (&length, rest) = rest.split_first()?;
    let (length, rest) = if length < 0x80 {
        (usize::from(length), rest)
    } else {
        // No certificate is large enough for a length of four bytes.
        let count = usize::from(length & 0x7f);
        let (digits, rest) = rest.split_at_checked(count).filter(|_| count <= 3)?;
        let length = digits
            .iter()
            .fold(0, |length, &digit| length << 8 | usize::from(digit));
        (length, rest)
    };
    let (content, after) = rest.split_at_checked(length)?;
    let whole = &input[..input.len() - after.len()];
    let element = Element {
        tag,
        whole,
        content,
    };
    Some((element, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_has_no_fields() {
        for bytes in [
            &b""[..],
            b"\x30",
            b"\x30\x84\xff\xff\xff\xff",
            b"\x30\x02\x30\x00",
        ] {
            assert_eq!(public_key(bytes), None);
            assert_eq!(validity(bytes), None);
        }
    }

    #[test]
    fn times_are_in_the_order_of_their_texts() {
        let of = |tag: u8, text: &str| {
            let element = Element {
                tag,
                whole: b"",
                content: text.as_bytes(),
            };
            time(&element)
        };
        let told = |text: &str| Some(text.to_owned());
        assert_eq!(of(UTC_TIME, "260102030405Z"), told("2026-01-02T03:04:05Z"));
        assert_eq!(of(UTC_TIME, "500102030405Z"), told("1950-01-02T03:04:05Z"));
        let late = of(GENERALIZED_TIME, "20510102030405Z");
        assert_eq!(late, told("2051-01-02T03:04:05Z"));
        for (tag, text) in [
            (UTC_TIME, "2601020304Z"),
            (UTC_TIME, "260102030405+0100"),
            (GENERALIZED_TIME, "20510102030405.5Z"),
            (GENERALIZED_TIME, "2051010203é5Z"),
            (4, "260102030405Z"),
        ] {
            assert_eq!(of(tag, text), None, "{text}");
        }
    }
}

//! Range requests (RFC 9110, section 14) and conditional requests (section 13). Clients use them to resume downloads
//! and to avoid repeated ones.

/// The requested part of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentPart {
    /// The whole content.
    All,
    /// The bytes from the first offset up to, but not including, the second. It is never empty.
    Some(u64, u64),
    /// A range outside of the content.
    Unsatisfiable,
}

/// Parses `Range` for a content of this size. Malformed values and multiple ranges select the whole content, which a
/// server may always send (section 14.2).
pub(crate) fn part(range: Option<&str>, size: u64) -> ContentPart {
    let Some(one) = range.and_then(|range| range.trim().strip_prefix("bytes=")) else {
        return ContentPart::All;
    };
    let Some((first, last)) = one.trim().split_once('-') else {
        return ContentPart::All;
    };
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => {
            within(first, last.saturating_add(1).min(size))
        }
        (Some(first), None) if last.is_empty() => within(first, size),
        // A suffix range: the last bytes.
        (None, Some(count)) if first.is_empty() => within(size.saturating_sub(count), size),
        _ => ContentPart::All,
    }
}

fn within(from: u64, to: u64) -> ContentPart {
    if from < to {
        ContentPart::Some(from, to)
    } else {
        ContentPart::Unsatisfiable
    }
}

fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // A number that overflows is larger than every content.
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

/// Returns whether `If-None-Match` names the content, so that the client already has it. The comparison is weak.
pub(crate) fn is_known(if_none_match: Option<&str>, etag: &str) -> bool {
    let mut tags = if_none_match.unwrap_or_default().split(',').map(str::trim);
    tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

/// Returns whether `If-Range` allows a range: only if it names exactly this content.
pub(crate) fn is_same(if_range: Option<&str>, etag: &str) -> bool {
    if_range.is_none_or(|tag| tag.trim() == etag)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_range_is_a_part_and_everything_else_is_all() {
        for (range, expected) in [
            ("bytes=0-0", ContentPart::Some(0, 1)),
            ("bytes=2-5", ContentPart::Some(2, 6)),
            ("bytes=9-", ContentPart::Some(9, 10)),
            ("bytes=5-99999999999999999999999", ContentPart::Some(5, 10)),
            ("bytes=-3", ContentPart::Some(7, 10)),
            ("bytes=-99", ContentPart::Some(0, 10)),
            ("bytes=10-", ContentPart::Unsatisfiable),
            ("bytes=99999999999999999999999-", ContentPart::Unsatisfiable),
            ("bytes=-0", ContentPart::Unsatisfiable),
            ("bytes=5-2", ContentPart::All),
            ("bytes=0-1,4-5", ContentPart::All),
            ("bytes=-", ContentPart::All),
            ("bytes=+1-2", ContentPart::All),
            ("items=0-1", ContentPart::All),
            ("", ContentPart::All),
        ] {
            assert_eq!(part(Some(range), 10), expected, "{range}");
        }
        assert_eq!(part(None, 10), ContentPart::All);
        assert_eq!(part(Some("bytes=0-"), 0), ContentPart::Unsatisfiable);
    }

    proptest! {
        #[test]
        fn no_part_reaches_beyond_the_content(range in "bytes=[0-9,-]{0,24}", size: u64) {
            if let ContentPart::Some(from, to) = part(Some(&range), size) {
                prop_assert!(from < to && to <= size);
            }
        }
    }

    #[test]
    fn what_a_client_has_is_named_by_its_tag() {
        let etag = "\"sha256:00\"";
        for known in [etag, "*", "\"a\", W/\"sha256:00\"", "\"a\",\"sha256:00\""] {
            assert!(is_known(Some(known), etag), "{known}");
        }
        assert!(!is_known(Some("\"sha256:0\""), etag) && !is_known(None, etag));
        assert!(is_same(None, etag) && is_same(Some(etag), etag));
        assert!(!is_same(Some("W/\"sha256:00\""), etag));
    }
}

//! The entry point of the fuzz target `request`. It covers all code that parses bytes of a client.

use crate::range::ContentPart;
use crate::{head, range, route};

/// Parses a request as a connection does, and evaluates it for a content of `size` bytes. Returns the length of its
/// head, if the head is complete.
///
/// # Panics
///
/// If the results contradict each other.
#[must_use]
pub fn request(bytes: &[u8], size: u64) -> Option<usize> {
    let (head, length) = head::read(bytes).ok()??;
    assert!(length <= bytes.len());
    // The following bytes belong to the next request and must not change the result.
    assert_eq!(head::read(&bytes[..length]).ok()??.0, head);
    assert!(head.target.len() < length && head.method.as_str().len() < length);
    if let Ok((_, query)) = route::read(&head.target) {
        let values = [query.n, query.last, query.artifact_type, query.namespace];
        let values = values.iter().flatten();
        assert!(values.map(String::len).sum::<usize>() <= head.target.len());
    }
    let fields = &head.fields;
    if let ContentPart::Some(from, to) = range::part(fields.range.as_deref(), size) {
        assert!(from < to && to <= size);
    }
    let etag = format!("\"sha256:{}\"", "0".repeat(64));
    let known = range::is_known(fields.if_none_match.as_deref(), &etag);
    assert!(!known || fields.if_none_match.is_some());
    assert!(range::is_same(fields.if_range.as_deref(), &etag) || fields.if_range.is_some());
    Some(length)
}

//! Everything that reads a client's bytes, for the fuzz target `request`.

use crate::range::ContentPart;
use crate::{head, range, route};

/// Reads a request as a connection does, and what it asks for, of a content of `size` bytes. How long its head is, if there
/// is a whole one.
///
/// # Panics
///
/// When what was read contradicts itself.
#[must_use]
pub fn request(bytes: &[u8], size: u64) -> Option<usize> {
    let (head, length) = head::read(bytes).ok()??;
    assert!(length <= bytes.len());
    // What follows is another request's, and changes nothing.
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

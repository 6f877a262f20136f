//! Who signed a plan file, for people.

use schemas::KeyId;

use crate::render;

/// Who signed a plan, as its file says.
pub(super) fn signed(signatures: &[KeyId]) {
    for key in signatures {
        render::line!("signature by key {key} (not verified)");
    }
    if signatures.is_empty() {
        render::line("signature none");
    }
}

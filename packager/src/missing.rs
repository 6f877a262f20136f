//! Images that objects run or charts name, and that are not carried.

use schemas::ImageReference;

/// An image that is none of the Solution's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingImage {
    /// The image, in its complete form.
    pub reference: ImageReference,
    /// The document that names it.
    pub place: String,
    /// The place in the document, as a JSON pointer (RFC 6901).
    pub pointer: String,
}

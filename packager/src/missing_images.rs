//! Images that objects run or charts name, but that are not packaged. Packing reports them, because such pods could
//! not start at a site.

use schemas::ImageReference;

/// An image that is not in the Solution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingImage {
    /// The image reference in its complete form.
    pub reference: ImageReference,
    /// The document that names it.
    pub place: String,
    /// The place in the document, as a JSON pointer (RFC 6901).
    pub pointer: String,
}

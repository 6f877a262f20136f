//! Forged archives. Each is consistent except for one detail, so that only one check can detect it. Most tests show
//! that the forgery deceives a reader that does not compare the image. The table in docs/development/testing.md lists
//! them.

mod around;
mod descriptors;
mod names;
mod places;
mod records;
mod signatures;

use crate::image::Image;

/// The attacked files.
pub(crate) const README: &str = "README.txt";
pub(crate) const ROLE: &str = crate::source::ROLE;

#[test]
fn what_is_not_forged_is_accepted() {
    Image::good().accepted();
}

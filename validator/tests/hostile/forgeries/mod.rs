//! Forgeries: each is consistent in all but one thing, so that only one check can catch it, and most are shown to work on a
//! reader that does not compare. The table in docs/development/testing.md lists them.

mod around;
mod descriptors;
mod names;
mod places;
mod records;
mod signatures;

use crate::image::Image;

/// The files that are attacked.
pub(crate) const README: &str = "README.txt";
pub(crate) const ROLE: &str = crate::source::ROLE;

#[test]
fn what_is_not_forged_is_accepted() {
    Image::good().accepted();
}

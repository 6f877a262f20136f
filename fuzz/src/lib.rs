//! The common code of the fuzz targets: bytes as a stream of choices, and media that limit reads.
//!
//! Each target is one file in `fuzz_targets`, and its first comment names the invariant. Errors are always allowed.
//! Panics, hangs, excessive memory, and contradictory results are bugs.

mod choices;
mod image;
mod medium;
mod scratch;
mod solution;

pub use choices::Choices;
pub use image::{Base, small};
pub use medium::{Sparse, Watched};
pub use scratch::Scratch;
pub use solution::{Texts, report, write};

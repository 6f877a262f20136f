//! What the fuzz targets share: bytes as a stream of choices, and media that count what is read from them.
//!
//! Each target is one file in `fuzz_targets`, and its head says what must hold. Errors are always fine; panics, hangs,
//! greed, and answers that contradict each other are bugs.

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

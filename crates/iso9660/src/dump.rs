//! Images for human eyes.

//! The named limits of keys, each with its reason.

/// Bytes of a key file: an Ed25519 key has 120; the largest RSA key that anybody could give by mistake has 13,000, and
/// must be refused by its name, not by its size.
pub const PEM_SIZE: usize = 32 * 1024;

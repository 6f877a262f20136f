//! The named limits of keys, each with its reason.

/// Bytes of a key file: an Ed25519 key has 120; the largest RSA key that anybody could give by mistake has 13,000, and
/// must be refused by its name, not by its size.
pub const PEM_SIZE: usize = 32 * 1024;
/// Bytes of a passphrase: what OpenSSL reads from a person.
pub const PASSPHRASE: usize = 1024;
/// Iterations of PBKDF2 that an encrypted key may ask for: 16 times what OWASP asks for, and a few seconds.
pub const PBKDF2_ITERATIONS: u32 = 10_000_000;
/// Bytes of memory that scrypt may ask for: twice what OWASP asks for, and no burden for the smallest machine.
pub const SCRYPT_MEMORY: u64 = 256 * 1024 * 1024;
/// Bytes that scrypt may fill, in all its passes together: a few seconds.
pub const SCRYPT_WORK: u64 = 2 * 1024 * 1024 * 1024;

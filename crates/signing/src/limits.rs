//! The named limits of keys, each with its reason. Key files can come from other machines, so their cost is bounded.

/// Bytes of a key file. An Ed25519 key has 120. The largest RSA key that a user could pass by mistake has 13,000; it
/// must be refused for its algorithm and not for its size.
pub const PEM_SIZE: usize = 32 * 1024;
/// Bytes of a passphrase: the maximum that OpenSSL reads from a terminal.
pub const PASSPHRASE: usize = 1024;
/// Iterations of PBKDF2 for an encrypted key: 16 times the number that OWASP recommends, which takes a few seconds.
pub const PBKDF2_ITERATIONS: u32 = 10_000_000;
/// Bytes of memory for scrypt: twice the size that OWASP recommends, and acceptable on the smallest machine.
pub const SCRYPT_MEMORY: u64 = 256 * 1024 * 1024;
/// Bytes that scrypt fills in all its passes together, which takes a few seconds.
pub const SCRYPT_WORK: u64 = 2 * 1024 * 1024 * 1024;

//! Against the registry of Debian.

fn main() {}

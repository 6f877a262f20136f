//! The openssl program judges keys and signatures, both ways.

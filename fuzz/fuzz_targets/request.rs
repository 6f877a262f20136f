//! A request to `solution serve`: its head, its target and its fields are read without contradictions, with any
//! following bytes. The first eight bytes are the size of the requested content.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((size, bytes)) = bytes.split_first_chunk() else {
        return;
    };
    if let Some(length) = serve::fuzzing::request(bytes, u64::from_le_bytes(*size)) {
        assert!(length > 0);
    }
});

//! `CONTENTS`: an accepted list is written back to the same bytes, in order, and every entry is found again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schemas::{Contents, Digest};

fuzz_target!(|bytes: &[u8]| {
    let Ok(contents) = Contents::from_slice(bytes) else {
        return;
    };
    assert_eq!(contents.to_bytes(), bytes);
    let entries = contents.entries();
    for pair in entries.windows(2) {
        assert!(pair[0].path < pair[1].path);
    }
    for entry in entries {
        assert_eq!(contents.get(entry.path.as_str()), Some(entry));
        for component in entry.path.components() {
            assert!(!component.starts_with(['.', '-']) && !component.is_empty());
        }
    }
    let again = Contents::new(entries.to_vec()).expect("what was read can be listed");
    assert_eq!(again, contents);
    let sums = contents.to_sha256sums(&Digest::new([0; 32]));
    let lines = sums.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines, entries.len() + 1);
});

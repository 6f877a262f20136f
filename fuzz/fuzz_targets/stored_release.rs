//! Helm's stored release, which anyone with write access to Secrets can forge. An accepted release stays within its
//! limits, and its objects are read as those of a rendering. The fuzzer decides the JSON. A quarter of the inputs are
//! used as the Secret's value itself.
#![no_main]

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use helm::{StoredRevision, limits};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    let read = if kind % 4 == 0 {
        StoredRevision::read(&String::from_utf8_lossy(bytes))
    } else {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(bytes).expect("memory takes it");
        let gzip = gzip.finish().expect("memory takes it");
        StoredRevision::read(&STANDARD.encode(STANDARD.encode(gzip)))
    };
    let Ok(stored) = read else {
        return;
    };
    let hooks: usize = stored.hooks.iter().map(String::len).sum();
    assert!((stored.manifest.len() + hooks) as u64 <= limits::STORED_JSON);
    if let Ok(objects) = manifests::rendered(stored.manifest.as_bytes()) {
        assert!(manifests::differing(&objects, &objects).is_empty());
    }
});

//! Image manifests and indexes: accepted documents have known types and no external URLs, and every strict JSON reader
//! reads them alike.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schemas::{ImageDocument, json};
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    let Ok(document) = ImageDocument::from_slice(bytes) else {
        return;
    };
    let value: Value = json::from_slice(bytes).expect("documents are strict JSON");
    let written = value.to_string().into_bytes();
    let again = ImageDocument::from_slice(&written).expect("the same in another spelling");
    assert_eq!(again, document);
    assert_eq!(value["schemaVersion"], 2);
    if let Some(said) = value.get("mediaType").filter(|said| !said.is_null()) {
        assert_eq!(said, document.media_type().as_str());
    }
    let named = match &document {
        ImageDocument::Manifest(_) => value["layers"].as_array().map_or(0, Vec::len) + 1,
        ImageDocument::Index(_) => value["manifests"].as_array().map_or(0, Vec::len),
    };
    assert_eq!(document.descriptors().count(), named);
    assert!(
        document
            .descriptors()
            .all(|descriptor| descriptor.urls.is_empty())
    );
});

//! YAML: the documents of any file, the manifest of an archive and the source of one. What is read is written and read
//! back as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schemas::{Solution, SolutionSource, yaml};
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(documents) = yaml::documents(bytes) {
        assert!(documents.len() <= schemas::limits::YAML_DOCUMENTS);
        for document in documents {
            let written = yaml::to_string(&document);
            let again: Value =
                yaml::from_slice(written.as_bytes()).expect("what is written is YAML");
            assert_eq!(again, document, "{written}");
        }
    }
    if let Ok(solution) = Solution::from_slice(bytes) {
        let written = solution.to_bytes();
        let again = Solution::from_slice(&written).expect("what is written is a manifest");
        assert_eq!(again, solution);
    }
    if let Ok(source) = SolutionSource::from_slice(bytes) {
        let id = source.id().expect("a source that is read has an id");
        assert!(id.to_string().len() <= schemas::limits::SOLUTION_ID);
    }
});

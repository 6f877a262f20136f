//! YAML: the documents of any file, the manifest of an archive, the source of an archive, and the policies of a site.
//! An accepted document is read back as the same after writing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schemas::{Solution, SolutionSource, TrustPolicy, yaml};
use serde_json::Value;
use signing::Policy;

fuzz_target!(|bytes: &[u8]| {
    if let (Ok(documents), Ok(parts)) = (yaml::go::documents(bytes), yaml::parts(bytes)) {
        let apart: Result<Vec<_>, _> = parts.iter().map(yaml::DocumentText::document).collect();
        if let Ok(apart) = apart {
            assert_eq!(apart.into_iter().flatten().collect::<Vec<_>>(), documents);
        }
    }
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
    if let Ok(policy) = TrustPolicy::from_slice(bytes)
        && Policy::new(&policy).is_ok()
    {
        let written = policy.to_text();
        let again =
            TrustPolicy::from_slice(written.as_bytes()).expect("what is written is a policy");
        assert_eq!(again, policy, "{written}");
    }
    if let Ok(source) = SolutionSource::from_slice(bytes) {
        let id = source.id().expect("a source that is read has an id");
        assert!(id.to_string().len() <= schemas::limits::SOLUTION_ID);
    }
});

//! The third stage: the files of the archive, from what was loaded and collected.

use schemas::{API_VERSION, ImagePlace, Solution, SolutionSpec};

use crate::load::Loaded;

/// `manifest.yaml`: what `solution.yaml` says, without where the images come from, and the images in one order.
pub(crate) fn manifest(loaded: &Loaded) -> Solution {
    let spec = &loaded.source.spec;
    let mut images: Vec<ImagePlace> = spec
        .images
        .iter()
        .map(schemas::SourceImage::place)
        .collect();
    images.sort();
    Solution {
        api_version: API_VERSION.to_owned(),
        kind: "Solution".to_owned(),
        metadata: loaded.source.metadata.clone(),
        spec: SolutionSpec {
            version: spec.version.clone(),
            operator: spec.operator.clone(),
            images,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::load;
    use crate::testing::{self, SOLUTION};

    #[test]
    fn the_manifest_is_what_upstream_reads() {
        let more = "    - {name: a, tag: '2', source: 'dir:x'}\n  operator:";
        let tree = testing::texts(&SOLUTION.replace("  operator:", more));
        let manifest = manifest(&load(tree.path()).unwrap());
        assert_eq!(
            String::from_utf8(manifest.to_bytes()).unwrap(),
            "apiVersion: 'solutions.metalk8s.scality.com/v1alpha1'
kind: 'Solution'
metadata:
  name: 'demo'
spec:
  version: '1.0.0'
  operator:
    image:
      name: 'demo-operator'
      tag: '1.0.0'
  images:
  - 'a:2'
  - 'demo-operator:1.0.0'
"
        );
        assert_eq!(
            Solution::from_slice(&manifest.to_bytes()).unwrap(),
            manifest
        );
    }
}

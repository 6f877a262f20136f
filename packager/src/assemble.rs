//! The third stage of packing: the files of the archive. [`files`] derives them from the loaded source and the
//! collected images; `manifest` creates `manifest.yaml`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use archive::{ArchiveFile, FileSource, tree};
use manifests::KnownImages;
use schemas::{
    API_VERSION, ArchivePath, Digest, Image, ImagePlace, ImageReference, Referrers, Solution,
    SolutionSpec,
};
use sources::{CollectedImage, LocalBlob};

use crate::charts::{self, LoadedChart};
use crate::documentation::LoadedDocumentation;
use crate::error::PackError;
use crate::load::LoadedSource;
use crate::programs::{self, LoadedProgram};

/// Returns every file of the archive, except those that the `archive` crate creates. `source` returns the source of
/// each blob.
pub(crate) fn files(
    loaded: &LoadedSource,
    collected: &[CollectedImage],
    source: impl Fn(&Digest) -> FileSource,
) -> Result<Vec<ArchiveFile>, PackError> {
    let mut images: Vec<Image> = collected.iter().map(image).collect();
    images.extend(artifacts(loaded));
    let mut contents = charts::contents(&loaded.charts);
    contents.extend(programs::contents(&loaded.programs));
    let documentation = loaded.documentation.as_ref();
    contents.extend(
        documentation
            .map(LoadedDocumentation::contents)
            .into_iter()
            .flatten(),
    );
    let source = |digest: &Digest| {
        let of_artifact = contents.get(digest).cloned();
        of_artifact.unwrap_or_else(|| source(digest))
    };
    let derived = tree::derived(&loaded.id, &images, source)?;
    let manifest = manifest(loaded, collected).to_bytes();
    // YAML aliases can expand a small `solution.yaml` into a large manifest.
    if manifest.len() as u64 > schemas::limits::MANIFEST_SIZE {
        return Err(PackError::ManifestSize(manifest.len()));
    }
    let included: Vec<_> = loaded
        .programs
        .iter()
        .map(LoadedProgram::included)
        .collect();
    let documentation = documentation.map(LoadedDocumentation::included);
    let readme = archive::readme(&loaded.id, &included, documentation.as_ref());
    let mut list = vec![
        ArchiveFile::from_bytes(own_path(archive::MANIFEST), manifest),
        ArchiveFile::from_bytes(own_path(archive::README), readme),
    ];
    list.extend(loaded.operator.iter().map(|operator| operator.file.clone()));
    list.extend(objects(loaded, collected));
    list.extend(loaded.charts.iter().flat_map(LoadedChart::files));
    list.extend(derived);
    Ok(list)
}

/// Returns the artifacts of charts, programs and documentation as images. They have no entry in `spec.images`.
pub(crate) fn artifacts(loaded: &LoadedSource) -> Vec<Image> {
    let mut artifacts = charts::images(&loaded.charts);
    artifacts.extend(programs::images(&loaded.programs));
    artifacts.extend(
        loaded
            .documentation
            .as_ref()
            .map(LoadedDocumentation::image),
    );
    artifacts
}

/// Returns the sizes of the distinct blobs of these artifacts.
pub(crate) fn artifact_blobs(loaded: &LoadedSource) -> BTreeMap<Digest, u64> {
    let artifacts = artifacts(loaded).into_iter();
    artifacts.flat_map(|image| image.blobs).collect()
}

/// Returns the objects of all sets, compiled for these images.
fn objects(loaded: &LoadedSource, images: &[CollectedImage]) -> Vec<ArchiveFile> {
    let of_charts = charts::images(&loaded.charts);
    let charts = of_charts.iter();
    let charts = charts.filter_map(|image| Some((image.place.clone(), image.reference.as_ref()?)));
    let known = KnownImages::new(references(images).chain(charts));
    let mut files = Vec::new();
    for set in &loaded.sets {
        files.extend(set.definitions());
        files.extend(set.files(&known));
    }
    files
}

/// Returns the references of the images. Referrers are excluded, because no container runs them.
pub(crate) fn references(
    images: &[CollectedImage],
) -> impl Iterator<Item = (ImagePlace, &ImageReference)> + Clone {
    let images = images.iter().filter(|image| image.subject.is_none());
    images.filter_map(|image| Some((image.place.clone(), image.reference.as_ref()?)))
}

/// Returns the number of images, including charts, and the number of their signatures and other referrers.
pub(crate) fn count(loaded: &LoadedSource, images: &[CollectedImage]) -> (usize, usize) {
    let mut all: Vec<Image> = images.iter().map(image).collect();
    all.extend(artifacts(loaded));
    Referrers::count(&all)
}

/// Returns a local blob, or one that will be downloaded to its path, as a source of the archive.
pub(crate) fn file(blob: &LocalBlob) -> FileSource {
    FileSource::File {
        path: blob.path.clone(),
        offset: blob.offset,
    }
}

fn own_path(path: &str) -> ArchivePath {
    path.parse()
        .expect("the format's own paths are inside the grammar")
}

fn image(image: &CollectedImage) -> Image {
    let contents = &image.contents;
    let blobs = contents.blobs.iter();
    Image {
        place: image.place.clone(),
        reference: image.reference.clone(),
        root: Arc::clone(&contents.root),
        children: contents.children.clone(),
        blobs: blobs.map(|blob| (blob.digest(), blob.size())).collect(),
        // The platforms do not affect any file of the archive.
        platforms: BTreeSet::new(),
    }
}

/// Returns `manifest.yaml`: the contents of `solution.yaml` without the sources of images. The images are sorted and
/// include their referrers.
pub(crate) fn manifest(loaded: &LoadedSource, images: &[CollectedImage]) -> Solution {
    let referrers = images.iter().filter(|image| image.subject.is_some());
    let referrers = referrers.map(|image| image.place.clone());
    let spec = &loaded.source.spec;
    let mut images: Vec<ImagePlace> = spec
        .images
        .iter()
        .map(schemas::SourceImage::place)
        .collect();
    images.extend(artifacts(loaded).into_iter().map(|image| image.place));
    images.extend(referrers);
    images.sort();
    Solution {
        api_version: API_VERSION.to_owned(),
        kind: "Solution".to_owned(),
        metadata: loaded.source.metadata.clone(),
        spec: SolutionSpec {
            version: spec.version.clone(),
            operator: spec.operator.clone(),
            images,
            manifests: loaded.sets.iter().map(|set| set.set.clone()).collect(),
            charts: loaded
                .charts
                .iter()
                .map(|chart| chart.release.clone())
                .collect(),
            parameters: spec.parameters.clone(),
            prerequisites: spec.prerequisites.clone(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, SOLUTION};

    #[test]
    fn the_manifest_is_what_upstream_reads() {
        let more = "    - {name: a, tag: '2', source: 'dir:x'}\n  operator:";
        let tree = testing::texts(&SOLUTION.replace("  operator:", more));
        let manifest = manifest(&testing::load(tree.path()).unwrap(), &[]);
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

//! The second stage: every image pinned to a digest. Manifests and indexes are read into memory and verified at once;
//! layers and configurations are only looked for, since they are verified while they are written.

mod dir;
mod oci;
mod walk;

use std::path::PathBuf;

use schemas::{Digest, ImagePlace, ImageReference, ImageSource, SourceImage};

use crate::error::{PackError, SourceError};
use crate::load::Loaded;
use crate::{Event, Progress};
use walk::Reader;

/// An image, and where each of its contents is.
#[derive(Debug)]
pub(crate) struct Collected {
    /// The place in the archive.
    pub(crate) place: ImagePlace,
    /// The reference that workloads ask for.
    pub(crate) reference: Option<ImageReference>,
    /// Every manifest and index, the one that the tag names first.
    pub(crate) documents: Vec<Document>,
    /// Every layer and configuration, once.
    pub(crate) blobs: Vec<Blob>,
}

/// A manifest or index, verified.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// Its digest.
    pub(crate) digest: Digest,
    /// The media type to serve it with.
    pub(crate) media_type: String,
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
}

/// A layer or configuration: a file of the right size, whose content is not verified yet.
#[derive(Clone, Debug)]
pub(crate) struct Blob {
    /// The digest it must have.
    pub(crate) digest: Digest,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// The file.
    pub(crate) path: PathBuf,
}

/// Collects every image of a Solution, sorted by place.
pub(crate) fn collect(
    loaded: &Loaded,
    progress: &Progress<'_>,
) -> Result<Vec<Collected>, PackError> {
    let mut images: Vec<&SourceImage> = loaded.source.spec.images.iter().collect();
    images.sort_by_key(|image| image.place());
    let mut budget = walk::Budget::new();
    let of = images.len();
    let numbered = images.into_iter().enumerate();
    let collected = numbered.map(|(number, image)| {
        let place = image.place();
        progress(Event::Collecting {
            place: &place,
            number: number + 1,
            of,
        });
        collect_one(loaded, image, &mut budget).map_err(|error| PackError::Image {
            place,
            from: image.source.clone(),
            source: Box::new(error),
        })
    });
    collected.collect()
}

fn collect_one(
    loaded: &Loaded,
    image: &SourceImage,
    budget: &mut walk::Budget,
) -> Result<Collected, SourceError> {
    let (store, root) = match &image.source {
        ImageSource::Oci { directory, tag } => {
            oci::open(&loaded.directory.join(directory), tag.as_deref())?
        }
        ImageSource::Dir { directory } => dir::open(&loaded.directory.join(directory))?,
        ImageSource::OciArchive { .. } => return Err(not_yet("oci-archive:", "--all ", image)),
        ImageSource::DockerArchive { .. } => return Err(not_yet("docker-archive:", "", image)),
        ImageSource::Docker(_) => return Err(not_yet("docker://", "--all ", image)),
        ImageSource::DockerDaemon(_) => return Err(not_yet("docker-daemon:", "", image)),
    };
    let (documents, blobs) = Reader::new(&store, budget).collect(root, &image.platforms)?;
    Ok(Collected {
        place: image.place(),
        reference: reference(image),
        documents,
        blobs,
    })
}

/// The reference that workloads ask for: what `solution.yaml` says, or else where the image came from. Directories
/// and files are no place that a workload could name.
fn reference(image: &SourceImage) -> Option<ImageReference> {
    image.reference.clone().or_else(|| match &image.source {
        ImageSource::Docker(reference) => Some(reference.clone()),
        _ => None,
    })
}

fn not_yet(transport: &'static str, options: &'static str, image: &SourceImage) -> SourceError {
    SourceError::NotYet {
        transport,
        options,
        from: image.source.clone(),
        layout: ImageSource::Oci {
            directory: PathBuf::from("images").join(image.name.as_str()),
            tag: Some(image.tag.to_string()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(source: &str) -> SourceImage {
        SourceImage {
            name: "org/app".parse().unwrap(),
            tag: "1.0".parse().unwrap(),
            source: source.parse().unwrap(),
            reference: None,
            platforms: Vec::new(),
        }
    }

    #[test]
    fn the_reference_is_where_the_image_came_from_when_that_is_a_registry() {
        let of = |source| reference(&image(source)).map(|reference| reference.to_string());
        assert_eq!(
            of("docker://quay.io/org/app:1.2").as_deref(),
            Some("quay.io/org/app:1.2")
        );
        assert_eq!(of("oci:images/app"), None);
        let given = SourceImage {
            reference: Some("r.test/app:1".parse().unwrap()),
            ..image("docker://quay.io/org/app:1.2")
        };
        assert_eq!(reference(&given).unwrap().to_string(), "r.test/app:1");
    }

    #[test]
    fn other_transports_name_what_to_use_instead() {
        let tree = tempfile::tempdir().unwrap();
        let loaded = Loaded {
            source: crate::testing::source(),
            id: crate::testing::source().id().unwrap(),
            directory: tree.path().to_owned(),
            operator: Vec::new(),
            unused: Vec::new(),
        };
        for (source, command) in [
            (
                "docker://quay.io/org/app:1.2",
                "--all docker://quay.io/org/app:1.2",
            ),
            ("oci-archive:a.tar:x", "--all oci-archive:a.tar:x"),
            ("docker-archive:a.tar", "docker-archive:a.tar"),
            ("docker-daemon:app:1", "docker-daemon:app:1"),
        ] {
            let error = collect_one(&loaded, &image(source), &mut walk::Budget::new()).unwrap_err();
            let message = error.to_string();
            let expected = format!(
                "cannot be read yet; run `skopeo copy {command} oci:images/org/app:1.0` in the directory of `solution.yaml` and write `source: oci:images/org/app:1.0`"
            );
            assert!(message.ends_with(&expected), "{message}");
        }
    }
}

//! Checks of the images: each is a whole tree of documents and contents, and the archive holds exactly what follows
//! from them.
//!
//! Known attacks and where they stop: a document that is read differently by two readers: `schemas::json`; indexes
//! in indexes without end: `schemas::limits::INDEX_DEPTH`, walked without recursion; many images that share many
//! documents: each is parsed once, and the budgets of `limits.rs` bound memory; content that no image refers to: every
//! file below `images/` and `blobs/` is compared with what follows from the images.

mod config;
mod derived;
mod documents;
mod index;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemas::{Digest, ImagePlace, ImageReference, Platform, SolutionId, limits};

use crate::catalogue::images::{BUDGET, MEDIA_TYPE, NESTING, PLACE, PLATFORM};
use crate::error::CheckError;
use crate::files::Files;
use crate::finding::Findings;
use crate::limits::IMAGE_CONTENTS;
use derived::Derivable;
use documents::{Documents, Loaded};

pub(crate) const PREFIX: &str = "images/";
const ROOT: &str = "/manifest.json";

/// A manifest or an index of an image.
#[derive(Clone, Debug)]
pub struct AcceptedDocument {
    /// The SHA-256 of its bytes.
    pub digest: Digest,
    /// The media type to push it with.
    pub media_type: String,
    /// Its exact bytes.
    pub bytes: Arc<[u8]>,
}

/// An image whose documents are all there and whose contents are all listed.
#[derive(Clone, Debug)]
pub struct AcceptedImage {
    /// Its name and tag.
    pub place: ImagePlace,
    /// The reference that workloads ask for.
    pub reference: Option<ImageReference>,
    /// Every manifest and index, in an order in which they can be pushed: each after those that it names. The last
    /// is the one that the tag names.
    pub documents: Vec<AcceptedDocument>,
    /// Every configuration and layer, with its size in bytes. Their bytes are verified while they are pushed.
    pub blobs: BTreeMap<Digest, u64>,
    /// What it runs on, as far as the configurations say.
    pub platforms: BTreeSet<Platform>,
}

impl AcceptedImage {
    /// The document that the tag names.
    ///
    /// # Panics
    ///
    /// Never: an image is only made from its root document.
    #[must_use]
    pub fn root(&self) -> &AcceptedDocument {
        self.documents.last().expect("an image has a root document")
    }
}

/// What is below `images/`.
#[derive(Debug, Default)]
pub(crate) struct Images {
    /// Where images lie, readable or not.
    pub(crate) places: BTreeSet<ImagePlace>,
    /// Those that could be read.
    pub(crate) list: Vec<AcceptedImage>,
    /// Whether the `ref`s could be read.
    pub(crate) references_known: bool,
}

/// Reads and checks all images.
pub(crate) fn check(
    files: &Files<'_>,
    id: &SolutionId,
    findings: &mut Findings,
) -> Result<Images, CheckError> {
    let references = index::references(files, findings)?;
    let mut images = Images {
        places: places(files, findings),
        list: Vec::new(),
        references_known: references.is_some(),
    };
    let mut walk = Walk {
        documents: Documents::new(files),
        contents: 0,
    };
    for place in &images.places {
        let Some(mut image) = walk.image(place, findings)? else {
            continue;
        };
        image.reference = references.as_ref().and_then(|all| all.get(place).cloned());
        walk.contents += image.blobs.len() + image.documents.len();
        images.list.push(image);
        if walk.contents > IMAGE_CONTENTS {
            let message = format_args!("the images have more than {IMAGE_CONTENTS} contents");
            findings.add(&BUDGET, "images", message);
            return Ok(images);
        }
    }
    // Without a document, what follows from it is not known either, and every file of its image would be a finding.
    if walk.documents.all_read() && images.list.len() == images.places.len() {
        let derivable = if images.references_known {
            Derivable::All
        } else {
            Derivable::AllButIndex
        };
        derived::compare(files, id, &images.list, derivable, findings);
    }
    Ok(images)
}

/// The places of all images: the directories with a `manifest.json`.
fn places(files: &Files<'_>, findings: &mut Findings) -> BTreeSet<ImagePlace> {
    let mut places = BTreeSet::new();
    for entry in files.below(PREFIX) {
        let path = entry.path.as_str();
        let Some(directory) = path[PREFIX.len()..].strip_suffix(ROOT) else {
            continue;
        };
        match directory.rsplit_once('/') {
            Some((name, tag)) => match format!("{name}:{tag}").parse() {
                Ok(place) => drop(places.insert(place)),
                Err(error) => findings.add(&PLACE, path, format_args!("{error}")),
            },
            None => findings.add(&PLACE, path, "the directory is not images/NAME/TAG"),
        }
    }
    places
}

/// Walks from the root documents to everything that they reach.
struct Walk<'a> {
    documents: Documents<'a>,
    /// Pairs of an image and a content so far.
    contents: usize,
}

/// A document on the way from the root, and how many of its children are done.
struct Frame {
    digest: Digest,
    document: Arc<Loaded>,
    done: usize,
}

impl Walk<'_> {
    /// One image; none when its root document cannot be read.
    fn image(
        &mut self,
        place: &ImagePlace,
        findings: &mut Findings,
    ) -> Result<Option<AcceptedImage>, CheckError> {
        let path = format!("{PREFIX}{}/{}{ROOT}", place.name, place.tag);
        let Some(entry) = self.documents.files.get(&path) else {
            return Ok(None);
        };
        let Some(root) = self.documents.load(entry, findings)? else {
            return Ok(None);
        };
        let mut image = AcceptedImage {
            place: place.clone(),
            reference: None,
            documents: Vec::new(),
            blobs: BTreeMap::new(),
            platforms: BTreeSet::new(),
        };
        let mut seen = BTreeSet::from([entry.digest]);
        let mut stack = vec![Frame {
            digest: entry.digest,
            document: root,
            done: 0,
        }];
        while let Some(frame) = stack.last_mut() {
            let Some(child) = frame.document.children.get(frame.done).cloned() else {
                let frame = stack.pop().expect("the loop looks at the last frame");
                image.take(frame);
                continue;
            };
            frame.done += 1;
            let repeated = !seen.insert(child.digest);
            let parent = format!("{path} -> {}", frame.digest);
            if !repeated && stack.len() > limits::INDEX_DEPTH {
                let depth = limits::INDEX_DEPTH;
                self.documents.give_up();
                findings.add(
                    &NESTING,
                    parent,
                    format_args!("more than {depth} levels of indexes"),
                );
                continue;
            }
            // What an index says of a document is compared each time, and the document is walked once.
            if let Some(document) = self.child(&child, &parent, findings)?
                && !repeated
            {
                stack.push(Frame {
                    digest: child.digest,
                    document,
                    done: 0,
                });
            }
        }
        Ok(Some(image))
    }

    /// The document that an index names, compared with what the index says of it.
    fn child(
        &mut self,
        child: &schemas::Descriptor,
        parent: &str,
        findings: &mut Findings,
    ) -> Result<Option<Arc<Loaded>>, CheckError> {
        let Some(entry) = self.documents.files.with_digest(&child.digest) else {
            return Ok(None);
        };
        let Some(document) = self.documents.load(entry, findings)? else {
            return Ok(None);
        };
        if document.media_type != child.media_type {
            let (says, is) = (&child.media_type, &document.media_type);
            let message = format_args!("{} is called `{says}`, and is `{is}`", child.digest);
            findings.add(&MEDIA_TYPE, parent, message);
        }
        if let (Some(says), Some(is)) = (&child.platform, &document.platform)
            && (says.os != is.os || says.architecture != is.architecture)
        {
            let message = format_args!("{} is listed for {says}, and is for {is}", child.digest);
            findings.add(&PLATFORM, parent, message);
        }
        Ok(Some(document))
    }
}

impl AcceptedImage {
    /// Takes over a document whose children are all taken over.
    fn take(&mut self, frame: Frame) {
        let Frame {
            digest, document, ..
        } = frame;
        self.blobs.extend(&document.blobs);
        self.platforms.extend(document.platform.clone());
        self.documents.push(AcceptedDocument {
            digest,
            media_type: document.media_type.clone(),
            bytes: Arc::clone(&document.bytes),
        });
    }
}

#[cfg(test)]
mod tests {
    use schemas::{Contents, ContentsEntry};

    use super::*;
    use crate::files::ReadProblem;

    fn entry(path: &str, size: u64, number: u8) -> ContentsEntry {
        ContentsEntry {
            path: path.parse().unwrap(),
            size,
            digest: Digest::new([number; 32]),
        }
    }

    /// The ids that are found in an archive with these files, all with the same bytes.
    fn ids(entries: Vec<ContentsEntry>, bytes: &[u8]) -> BTreeSet<&'static str> {
        let contents = Contents::new(entries).unwrap();
        let read = |_: &str, _| Ok::<_, ReadProblem>(bytes.to_vec());
        let files = Files::new(&contents, &read);
        let mut findings = Findings::default();
        let id = SolutionId::new("example".parse().unwrap(), "1.0.0".parse().unwrap()).unwrap();
        check(&files, &id, &mut findings).unwrap();
        findings
            .into_sorted()
            .iter()
            .map(|finding| finding.id)
            .collect()
    }

    /// A gigabyte of manifests is refused by what the list says, before more than the budget is read.
    #[test]
    fn the_bytes_of_all_documents_are_bounded() {
        let entries = (0..=255).map(|number| {
            entry(
                &format!("images/a/{number}/manifest.json"),
                limits::IMAGE_MANIFEST_SIZE,
                number,
            )
        });
        assert!(ids(entries.collect(), b"{}").contains("images.budget"));
    }

    const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
    const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
    const CONFIG: &str = "application/vnd.oci.image.config.v1+json";

    /// The contents of an archive by their numbers; each is read as often as the tests count.
    struct Counted {
        entries: Vec<ContentsEntry>,
        bytes: BTreeMap<String, Vec<u8>>,
        reads: std::cell::RefCell<BTreeMap<String, usize>>,
    }

    impl Counted {
        fn new(files: &[(&str, u8, &str)]) -> Self {
            let size = |text: &str| text.len() as u64;
            Self {
                entries: files
                    .iter()
                    .map(|(path, number, text)| entry(path, size(text), *number))
                    .collect(),
                bytes: files
                    .iter()
                    .map(|(path, _, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
                    .collect(),
                reads: std::cell::RefCell::default(),
            }
        }

        fn check(&self) -> (Images, Vec<&'static str>) {
            let contents = Contents::new(self.entries.clone()).unwrap();
            let read = |path: &str, _| {
                *self.reads.borrow_mut().entry(path.to_owned()).or_default() += 1;
                Ok::<_, ReadProblem>(self.bytes[path].clone())
            };
            let files = Files::new(&contents, &read);
            let mut findings = Findings::default();
            let id = SolutionId::new("example".parse().unwrap(), "1.0.0".parse().unwrap()).unwrap();
            let images = check(&files, &id, &mut findings).unwrap();
            let findings = findings.into_sorted();
            (images, findings.iter().map(|it| it.id).collect())
        }
    }

    fn named(media_type: &str, number: u8, size: usize) -> String {
        let digest = Digest::new([number; 32]);
        format!(r#"{{"mediaType":"{media_type}","digest":"{digest}","size":{size}}}"#)
    }

    fn manifest(config: &str, layer: &str, layers: usize) -> String {
        let layers = vec![layer; layers].join(",");
        format!(
            r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}","config":{config},"layers":[{layers}]}}"#
        )
    }

    /// However many manifests name it: it is read once, what is wrong in it is said once, and it counts.
    #[test]
    fn a_configuration_is_read_once() {
        for (config, expected) in [
            ("{", 1),
            (
                r#"{"os":"linux","architecture":"arm64","rootfs":{"diff_ids":[]}}"#,
                2,
            ),
        ] {
            let descriptor = named(CONFIG, 9, config.len());
            let texts = [1, 2].map(|layers| manifest(&descriptor, &named(LAYER, 8, 1), layers));
            let archive = Counted::new(&[
                ("blobs/sha256/config", 9, config),
                ("blobs/sha256/layer", 8, "x"),
                ("images/a/1/manifest.json", 1, &texts[0]),
                ("images/a/2/manifest.json", 2, &texts[1]),
            ]);
            let (_, found) = archive.check();
            let found = found.iter().filter(|id| **id == "images.config").count();
            assert_eq!(found, expected, "{config}");
            assert_eq!(archive.reads.borrow()["blobs/sha256/config"], 1);
        }
    }

    #[test]
    fn the_bytes_of_configurations_count_with_those_of_documents() {
        let size = limits::IMAGE_MANIFEST_SIZE;
        let text = |number| {
            let config = named(CONFIG, number, usize::try_from(size).unwrap());
            manifest(&config, &named(LAYER, 255, 1), 0)
        };
        let mut archive = Counted::new(&[]);
        for number in 0..=128 {
            let (config, root) = (
                format!("blobs/sha256/{number}"),
                format!("images/a/{number}/manifest.json"),
            );
            let text = text(number);
            archive.entries.push(entry(&config, size, number));
            let mut document = entry(&root, text.len() as u64, number);
            // Another digest than the configuration's.
            document.digest =
                Digest::new(std::array::from_fn(
                    |index| if index == 0 { 200 } else { number },
                ));
            archive.entries.push(document);
            archive.bytes.insert(config, b"{".to_vec());
            archive.bytes.insert(root, text.into_bytes());
        }
        let (_, found) = archive.check();
        assert!(found.contains(&"images.budget"), "{found:?}");
    }

    #[test]
    fn a_layer_that_is_repeated_is_looked_up_once() {
        let text = manifest(&named("c", 9, 1), &named("m", 8, 2), 1000);
        let archive = Counted::new(&[
            ("blobs/sha256/config", 9, "c"),
            ("blobs/sha256/layer", 8, "x"),
            ("images/a/1/manifest.json", 1, &text),
        ]);
        let (images, found) = archive.check();
        assert_eq!(images.list[0].blobs.len(), 2);
        let sizes = found.iter().filter(|id| **id == "images.size").count();
        assert_eq!(sizes, 1, "{found:?}");
    }

    /// Every image refers to all contents: the pairs are what has no bound of its own.
    #[test]
    fn the_contents_of_all_images_are_bounded() {
        let layer = |number: u8| {
            let digest = Digest::new([number; 32]);
            format!(r#"{{"mediaType":"m","digest":"{digest}","size":1}}"#)
        };
        let layers: Vec<String> = (0..200).map(layer).collect();
        let document = format!(
            r#"{{"schemaVersion":2,"config":{},"layers":[{}]}}"#,
            layer(0),
            layers.join(",")
        );
        let blobs = (0..200).map(|number| entry(&format!("blobs/sha256/{number}"), 1, number));
        let roots = (0..2600).map(|tag| entry(&format!("images/a/{tag}/manifest.json"), 1, 255));
        let found = ids(blobs.chain(roots).collect(), document.as_bytes());
        assert!(found.contains("images.budget"), "{found:?}");
    }
}

//! Checks of the images in an archive. Each image must be a complete tree of documents and blobs, and the archive must
//! contain exactly the files that follow from its images. The entry points are [`check`], [`check_capabilities`] and
//! [`check_layers`]; the specification is docs/reference/format.md.
//!
//! Known attacks and their defences:
//!
//! - A document that two readers read differently: `schemas::json`.
//! - Endless nesting of indexes, or many images that share many documents: `schemas::walk`.
//! - Excessive memory: the budgets in `limits.rs`.
//! - Images with far more contents than the archive has files: the walk ends early.
//! - Content that no image refers to: every file below `images/` and `blobs/` is compared with the files that follow
//!   from the images.

mod config;
mod derived;
mod documents;
mod index;
mod layers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use archive::{Feature, MANIFEST, OpenError};
use schemas::walk::{ReachedDocument, Walker};
use schemas::{ArchivePath, Capability, Digest, Image, ImagePlace, SolutionId};

use crate::files::ListedFiles;
use crate::finding::Findings;
use crate::limits::{CONTENTS_PER_FILE, IMAGE_CONTENTS};
use derived::Derivable;
use documents::Documents;
pub use index::{PATH as IMAGE_INDEX, parse as image_references};
pub(crate) use layers::check as check_layers;
use rules::catalogue::images::{BUDGET, CAPABILITY, FOREIGN, INCOMPLETE, PLACE};

pub(crate) const PREFIX: &str = "images/";
const ROOT: &str = "/manifest.json";

/// The images below `images/`.
#[derive(Debug, Default)]
pub(crate) struct ArchiveImages {
    /// The places of all images, including unreadable ones.
    pub(crate) places: BTreeSet<ImagePlace>,
    /// The readable images.
    pub(crate) list: Vec<Image>,
    /// True if the `ref`s could be read.
    pub(crate) references_known: bool,
    /// True if every document was read and the archive contains every content that one names.
    are_complete: bool,
    /// The path of the first manifest with a foreign layer, and the digest of the layer.
    foreign: Option<(ArchivePath, Digest)>,
    /// The user of the first configuration of each image that has one; empty for root.
    pub(crate) users: BTreeMap<ImagePlace, String>,
}

/// Reads and checks all images.
pub(crate) fn check(
    files: &ListedFiles<'_>,
    id: &SolutionId,
    findings: &mut Findings,
) -> Result<ArchiveImages, OpenError> {
    let references = index::references(files, findings)?;
    let mut images = ArchiveImages {
        places: places(files, findings),
        list: Vec::new(),
        references_known: references.is_some(),
        are_complete: false,
        foreign: None,
        users: BTreeMap::new(),
    };
    let mut walk = ImageWalk {
        walker: Walker::new(Documents::new(files, findings)),
        last_image: vec![0; files.count()],
        contents: 0,
    };
    for (number, place) in (1..).zip(&images.places) {
        files.go_on()?;
        let Some(mut image) = walk.image(number, place)? else {
            continue;
        };
        image.reference = references.as_ref().and_then(|all| all.get(place).cloned());
        walk.contents += image.blobs.len() + image.documents().count();
        let mut users = image.blobs.keys();
        if let Some(user) = users.find_map(|digest| walk.walker.visit.user(digest)) {
            images.users.insert(place.clone(), user.to_owned());
        }
        images.list.push(image);
        if !walk.affordable() {
            return Ok(images);
        }
    }
    images.foreign = walk.walker.visit.foreign.take();
    images.are_complete = walk.walker.visit.all_read() && images.list.len() == images.places.len();
    // The walk's caches are not needed for the comparison and may be large.
    drop(walk);
    // If a document is missing, its contents are unknown, and every file of its image would be reported.
    if images.are_complete {
        let derivable = if images.references_known {
            Derivable::All
        } else {
            Derivable::AllButIndex
        };
        derived::compare(files, id, &images.list, derivable, findings);
    }
    Ok(images)
}

/// Checks that the statement requires the capabilities for foreign layers and referrers exactly if the archive uses
/// them. As an exception, archives with referrers need not require their capability
/// (docs/reference/format-referrers.md).
pub(crate) fn check_capabilities(
    images: &ArchiveImages,
    requires: &[Capability],
    findings: &mut Findings,
) {
    let capability = Feature::ForeignLayers.capability();
    match (&images.foreign, Feature::ForeignLayers.is_among(requires)) {
        (Some((path, digest)), false) => {
            let message = format_args!(
                "layer {digest} has addresses elsewhere (`urls`), but the signed statement does not require `{capability}`"
            );
            findings.add(&FOREIGN, path, message);
        }
        (None, true) if images.are_complete => {
            let message = format_args!(
                "no layer has addresses elsewhere (`urls`), but the signed statement requires `{capability}`"
            );
            findings.add(&CAPABILITY, MANIFEST, message);
        }
        _ => {}
    }
    let mut tags = images.places.iter().map(|place| &place.tag);
    if Feature::Referrers.is_among(requires) && !tags.any(|tag| tag.subject().is_some()) {
        let capability = Feature::Referrers.capability();
        let message = format_args!(
            "no image has the tag of a signature or other referrer, but the signed statement requires `{capability}`"
        );
        findings.add(&CAPABILITY, MANIFEST, message);
    }
}

/// Returns the places of all images: the directories with a `manifest.json`. Adds findings for invalid places.
fn places(files: &ListedFiles<'_>, findings: &mut Findings) -> BTreeSet<ImagePlace> {
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

/// Builds images from the documents that a walk visits.
struct ImageWalk<'a> {
    walker: Walker<Documents<'a>>,
    /// The number of the last image with each content, by the content's number; 0 if no image has it.
    last_image: Vec<usize>,
    /// The number of pairs of an image and a content so far.
    contents: usize,
}

impl<'a> ImageWalk<'a> {
    /// Checks whether the walk may continue with the next image. It must end as soon as the pairs cannot all be files
    /// of the archive.
    fn affordable(&mut self) -> bool {
        let contents = self.contents;
        let Documents {
            files, findings, ..
        } = &mut self.walker.visit;
        if contents > IMAGE_CONTENTS {
            let message = format_args!("the images have more than {IMAGE_CONTENTS} contents");
            findings.add(&BUDGET, "images", message);
            return false;
        }
        let files = files.count();
        if contents > files * CONTENTS_PER_FILE {
            let message = format_args!(
                "the first images alone have {contents} contents; there are {files} files"
            );
            findings.add(&INCOMPLETE, "images", message);
            return false;
        }
        true
    }

    /// Reads the image with this number, counted from 1. Returns `None` if its root document cannot be read.
    fn image(&mut self, number: usize, place: &ImagePlace) -> Result<Option<Image>, OpenError> {
        let path = format!("{PREFIX}{}/{}{ROOT}", place.name, place.tag);
        let documents = &mut self.walker.visit;
        let Some(entry) = documents.files.get(&path) else {
            return Ok(None);
        };
        documents.image = path;
        let read = |documents: &mut Documents<'a>| documents.read_file(entry);
        let Some(root) = self.walker.load(entry.digest, read)? else {
            return Ok(None);
        };
        let children = self.walker.walk(&root)?;
        let mut image = Image {
            place: place.clone(),
            reference: None,
            root: Arc::clone(&root.document),
            children: children
                .iter()
                .map(|reached| Arc::clone(&reached.document))
                .collect(),
            blobs: BTreeMap::new(),
            platforms: BTreeSet::new(),
        };
        for reached in children.iter().chain([&root]) {
            self.take(number, reached, &mut image);
        }
        Ok(Some(image))
    }

    /// Adds the contents and the platform of a document to the image.
    fn take(&mut self, image_number: usize, reached: &ReachedDocument<usize>, image: &mut Image) {
        for &number in &reached.blobs {
            if std::mem::replace(&mut self.last_image[number], image_number) != image_number {
                let content = self.walker.visit.files.numbered(number);
                image.blobs.insert(content.digest, content.size);
            }
        }
        image.platforms.extend(reached.platform.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use progress::Cancel;
    use schemas::{Contents, ContentsEntry, Digest, limits};

    use super::*;
    use crate::files::ReadProblem;
    use crate::finding::Finding;

    fn entry(path: &str, size: u64, number: u8) -> ContentsEntry {
        ContentsEntry {
            path: path.parse().unwrap(),
            size,
            digest: Digest::new([number; 32]),
        }
    }

    /// Returns the ids of the findings for an archive with these files, which all have the same bytes.
    fn ids(entries: Vec<ContentsEntry>, bytes: &[u8]) -> BTreeSet<&'static str> {
        let contents = Contents::new(entries).unwrap();
        let read = |_: &str, _| Ok::<_, ReadProblem>(bytes.to_vec());
        let files = ListedFiles::new(&contents, &read, Cancel::never());
        let mut findings = Findings::default();
        let id = SolutionId::new("example".parse().unwrap(), "1.0.0".parse().unwrap()).unwrap();
        check(&files, &id, &mut findings).unwrap();
        findings
            .into_sorted()
            .iter()
            .map(|finding| finding.id)
            .collect()
    }

    /// The sizes in the list suffice to refuse a gigabyte of manifests before more than the budget is read.
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
    const INDEX: &str = "application/vnd.oci.image.index.v1+json";
    const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
    const CONFIG: &str = "application/vnd.oci.image.config.v1+json";

    /// A test archive's contents by number, with a count of the reads of each.
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

        fn check(&self) -> (ArchiveImages, Vec<Finding>) {
            let contents = Contents::new(self.entries.clone()).unwrap();
            let read = |path: &str, _| {
                *self.reads.borrow_mut().entry(path.to_owned()).or_default() += 1;
                Ok::<_, ReadProblem>(self.bytes[path].clone())
            };
            let files = ListedFiles::new(&contents, &read, Cancel::never());
            let mut findings = Findings::default();
            let id = SolutionId::new("example".parse().unwrap(), "1.0.0".parse().unwrap()).unwrap();
            let images = check(&files, &id, &mut findings).unwrap();
            (images, findings.into_sorted())
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

    /// A configuration is read once, regardless of the number of manifests that name it. Its problems are reported
    /// once, and its size counts once.
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
            let found = found
                .iter()
                .filter(|finding| finding.id == "images.config")
                .count();
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
            // The digest of the document must differ from that of the configuration.
            document.digest =
                Digest::new(std::array::from_fn(
                    |index| if index == 0 { 200 } else { number },
                ));
            archive.entries.push(document);
            archive.bytes.insert(config, b"{".to_vec());
            archive.bytes.insert(root, text.into_bytes());
        }
        let (_, found) = archive.check();
        assert!(
            found.iter().any(|finding| finding.id == "images.budget"),
            "{found:?}"
        );
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
        let sizes = found
            .iter()
            .filter(|finding| finding.id == "images.size")
            .count();
        assert_eq!(sizes, 1, "{found:?}");
    }

    /// Returns a manifest with these contents, given by number.
    fn of_layers(layers: impl Iterator<Item = u8>) -> String {
        let layers: Vec<String> = layers.map(|number| named("m", number, 1)).collect();
        format!(
            r#"{{"schemaVersion":2,"config":{},"layers":[{}]}}"#,
            layers[0],
            layers.join(",")
        )
    }

    fn blobs(numbers: std::ops::Range<u8>) -> impl Iterator<Item = ContentsEntry> {
        numbers.map(|number| entry(&format!("blobs/sha256/{number}"), 1, number))
    }

    fn tags(count: usize, number: u8) -> impl Iterator<Item = ContentsEntry> {
        (0..count).map(move |tag| entry(&format!("images/a/{tag}/manifest.json"), 1, number))
    }

    /// Every image refers to all contents, so only the number of pairs grows without another limit.
    #[test]
    fn the_contents_of_all_images_are_bounded() {
        let contents = Contents::new(blobs(0..1).collect()).unwrap();
        let read = |_: &str, _| Ok::<_, ReadProblem>(Vec::new());
        let files = ListedFiles::new(&contents, &read, Cancel::never());
        for (pairs, expected) in [
            (2, None),
            (IMAGE_CONTENTS, Some("images.incomplete")),
            (IMAGE_CONTENTS + 1, Some("images.budget")),
        ] {
            let mut findings = Findings::default();
            let mut walk = ImageWalk {
                walker: Walker::new(Documents::new(&files, &mut findings)),
                last_image: Vec::new(),
                contents: pairs,
            };
            assert_eq!(walk.affordable(), expected.is_none());
            let found = findings.into_sorted().first().map(|finding| finding.id);
            assert_eq!(found, expected, "{pairs}");
        }
    }

    /// The walk must not report half a million missing files one by one.
    #[test]
    fn images_with_more_contents_than_there_are_files_are_given_up() {
        let document = of_layers(0..200);
        let entries: Vec<ContentsEntry> = blobs(0..200).chain(tags(1000, 255)).collect();
        let contents = Contents::new(entries).unwrap();
        let read = |_: &str, _| Ok::<_, ReadProblem>(document.as_bytes().to_vec());
        let files = ListedFiles::new(&contents, &read, Cancel::never());
        let mut findings = Findings::default();
        let id = SolutionId::new("example".parse().unwrap(), "1.0.0".parse().unwrap()).unwrap();
        let images = check(&files, &id, &mut findings).unwrap();
        // With 201 contents per image, the twelfth image is the first that exceeds twice 1,200 files.
        assert_eq!(images.list.len(), 12);
        let found = findings.into_sorted();
        let found = found
            .iter()
            .find(|finding| finding.id == "images.incomplete")
            .unwrap();
        assert_eq!(
            found.message,
            "the first images alone have 2412 contents; there are 1200 files"
        );
    }

    /// An index with one document per invented platform, shared by many images: each platform is compared once, and
    /// each image contains the document once.
    #[test]
    fn an_index_is_gone_through_once_however_many_images_share_it() {
        const PLATFORMS: usize = 1000;
        let config = r#"{"os":"linux","architecture":"arm64","rootfs":{"diff_ids":[]}}"#;
        let child = manifest(&named(CONFIG, 9, config.len()), "", 0);
        let listed = |number: usize| {
            let text = named(MANIFEST, 1, child.len());
            let platform = format!(r#","platform":{{"os":"linux","architecture":"x{number}"}}}}"#);
            text.trim_end_matches('}').to_owned() + &platform
        };
        let listed: Vec<String> = (0..PLATFORMS).map(listed).collect();
        let index = format!(
            r#"{{"schemaVersion":2,"manifests":[{}]}}"#,
            listed.join(",")
        );
        let paths: Vec<String> = (0..500)
            .map(|tag| format!("images/a/{tag}/manifest.json"))
            .collect();
        let mut files = vec![
            ("blobs/sha256/config", 9, config),
            ("blobs/sha256/child", 1, child.as_str()),
        ];
        files.extend(paths.iter().map(|path| (path.as_str(), 2, index.as_str())));
        let mut archive = Counted::new(&files);
        // The archive has as many files as the images need, so that the check of the number of contents does not stop
        // the walk.
        archive
            .entries
            .extend((0..1000).map(|number| entry(&format!("zzz/{number}"), 1, 3)));
        let (images, found) = archive.check();
        assert_eq!(images.list.len(), 500);
        assert!(images.list.iter().all(|image| image.children.len() == 1));
        assert_eq!(archive.reads.borrow().values().sum::<usize>(), 3);
        let compared = |finding: &Finding| match finding.message.strip_prefix("and ") {
            Some(more) => more.trim_end_matches(" more").parse().unwrap(),
            None => 1,
        };
        let found = found
            .iter()
            .filter(|finding| finding.id == "images.platform");
        assert_eq!(found.map(compared).sum::<usize>(), PLATFORMS);
    }

    /// Indexes of indexes: the walk of an image visits each document once, regardless of the path to it.
    #[test]
    fn an_image_goes_through_each_of_its_documents_once() {
        let text = |index: &[(u8, usize)]| {
            let children: Vec<String> = index
                .iter()
                .map(|(number, size)| named(INDEX, *number, *size))
                .collect();
            format!(
                r#"{{"schemaVersion":2,"manifests":[{}]}}"#,
                children.join(",")
            )
        };
        let leaf = format!(
            r#"{{"schemaVersion":2,"manifests":[{}]}}"#,
            named("m", 9, 1)
        );
        // Each index of a level names all indexes of the next level.
        let mut files = vec![("blobs/sha256/9".to_owned(), 9, "x".to_owned())];
        let mut below = vec![];
        for level in 0..4_u8 {
            let numbers = (0..20).map(|number| 10 + level * 20 + number);
            let pad = |number: u8| " ".repeat(usize::from(number));
            let level: Vec<(u8, String)> = numbers
                .map(|number| {
                    let text = if below.is_empty() {
                        leaf.clone()
                    } else {
                        text(&below)
                    };
                    (number, text + &pad(number))
                })
                .collect();
            below = level
                .iter()
                .map(|(number, text)| (*number, text.len()))
                .collect();
            let named = |(number, text)| (format!("blobs/sha256/{number}"), number, text);
            files.extend(level.into_iter().map(named));
        }
        files.push(("images/a/1/manifest.json".to_owned(), 100, text(&below)));
        let borrowed: Vec<(&str, u8, &str)> = files
            .iter()
            .map(|(path, number, text)| (path.as_str(), *number, text.as_str()))
            .collect();
        let archive = Counted::new(&borrowed);
        let (images, _) = archive.check();
        assert_eq!(images.list[0].children.len(), 80);
        assert_eq!(images.list[0].blobs.len(), 1);
        assert!(archive.reads.borrow().values().all(|reads| *reads == 1));
    }

    #[test]
    fn a_check_ends_between_two_images_when_it_is_told_to() {
        let entries: Vec<ContentsEntry> = blobs(0..3).chain(tags(2, 255)).collect();
        let contents = Contents::new(entries).unwrap();
        let (cancel, document) = (AtomicBool::new(false), of_layers(0..3));
        let read = |_: &str, _| {
            cancel.store(true, Ordering::Relaxed);
            Ok::<_, ReadProblem>(document.as_bytes().to_vec())
        };
        let files = ListedFiles::new(&contents, &read, Cancel::from_flag(&cancel));
        let id = SolutionId::new("example".parse().unwrap(), "1.0.0".parse().unwrap()).unwrap();
        let error = check(&files, &id, &mut Findings::default()).unwrap_err();
        assert!(matches!(error, OpenError::Interrupted(_)));
    }
}

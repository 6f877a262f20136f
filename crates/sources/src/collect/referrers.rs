//! Referrers of images: signatures, attestations and SBOMs. They become images of the archive, next to their subjects,
//! under the tags that clients expect (docs/decisions/0029). These are cosign's tags, and the tag of the list that the
//! OCI distribution specification defines for registries without its referrers API. The list is created from the
//! manifests themselves, so it does not depend on how a source reports them.
//!
//! Known attacks, and the code that stops each of them:
//!
//! - Endless referrers: [`registry::limits::REFERRERS`] per manifest.
//! - Endless chains of referrers: [`limits::REFERRER_DEPTH`].
//! - Huge referrers: [`limits::REFERRER_BYTES`].
//! - A referrer with a different subject: `subject` is compared.
//! - Answers that exhaust the memory: only a few are requested at a time, and all stored documents count towards the
//!   limit for all images.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use registry::{Reference, RegistryManifest};
use schemas::walk::Parsed;
use schemas::{
    Digest, Document, ImageDocument, ImageDocumentError, ImageName, ImagePlace, ImageReference,
    ImageSource, REFERRER_SUFFIXES, Tag,
};

use super::oci::OciLayout;
use super::referrer_list::{ReferrerEntry, ReferrerList, ReferrerManifest};
use super::remote::RemoteRepository;
use super::session::CollectSession;
use super::store::{self, Store};
use super::walk::ImageReader;
use super::{CollectedImage, docker};
use crate::blob::BlobOrigin;
use crate::context::SourceContext;
use crate::error::{FailedImage, SourceError};
use crate::{Event, limits};

/// A source that can have referrers of an image.
enum ReferrerPlace<'a> {
    Registry(BlobOrigin),
    Layout(Rc<OciLayout>, &'a ReferrersBySubject),
}

/// The referrers among the entries of a layout, by subject. They are determined when they are first needed.
type ReferrersBySubject = OnceCell<BTreeMap<Digest, BTreeSet<Digest>>>;

/// The referrers of one manifest in a source.
struct ReferrerAnswer {
    subject: Digest,
    /// The manifests under cosign's tags.
    tagged: Vec<(&'static str, Digest, Vec<u8>)>,
    /// The manifests whose `subject` refers to it.
    listed: BTreeSet<Digest>,
}

/// Collects the referrers of the images and the referrers of these. Each has its place next to its subject. Images that
/// `solution.yaml` lists explicitly are not changed.
pub(super) fn collect(
    base: &Path,
    images: &[CollectedImage],
    means: &SourceContext<'_>,
    session: &mut CollectSession,
) -> Result<Vec<CollectedImage>, FailedImage> {
    let mut layouts: BTreeMap<PathBuf, ReferrersBySubject> = BTreeMap::new();
    for image in images {
        if let Some(path) = layout_of(base, &image.from) {
            layouts.entry(path).or_default();
        }
    }
    let mut search = SearchState {
        means,
        taken: images.iter().map(|image| image.place.clone()).collect(),
        asked: BTreeSet::new(),
        found: Vec::new(),
    };
    for (image, number) in images.iter().zip(1..) {
        (means.watch.tell)(Event::Referrers {
            place: image.place.clone(),
            number,
            of: images.len(),
        });
        let found = place(base, image, &layouts, means, session).and_then(|place| {
            let Some(place) = place else { return Ok(()) };
            search.of_image(image, &place, session)
        });
        found.map_err(|error| super::failed(image.place.clone(), &image.from, error))?;
    }
    Ok(search.found)
}

fn layout_of(base: &Path, from: &ImageSource) -> Option<PathBuf> {
    match from {
        ImageSource::Oci { directory, .. } => Some(base.join(directory)),
        ImageSource::OciArchive { file, .. } => Some(base.join(file)),
        _ => None,
    }
}

/// Returns the source to search. Directories and archives of engines contain no referrers.
fn place<'a>(
    base: &Path,
    image: &CollectedImage,
    layouts: &'a BTreeMap<PathBuf, ReferrersBySubject>,
    means: &SourceContext<'_>,
    session: &CollectSession,
) -> Result<Option<ReferrerPlace<'a>>, SourceError> {
    if let ImageSource::Docker(reference) = &image.from {
        let (origin, _) = docker::locate(reference, &means.network)?;
        return Ok(Some(ReferrerPlace::Registry(origin)));
    }
    let Some(path) = layout_of(base, &image.from) else {
        return Ok(None);
    };
    let referred = &layouts[&path];
    let layout = if matches!(image.from, ImageSource::Oci { .. }) {
        session.opened.directory(path)?
    } else {
        session.opened.tar(path, means)?
    };
    Ok(Some(ReferrerPlace::Layout(layout, referred)))
}

/// The state of the search for referrers.
struct SearchState<'a> {
    means: &'a SourceContext<'a>,
    /// The places in use.
    taken: BTreeSet<ImagePlace>,
    /// The manifests that were searched for, with the name of their referrers.
    asked: BTreeSet<(ImageName, Digest)>,
    found: Vec<CollectedImage>,
}

impl SearchState<'_> {
    fn of_image(
        &mut self,
        image: &CollectedImage,
        place: &ReferrerPlace<'_>,
        session: &mut CollectSession,
    ) -> Result<(), SourceError> {
        let mut wanted: Vec<Digest> = image.contents.documents().collect();
        for _ in 0..limits::REFERRER_DEPTH {
            // Images may share manifests, which are searched only once.
            wanted.retain(|digest| self.asked.insert((image.place.name.clone(), *digest)));
            let mut next = Vec::new();
            for few in wanted.chunks(limits::DOCUMENTS_ASKED) {
                for answer in place.ask(few, self.means)? {
                    for tagged in place.store(self.means).referrers(answer)? {
                        next.extend(self.take(image, place, tagged, session)?);
                    }
                }
            }
            wanted = next;
        }
        // If only some platforms of an index were selected, referrers of the whole index have no subject in the
        // archive.
        if image.named != image.contents.root.digest {
            let answers = place.ask(&[image.named], self.means)?;
            let count = answers
                .iter()
                .map(|answer| answer.tagged.len() + answer.listed.len());
            let count = count.sum();
            if count > 0 {
                let place = image.place.clone();
                (self.means.watch.tell)(Event::OfTheWhole { place, count });
            }
        }
        Ok(())
    }

    /// Adds a referrer as an image. Returns its documents, which can have referrers themselves.
    fn take(
        &mut self,
        image: &CollectedImage,
        place: &ReferrerPlace<'_>,
        tagged: TaggedReferrer,
        session: &mut CollectSession,
    ) -> Result<Vec<Digest>, SourceError> {
        let TaggedReferrer { subject, tag, root } = tagged;
        let own = ImagePlace {
            name: image.place.name.clone(),
            tag: tag.clone(),
        };
        // The place belongs to an image of `solution.yaml` or to a referrer that was already found.
        if !self.taken.insert(own.clone()) {
            return Ok(Vec::new());
        }
        let digest = root.0.digest;
        let store = place.store(self.means);
        let reader = ImageReader::new(&store, session, self.means.watch.cancel);
        let contents = Rc::new(reader.collect(root, &[])?);
        session.count(&contents)?;
        let size: u64 = contents.sizes().map(|(_, size)| size).sum();
        if size > limits::REFERRER_BYTES {
            return Err(SourceError::ReferrerSize { digest, size });
        }
        let tagged = |reference: &ImageReference| reference.with_tag(&tag);
        let from = match &image.from {
            ImageSource::Docker(reference) => tagged(reference).map(ImageSource::Docker),
            _ => None,
        };
        let documents = contents.documents().collect();
        self.found.push(CollectedImage {
            place: own,
            from: from.unwrap_or_else(|| image.from.clone()),
            reference: image.reference.as_ref().and_then(tagged),
            subject: Some(subject),
            named: digest,
            contents,
        });
        Ok(documents)
    }
}

impl<'a> ReferrerPlace<'a> {
    fn store(&self, means: &'a SourceContext<'a>) -> Store<'a> {
        match self {
            Self::Registry(origin) => {
                Store::Registry(RemoteRepository::new(&means.network, origin.clone()))
            }
            Self::Layout(layout, _) => Store::Layout(Rc::clone(&layout.place)),
        }
    }

    /// Returns all referrers of these manifests.
    fn ask(
        &self,
        subjects: &[Digest],
        means: &SourceContext<'_>,
    ) -> Result<Vec<ReferrerAnswer>, SourceError> {
        means.watch.cancel.go_on()?;
        match self {
            Self::Registry(origin) => {
                let answers = stream::iter(subjects)
                    .map(|subject| ask_registry(origin, *subject, means))
                    .buffered(limits::DOCUMENTS_ASKED)
                    .try_collect();
                means.network.wait(answers)?
            }
            Self::Layout(layout, referred) => {
                let referred = referred.get_or_init(|| referred_in(layout));
                let answer = |subject: &Digest| ask_layout(layout, *subject, referred);
                subjects.iter().map(answer).collect()
            }
        }
    }
}

async fn ask_registry(
    origin: &BlobOrigin,
    subject: Digest,
    means: &SourceContext<'_>,
) -> Result<ReferrerAnswer, SourceError> {
    let network = &means.network;
    let mut tagged = Vec::new();
    for suffix in REFERRER_SUFFIXES {
        let tag = Reference::Tag(Tag::of_referrer(subject, suffix));
        if let Some(RegistryManifest { bytes, digest, .. }) = network.ask_for(origin, &tag).await? {
            tagged.push((suffix, digest, bytes.to_vec()));
        }
    }
    let listed = if let Some(listed) = network.ask_about(origin, subject).await? {
        listed
    } else {
        // Without the referrers API, clients store the list under a tag (distribution specification, "Referrers Tag
        // Schema").
        let tag = Reference::Tag(Tag::of_referrer(subject, ""));
        match network.ask_for(origin, &tag).await? {
            Some(list) => read_list(origin.name(&tag), &list.bytes)?,
            None => BTreeSet::new(),
        }
    };
    Ok(ReferrerAnswer {
        subject,
        tagged,
        listed,
    })
}

fn ask_layout(
    layout: &OciLayout,
    subject: Digest,
    referred: &BTreeMap<Digest, BTreeSet<Digest>>,
) -> Result<ReferrerAnswer, SourceError> {
    let store = Store::Layout(Rc::clone(&layout.place));
    let read = |suffix| -> Result<Option<(Digest, Vec<u8>)>, SourceError> {
        let tag = Tag::of_referrer(subject, suffix);
        let Some(digest) = layout.tagged(tag.as_str()) else {
            return Ok(None);
        };
        Ok(Some((digest, store.verified(digest)?)))
    };
    let mut tagged = Vec::new();
    for suffix in REFERRER_SUFFIXES {
        tagged.extend(read(suffix)?.map(|(digest, bytes)| (suffix, digest, bytes)));
    }
    let mut listed = match read("")? {
        Some((_, bytes)) => read_list(layout.index(), &bytes)?,
        None => BTreeSet::new(),
    };
    listed.extend(referred.get(&subject).into_iter().flatten());
    Ok(ReferrerAnswer {
        subject,
        tagged,
        listed,
    })
}

/// Returns the digests in a list under a tag.
fn read_list(path: PathBuf, bytes: &[u8]) -> Result<BTreeSet<Digest>, SourceError> {
    let list = match ImageDocument::from_slice(bytes) {
        Ok(ImageDocument::Index(list)) => list,
        Ok(ImageDocument::Manifest(_)) => return Err(SourceError::NoList(path)),
        Err(source) => return Err(SourceError::Document(path, source)),
    };
    let listed: BTreeSet<Digest> = list
        .manifests
        .iter()
        .map(|descriptor| descriptor.digest)
        .collect();
    if listed.len() > registry::limits::REFERRERS {
        return Err(SourceError::Referrers(path));
    }
    Ok(listed)
}

/// Returns the entries of a layout that have a subject, by subject. Unreadable entries are ignored, because they were
/// not requested.
fn referred_in(layout: &OciLayout) -> BTreeMap<Digest, BTreeSet<Digest>> {
    let store = Store::Layout(Rc::clone(&layout.place));
    let mut all: BTreeMap<Digest, BTreeSet<Digest>> = BTreeMap::new();
    for digest in layout.documents() {
        let Ok((document, _)) = store.load(digest) else {
            continue;
        };
        if let Some(subject) = ReferrerManifest::from_document(&document).subject {
            all.entry(subject.digest).or_default().insert(digest);
        }
    }
    all
}

/// A document under the tag of a referrer.
struct TaggedReferrer {
    /// The manifest that it refers to.
    subject: Digest,
    tag: Tag,
    root: Parsed,
}

impl Store<'_> {
    /// Validates the referrers of an answer.
    fn referrers(&self, answer: ReferrerAnswer) -> Result<Vec<TaggedReferrer>, SourceError> {
        let subject = answer.subject;
        let mut all = Vec::new();
        for (suffix, digest, bytes) in answer.tagged {
            let parsed = store::parse(self.document(digest), digest, bytes)?;
            self.check(&parsed.0, subject, ReferrerDiscovery::ByTag)?;
            all.push(TaggedReferrer {
                subject,
                tag: Tag::of_referrer(subject, suffix),
                root: parsed,
            });
        }
        if answer.listed.is_empty() {
            return Ok(all);
        }
        let bytes = self.list(subject, answer.listed)?;
        let digest = files::digest(&bytes);
        all.push(TaggedReferrer {
            subject,
            tag: Tag::of_referrer(subject, ""),
            root: store::parse(self.document(digest), digest, bytes)?,
        });
        Ok(all)
    }

    /// Creates the list of these referrers from their manifests.
    fn list(&self, subject: Digest, listed: BTreeSet<Digest>) -> Result<Vec<u8>, SourceError> {
        let mut manifests = Vec::new();
        let mut size = 0;
        for digest in listed {
            let (document, _) = self.load(digest)?;
            self.check(&document, subject, ReferrerDiscovery::ByList)?;
            let listed = ReferrerEntry::from_document(&document);
            size += serde_json::to_vec(&listed).map_or(0, |bytes| bytes.len());
            // A list that is too long would be refused later too, but only after its referrers have filled the memory.
            if size as u64 > schemas::limits::IMAGE_MANIFEST_SIZE {
                return Err(SourceError::Document(
                    self.document(digest),
                    ImageDocumentError::Size(size),
                ));
            }
            manifests.push(listed);
        }
        Ok(ReferrerList::from_entries(manifests).to_bytes())
    }

    /// Refuses a referrer with a different subject. Under cosign's tags, the tag determines the subject, and the
    /// manifest may lack the field.
    fn check(
        &self,
        found: &Document,
        subject: Digest,
        named: ReferrerDiscovery,
    ) -> Result<(), SourceError> {
        let says = ReferrerManifest::from_document(found)
            .subject
            .map(|descriptor| descriptor.digest);
        match (says, named) {
            (Some(says), _) if says == subject => Ok(()),
            (None, ReferrerDiscovery::ByTag) => Ok(()),
            _ => Err(SourceError::OtherSubject {
                path: self.document(found.digest),
                subject,
            }),
        }
    }
}

/// The way in which a referrer was found.
#[derive(Clone, Copy)]
enum ReferrerDiscovery {
    ByTag,
    ByList,
}

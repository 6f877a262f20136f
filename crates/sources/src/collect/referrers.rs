//! Referrers of images: signatures, attestations, lists of parts. They become images of the archive, beside what they
//! are about, under the tags that clients look for (docs/decisions/0029): cosign's, and the one list that the distribution
//! specification has for registries without its API. That list is made here from the manifests themselves, so that it is
//! the same whichever way a source tells them.
//!
//! Known attacks and where they stop: referrers without end: [`registry::limits::REFERRERS`] for each manifest; referrers
//! of referrers without end: [`limits::REFERRER_DEPTH`]; huge ones: [`limits::REFERRER_BYTES`]; one that is about something
//! else than is said: `subject` is compared; answers that fill the memory: asked for a few at a time, and whatever is kept
//! counts among the documents of all images.

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
use super::{Collected, docker};
use crate::blob::BlobOrigin;
use crate::error::{FailedImage, SourceError};
use crate::means::Means;
use crate::{Event, limits};

/// The place where referrers of an image can be.
enum ReferrerPlace<'a> {
    Registry(BlobOrigin),
    Layout(Rc<OciLayout>, &'a Referred),
}

/// The entries of a layout that refer to each manifest. Known once somebody asks.
type Referred = OnceCell<BTreeMap<Digest, BTreeSet<Digest>>>;

/// The answer of a source about one manifest.
struct ReferrerAnswer {
    subject: Digest,
    /// The manifests under cosign's tags.
    tagged: Vec<(&'static str, Digest, Vec<u8>)>,
    /// The manifests that refer to it by their own words.
    listed: BTreeSet<Digest>,
}

/// Collects what refers to the images, and what refers to that; each has its place beside what it is about. What
/// `solution.yaml` lists itself is left as it is.
pub(super) fn collect(
    base: &Path,
    images: &[Collected],
    means: &Means<'_>,
    session: &mut CollectSession,
) -> Result<Vec<Collected>, FailedImage> {
    let mut layouts: BTreeMap<PathBuf, Referred> = BTreeMap::new();
    for image in images {
        if let Some(path) = layout_of(base, &image.from) {
            layouts.entry(path).or_default();
        }
    }
    let mut search = Search {
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

/// Returns where to look. Directories and archives that engines save hold one image and nothing about it.
fn place<'a>(
    base: &Path,
    image: &Collected,
    layouts: &'a BTreeMap<PathBuf, Referred>,
    means: &Means<'_>,
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

/// The state of a search for referrers.
struct Search<'a> {
    means: &'a Means<'a>,
    /// The places that are given.
    taken: BTreeSet<ImagePlace>,
    /// The manifests that were asked about, with the name that referrers of theirs have.
    asked: BTreeSet<(ImageName, Digest)>,
    found: Vec<Collected>,
}

impl Search<'_> {
    fn of_image(
        &mut self,
        image: &Collected,
        place: &ReferrerPlace<'_>,
        session: &mut CollectSession,
    ) -> Result<(), SourceError> {
        let mut wanted: Vec<Digest> = image.contents.documents().collect();
        for _ in 0..limits::REFERRER_DEPTH {
            wanted.retain(|it| self.asked.insert((image.place.name.clone(), *it)));
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
        // What is about the index that the source has, and was not taken, is about nothing here.
        if image.named != image.contents.root.digest {
            let answers = place.ask(&[image.named], self.means)?;
            let count = answers.iter().map(|it| it.tagged.len() + it.listed.len());
            let count = count.sum();
            if count > 0 {
                let place = image.place.clone();
                (self.means.watch.tell)(Event::OfTheWhole { place, count });
            }
        }
        Ok(())
    }

    /// Makes an image of what has this tag. Its documents, which others may refer to.
    fn take(
        &mut self,
        image: &Collected,
        place: &ReferrerPlace<'_>,
        tagged: TaggedReferrer,
        session: &mut CollectSession,
    ) -> Result<Vec<Digest>, SourceError> {
        let TaggedReferrer { subject, tag, root } = tagged;
        let own = ImagePlace {
            name: image.place.name.clone(),
            tag: tag.clone(),
        };
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
        self.found.push(Collected {
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
    fn store(&self, means: &'a Means<'a>) -> Store<'a> {
        match self {
            Self::Registry(origin) => {
                Store::Registry(RemoteRepository::new(&means.network, origin.clone()))
            }
            Self::Layout(layout, _) => Store::Layout(Rc::clone(&layout.place)),
        }
    }

    /// Asks for everything that there is about these manifests.
    fn ask(
        &self,
        subjects: &[Digest],
        means: &Means<'_>,
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
    means: &Means<'_>,
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
        // Without the list, clients keep it under a tag (distribution specification, "Referrers Tag Schema").
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

/// Reads the digests that a list under a tag names.
fn read_list(path: PathBuf, bytes: &[u8]) -> Result<BTreeSet<Digest>, SourceError> {
    let list = match ImageDocument::from_slice(bytes) {
        Ok(ImageDocument::Index(list)) => list,
        Ok(ImageDocument::Manifest(_)) => return Err(SourceError::NoList(path)),
        Err(source) => return Err(SourceError::Document { path, source }),
    };
    let listed: BTreeSet<Digest> = list.manifests.iter().map(|it| it.digest).collect();
    if listed.len() > registry::limits::REFERRERS {
        return Err(SourceError::Referrers(path));
    }
    Ok(listed)
}

/// Returns which entries of a layout refer to what. One that cannot be read is nothing that anybody asked for.
fn referred_in(layout: &OciLayout) -> BTreeMap<Digest, BTreeSet<Digest>> {
    let store = Store::Layout(Rc::clone(&layout.place));
    let mut all: BTreeMap<Digest, BTreeSet<Digest>> = BTreeMap::new();
    for digest in layout.documents() {
        let Ok((document, _)) = store.load(digest) else {
            continue;
        };
        if let Some(subject) = ReferrerManifest::of(&document).subject {
            all.entry(subject.digest).or_default().insert(digest);
        }
    }
    all
}

/// A document that has the tag of a referrer.
struct TaggedReferrer {
    /// The manifest that it is about.
    subject: Digest,
    tag: Tag,
    root: Parsed,
}

impl Store<'_> {
    /// Returns the referrers of an answer, checked.
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

    /// The list of these referrers, from what they say themselves.
    fn list(&self, subject: Digest, listed: BTreeSet<Digest>) -> Result<Vec<u8>, SourceError> {
        let mut manifests = Vec::new();
        let mut size = 0;
        for digest in listed {
            let (document, _) = self.load(digest)?;
            self.check(&document, subject, ReferrerDiscovery::ByList)?;
            let listed = ReferrerEntry::of(&document);
            size += serde_json::to_vec(&listed).map_or(0, |bytes| bytes.len());
            // The list would be refused with all of them too, but only after they have filled the memory.
            if size as u64 > schemas::limits::IMAGE_MANIFEST_SIZE {
                return Err(SourceError::Document {
                    path: self.document(digest),
                    source: ImageDocumentError::Size(size),
                });
            }
            manifests.push(listed);
        }
        Ok(ReferrerList::of(manifests).to_bytes())
    }

    /// Refuses a referrer that is about something else. Under cosign's tags the tag says what it is about, and it may say
    /// nothing itself.
    fn check(
        &self,
        found: &Document,
        subject: Digest,
        named: ReferrerDiscovery,
    ) -> Result<(), SourceError> {
        let says = ReferrerManifest::of(found).subject.map(|it| it.digest);
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

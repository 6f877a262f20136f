//! SBOMs in an archive: the manifest by which one refers to an image (docs/reference/format-referrers.md), and which images have one.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use archive::{ImageRole, Listed, OpenError};
use schemas::{
    ArchivePath, Digest, Document, EMPTY_CONFIG, EMPTY_CONFIG_TYPE, ImageDocument, ImageName,
    ImagePlace, MediaType, Platform, limits,
};
use serde_json::json;

use crate::format::SbomFormat;

/// An image that can run, for one platform, and the SBOMs that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedImage {
    /// The place of the image.
    pub image: ImagePlace,
    /// The platform, where an index says it.
    pub platform: Option<Platform>,
    /// The digest of the manifest.
    pub digest: Digest,
    /// The SBOMs of the manifest, and of the image as a whole.
    pub sboms: Vec<CarriedSbom>,
}

/// An SBOM in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedSbom {
    /// The form of it.
    pub format: SbomFormat,
    /// The file that it is.
    pub path: ArchivePath,
    /// The digest of it.
    pub digest: Digest,
    /// The size of it in bytes.
    pub size: u64,
}

/// A manifest or index, as an image has it.
struct PlacedDocument {
    place: ImagePlace,
    role: ImageRole,
    digest: Digest,
    facts: Rc<DocumentFacts>,
}

/// The facts of a document that count here.
struct DocumentFacts {
    is_image: bool,
    sbom: Option<SbomLayer>,
    platforms: BTreeMap<Digest, Platform>,
}

/// A layer that is an SBOM.
#[derive(Clone, Copy)]
struct SbomLayer {
    format: SbomFormat,
    digest: Digest,
}

/// Returns the bytes of a manifest by which an SBOM refers to the manifest of an image: compact, with sorted keys.
#[must_use]
pub fn referrer(format: SbomFormat, subject: &Document, sbom: &[u8]) -> Vec<u8> {
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MediaType::OciManifest.as_str(),
        "artifactType": format.media_type(),
        "config": {
            "mediaType": EMPTY_CONFIG_TYPE,
            "digest": files::digest(EMPTY_CONFIG),
            "size": EMPTY_CONFIG.len(),
        },
        "layers": [{
            "mediaType": format.media_type(),
            "digest": files::digest(sbom),
            "size": sbom.len(),
            // The name of the file that tools for artifacts make of it.
            "annotations": {"org.opencontainers.image.title": format.file()},
        }],
        "subject": {
            "mediaType": subject.media_type.as_str(),
            "digest": subject.digest,
            "size": subject.bytes.len(),
        },
    });
    manifest.to_string().into_bytes()
}

/// Returns the SBOM that a manifest carries, by its own type or that of its one layer.
fn sbom_in(document: &ImageDocument) -> Option<SbomLayer> {
    let ImageDocument::Manifest(manifest) = document else {
        return None;
    };
    let [layer] = &manifest.layers[..] else {
        return None;
    };
    let format = SbomFormat::of_media_type(manifest.kind());
    let format = format.or_else(|| SbomFormat::of_media_type(&layer.media_type))?;
    let digest = layer.digest;
    Some(SbomLayer { format, digest })
}

impl SbomFormat {
    /// Returns the form of the SBOM that a manifest carries; none if it carries something else.
    #[must_use]
    pub fn of_referrer(manifest: &Document) -> Option<Self> {
        let document = ImageDocument::from_slice(&manifest.bytes).ok()?;
        sbom_in(&document).map(|it| it.format)
    }
}

/// Returns every image of an archive that can run, by place, with its SBOMs.
pub fn described(listed: &Listed) -> Result<Vec<DescribedImage>, OpenError> {
    let documents = documents(listed)?;
    let names = documents.iter();
    let names: BTreeSet<(&ImageName, Digest)> =
        names.map(|it| (&it.place.name, it.digest)).collect();
    let subject = |it: &PlacedDocument| {
        let subject = it.place.tag.subject();
        subject.filter(|subject| names.contains(&(&it.place.name, *subject)))
    };
    let mut sboms: BTreeMap<(&ImageName, Digest), Vec<CarriedSbom>> = BTreeMap::new();
    let mut platforms: BTreeMap<(&ImagePlace, Digest), &Platform> = BTreeMap::new();
    let mut roots: BTreeMap<&ImagePlace, Digest> = BTreeMap::new();
    for it in &documents {
        if let Some(subject) = subject(it) {
            let carried = it
                .facts
                .sbom
                .and_then(|sbom| carried(listed, &it.place, sbom));
            let of_subject = sboms.entry((&it.place.name, subject)).or_default();
            of_subject.extend(carried);
        }
        for (child, platform) in &it.facts.platforms {
            platforms.insert((&it.place, *child), platform);
        }
        if it.role == ImageRole::Root {
            roots.insert(&it.place, it.digest);
        }
    }
    let images = documents.iter();
    let images = images.filter(|it| it.facts.is_image && subject(it).is_none());
    let described = images.map(|it| {
        let root = roots.get(&it.place).filter(|root| **root != it.digest);
        let subjects = [Some(&it.digest), root].into_iter().flatten();
        let of_image = subjects.filter_map(|subject| sboms.get(&(&it.place.name, *subject)));
        let platform = platforms.get(&(&it.place, it.digest));
        DescribedImage {
            image: it.place.clone(),
            platform: platform.map(|it| (*it).clone()),
            digest: it.digest,
            sboms: of_image.flatten().cloned().collect(),
        }
    });
    Ok(described.collect())
}

/// Every manifest and index, by place. Each is read once.
fn documents(listed: &Listed) -> Result<Vec<PlacedDocument>, OpenError> {
    let mut known: BTreeMap<Digest, Rc<DocumentFacts>> = BTreeMap::new();
    let mut documents = Vec::new();
    for content in listed.image_contents() {
        let path = match content.role {
            ImageRole::Root => archive::image_manifest_path(&content.place),
            ImageRole::Child => archive::image_child_path(&content.place, &content.digest),
            ImageRole::Blob => continue,
        };
        let facts = if let Some(known) = known.get(&content.digest) {
            Rc::clone(known)
        } else {
            let bytes = listed.read(path.as_str(), limits::IMAGE_MANIFEST_SIZE)?;
            Rc::new(DocumentFacts::of(&bytes))
        };
        known.insert(content.digest, Rc::clone(&facts));
        documents.push(PlacedDocument {
            place: content.place,
            role: content.role,
            digest: content.digest,
            facts,
        });
    }
    Ok(documents)
}

impl DocumentFacts {
    /// Reads the facts of a document. One that cannot be understood is nothing, which a check says.
    fn of(bytes: &[u8]) -> Self {
        let document = ImageDocument::from_slice(bytes).ok();
        let platforms = match &document {
            Some(ImageDocument::Index(index)) => index.manifests.as_slice(),
            _ => &[],
        };
        let platforms = platforms.iter().filter_map(|named| {
            let platform = named.platform.clone().filter(Platform::is_known)?;
            Some((named.digest, platform))
        });
        let platforms = platforms.collect();
        Self {
            is_image: matches!(&document, Some(ImageDocument::Manifest(it)) if it.is_image()),
            sbom: document.as_ref().and_then(sbom_in),
            platforms,
        }
    }
}

/// The SBOM in a layer, if the archive has it.
fn carried(listed: &Listed, place: &ImagePlace, found: SbomLayer) -> Option<CarriedSbom> {
    let path = archive::image_blob_path(place, &found.digest);
    let size = listed.contents().get(path.as_str())?.size;
    Some(CarriedSbom {
        format: found.format,
        path,
        digest: found.digest,
        size,
    })
}

//! SBOMs in an archive. [`referrer`] builds the manifest that attaches an SBOM to an image
//! (docs/reference/format-referrers.md). [`described`] lists the images of an archive with their SBOMs.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use archive::{ImageRole, ListedArchive, OpenError};
use schemas::{
    ArchivePath, Digest, Document, EMPTY_CONFIG, EMPTY_CONFIG_TYPE, ImageDocument, ImageName,
    ImagePlace, MediaType, Platform, limits,
};
use serde_json::json;

use crate::format::SbomFormat;

/// A runnable image for one platform, with its SBOMs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedImage {
    /// The name and tag of the image.
    pub image: ImagePlace,
    /// The platform, if an index specifies it.
    pub platform: Option<Platform>,
    /// The digest of the manifest.
    pub digest: Digest,
    /// The SBOMs of this manifest and those of the whole image.
    pub sboms: Vec<PackagedSbom>,
}

/// An SBOM in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackagedSbom {
    /// Its format.
    pub format: SbomFormat,
    /// The file that contains it.
    pub path: ArchivePath,
    /// Its digest.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
}

/// A manifest or index and its position in an image.
struct PlacedDocument {
    place: ImagePlace,
    role: ImageRole,
    digest: Digest,
    facts: Rc<DocumentFacts>,
}

/// The extracted fields of a document.
struct DocumentFacts {
    is_image: bool,
    sbom: Option<SbomLayer>,
    platforms: BTreeMap<Digest, Platform>,
}

/// A layer that contains an SBOM.
#[derive(Clone, Copy)]
struct SbomLayer {
    format: SbomFormat,
    digest: Digest,
}

/// Builds a manifest that attaches an SBOM to the manifest of an image, as compact JSON with sorted keys.
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
            // Tools that pull artifacts use the title as the file name.
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

/// Returns the SBOM in a manifest, identified by the type of the manifest or of its only layer.
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
    /// Returns the format of the SBOM that a manifest attaches; none if it attaches something else.
    #[must_use]
    pub fn of_referrer(manifest: &Document) -> Option<Self> {
        let document = ImageDocument::from_slice(&manifest.bytes).ok()?;
        sbom_in(&document).map(|layer| layer.format)
    }
}

/// Returns every runnable image of an archive with its SBOMs, sorted by name and tag.
pub fn described(listed: &ListedArchive) -> Result<Vec<DescribedImage>, OpenError> {
    let documents = documents(listed)?;
    let names: BTreeSet<(&ImageName, Digest)> = documents
        .iter()
        .map(|document| (&document.place.name, document.digest))
        .collect();
    // A document is a referrer only if its subject is in the archive under the same name.
    let subject = |document: &PlacedDocument| {
        let subject = document.place.tag.subject();
        subject.filter(|subject| names.contains(&(&document.place.name, *subject)))
    };
    let mut sboms: BTreeMap<(&ImageName, Digest), Vec<PackagedSbom>> = BTreeMap::new();
    let mut platforms: BTreeMap<(&ImagePlace, Digest), &Platform> = BTreeMap::new();
    let mut roots: BTreeMap<&ImagePlace, Digest> = BTreeMap::new();
    for document in &documents {
        if let Some(subject) = subject(document) {
            let carried = document
                .facts
                .sbom
                .and_then(|sbom| locate_in_layer(listed, &document.place, sbom));
            let of_subject = sboms.entry((&document.place.name, subject)).or_default();
            of_subject.extend(carried);
        }
        for (child, platform) in &document.facts.platforms {
            platforms.insert((&document.place, *child), platform);
        }
        if document.role == ImageRole::Root {
            roots.insert(&document.place, document.digest);
        }
    }
    let images = documents
        .iter()
        .filter(|document| document.facts.is_image && subject(document).is_none());
    let described = images.map(|document| {
        let root = roots
            .get(&document.place)
            .filter(|root| **root != document.digest);
        // The SBOMs of an index apply to each of its images.
        let subjects = [Some(&document.digest), root].into_iter().flatten();
        let of_image = subjects.filter_map(|subject| sboms.get(&(&document.place.name, *subject)));
        let platform = platforms.get(&(&document.place, document.digest));
        DescribedImage {
            image: document.place.clone(),
            platform: platform.map(|platform| (*platform).clone()),
            digest: document.digest,
            sboms: of_image.flatten().cloned().collect(),
        }
    });
    Ok(described.collect())
}

/// Reads every manifest and index, sorted by name and tag. Documents that images share are read once.
fn documents(listed: &ListedArchive) -> Result<Vec<PlacedDocument>, OpenError> {
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
            Rc::new(DocumentFacts::parse(&bytes))
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
    /// Extracts the fields of a document. A document that cannot be parsed yields no fields; the validator reports it.
    fn parse(bytes: &[u8]) -> Self {
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
            is_image: matches!(&document, Some(ImageDocument::Manifest(manifest)) if manifest.is_image()),
            sbom: document.as_ref().and_then(sbom_in),
            platforms,
        }
    }
}

/// Locates the SBOM in a layer, if the archive contains the layer.
fn locate_in_layer(
    listed: &ListedArchive,
    place: &ImagePlace,
    found: SbomLayer,
) -> Option<PackagedSbom> {
    let path = archive::image_blob_path(place, &found.digest);
    let size = listed.contents().get(path.as_str())?.size;
    Some(PackagedSbom {
        format: found.format,
        path,
        digest: found.digest,
        size,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OCI_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
    const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

    fn descriptor(media_type: &str, number: u8) -> serde_json::Value {
        json!({"mediaType": media_type, "digest": Digest::new([number; 32]), "size": 1})
    }

    fn facts(document: &serde_json::Value) -> DocumentFacts {
        DocumentFacts::parse(document.to_string().as_bytes())
    }

    #[test]
    fn an_sbom_is_the_only_layer_of_a_manifest_with_a_type_of_sboms() {
        let spdx = SbomFormat::Spdx.media_type();
        let cyclonedx = SbomFormat::CycloneDx.media_type();
        for (artifact_type, config, layers, expected) in [
            (
                Some(spdx),
                EMPTY_CONFIG_TYPE,
                &["text/plain"][..],
                Some(SbomFormat::Spdx),
            ),
            (
                None,
                cyclonedx,
                &["text/plain"],
                Some(SbomFormat::CycloneDx),
            ),
            (
                Some("a/b"),
                EMPTY_CONFIG_TYPE,
                &["text/spdx+json"],
                Some(SbomFormat::Spdx),
            ),
            // The type of the manifest counts before that of its layer.
            (
                Some(spdx),
                EMPTY_CONFIG_TYPE,
                &[cyclonedx],
                Some(SbomFormat::Spdx),
            ),
            (Some(spdx), EMPTY_CONFIG_TYPE, &[spdx, spdx], None),
            (Some(spdx), EMPTY_CONFIG_TYPE, &[], None),
            (Some("a/b"), EMPTY_CONFIG_TYPE, &["text/plain"], None),
            (None, OCI_CONFIG, &[LAYER], None),
        ] {
            let layers: Vec<_> = layers.iter().map(|layer| descriptor(layer, 7)).collect();
            let mut manifest = json!({
                "schemaVersion": 2,
                "mediaType": MediaType::OciManifest.as_str(),
                "config": descriptor(config, 1),
                "layers": layers,
            });
            if let Some(artifact_type) = artifact_type {
                manifest["artifactType"] = artifact_type.into();
            }
            let found = facts(&manifest).sbom;
            assert_eq!(found.map(|layer| layer.format), expected, "{manifest}");
            if let Some(layer) = found {
                assert_eq!(layer.digest, Digest::new([7; 32]));
            }
        }
    }

    #[test]
    fn only_manifests_of_images_need_sboms_and_only_known_platforms_count() {
        let manifest = |config: &str, layer: &str| {
            facts(&json!({
                "schemaVersion": 2,
                "mediaType": MediaType::OciManifest.as_str(),
                "config": descriptor(config, 1),
                "layers": [descriptor(layer, 2)],
            }))
        };
        assert!(manifest(OCI_CONFIG, LAYER).is_image);
        assert!(!manifest(EMPTY_CONFIG_TYPE, LAYER).is_image);
        assert!(!manifest(OCI_CONFIG, "text/spdx+json").is_image);

        let child = |number: u8, os: &str, architecture: &str| {
            let mut child = descriptor(MediaType::OciManifest.as_str(), number);
            child["platform"] = json!({"os": os, "architecture": architecture});
            child
        };
        let index = facts(&json!({
            "schemaVersion": 2,
            "mediaType": MediaType::OciIndex.as_str(),
            "manifests": [
                child(1, "linux", "amd64"),
                child(2, "unknown", "unknown"),
                descriptor(MediaType::OciManifest.as_str(), 3),
            ],
        }));
        let platforms: Vec<_> = index.platforms.keys().collect();
        assert_eq!(platforms, [&Digest::new([1; 32])]);
        assert!(!index.is_image && index.sbom.is_none());

        let unread = DocumentFacts::parse(b"{");
        assert!(!unread.is_image && unread.sbom.is_none() && unread.platforms.is_empty());
    }

    #[test]
    fn a_created_manifest_attaches_its_sbom_to_the_subject() {
        let bytes = json!({
            "schemaVersion": 2,
            "mediaType": MediaType::OciManifest.as_str(),
            "config": descriptor(OCI_CONFIG, 1),
            "layers": [descriptor(LAYER, 2)],
        });
        let bytes = bytes.to_string().into_bytes();
        let (subject, _) = Document::read(files::digest(&bytes), bytes).unwrap();
        for format in SbomFormat::ALL {
            let manifest = referrer(format, &subject, b"an SBOM");
            let fields: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
            assert_eq!(fields["subject"]["digest"], subject.digest.to_string());
            assert_eq!(fields["subject"]["size"], subject.bytes.len());
            let layer = &fields["layers"][0];
            assert_eq!(layer["digest"], files::digest(b"an SBOM").to_string());
            assert_eq!(layer["size"], 7);
            let title = &layer["annotations"]["org.opencontainers.image.title"];
            assert_eq!(title, format.file());
            let (document, _) = Document::read(files::digest(&manifest), manifest).unwrap();
            assert_eq!(SbomFormat::of_referrer(&document), Some(format));
        }
        assert_eq!(SbomFormat::of_referrer(&subject), None);
    }
}

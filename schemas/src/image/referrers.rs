//! Signatures and other referrers of images, recognized by their tags. cosign uses `sha256-<hex>.sig`, `.att` and
//! `.sbom`. `sha256-<hex>` alone is the list of referrers for registries without the referrers API (distribution
//! specification 1.1, "Referrers Tag Schema").

use std::collections::BTreeSet;

use super::Image;
use crate::{Digest, ImageName, Tag};

/// The suffixes after the digest in cosign's tags.
pub const SUFFIXES: [&str; 3] = [".sig", ".att", ".sbom"];

impl Tag {
    /// Returns the tag of a document's referrer with one of [`SUFFIXES`], or of the list of its referrers without a
    /// suffix.
    ///
    /// # Panics
    ///
    /// Panics if the suffix is none of these.
    #[must_use]
    pub fn of_referrer(subject: Digest, suffix: &str) -> Self {
        let tag = format!("sha256-{}{suffix}", subject.hex());
        tag.parse().expect("a digest and a suffix are a tag")
    }

    /// Returns the digest of the document to which a referrer with this tag refers. Returns `None` for other tags.
    #[must_use]
    pub fn subject(&self) -> Option<Digest> {
        let rest = self.as_str().strip_prefix("sha256-")?;
        let (hex, suffix) = rest.split_at_checked(64)?;
        let known = suffix.is_empty() || SUFFIXES.contains(&suffix);
        Digest::from_hex(hex).ok().filter(|_| known)
    }
}

impl Image {
    /// Returns the number of manifests in a referrer: those that its list names, or itself.
    fn referring(&self) -> usize {
        if self.root.media_type.is_index() {
            self.root.needs.len()
        } else {
            1
        }
    }
}

/// The documents of an archive's images, by which referrers are recognized. An image with such a tag whose subject is
/// missing counts as an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Referrers {
    /// Every document, with the name of its image.
    documents: BTreeSet<(ImageName, Digest)>,
}

impl Referrers {
    /// Collects the documents of images.
    #[must_use]
    pub fn from_images<'a>(images: impl IntoIterator<Item = &'a Image>) -> Self {
        let images = images.into_iter();
        let documents = images.flat_map(|image| {
            let documents = image.documents();
            documents.map(|document| (image.place.name.clone(), document.digest))
        });
        Self {
            documents: documents.collect(),
        }
    }

    /// Returns whether an image is a referrer: its tag names a document of an image with the same name.
    #[must_use]
    pub fn has(&self, image: &Image) -> bool {
        let subject = image.place.tag.subject();
        let known = |digest| self.documents.contains(&(image.place.name.clone(), digest));
        subject.is_some_and(known)
    }

    /// Returns the number of images, and the number of signatures and other referrers that accompany them.
    #[must_use]
    pub fn count<'a>(images: impl IntoIterator<Item = &'a Image> + Clone) -> (usize, usize) {
        let all = Self::from_images(images.clone());
        let mut count = (0, 0);
        for image in images {
            if all.has(image) {
                count.1 += image.referring();
            } else {
                count.0 += 1;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::{Document, MediaType};

    fn image(place: &str, number: u8, needs: &[u8]) -> Image {
        let digest = |number: u8| Digest::new([number; 32]);
        let media_type = if needs.is_empty() {
            MediaType::OciManifest
        } else {
            MediaType::OciIndex
        };
        Image {
            place: place.parse().unwrap(),
            reference: None,
            root: Arc::new(Document {
                digest: digest(number),
                media_type,
                bytes: Vec::new().into(),
                needs: needs.iter().copied().map(digest).collect(),
            }),
            children: Vec::new(),
            blobs: BTreeMap::new(),
            platforms: BTreeSet::new(),
        }
    }

    #[test]
    fn tags_of_referrers_name_what_they_are_about() {
        let digest = Digest::new([0xab; 32]);
        for suffix in ["", ".sig", ".att", ".sbom"] {
            let tag = Tag::of_referrer(digest, suffix);
            assert_eq!(tag.subject(), Some(digest), "{tag}");
        }
        let hex = digest.hex();
        for text in [
            format!("sha256-{hex}.txt"),
            format!("sha256-{hex}a"),
            format!("sha256-{}", &hex[1..]),
            format!("sha256-{}", hex.to_uppercase()),
            format!("sha512-{hex}"),
            "1.0".to_owned(),
        ] {
            assert_eq!(text.parse::<Tag>().unwrap().subject(), None, "{text}");
        }
    }

    #[test]
    fn a_referrer_has_what_it_is_about_beside_it() {
        let of = |name: &str, number: u8, suffix| {
            let tag = Tag::of_referrer(Digest::new([number; 32]), suffix);
            format!("{name}:{tag}")
        };
        let images = [
            image("app:1", 1, &[]),
            // The signature, its own signature, and a list of two.
            image(&of("app", 1, ".sig"), 2, &[]),
            image(&of("app", 2, ".sig"), 3, &[]),
            image(&of("app", 1, ""), 4, &[5, 6]),
            // Nothing that is here.
            image(&of("app", 9, ""), 7, &[]),
            image(&of("web", 1, ".sig"), 8, &[]),
        ];
        assert_eq!(Referrers::count(&images), (3, 4));
        let all = Referrers::from_images(&images);
        let found: Vec<bool> = images.iter().map(|image| all.has(image)).collect();
        assert_eq!(found, [false, true, true, true, false, false]);
    }
}

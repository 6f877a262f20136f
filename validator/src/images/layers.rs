//! A check for layers that are compressed differently than their media type says. [`check`] reads only the first bytes
//! of each layer.

use std::collections::BTreeSet;
use std::fmt;

use archive::OpenError;
use rules::catalogue::images::LAYER;
use schemas::{ArchivePath, Image, ImageDocument};

use super::{PREFIX, ROOT};
use crate::files::ListedFiles;
use crate::finding::Findings;
use crate::limits::LAYER_START;

/// The compression of a layer, as far as its first bytes show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LayerForm {
    Tar,
    Gzip,
    Zstd,
    /// A compression for which there is no media type, with the name of its program.
    Other(&'static str),
}

impl fmt::Display for LayerForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tar => f.write_str("are a tar that is not compressed"),
            Self::Gzip => f.write_str("are compressed with gzip"),
            Self::Zstd => f.write_str("are compressed with zstd"),
            Self::Other(program) => write!(f, "are compressed with {program}"),
        }
    }
}

impl LayerForm {
    /// Returns the form of layers with this media type; `None` if the media type is unknown.
    fn from_media_type(media_type: &str) -> Option<Self> {
        let (_, form) = media_type.rsplit_once('.')?;
        match form {
            "tar" => Some(Self::Tar),
            "tar+gzip" | "gzip" => Some(Self::Gzip),
            "tar+zstd" | "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Returns the form of bytes; `None` if their beginning is unknown. Nothing is reported then.
    fn detect(start: &[u8]) -> Option<Self> {
        // POSIX 1003.1, "ustar Interchange Format": the magic of a header is at this offset.
        const USTAR: usize = 257;
        Some(match start {
            [0x1f, 0x8b, ..] => Self::Gzip,
            // RFC 8878, 3.1: a frame, or a skippable frame.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, ..] => Self::Other("bzip2"),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Other("xz"),
            [0x04, 0x22, 0x4d, 0x18, ..] => Self::Other("lz4"),
            [b'L', b'Z', b'I', b'P', ..] => Self::Other("lzip"),
            _ if start.get(USTAR..USTAR + 5) == Some(b"ustar") => Self::Tar,
            _ => return None,
        })
    }
}

/// Reports each layer whose bytes do not match its media type, once per archive. `start` reads the first bytes of a
/// file, up to the given number.
pub(crate) fn check(
    files: &ListedFiles<'_>,
    images: &[Image],
    start: impl Fn(&ArchivePath, u64) -> Result<Vec<u8>, OpenError>,
    findings: &mut Findings,
) -> Result<(), OpenError> {
    let mut read = BTreeSet::new();
    // Many tags may list the same index, so each document is checked once.
    let mut documents = BTreeSet::new();
    for image in images {
        for document in image.documents() {
            if !documents.insert(document.digest) {
                continue;
            }
            let Ok(ImageDocument::Manifest(manifest)) = ImageDocument::from_slice(&document.bytes)
            else {
                continue;
            };
            if !manifest.is_image() {
                continue;
            }
            for layer in &manifest.layers {
                let digest = layer.digest;
                let Some(promised) = LayerForm::from_media_type(&layer.media_type) else {
                    continue;
                };
                let Some(entry) = files.with_digest(&digest) else {
                    continue;
                };
                if !read.insert((digest, layer.media_type.clone())) {
                    continue;
                }
                files.go_on()?;
                let found = LayerForm::detect(&start(&entry.path, LAYER_START)?);
                if let Some(found) = found.filter(|found| *found != promised) {
                    let place = &image.place;
                    let place = format_args!("{PREFIX}{}/{}{ROOT}", place.name, place.tag);
                    let message = format_args!(
                        "layer {digest} is described as `{}`, but its bytes {found}",
                        layer.media_type
                    );
                    findings.add(&LAYER, place, message);
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_that_a_media_type_promises_is_known() {
        for (media_type, form) in [
            (
                "application/vnd.oci.image.layer.v1.tar",
                Some(LayerForm::Tar),
            ),
            (
                "application/vnd.oci.image.layer.v1.tar+gzip",
                Some(LayerForm::Gzip),
            ),
            (
                "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd",
                Some(LayerForm::Zstd),
            ),
            (
                "application/vnd.docker.image.rootfs.diff.tar",
                Some(LayerForm::Tar),
            ),
            (
                "application/vnd.docker.image.rootfs.diff.tar.gzip",
                Some(LayerForm::Gzip),
            ),
            (
                "application/vnd.docker.image.rootfs.foreign.diff.tar.zstd",
                Some(LayerForm::Zstd),
            ),
            (
                "application/vnd.oci.image.layer.v1.tar+gzip+encrypted",
                None,
            ),
            ("application/vnd.in-toto+json", None),
        ] {
            assert_eq!(LayerForm::from_media_type(media_type), form, "{media_type}");
        }
    }

    #[test]
    fn the_form_of_bytes_is_told_by_their_beginning() {
        let mut tar = [0; 512];
        tar[257..263].copy_from_slice(b"ustar\0");
        for (start, form) in [
            (&[0x1f, 0x8b, 8, 0][..], Some(LayerForm::Gzip)),
            (&[0x28, 0xb5, 0x2f, 0xfd], Some(LayerForm::Zstd)),
            (&[0x50, 0x2a, 0x4d, 0x18], Some(LayerForm::Zstd)),
            (b"BZh91AY&SY", Some(LayerForm::Other("bzip2"))),
            (b"\xfd7zXZ\0", Some(LayerForm::Other("xz"))),
            (&tar, Some(LayerForm::Tar)),
            (&[0; 512], None),
            (b"BZh", None),
            (b"", None),
        ] {
            assert_eq!(LayerForm::detect(start), form, "{start:?}");
        }
    }
}

//! The search for image references in programs that may start other images. No object names the references that are
//! compiled into such a program. The entry point is [`ProgramSearch::run`].
//!
//! The results are candidates: strings in a program have no terminator, so a reference may be truncated or continue
//! into the next string, and a program may never start an image that it names.
//!
//! Known attacks and their limits: layers that decompress to very much data ([`UNPACKED`] bytes for all layers
//! together), layers that are not valid tar archives (the search of the layer ends there), and programs that consist of
//! references ([`CANDIDATES`]).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::sync::LazyLock;

use manifests::reference::{normal, repository};
use progress::Cancel;
use regex::bytes::Regex;
use schemars::JsonSchema;
use schemas::{Digest, ImageDocument, ImagePlace, ImageReference, printable_within};
use serde::Serialize;
use sources::{CollectedImage, LocalBlob};

/// The maximum number of bytes that are decompressed from the layers of all searched images. The image of an operator
/// has a few hundred million.
const UNPACKED: u64 = 2 << 30;
/// The maximum number of candidates per image. A program with more names images for another purpose.
const CANDIDATES: usize = 50;
/// The number of bytes of a program that are searched at once.
const WINDOW: usize = 1 << 18;
/// The maximum size of a reference with a digest in bytes.
const REFERENCE: usize = 512;
/// The end of an example reference in the documentation of the Kubernetes API, which every program that uses the API
/// contains.
const EXAMPLE: &str = "hyperkube:v1.0.7";
/// The maximum number of characters of a path in a message.
const SHOWN: usize = 200;

/// A reference in a program, which may start this image.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageCandidate {
    /// The image with the program.
    pub image: ImagePlace,
    /// The path of the program in the image.
    pub file: String,
    /// The reference, without a tag if the program adds it.
    #[serde(rename = "ref")]
    pub reference: String,
}

/// The images to search, and the references to omit from the result.
#[derive(Debug, Default)]
pub(crate) struct ProgramSearch {
    /// The layers of each image, base layer first.
    layers: Vec<(ImagePlace, Vec<LocalBlob>)>,
    /// The repositories that are not reported.
    known: BTreeSet<String>,
}

impl ProgramSearch {
    /// Creates a search of the images at these places. `known` are the packaged and unused references.
    pub(crate) fn new<'a>(
        places: &BTreeSet<ImagePlace>,
        images: &[CollectedImage],
        blobs: &BTreeMap<Digest, LocalBlob>,
        known: impl Iterator<Item = &'a ImageReference>,
    ) -> Self {
        let known = known.filter_map(|reference| normal(reference.as_str()));
        let images = images
            .iter()
            .filter(|image| image.subject.is_none() && places.contains(&image.place));
        let mut seen = BTreeSet::new();
        let layers = images.map(|image| {
            let layers = layers(image).into_iter();
            let layers = layers.filter(|digest| seen.insert(*digest));
            let here = layers.filter_map(|digest| blobs.get(&digest).cloned());
            (image.place.clone(), here.collect())
        });
        Self {
            layers: layers.collect(),
            known: known.map(|reference| repository(&reference)).collect(),
        }
    }

    /// Returns the references in the programs. Unreadable content is skipped, because writing the archive verifies it
    /// and reports the error.
    pub(crate) fn run(&self, cancel: Cancel<'_>) -> Vec<ImageCandidate> {
        let mut left = UNPACKED;
        let mut all = Vec::new();
        for (image, layers) in &self.layers {
            let mut found = BTreeMap::new();
            for layer in layers {
                let Ok(unpacked) = layer.unpacked() else {
                    continue;
                };
                let mut limited = unpacked.take(left);
                let _ = programs(&mut limited, cancel, &mut |path, program| {
                    search(program, &mut |reference| {
                        if found.len() < CANDIDATES && !self.is_known(reference) {
                            let path = printable_within(path, SHOWN);
                            found.entry(reference.to_owned()).or_insert(path);
                        }
                    })
                });
                left = limited.limit();
            }
            all.extend(found.into_iter().map(|(reference, file)| ImageCandidate {
                image: image.clone(),
                file,
                reference,
            }));
        }
        all
    }

    fn is_known(&self, reference: &str) -> bool {
        let is_known = |reference: ImageReference| self.known.contains(&repository(&reference));
        let registry = reference.split('/').next().unwrap_or_default();
        let is_example = registry.contains("example") || reference.ends_with(EXAMPLE);
        is_example || normal(reference).is_none_or(is_known)
    }
}

/// Returns the layers of an image for its first platform. Programs for other platforms contain the same references.
fn layers(image: &CollectedImage) -> Vec<Digest> {
    let contents = &image.contents;
    let mut documents = [&contents.root].into_iter().chain(&contents.children);
    let manifest =
        documents.find_map(
            |document| match ImageDocument::from_slice(&document.bytes) {
                Ok(ImageDocument::Manifest(manifest)) if manifest.is_image() => Some(manifest),
                _ => None,
            },
        );
    let layers = manifest.map(|manifest| manifest.layers).unwrap_or_default();
    layers.into_iter().map(|layer| layer.digest).collect()
}

/// The size of a tar header. The content of a member is padded to a multiple of it.
const BLOCK: usize = 512;

/// Calls `visit` with the path and content of every ELF executable in a tar archive.
fn programs(
    tar: &mut impl Read,
    cancel: Cancel<'_>,
    visit: &mut impl FnMut(&str, &mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    let mut header = [0; BLOCK];
    loop {
        tar.read_exact(&mut header)?;
        // The fields of a header, by POSIX 1003.1, "ustar Interchange Format": size at 124, type at 156, magic at 257.
        if &header[257..262] != b"ustar" || cancel.is_asked() {
            return Ok(());
        }
        let size = size(&header[124..136]);
        let padded = size.div_ceil(BLOCK as u64).saturating_mul(BLOCK as u64);
        let mut content = tar.by_ref().take(padded);
        let is_file = matches!(header[156], b'0' | 0);
        if is_file && size >= 4 {
            let mut magic = [0; 4];
            content.read_exact(&mut magic)?;
            if &magic == b"\x7fELF" {
                visit(&path(&header), &mut content)?;
            }
        }
        io::copy(&mut content, &mut io::sink())?;
    }
}

/// Returns the size of a tar member, which is stored in octal digits or in base 256.
fn size(field: &[u8]) -> u64 {
    if field[0] & 0x80 != 0 {
        let last = field[4..].try_into().expect("eight of twelve bytes");
        return u64::from_be_bytes(last);
    }
    let digits = field.iter().filter(|byte| (b'0'..=b'7').contains(*byte));
    digits.fold(0, |size, digit| size << 3 | u64::from(digit - b'0'))
}

fn path(header: &[u8]) -> String {
    let text = |field: &[u8]| {
        let end = field.iter().position(|byte| *byte == 0);
        String::from_utf8_lossy(&field[..end.unwrap_or(field.len())]).into_owned()
    };
    let name = text(&header[..100]);
    let name = name.trim_start_matches("./").trim_start_matches('/');
    match text(&header[345..500]) {
        prefix if prefix.is_empty() || &header[257..263] != b"ustar\0" => format!("/{name}"),
        prefix => format!("/{}/{name}", prefix.trim_start_matches('/')),
    }
}

/// An expression for references that start with a known registry, or that have a path and a version. Other references
/// cannot be distinguished from other strings. If the program appends the tag, the match ends with the colon.
static REFERENCES: LazyLock<Regex> = LazyLock::new(|| {
    const NAME: &str = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
    const TAG: &str = r"v?[0-9]+(?:\.[0-9]+)*(?:-[a-z0-9]+(?:\.[0-9]+)*)*";
    const DIGEST: &str = "@sha256:[0-9a-f]{64}";
    let hosts = [
        r"docker\.io",
        r"quay\.io",
        r"ghcr\.io",
        r"(?:[a-z0-9]+\.)?gcr\.io",
        r"registry\.k8s\.io",
        r"mcr\.microsoft\.com",
        r"public\.ecr\.aws",
        r"[a-z0-9-]+-docker\.pkg\.dev",
        r"cgr\.dev",
        r"cr\.[a-z0-9-]+\.(?:io|dev|com)",
        r"nvcr\.io",
        r"icr\.io",
        r"(?:docker|registry)\.[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:co|com|dev|io|net|org)",
    ]
    .join("|");
    let hosted = format!("(?:{hosts})(?:/{NAME})+(?::{TAG}(?:{DIGEST})?|{DIGEST}|[:\\x00\"])");
    let versioned = format!(r"(?-u:\b){NAME}/{NAME}:v?[0-9]+\.[0-9]+(?:\.[0-9]+)?(?:{DIGEST})?");
    let expression = format!("(?-u)(?:{hosted}|{versioned})");
    Regex::new(&expression).expect("it is a regular expression")
});

/// Calls `give` with each reference in a program.
fn search(program: &mut dyn Read, give: &mut dyn FnMut(&str)) -> io::Result<()> {
    let mut window = Vec::with_capacity(WINDOW + REFERENCE);
    // The bytes that are kept of the previous window are searched again, except for the first one, which only shows the
    // byte before a match.
    let mut at = 0;
    loop {
        let before = window.len();
        (&mut *program)
            .take(WINDOW as u64)
            .read_to_end(&mut window)?;
        let is_last = window.len() - before < WINDOW;
        // A match that starts after this offset may continue in the next window.
        let mut sure = window.len() - if is_last { 0 } else { REFERENCE };
        while let Some(found) = REFERENCES.find_at(&window, at)
            && found.start() < sure
        {
            at = found.end();
            let before = found.start().checked_sub(1).map(|index| window[index]);
            // After one of these bytes, the match is the end of a longer path.
            let is_in_path = matches!(before, Some(b'/' | b'.' | b'@' | b'-' | b'_'));
            if let Ok(text) = str::from_utf8(found.as_bytes())
                && !is_in_path
                && text.len() <= REFERENCE
            {
                give(text.trim_end_matches([':', '\0', '"']));
            }
        }
        if is_last {
            return Ok(());
        }
        sure = sure.max(at);
        window.drain(..sure - 1);
        at = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(program: &[u8]) -> Vec<String> {
        let mut found = Vec::new();
        let mut give = |reference: &str| found.push(reference.to_owned());
        search(&mut &program[..], &mut give).unwrap();
        found
    }

    /// Compilers store strings one after the other without terminators.
    #[test]
    fn references_are_found_between_other_texts() {
        let program = b"\x7fELF\0\x01quay.io/org/executor:invalid argumentghcr.io/org/auto/java:%s\0docker.io/org/node:v3.28.0\0\
            registry.k8s.io/pause\0org/sidecar:1.24.1 \x02github.com/org/code:v2.0.0 r.test/some:1.0 see docker.io/docs/ ";
        let expected = [
            "quay.io/org/executor",
            "ghcr.io/org/auto/java",
            "docker.io/org/node:v3.28.0",
            "registry.k8s.io/pause",
            "org/sidecar:1.24.1",
            "r.test/some:1.0",
        ];
        assert_eq!(found(program), expected);
        let digest = format!("quay.io/org/app@sha256:{}", "5".repeat(64));
        assert_eq!(found(digest.as_bytes()), [digest]);
    }

    #[test]
    fn a_reference_across_two_windows_is_found_once() {
        for before in [
            WINDOW - 600,
            WINDOW - 520,
            WINDOW - 512,
            WINDOW - 10,
            WINDOW,
            WINDOW + 5,
        ] {
            let mut program = vec![0; before];
            program.extend(b"quay.io/org/app:v1.2.3");
            program.extend(vec![0; WINDOW]);
            assert_eq!(found(&program), ["quay.io/org/app:v1.2.3"], "{before}");
        }
    }
}

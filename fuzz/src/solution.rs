//! A small signed Solution with arbitrary files.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use archive::tree::derived;
use archive::{
    ArchiveFile, FileSource, MANIFEST, Overwrite, README, ROLE, StatementInfo, UnsignedArchive,
    crd_path,
};
use progress::{Cancel, Watch};
use schemas::{Digest, Document, Image, MediaType, SolutionId, StatementTime};
use sha2::{Digest as _, Sha256};
use signing::{SecretKey, Trust};
use validator::{CheckDepth, CheckOptions, Report, SignaturePolicy};

/// The key whose 32 bytes are all 7.
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH
-----END PRIVATE KEY-----
";

const LAYER: &[u8] = b"a layer";

/// The texts of the Solution's files.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    /// `manifest.yaml`.
    pub manifest: &'a [u8],
    /// The roles of the operator.
    pub roles: &'a [u8],
    /// The custom resource definition.
    pub definition: &'a [u8],
    /// The image's manifest or index. `@CONFIG` and `@LAYER` are replaced by their descriptors.
    pub document: &'a [u8],
    /// The image's configuration.
    pub config: &'a [u8],
}

impl<'a> Texts<'a> {
    /// Returns the texts of a valid Solution.
    #[must_use]
    pub fn good() -> Self {
        Self::split(include_bytes!("../seeds/signed_files/good"))
    }

    /// Splits an input at lines of `=====`. A missing text is empty.
    #[must_use]
    pub fn split(bytes: &'a [u8]) -> Self {
        const BETWEEN: &[u8] = b"=====\n";
        let mut rest = Some(bytes);
        let mut next = || {
            let bytes = rest.take().unwrap_or_default();
            let at = bytes
                .windows(BETWEEN.len())
                .position(|window| window == BETWEEN);
            match at {
                None => bytes,
                Some(at) => {
                    rest = Some(&bytes[at + BETWEEN.len()..]);
                    &bytes[..at]
                }
            }
        };
        Self {
            manifest: next(),
            roles: next(),
            definition: next(),
            document: next(),
            config: next(),
        }
    }
}

/// Writes the signed archive of these texts.
pub fn write(path: &Path, texts: &Texts<'_>) {
    let id = SolutionId::new(
        "example".parse().expect("a name"),
        "1.0.0".parse().expect("a version"),
    )
    .expect("an id");
    let mut files = vec![
        (MANIFEST.to_owned(), texts.manifest.to_vec()),
        (README.to_owned(), b"how to check this archive\n".to_vec()),
        (ROLE.to_owned(), texts.roles.to_vec()),
        (
            crd_path("servers").expect("a path").to_string(),
            texts.definition.to_vec(),
        ),
    ];
    files.extend(image_files(&id, texts));
    let file = |(path, bytes): (String, Vec<u8>)| {
        ArchiveFile::from_bytes(path.parse().expect("a path"), bytes)
    };
    let info = StatementInfo {
        id,
        time: StatementTime::DEFAULT,
        upgrade_from: None,
        expires: None,
        requires: Vec::new(),
        optional: Vec::new(),
    };
    let unsigned = UnsignedArchive::new(info, files.into_iter().map(file).collect());
    let key = SecretKey::from_pem(KEY).expect("a key");
    let signed = unsigned.expect("the files can be laid out").sign(&[key]);
    let watch = Watch::silent(Cancel::never());
    let one = NonZeroUsize::MIN;
    signed
        .expect("a key signs once")
        .write(path, Overwrite::Replace, one, &watch)
        .and_then(|draft| draft.publish(watch.cancel))
        .expect("the disk has room");
}

fn image_files(id: &SolutionId, texts: &Texts<'_>) -> Vec<(String, Vec<u8>)> {
    let named = |bytes: &[u8]| format!(r#""digest":"{}","size":{}"#, digest(bytes), bytes.len());
    let document = replace(texts.document, b"@CONFIG", named(texts.config).as_bytes());
    let document = replace(&document, b"@LAYER", named(LAYER).as_bytes());
    let is_index = document
        .windows(11)
        .any(|window| window == b"\"manifests\"");
    // A blob is stored once, even if it has multiple uses.
    let mut blobs = vec![LAYER.to_vec()];
    if texts.config != LAYER && texts.config != document {
        blobs.push(texts.config.to_vec());
    }
    blobs.retain(|bytes| *bytes != document);
    let size = |bytes: &Vec<u8>| (digest(bytes), bytes.len() as u64);
    let image = Image {
        place: "server:1.0.0".parse().expect("a place"),
        reference: None,
        root: Arc::new(Document {
            digest: digest(&document),
            media_type: if is_index {
                MediaType::OciIndex
            } else {
                MediaType::OciManifest
            },
            bytes: document.as_slice().into(),
            needs: Vec::new(),
        }),
        children: Vec::new(),
        blobs: blobs.iter().map(size).collect(),
        platforms: BTreeSet::new(),
    };
    let blob = |wanted: &Digest| {
        let mut blobs = blobs.iter();
        let blob = blobs.find(|bytes| digest(bytes) == *wanted);
        FileSource::Bytes(blob.expect("every blob is known").as_slice().into())
    };
    let file = |file: ArchiveFile| match file.source {
        FileSource::Bytes(bytes) => (file.path.to_string(), bytes.to_vec()),
        FileSource::File { path, .. } => panic!("{} is in {}", file.path, path.display()),
    };
    let files = derived(id, &[image], blob).expect("one image is not too many");
    files.into_iter().map(file).collect()
}

fn replace(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    match text.windows(from.len()).position(|window| window == from) {
        None => text.to_vec(),
        Some(at) => [&text[..at], to, &text[at + from.len()..]].concat(),
    }
}

fn digest(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}

/// Checks an archive as `validate` does.
#[must_use]
pub fn report(path: &Path) -> Report {
    let key = SecretKey::from_pem(KEY).expect("a key").public();
    let options = CheckOptions {
        signatures: SignaturePolicy::Check {
            trust: Some(Trust::new(vec![key], None).expect("one key").into()),
            allow_unsigned: None,
        },
        detached: Vec::new(),
        depth: CheckDepth::Everything,
        threads: NonZeroUsize::MIN,
        now: None,
    };
    let report = validator::check(path, &options, &Watch::silent(Cancel::never()));
    let report = report.expect("a file of this machine can be read");
    for finding in report.findings() {
        let known = rules::catalogue::FINDINGS
            .iter()
            .any(|entry| entry.id == finding.id);
        assert!(known && !finding.message.is_empty() && !finding.fix.is_empty());
    }
    report
}

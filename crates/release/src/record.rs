//! What `init --from` wrote into a tree, so that an update can tell it from what was edited since.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use schemas::{Digest, Namespace, SourceImage, SourceNamespace, Version};
use serde::{Deserialize, Serialize};

use crate::paths::{NOTES, is_manifest};
use crate::write;

/// What was taken from a release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// For who opens the file.
    comment: String,
    /// The version that the release said.
    pub(crate) version: Version,
    /// Its images.
    pub(crate) images: Vec<SourceImage>,
    /// Its own namespaces.
    pub(crate) namespaces: Vec<Namespace>,
    /// The files, by path in the tree, with the digests that they were written with.
    pub(crate) files: BTreeMap<String, Digest>,
}

impl Record {
    pub(crate) fn new(
        version: &Version,
        images: Vec<SourceImage>,
        own: &[SourceNamespace],
        files: &BTreeMap<String, Vec<u8>>,
    ) -> Self {
        let digest = |(path, bytes): (&String, &Vec<u8>)| (path.clone(), files::digest(bytes));
        Self {
            comment: write::RECORD.to_owned(),
            version: version.clone(),
            images,
            namespaces: own.iter().map(|it| it.name.clone()).collect(),
            files: files.iter().map(digest).collect(),
        }
    }

    /// The record in these bytes; none if it is no such record, or names files that a release cannot have.
    pub(crate) fn from_slice(bytes: &[u8]) -> Option<Self> {
        let record: Self = serde_json::from_slice(bytes).ok()?;
        let inside = |path: &str| {
            let mut parts = Path::new(path).components();
            parts.all(|part| matches!(part, Component::Normal(_)))
                && (is_manifest(path) || path == NOTES)
        };
        let own = record.files.keys().all(|path| inside(path));
        own.then_some(record)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec_pretty(self).expect("a record has only texts for keys");
        text.push(b'\n');
        text
    }
}

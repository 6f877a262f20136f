//! Both views of the images, and the indexes over them, must be exactly what follows from the images: then there is
//! no file that one tool sees and another does not, and nothing can hide between them.

use std::sync::Arc;

use archive::{ArchiveFile, FileSource, tree};
use rules::catalogue::images::{DIFFERS, INCOMPLETE, PLACE, UNREFERENCED};
use schemas::{Digest, Image, SolutionId};

use super::PREFIX;
use crate::files::ListedFiles;
use crate::finding::Findings;

/// The files that can be derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Derivable {
    /// All of them.
    All,
    /// All but `index.json`, which holds the images' `ref`s and could not be read.
    AllButIndex,
}

/// Compares the files of the images with what follows from the images. The digests suffice: the list of files was
/// verified, and the pass over the data compares each file with its digest.
pub(super) fn compare(
    files: &ListedFiles<'_>,
    id: &SolutionId,
    images: &[Image],
    derivable: Derivable,
    findings: &mut Findings,
) {
    // Nothing is written, so that it does not matter where the contents are.
    let nowhere = |_: &Digest| FileSource::Bytes(Arc::default());
    let derived = match tree::derived(id, images, nowhere) {
        Ok(derived) => derived,
        Err(error) => {
            findings.add(&PLACE, "images", error);
            return;
        }
    };
    for ArchiveFile { path, digest, .. } in &derived {
        if derivable == Derivable::AllButIndex && path.as_str() == archive::INDEX {
            continue;
        }
        match files.get(path.as_str()) {
            None => findings.add(&INCOMPLETE, path, "is missing"),
            Some(entry) if entry.digest != *digest => {
                let found = entry.digest;
                findings.add(&DIFFERS, path, format_args!("is {found}, not {digest}"));
            }
            Some(_) => {}
        }
    }
    for entry in files.below(PREFIX).chain(files.below("blobs/")) {
        if derived
            .binary_search_by(|file| file.path.cmp(&entry.path))
            .is_err()
        {
            findings.add(&UNREFERENCED, &entry.path, "belongs to no image");
        }
    }
}

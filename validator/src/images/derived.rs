//! Both views of the images, and the indexes over them, must be exactly what follows from the images: then there is
//! no file that one tool sees and another does not, and nothing can hide between them.

use archive::tree;
use rules::catalogue::images::{DIFFERS, INCOMPLETE, PLACE, UNREFERENCED};
use schemas::{Image, SolutionId};

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
    // Of half a million files, only whether each follows.
    let mut follows = vec![false; files.count()];
    let derived = tree::each_derived(id, images, |derived| {
        let path = &derived.path;
        if derivable == Derivable::AllButIndex && path.as_str() == archive::INDEX {
            return;
        }
        let Some(number) = files.position(path.as_str()) else {
            return findings.add(&INCOMPLETE, path, "is missing");
        };
        follows[number] = true;
        let (expected, found) = (derived.digest(), files.numbered(number).digest);
        if found != expected {
            findings.add(&DIFFERS, path, format_args!("is {found}, not {expected}"));
        }
    });
    if let Err(error) = derived {
        return findings.add(&PLACE, "images", error);
    }
    for number in (0..files.count()).filter(|number| !follows[*number]) {
        let path = &files.numbered(number).path;
        if path.as_str().starts_with(PREFIX) || path.as_str().starts_with("blobs/") {
            findings.add(&UNREFERENCED, path, "belongs to no image");
        }
    }
}

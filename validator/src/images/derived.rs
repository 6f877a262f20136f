//! The comparison of the image files with the files that follow from the images. Both layouts of the images and their
//! indexes must match exactly. Otherwise tools that read different layouts would see different files, and an archive
//! could hide content.

use archive::tree;
use rules::catalogue::images::{DIFFERS, INCOMPLETE, PLACE, UNREFERENCED};
use schemas::{Image, SolutionId};

use super::PREFIX;
use crate::files::ListedFiles;
use crate::finding::Findings;

/// The files that can be derived from the images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Derivable {
    /// All derived files.
    All,
    /// All files except `index.json`, which contains the `ref`s of images and could not be read.
    AllButIndex,
}

/// Compares the files of the images with the derived files and adds findings for missing, different and additional
/// ones. Comparing digests is sufficient: the list is verified, and the pass over the data compares each file with its
/// listed digest.
pub(super) fn compare(
    files: &ListedFiles<'_>,
    id: &SolutionId,
    images: &[Image],
    derivable: Derivable,
    findings: &mut Findings,
) {
    // One flag per file, because an archive may have half a million files.
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

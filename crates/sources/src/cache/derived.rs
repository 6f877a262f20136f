//! Notes about derived content: a recipe (such as "this layer, compressed in this way by this version of the encoder")
//! and its result. Each note ends with a checksum, so that a damaged note is ignored.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use schemas::Digest;

use super::{CacheError, DERIVED, NEW, OpenCache, failed, read_own};
use crate::blob::LocalBlob;
use crate::limits;

impl OpenCache {
    /// Returns the result of a recipe if it is in the cache.
    #[must_use]
    pub(crate) fn find_derived(&self, recipe: &str) -> Option<LocalBlob> {
        let note = read(&self.note(recipe), self.user)?;
        if note.recipe != recipe {
            return None;
        }
        self.find(note.digest, note.size)
    }

    /// Records the result of a recipe. A recipe is one line that contains everything that the result depends on.
    pub(crate) fn remember(&self, recipe: &str, made: &LocalBlob) -> Result<(), CacheError> {
        let (mut file, path) = self.slot(NEW, "")?;
        let body = format!("{} {} {recipe}\n", made.digest.hex(), made.size);
        let sum = files::digest(body.as_bytes()).hex();
        let written = file
            .set_len(0)
            .and_then(|()| file.write_all(format!("{body}{sum}\n").as_bytes()));
        written.map_err(|error| failed(&path, error))?;
        let target = self.note(recipe);
        fs::rename(&path, &target).map_err(|error| failed(&target, error))
    }

    pub(super) fn note(&self, recipe: &str) -> PathBuf {
        let name = files::digest(recipe.as_bytes()).hex();
        self.directory.join(DERIVED).join(name)
    }
}

pub(super) struct DerivedNote {
    pub(super) digest: Digest,
    size: u64,
    recipe: String,
}

/// Reads a note if it is complete and belongs to the user.
pub(super) fn read(path: &Path, user: u32) -> Option<DerivedNote> {
    let bytes = read_own(path, limits::CACHE_NOTE, user)?;
    let text = String::from_utf8(bytes).ok()?;
    let (body, sum) = text.strip_suffix('\n')?.rsplit_once('\n')?;
    if files::digest(format!("{body}\n").as_bytes()).hex() != sum {
        return None;
    }
    let (hex, rest) = body.split_once(' ')?;
    let (size, recipe) = rest.split_once(' ')?;
    Some(DerivedNote {
        digest: Digest::from_hex(hex).ok()?,
        size: size.parse().ok()?,
        recipe: recipe.to_owned(),
    })
}

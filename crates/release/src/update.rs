//! `solution init --from … --update`: a tree that carries a release is renewed for the next one. What its publisher
//! edited is kept, and what cannot be kept is refused before anything is written.

use std::path::{Path, PathBuf};

use manifests::{Files, Objects};
use schemas::{Namespace, SolutionId, SolutionSource, SourceImage, Version};

use crate::carried::Carried;
use crate::changes::{self, Changes};
use crate::edit::{self, Edit};
use crate::merge::{self, Merged, Wanted};
use crate::notes::{Note, Weight};
use crate::paths::{NOTES, RECORD, SOURCE};
use crate::record::Record;
use crate::worktree::Worktree;
use crate::{ReleaseError, Wishes, write};

/// A tree that was renewed.
#[derive(Debug)]
pub struct Renewed {
    /// Name and version.
    pub id: SolutionId,
    /// The version that the tree had.
    pub from: Version,
    /// The images that it has.
    pub sources: Vec<SourceImage>,
    /// The files that were written.
    pub written: Vec<PathBuf>,
    /// The files that were removed.
    pub removed: Vec<PathBuf>,
    /// The release's objects, as `KIND [NAMESPACE/]NAME`.
    pub objects: Changes,
    /// Its images.
    pub images: Changes,
    /// What to decide.
    pub notes: Vec<Note>,
}

/// Renews a tree for another release. A failure leaves the tree as it was.
pub fn update(
    directory: &Path,
    release: &Files,
    version: Option<Version>,
) -> Result<Renewed, ReleaseError> {
    let tree = Worktree::read(directory)?;
    let wishes = Wishes {
        name: Some(tree.source.metadata.name.clone()),
        version,
        deployment: None,
    };
    let carried = Carried::of(release, &wishes)?;
    let images = carried.images.images.clone();
    let wanted = match wishes.version {
        Some(version) => Wanted::Asked(version),
        None => Wanted::Released(carried.version.clone()),
    };
    let merged = merge::merge(&tree.source, &tree.record, &wanted, images);
    let mut files = tree.wanted(&carried.files);
    let (before, after) = (changes::manifests(&tree.files), changes::manifests(&files));
    let mut objects = manifests::parse(&after)?;
    let changed = changes::of(&manifests::parse(&before)?, &objects);
    let mut notes = merged.notes.clone();
    notes.extend(new_namespaces(&tree.record, &carried));
    notes.extend(patches(&merged.source, &mut objects));
    notes.extend(carried.notes.iter().cloned());
    let own_notes = tree.own_notes();
    if own_notes.is_none() && !notes.is_empty() {
        let text = write::undecided(&carried.id, write::RELEASE, &release.name, &notes);
        files.insert(NOTES.to_owned(), text);
    }
    let record = next_record(&tree.record, &carried, &merged, files.get(NOTES));
    files.insert(RECORD.to_owned(), record.bytes());
    files.insert(SOURCE.to_owned(), edited(&tree.text, &merged)?);
    files.extend(own_notes.map(|own| (NOTES.to_owned(), own)));
    let swapped = tree.replace(files)?;
    let spec = merged.source.spec;
    Ok(Renewed {
        id: SolutionId::new(merged.source.metadata.name, spec.version).map_err(ReleaseError::Id)?,
        from: tree.source.spec.version,
        sources: spec.images,
        written: swapped.written,
        removed: swapped.removed,
        objects: changed,
        images: merged.images,
        notes,
    })
}

/// `solution.yaml` with the changes, if it then says what it should.
fn edited(text: &str, merged: &Merged) -> Result<Vec<u8>, ReleaseError> {
    let by_hand = || {
        let edits = merged.edits.iter().map(Edit::to_string);
        ReleaseError::ByHand(edits.collect())
    };
    let text = edit::apply(text, &merged.edits).ok_or_else(by_hand)?;
    write::checked(&merged.source, text).map_err(|error| match error {
        ReleaseError::Spelling => by_hand(),
        error => error,
    })
}

/// What the tree's next update compares with.
fn next_record(
    last: &Record,
    carried: &Carried,
    merged: &Merged,
    notes: Option<&Vec<u8>>,
) -> Record {
    let mut files = carried.files.clone();
    files.extend(notes.map(|notes| (NOTES.to_owned(), notes.clone())));
    let images = merged.recorded.clone();
    let mut record = Record::new(&carried.version, images, &carried.own, &files);
    let own_notes = last.files.get(NOTES).filter(|_| notes.is_none());
    record
        .files
        .extend(own_notes.map(|digest| (NOTES.to_owned(), *digest)));
    record
}

/// Namespaces that the last release did not have, which only the publisher can put into the right set.
fn new_namespaces(last: &Record, next: &Carried) -> Option<Note> {
    let names = next.own.iter().map(|it| &it.name);
    let new: Vec<&Namespace> = names.filter(|it| !last.namespaces.contains(it)).collect();
    (!new.is_empty()).then(|| {
        let text = format!("the release has {} now, which its last version had not; add them to `namespaces` of the set in solution.yaml", schemas::listed(&new));
        Note::new(Weight::Decide, "namespaces", text)
    })
}

/// The patches that do not fit the next release.
fn patches(source: &SolutionSource, objects: &mut Objects<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    // With several sets, only `pack` knows which objects are in which.
    let [set] = &source.spec.manifests[..] else {
        return notes;
    };
    for (number, patch) in (1..).zip(&set.patches) {
        if let Err(error) = manifests::patch(&mut objects.all, patch) {
            let about = format!("patch {number} of the set `{}`", set.name);
            let text = format!("does not fit this release: {error}");
            notes.push(Note::new(Weight::Decide, about, text));
        }
    }
    notes
}

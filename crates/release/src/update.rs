//! `solution init --from … --update`: a tree that carries a release is renewed for the next one. The draft of the next is
//! merged with what was edited since the last.

use std::path::{Path, PathBuf};

use manifests::{ManifestFiles, ManifestObjects};
use schemas::{SolutionId, SolutionSource, Version};

use crate::carried::Carried;
use crate::changes::{self, Changes};
use crate::merge::{self, Merge};
use crate::notes::{Note, NoteWeight};
use crate::paths::{DRAFT, MANIFESTS, NOTES, SOURCE};
use crate::{ReleaseError, Wishes};

/// A tree that was renewed.
#[derive(Debug)]
pub struct Renewed {
    /// The name and version of the Solution.
    pub id: SolutionId,
    /// The version that the tree had.
    pub from: Version,
    /// The number of images that it has.
    pub images: usize,
    /// The files that were written.
    pub written: Vec<PathBuf>,
    /// The files that were removed.
    pub removed: Vec<PathBuf>,
    /// The files that were changed both here and in the release, in ways that do not go together.
    pub conflicts: Vec<PathBuf>,
    /// The differences between the releases' objects, as `KIND [NAMESPACE/]NAME`.
    pub objects: Changes,
    /// The differences between their images.
    pub image_changes: Changes,
    /// The notes on what to decide.
    pub notes: Vec<Note>,
}

/// Renews a tree for another release. `git` is the program that merges the files that were edited, if there is one.
pub fn update(
    directory: &Path,
    release: &ManifestFiles,
    version: Option<Version>,
    git: Option<&Path>,
) -> Result<Renewed, ReleaseError> {
    let last = Last::read(directory)?;
    merge::check_resolved(directory, &last.files)?;
    let own = merge::read(directory, SOURCE)?;
    let own = own.ok_or_else(|| ReleaseError::NotMade(directory.to_owned()))?;
    let from = parsed(&own)?.spec.version;
    // A version of one's own stays until another is asked for.
    let stays = version.is_none() && from != last.version;
    let wishes = Wishes {
        name: Some(last.source.metadata.name.clone()),
        version: version.or_else(|| stays.then(|| from.clone())),
        deployment: None,
    };
    let next = Carried::of(release, &wishes)?;
    let draft = next.tree(&release.name)?;
    let mut objects = manifests::parse(&release.files)?;
    let object_changes = changes::of(&manifests::parse(&last.release.files)?, &objects);
    let [before, after] = [&last.source, &draft.source].map(|it| &it.spec.images[..]);
    let image_changes = changes::of_images(before, after);
    let merge = Merge {
        directory,
        last: &last.files,
        next: &draft.files,
        git,
    };
    let mut merged = merge.run()?;
    let mut notes = Vec::new();
    if stays && from != next.version {
        let (last, next) = (&last.version, &next.version);
        let text = format!(
            "is `{from}`, which you set, and was kept; the release changed from {last} to {next}"
        );
        notes.push(Note::new(NoteWeight::Decide, "version", text));
    }
    let source = parsed(merged.written.get(SOURCE).unwrap_or(&own)).ok();
    if let Some(source) = &source {
        notes.extend(patches(source, &mut objects));
    } else if !merged.conflicts.iter().any(|path| path == SOURCE) {
        // Lines that go together can say what does not.
        merged.conflicts.push(SOURCE.to_owned());
    }
    let source = source.unwrap_or(draft.source);
    notes.extend(draft.notes);
    let in_tree = |paths: Vec<String>| paths.iter().map(|it| directory.join(it)).collect();
    Ok(Renewed {
        id: SolutionId::new(source.metadata.name, source.spec.version).map_err(ReleaseError::Id)?,
        from,
        images: source.spec.images.len(),
        written: in_tree(merged.written.into_keys().collect()),
        removed: in_tree(merged.removed),
        conflicts: in_tree(merged.conflicts),
        objects: object_changes,
        image_changes,
        notes,
    })
}

fn parsed(source: &[u8]) -> Result<SolutionSource, ReleaseError> {
    SolutionSource::from_slice(source).map_err(ReleaseError::Source)
}

/// The draft that a tree was made of, or last merged with.
struct Last {
    source: SolutionSource,
    release: ManifestFiles,
    /// The version that the release gives itself.
    version: Version,
    /// The whole tree, by path.
    files: merge::TreeFiles,
}

impl Last {
    fn read(directory: &Path) -> Result<Self, ReleaseError> {
        let draft = directory.join(DRAFT);
        let text = merge::read(&draft, SOURCE)?;
        let text = text.ok_or_else(|| ReleaseError::NotMade(directory.to_owned()))?;
        let source = parsed(&text)?;
        let release = manifests::read(&draft.join(MANIFESTS))?;
        let wishes = Wishes {
            name: Some(source.metadata.name.clone()),
            version: Some(source.spec.version.clone()),
            deployment: None,
        };
        let version = Carried::of(&release, &wishes)?.version;
        let manifests = release.files.iter();
        let mut files: merge::TreeFiles = manifests
            .map(|file| (format!("{MANIFESTS}/{}", file.name), file.bytes.clone()))
            .collect();
        files.extend(merge::read(&draft, NOTES)?.map(|notes| (NOTES.to_owned(), notes)));
        files.insert(SOURCE.to_owned(), text);
        Ok(Self {
            source,
            release,
            version,
            files,
        })
    }
}

/// The patches that do not fit the next release.
fn patches(source: &SolutionSource, objects: &mut ManifestObjects<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    // With several sets, only `pack` knows which objects are in which.
    let [set] = &source.spec.manifests[..] else {
        return notes;
    };
    for (number, patch) in (1..).zip(&set.patches) {
        if let Err(error) = manifests::patch(&mut objects.all, patch) {
            let about = format!("patch {number} of the set `{}`", set.name);
            let text = format!("does not fit this release: {error}");
            notes.push(Note::new(NoteWeight::Decide, about, text));
        }
    }
    notes
}

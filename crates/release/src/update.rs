//! Updates of a source tree to the next release, for `solution init --from … --update`. [`update`] drafts the next
//! release and merges it with the edits since the last draft, which `.solution-init` holds.

use std::path::{Path, PathBuf};

use manifests::{ManifestFiles, ManifestObjects};
use schemars::JsonSchema;
use schemas::{SolutionId, SolutionName, SolutionSource, Version};
use serde::Serialize;

use crate::changes::{self, Changes};
use crate::merge::{self, Merge};
use crate::notes::{Note, NoteWeight};
use crate::paths::{DRAFT, MANIFESTS, NOTES, SOURCE};
use crate::unchanged::UnchangedRelease;
use crate::{InitOptions, ReleaseError};

/// The result of an update.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UpdateReport {
    /// The name of the Solution.
    pub solution: SolutionName,
    /// The version of the Solution.
    pub version: Version,
    /// The version that it was.
    pub from: Version,
    /// The files that were written.
    pub files: Vec<PathBuf>,
    /// The files that were removed.
    pub removed: Vec<PathBuf>,
    /// The files that were changed both here and in the release, and do not go together. If there are any, the exit code
    /// is 1.
    pub conflicts: Vec<PathBuf>,
    /// How many images it has.
    pub images: usize,
    /// The differences between the releases.
    pub changes: ReleaseChanges,
    /// Notes.
    pub notes: Vec<Note>,
}

/// The differences between the releases.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReleaseChanges {
    /// The objects, as `KIND [NAMESPACE/]NAME`.
    pub objects: Changes,
    /// The images, by their references.
    pub images: Changes,
}

/// Updates a tree to another release. `git` is the program that merges edited files, if it is installed.
///
/// # Errors
///
/// Fails before it writes anything if `directory` has no draft or unresolved conflicts, or if files need a merge and
/// `git` is `None`.
pub fn update(
    directory: &Path,
    release: &ManifestFiles,
    version: Option<Version>,
    git: Option<&Path>,
) -> Result<UpdateReport, ReleaseError> {
    let last = PreviousDraft::read(directory)?;
    merge::check_resolved(directory, &last.files)?;
    let own = merge::read(directory, SOURCE)?;
    let own = own.ok_or_else(|| ReleaseError::NotMade(directory.to_owned()))?;
    let from = parsed(&own)?.spec.version;
    // A version that the user edited is kept until the user gives another.
    let stays = version.is_none() && from != last.version;
    let options = InitOptions {
        name: Some(last.source.metadata.name.clone()),
        version: version.or_else(|| stays.then(|| from.clone())),
    };
    let next = UnchangedRelease::of(release, &options)?;
    let draft = next.tree(&release.name)?;
    let mut objects = manifests::parse(&release.files)?;
    let object_changes = changes::of(&manifests::parse(&last.release.files)?, &objects);
    let [before, after] = [&last.source, &draft.source].map(|source| &source.spec.images[..]);
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
        // Lines can merge without a conflict into a file that is not valid.
        merged.conflicts.push(SOURCE.to_owned());
    }
    let source = source.unwrap_or(draft.source);
    notes.extend(draft.notes);
    let in_tree = |paths: Vec<String>| {
        let paths = paths.iter();
        paths.map(|path| directory.join(path)).collect()
    };
    let id = SolutionId::new(source.metadata.name, source.spec.version);
    let id = id.map_err(ReleaseError::Id)?;
    Ok(UpdateReport {
        solution: id.name().clone(),
        version: id.version().clone(),
        from,
        files: in_tree(merged.written.into_keys().collect()),
        removed: in_tree(merged.removed),
        conflicts: in_tree(merged.conflicts),
        images: source.spec.images.len(),
        changes: ReleaseChanges {
            objects: object_changes,
            images: image_changes,
        },
        notes,
    })
}

fn parsed(source: &[u8]) -> Result<SolutionSource, ReleaseError> {
    SolutionSource::from_slice(source).map_err(ReleaseError::Source)
}

/// The draft from which the tree was created or last updated.
struct PreviousDraft {
    source: SolutionSource,
    release: ManifestFiles,
    /// The version that the release declares.
    version: Version,
    /// The files of the draft, by path in the tree.
    files: merge::TreeFiles,
}

impl PreviousDraft {
    fn read(directory: &Path) -> Result<Self, ReleaseError> {
        let draft = directory.join(DRAFT);
        let text = merge::read(&draft, SOURCE)?;
        let text = text.ok_or_else(|| ReleaseError::NotMade(directory.to_owned()))?;
        let source = parsed(&text)?;
        let release = manifests::read(&draft.join(MANIFESTS))?;
        let options = InitOptions {
            name: Some(source.metadata.name.clone()),
            version: Some(source.spec.version.clone()),
        };
        let version = UnchangedRelease::of(&release, &options)?.version;
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

/// Returns notes about patches that do not apply to the next release.
fn patches(source: &SolutionSource, objects: &mut ManifestObjects<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    // With multiple sets, only `pack` knows which objects belong to which set.
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

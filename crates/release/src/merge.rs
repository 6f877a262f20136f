//! Three-way merges of a source tree: the last draft, the edited files and the new draft. `git merge-file` merges files
//! that both sides changed; all other files are copied or removed.
//!
//! [`Merge::run`] stages every result in a directory of the tree and moves the files at the end, so an interrupted
//! merge can be run again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use manifests::ManifestsError;
use schemas::limits::YAML_STREAM_SIZE;

use crate::ReleaseError;
use crate::paths::{NOTES, SOURCE, draft, is_manifest};

/// File contents, by path in the tree.
pub(crate) type TreeFiles = BTreeMap<String, Vec<u8>>;

/// The directory in which the new draft and the merged files are staged.
const STAGE: &str = ".solution-init.new";

/// The names of the three sides in conflict markers.
const SIDES: [&str; 3] = ["edited", "last draft", "new draft"];

/// The inputs of a merge.
pub(crate) struct Merge<'a> {
    pub(crate) directory: &'a Path,
    /// The draft from which the tree was created or last updated.
    pub(crate) last: &'a TreeFiles,
    /// The new draft.
    pub(crate) next: &'a TreeFiles,
    /// The path of the `git` program, if it is installed.
    pub(crate) git: Option<&'a Path>,
}

/// The result of a merge.
#[derive(Debug, Default)]
pub(crate) struct MergeResult {
    /// The files that change, with their new content.
    pub(crate) written: TreeFiles,
    pub(crate) removed: Vec<String>,
    /// The files that the user must resolve.
    pub(crate) conflicts: Vec<String>,
}

/// Reads a file of the tree. Returns `None` if it does not exist.
pub(crate) fn read(directory: &Path, path: &str) -> Result<Option<Vec<u8>>, ReleaseError> {
    match files::read(&directory.join(path), YAML_STREAM_SIZE) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(ManifestsError::from(error).into()),
    }
}

/// Fails if a file of the tree has conflict markers of an earlier merge.
pub(crate) fn check_resolved(directory: &Path, last: &TreeFiles) -> Result<(), ReleaseError> {
    let begin = format!("<<<<<<< {}", SIDES[0]);
    let mut unresolved = Vec::new();
    for path in last.keys() {
        let ours = read(directory, path)?.unwrap_or_default();
        let mut lines = ours.split(|byte| *byte == b'\n');
        if lines.any(|line| line.trim_ascii_end() == begin.as_bytes()) {
            unresolved.push(path.clone());
        }
    }
    if unresolved.is_empty() {
        return Ok(());
    }
    Err(ReleaseError::Unresolved(unresolved))
}

impl Merge<'_> {
    /// Merges all files. If an error or an interruption stops it, no edit is lost, and running it again completes the
    /// merge.
    pub(crate) fn run(&self) -> Result<MergeResult, ReleaseError> {
        let mut merged = MergeResult::default();
        let both = self.one_sided(&mut merged)?;
        if self.git.is_none() && !both.is_empty() {
            return Err(ReleaseError::NoGit(both));
        }
        let stage = self.directory.join(STAGE);
        // An interrupted run may have left its stage.
        let _ = fs::remove_dir_all(&stage);
        let done = self.two_sided(&stage, &both, &mut merged);
        let done = done.and_then(|()| self.move_all(&stage, &merged));
        let _ = fs::remove_dir_all(&stage);
        done.map(|()| merged)
    }

    /// Handles the files that at most one side changed, and returns the paths that both sides changed.
    fn one_sided(&self, merged: &mut MergeResult) -> Result<Vec<String>, ReleaseError> {
        let mut both = Vec::new();
        let paths: BTreeSet<&String> = self.last.keys().chain(self.next.keys()).collect();
        for path in paths {
            let ours = read(self.directory, path)?;
            let [last, next] = [self.last, self.next].map(|draft| draft.get(path));
            let is_edited = ours.as_ref() != last;
            // Files of the release that the user deleted stay deleted, and the user's ticks in NOTES.md are kept.
            let is_own = (ours.is_none() && is_manifest(path)) || (ours.is_some() && path == NOTES);
            if last == next || ours.as_ref() == next || (is_edited && is_own) {
                continue;
            }
            match (ours, next) {
                (Some(_), Some(_)) if is_edited => both.push(path.clone()),
                (Some(_), None) if is_edited => merged.conflicts.push(path.clone()),
                (_, Some(next)) => drop(merged.written.insert(path.clone(), next.clone())),
                (_, None) => merged.removed.push(path.clone()),
            }
        }
        Ok(both)
    }

    /// Merges the files that both sides changed, and stages all results. Nothing in the tree changes yet.
    fn two_sided(
        &self,
        stage: &Path,
        both: &[String],
        merged: &mut MergeResult,
    ) -> Result<(), ReleaseError> {
        let create = |path: String, bytes: &[u8]| {
            let path = stage.join(path);
            files::create(&path, bytes).map_err(|source| ReleaseError::Write(path, source))
        };
        for (path, bytes) in self.next {
            create(draft(path), bytes)?;
        }
        for path in both {
            let (conflicts, bytes) = self.by_git(stage, path)?;
            if conflicts > 0 {
                merged.conflicts.push(path.clone());
            }
            merged.written.insert(path.clone(), bytes);
        }
        for (path, bytes) in &merged.written {
            create(path.clone(), bytes)?;
        }
        Ok(())
    }

    /// Merges one file with Git. Returns the number of conflicts and the merged content.
    fn by_git(&self, stage: &Path, path: &str) -> Result<(i32, Vec<u8>), ReleaseError> {
        let failed = |source| ReleaseError::Git(path.to_owned(), source);
        // A file that is new on both sides has no common ancestor.
        let last = if self.last.contains_key(path) {
            self.directory.join(draft(path))
        } else {
            "/dev/null".into()
        };
        let git = self.git.expect("nothing is merged without git");
        let mut command = Command::new(git);
        command.args(["merge-file", "-p"]);
        command.args(SIDES.iter().flat_map(|side| ["-L", side]));
        command.arg("--").arg(self.directory.join(path)).arg(last);
        command.arg(stage.join(draft(path))).stdin(Stdio::null());
        let output = command.output().map_err(failed)?;
        // The exit status of `git merge-file` is the number of conflicts, truncated to 127; errors are negative, so
        // above 127.
        if let Some(conflicts @ 0..=127) = output.status.code() {
            return Ok((conflicts, output.stdout));
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(failed(io::Error::other(said.trim().to_owned())))
    }

    /// Moves the staged files into the tree.
    ///
    /// Each file is moved before its draft: if the run stops in between, the next merge of this file gives the same
    /// result. `solution.yaml` is first, because its version shows which update is in progress.
    fn move_all(&self, stage: &Path, merged: &MergeResult) -> Result<(), ReleaseError> {
        let others = self.next.keys().map(String::as_str);
        let others = others.filter(|path| *path != SOURCE);
        for path in [SOURCE].into_iter().chain(others) {
            if merged.written.contains_key(path) {
                self.move_in(stage, path)?;
            }
            self.move_in(stage, &draft(path))?;
        }
        for path in self
            .last
            .keys()
            .filter(|path| !self.next.contains_key(*path))
        {
            if merged.removed.contains(path) {
                self.remove(path)?;
            }
            self.remove(&draft(path))?;
        }
        Ok(())
    }

    /// Removes a file, and its parent directories that are empty afterwards.
    fn remove(&self, path: &str) -> Result<(), ReleaseError> {
        let file = self.directory.join(path);
        match fs::remove_file(&file) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(ReleaseError::Write(file, source));
            }
            _ => {}
        }
        let above = Path::new(path).ancestors().skip(1);
        for directory in above.filter(|above| !above.as_os_str().is_empty()) {
            let _ = fs::remove_dir(self.directory.join(directory));
        }
        Ok(())
    }

    fn move_in(&self, stage: &Path, path: &str) -> Result<(), ReleaseError> {
        let target = self.directory.join(path);
        let parent = target.parent().map_or(Ok(()), fs::create_dir_all);
        let moved = parent.and_then(|()| fs::rename(stage.join(path), &target));
        moved.map_err(|source| ReleaseError::Write(target, source))
    }
}

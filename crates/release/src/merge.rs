//! Three-way merges of a tree: the draft of before, what became of it, and the new draft. Git merges the files that were
//! edited on both sides.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use manifests::ManifestsError;
use schemas::limits::YAML_STREAM_SIZE;

use crate::ReleaseError;
use crate::paths::{NOTES, SOURCE, draft, is_manifest};

/// Files, by path in the tree.
pub(crate) type TreeFiles = BTreeMap<String, Vec<u8>>;

/// The directory where the new draft and the merged files are until all are there.
const STAGE: &str = ".solution-init.new";

/// The names of the three sides in a file with conflicts.
const SIDES: [&str; 3] = ["edited", "last draft", "new draft"];

/// The drafts that a tree is merged from.
pub(crate) struct Merge<'a> {
    pub(crate) directory: &'a Path,
    /// The draft of before.
    pub(crate) last: &'a TreeFiles,
    /// The new draft.
    pub(crate) next: &'a TreeFiles,
    /// The program, if there is one.
    pub(crate) git: Option<&'a Path>,
}

/// The outcome for the files of a tree.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    /// The files that change, as they are then.
    pub(crate) written: TreeFiles,
    pub(crate) removed: Vec<String>,
    /// The files that somebody has to look at.
    pub(crate) conflicts: Vec<String>,
}

/// A file of a tree, if it is there.
pub(crate) fn read(directory: &Path, path: &str) -> Result<Option<Vec<u8>>, ReleaseError> {
    match files::read(&directory.join(path), YAML_STREAM_SIZE) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(ManifestsError::from(error).into()),
    }
}

/// Refuses a tree in which conflicts of a merge of before are not resolved.
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
    /// Merges all files. Whatever fails, nothing that was edited is lost, and merging again completes it.
    pub(crate) fn run(&self) -> Result<Merged, ReleaseError> {
        let mut merged = Merged::default();
        let both = self.one_sided(&mut merged)?;
        if self.git.is_none() && !both.is_empty() {
            return Err(ReleaseError::NoGit(both));
        }
        let stage = self.directory.join(STAGE);
        // What an interruption has left.
        let _ = fs::remove_dir_all(&stage);
        let done = self.two_sided(&stage, &both, &mut merged);
        let done = done.and_then(|()| self.move_all(&stage, &merged));
        let _ = fs::remove_dir_all(&stage);
        done.map(|()| merged)
    }

    /// Decides about what only one side has changed. Gives the files that both have.
    fn one_sided(&self, merged: &mut Merged) -> Result<Vec<String>, ReleaseError> {
        let mut both = Vec::new();
        let paths: BTreeSet<&String> = self.last.keys().chain(self.next.keys()).collect();
        for path in paths {
            let ours = read(self.directory, path)?;
            let [last, next] = [self.last, self.next].map(|draft| draft.get(path));
            let is_edited = ours.as_ref() != last;
            // What was taken out stays out, and what was ticked off stays.
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

    /// Merges what both sides have changed. Everything is then beside the tree.
    fn two_sided(
        &self,
        stage: &Path,
        both: &[String],
        merged: &mut Merged,
    ) -> Result<(), ReleaseError> {
        let create = |path: String, bytes: &[u8]| {
            let path = stage.join(path);
            files::create(&path, bytes).map_err(|source| ReleaseError::Write { path, source })
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

    /// The number of conflicts, and the merged file.
    fn by_git(&self, stage: &Path, path: &str) -> Result<(i32, Vec<u8>), ReleaseError> {
        let failed = |source| ReleaseError::Git {
            path: path.to_owned(),
            source,
        };
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
        // Git ends with the number of conflicts, at most 127.
        if let Some(conflicts @ 0..=127) = output.status.code() {
            return Ok((conflicts, output.stdout));
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(failed(io::Error::other(said.trim().to_owned())))
    }

    /// Moves everything in: each file before its draft, since a file that is merged twice is as if it were merged once; and
    /// `solution.yaml` before all others, since it says by its version what is under way.
    fn move_all(&self, stage: &Path, merged: &Merged) -> Result<(), ReleaseError> {
        let others = self.next.keys().map(String::as_str);
        let others = others.filter(|path| *path != SOURCE);
        for path in [SOURCE].into_iter().chain(others) {
            if merged.written.contains_key(path) {
                self.move_in(stage, path)?;
            }
            self.move_in(stage, &draft(path))?;
        }
        for path in self.last.keys().filter(|it| !self.next.contains_key(*it)) {
            if merged.removed.contains(path) {
                self.remove(path)?;
            }
            self.remove(&draft(path))?;
        }
        Ok(())
    }

    /// Removes a file, and the directories above it that are empty then.
    fn remove(&self, path: &str) -> Result<(), ReleaseError> {
        let file = self.directory.join(path);
        match fs::remove_file(&file) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(ReleaseError::Write { path: file, source });
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
        moved.map_err(|source| ReleaseError::Write {
            path: target,
            source,
        })
    }
}

//! The login files of docker and podman, as they are changed: one that somebody else could have written, or put a link in
//! the place of, is refused.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use files::ownership::{self, ResolvedPath};
use registry::LoginDocument;

use crate::failure::{self, Failure, cannot};
use crate::own::{self, Modes, Write};
use crate::{disk, environment};

/// Nobody else reads a password.
const MODES: Modes = Modes {
    file: 0o600,
    folder: 0o700,
};

/// A login file, whether it exists or not.
pub(crate) struct LoginFile {
    /// As it was named.
    pub(crate) path: PathBuf,
    pub(crate) document: LoginDocument,
    /// Where it lies, without links.
    place: PathBuf,
}

/// The file that a login goes to: the named one, else the one that readers find first.
pub(crate) fn path(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = named.map(Path::to_owned).or_else(environment::login_file);
    path.ok_or_else(|| {
        Failure::unknown(anyhow!(
            "cannot find your logins: the home directory is unknown"
        ))
        .hint("set HOME, or name the login file with `--authfile`")
    })
}

/// The files that readers look into.
pub(crate) fn paths(named: Option<&Path>) -> Vec<PathBuf> {
    named.map_or_else(environment::logins, |named| vec![named.to_owned()])
}

/// Those of the files but one that hold such a login, as far as they can be read.
pub(crate) fn also_in(
    paths: &[PathBuf],
    but: &Path,
    holds: impl Fn(&LoginDocument) -> bool,
) -> Vec<PathBuf> {
    let has_one = |path: &PathBuf| {
        let bytes = disk::read(path).ok();
        let document = bytes.and_then(|bytes| LoginDocument::from_slice(&bytes).ok());
        document.is_some_and(|document| holds(&document))
    };
    let others = paths.iter().filter(|path| *path != but);
    others.filter(|path| has_one(path)).cloned().collect()
}

/// Reads a login file, or begins one.
pub(crate) fn open(path: &Path) -> Result<LoginFile, Failure> {
    let (place, document) = read(path)
        .with_context(|| format!("cannot use the login file `{}`", path.display()))
        .map_err(failure::logins)?;
    Ok(LoginFile {
        path: path.to_owned(),
        document,
        place,
    })
}

fn read(path: &Path) -> anyhow::Result<(PathBuf, LoginDocument)> {
    let name = path
        .file_name()
        .ok_or_else(|| anyhow!("the path names no file"))?;
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let target = ownership::directory(folder.unwrap_or(Path::new(".")), own::user())?;
    let place = match target {
        ResolvedPath::There(folder) => folder.join(name),
        ResolvedPath::Missing(folder) => return Ok((folder.join(name), LoginDocument::default())),
    };
    match place.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((place, LoginDocument::default()));
        }
        _ => {}
    }
    let document = LoginDocument::from_slice(&own::read(&place, disk::SIZE)?)?;
    Ok((place, document))
}

impl LoginFile {
    /// Writes it in one step, for its owner only.
    pub(crate) fn write(&self) -> Result<(), Failure> {
        let bytes = self.document.to_bytes();
        let written = own::write(&self.place, &bytes, MODES, Write::Replace);
        written.map_err(cannot("write", &self.path))
    }
}

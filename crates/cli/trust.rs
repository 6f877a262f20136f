//! The trust policies of this machine and this user: one file each, in two folders that nobody else may write to.
//!
//! A policy that is not read could be the stricter one for a Solution, so nothing in the folders is passed over in
//! silence: a file of another name, of somebody else, or with a mistake in it ends the command.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use schemas::{KubernetesName, TrustPolicy, limits};
use signing::{Policies, Policy};

use crate::environment;
use crate::exit::Failure;

/// The policies of this machine.
const SYSTEM: &str = "/etc/solution/trust.d";
/// What a policy's file is called after its name.
const EXTENSION: &str = ".yaml";

/// Whose policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Everybody's on this machine.
    System,
    /// Those of the user who runs the program.
    User,
}

/// A policy and the file that it stands in.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) path: PathBuf,
    pub(crate) document: TrustPolicy,
    pub(crate) policy: Policy,
}

/// The folder of a scope; none for a user without a home.
pub(crate) fn folder(scope: Scope) -> Option<PathBuf> {
    match scope {
        Scope::System => Some(PathBuf::from(SYSTEM)),
        Scope::User => {
            let config = environment::variable("XDG_CONFIG_HOME").map(PathBuf::from);
            let config = config.filter(|path| path.is_absolute());
            let config = config.or_else(|| Some(environment::home()?.join(".config")));
            Some(config?.join("solution/trust.d"))
        }
    }
}

/// All policies, those of the machine first, each folder's in the order of their names.
pub(crate) fn stored() -> Result<Vec<Stored>, Failure> {
    let mut all = Vec::new();
    for folder in [Scope::System, Scope::User].into_iter().filter_map(folder) {
        read_folder(&folder, &mut all).map_err(refused)?;
    }
    Ok(all)
}

/// The policies, put together.
pub(crate) fn policies() -> Result<Policies, Failure> {
    together(&stored()?)
}

/// Policies that are to stand beside each other.
pub(crate) fn together(stored: &[Stored]) -> Result<Policies, Failure> {
    let policies = stored.iter().map(|stored| stored.policy.clone()).collect();
    Policies::new(policies)
        .map_err(|error| Failure::no(error).hint("`solution trust list` shows the files"))
}

fn refused(error: anyhow::Error) -> Failure {
    let failure = match error.downcast_ref::<io::Error>() {
        Some(_) => Failure::unknown(error),
        None => Failure::no(error),
    };
    failure.hint("nothing is trusted as long as one policy cannot be: mend it or remove it")
}

fn read_folder(folder: &Path, all: &mut Vec<Stored>) -> anyhow::Result<()> {
    match fs::metadata(folder) {
        Ok(metadata) => check_owner(folder, &metadata)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(cannot_read(folder, error)),
    }
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut names: Vec<_> = entries
        .map_err(|error| cannot_read(folder, error))?
        .into_iter()
        .map(|entry| entry.file_name())
        // What editors and package managers keep beside a file.
        .filter(|name| !name.as_encoded_bytes().starts_with(b"."))
        .collect();
    names.sort();
    if all.len() + names.len() > limits::TRUST_POLICIES {
        let most = limits::TRUST_POLICIES;
        bail!(
            "`{}` holds too much: at most {most} policies are read",
            folder.display()
        );
    }
    for name in names {
        all.push(read_file(&folder.join(name))?);
    }
    Ok(())
}

fn read_file(path: &Path) -> anyhow::Result<Stored> {
    let shown = path.display();
    let name: KubernetesName = path
        .file_name()
        .and_then(|name| name.to_str()?.strip_suffix(EXTENSION)?.parse().ok())
        .ok_or_else(|| anyhow!("`{shown}` is not called as a policy is, `<name>{EXTENSION}`"))?;
    let mut options = OpenOptions::new();
    // A link may lead to where others write, and a pipe would wait for them.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    options.read(true).custom_flags(flags.bits().cast_signed());
    let mut file = match options.open(path) {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            bail!("`{shown}` is a link, and only files are read")
        }
        other => other.map_err(|error| cannot_read(path, error))?,
    };
    let metadata = file.metadata().map_err(|error| cannot_read(path, error))?;
    if !metadata.is_file() {
        bail!("`{shown}` is not a file");
    }
    check_owner(path, &metadata)?;
    let mut bytes = Vec::new();
    (&mut file)
        .take(limits::TRUST_POLICY_SIZE + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| cannot_read(path, error))?;
    if bytes.len() as u64 > limits::TRUST_POLICY_SIZE {
        let most = limits::TRUST_POLICY_SIZE;
        bail!("`{shown}` has more than {most} bytes");
    }
    let document = TrustPolicy::from_slice(&bytes)
        .with_context(|| format!("`{shown}` is not a trust policy"))?;
    if document.metadata.name != name {
        bail!(
            "`{shown}` holds the policy `{}`: the names must be the same",
            document.metadata.name
        );
    }
    let policy = Policy::new(&document).with_context(|| format!("`{shown}` cannot be used"))?;
    Ok(Stored {
        path: path.to_owned(),
        document,
        policy,
    })
}

fn cannot_read(path: &Path, error: io::Error) -> anyhow::Error {
    anyhow::Error::new(error).context(format!("cannot read `{}`", path.display()))
}

/// Refuses what somebody else could have written: only root and the user who runs the program decide whom he trusts.
fn check_owner(path: &Path, metadata: &Metadata) -> anyhow::Result<()> {
    let user = rustix::process::geteuid().as_raw();
    match others(metadata.uid(), metadata.mode(), user) {
        Some(others) => bail!(
            "`{}` {others}, who could change what is trusted here",
            path.display()
        ),
        None => Ok(()),
    }
}

/// Who else than root and this user may write to something of this owner and mode.
fn others(owner: u32, mode: u32, user: u32) -> Option<String> {
    if owner != 0 && owner != user {
        return Some(format!("belongs to user {owner}"));
    }
    (mode & 0o022 != 0).then(|| format!("can be written by others (mode {:04o})", mode & 0o7777))
}

/// Where a policy of this name stands in a folder.
pub(crate) fn file(folder: &Path, name: &KubernetesName) -> PathBuf {
    folder.join(format!("{name}{EXTENSION}"))
}

/// What is to become of a policy's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// There must be none yet.
    New,
    /// It takes the place of the one that is there.
    Replace,
}

/// Writes a policy in one step: readers see the old one or the new one, never a part.
pub(crate) fn write(path: &Path, document: &TrustPolicy, write: Write) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let store = || -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(folder)?;
        // Its name begins with a dot, so that readers pass it over.
        let mut temporary = tempfile::Builder::new()
            .prefix(".solution-")
            .permissions(Permissions::from_mode(0o644))
            .tempfile_in(folder)
            .map_err(|error| io::Error::from(error.kind()))?;
        temporary.write_all(document.to_text().as_bytes())?;
        temporary.as_file().sync_all()?;
        let renamed = match write {
            Write::New => temporary.persist_noclobber(path),
            Write::Replace => temporary.persist(path),
        };
        renamed.map_err(|failed| failed.error)?;
        File::open(folder)?.sync_all()
    };
    store()
        .with_context(|| format!("cannot write `{}`", path.display()))
        .map_err(Failure::unknown)
}

#[cfg(test)]
mod tests {
    use super::others;

    #[test]
    fn only_root_and_the_user_write_policies() {
        for (owner, mode, user, refused) in [
            (0, 0o644, 0, None),
            (0, 0o644, 1000, None),
            (1000, 0o100_600, 1000, None),
            (1000, 0o644, 0, Some("belongs to user 1000")),
            (1001, 0o600, 1000, Some("belongs to user 1001")),
            (0, 0o664, 0, Some("(mode 0664)")),
            (0, 0o646, 0, Some("(mode 0646)")),
            (1000, 0o041_777, 1000, Some("(mode 1777)")),
        ] {
            let found = others(owner, mode, user);
            match (&found, refused) {
                (None, None) => {}
                (Some(found), Some(words)) if found.contains(words) => {}
                _ => panic!("{owner} {mode:o} {user}: {found:?}"),
            }
        }
    }
}

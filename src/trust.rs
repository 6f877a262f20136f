//! The trust policies of this machine and this user: one file each, in two folders that no other user may write to.
//!
//! A policy that is not read could be a stricter one for a Solution, so the program never skips a file in these folders
//! silently. A file with another kind of name, with another owner or with a mistake ends the command. The same is true
//! for a folder that another user could remove or replace: everything above it, along every link, must belong to root
//! or the user, even if the folder does not exist. The program reports which folders were read.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context as _, anyhow, bail};
use files::ownership::{self, OwnershipError, ResolvedPath};
use schemars::JsonSchema;
use schemas::{KeyId, KubernetesName, TrustPolicy, limits};
use serde::Serialize;
use signing::{Policies, Policy, PolicyError, PublicKey};

use crate::args::Output;
use crate::disk::{self, Modes, WriteMode, cannot_read, effective_user};
use crate::failure::{self, Failure, cannot};
use crate::{environment, render};

/// The folder of this machine's policies.
const SYSTEM: &str = "/etc/solution/trust.d";
/// The extension of policy files.
const EXTENSION: &str = ".yaml";

/// The owner of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The policies of this machine, which apply to all users.
    System,
    /// The policies of the current user.
    User,
}

/// A policy with its file.
#[derive(Clone, Debug)]
pub(crate) struct StoredPolicy {
    pub(crate) path: PathBuf,
    pub(crate) document: TrustPolicy,
    pub(crate) policy: Policy,
}

impl StoredPolicy {
    /// Parses the policy in a document.
    pub(crate) fn new(path: PathBuf, document: TrustPolicy) -> Result<Self, PolicyError> {
        let policy = Policy::new(&document)?;
        Ok(Self {
            path,
            document,
            policy,
        })
    }

    /// Returns each key by its id, with its comment.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (KeyId, Option<&str>)> {
        self.document.spec.keys.iter().filter_map(|key| {
            let id = PublicKey::from_pem(&key.pem).ok()?.id();
            Some((id, key.comment.as_deref()))
        })
    }
}

/// A folder that was looked into.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "PolicyFolder")]
pub(crate) struct PolicyDirectory {
    /// The path of the folder.
    path: PathBuf,
    /// How many policies it has; null if there is no such folder.
    policies: Option<usize>,
}

/// Returns the folder of a scope. It fails for a user without a known folder, because policies could be missed.
pub(crate) fn folder(scope: Scope) -> Result<PathBuf, Failure> {
    let config = match scope {
        Scope::System => return Ok(PathBuf::from(SYSTEM)),
        Scope::User => environment::config(),
    };
    config.map(|config| config.join("trust.d")).ok_or_else(|| {
        Failure::unknown(anyhow!(
            "cannot find your trust policies: the home directory is unknown"
        ))
        .hint("set HOME: /etc/passwd does not list this user")
    })
}

/// Returns all policies and the searched directories. Policies of the machine come first, then in the order of their
/// names.
pub(crate) fn stored() -> Result<(Vec<StoredPolicy>, Vec<PolicyDirectory>), Failure> {
    let (mut all, mut folders) = (Vec::new(), Vec::new());
    for path in [folder(Scope::System)?, folder(Scope::User)?] {
        let policies = read_folder(&path, &mut all).map_err(failure::policies)?;
        folders.push(PolicyDirectory { path, policies });
    }
    Ok((all, folders))
}

/// Returns the combined policies and the searched directories.
pub(crate) fn policies() -> Result<(Policies, Vec<PolicyDirectory>), Failure> {
    let (stored, folders) = stored()?;
    Ok((together(&stored)?, folders))
}

/// Describes the searched policy directories in one line.
pub(crate) fn in_words(folders: &[PolicyDirectory]) -> String {
    let words = folders.iter().map(|PolicyDirectory { path, policies }| {
        let found = match policies {
            None => "no such directory".to_owned(),
            Some(0) => "empty".to_owned(),
            Some(1) => "1 policy".to_owned(),
            Some(policies) => format!("{policies} policies"),
        };
        format!("{} ({found})", path.display())
    });
    format!("looked for policies in {}", render::list(words))
}

/// Prints the searched directories to people.
pub(crate) fn print_policy(folders: &[PolicyDirectory], output: Output) {
    if output == Output::Human && !folders.is_empty() {
        render::note(in_words(folders));
    }
}

/// Combines policies. Fails if they contradict each other.
pub(crate) fn together(stored: &[StoredPolicy]) -> Result<Policies, Failure> {
    let policies = stored.iter().map(|stored| stored.policy.clone()).collect();
    Policies::new(policies).map_err(failure::together)
}

/// Reads the policies of a folder, and returns their number. None if the folder does not exist.
fn read_folder(folder: &Path, all: &mut Vec<StoredPolicy>) -> anyhow::Result<Option<usize>> {
    let target = ownership::directory(folder, effective_user());
    let target = match target.map_err(|error| untrusted(folder, error))? {
        ResolvedPath::There(target) => target,
        ResolvedPath::Missing(_) => return Ok(None),
    };
    let entries = fs::read_dir(target).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(|error| cannot_read(folder, error))?;
    let mut names: Vec<_> = entries.iter().map(fs::DirEntry::file_name).collect();
    // Editors and package managers keep such files next to others.
    names.retain(|name| !name.as_encoded_bytes().starts_with(b"."));
    names.sort();
    let (shown, most) = (folder.display(), limits::TRUST_POLICIES);
    if all.len() + names.len() > most {
        bail!("`{shown}` contains too many files: the limit is {most} policies");
    }
    let policies = names.len();
    for name in names {
        all.push(read_file(&folder.join(name))?);
    }
    Ok(Some(policies))
}

fn read_file(path: &Path) -> anyhow::Result<StoredPolicy> {
    let shown = path.display();
    let name = path.file_name().and_then(|name| name.to_str());
    let name: KubernetesName = name
        .and_then(|name| name.strip_suffix(EXTENSION)?.parse().ok())
        .ok_or_else(|| {
            anyhow!("`{shown}` does not have the name of a policy, `<name>{EXTENSION}`")
        })?;
    let bytes = disk::read_owned(path, limits::TRUST_POLICY_SIZE);
    let bytes = bytes.map_err(|error| match error.downcast() {
        Ok(exposed) => untrusted(path, exposed),
        Err(other) => other,
    })?;
    let document = TrustPolicy::from_slice(&bytes)
        .with_context(|| format!("`{shown}` is not a trust policy"))?;
    let held = &document.metadata.name;
    if *held != name {
        bail!("`{shown}` contains the policy `{held}`: the names must be equal");
    }
    StoredPolicy::new(path.to_owned(), document)
        .with_context(|| format!("cannot use the policy in `{shown}`"))
}

/// Returns the error for a path that another user could have written or redirected.
fn untrusted(path: &Path, error: OwnershipError) -> anyhow::Error {
    match error {
        OwnershipError::Io(path, source) => cannot_read(&path, source),
        other => anyhow::Error::new(other).context(format!("cannot trust `{}`", path.display())),
    }
}

/// Returns the path of a policy in a directory.
pub(crate) fn file(folder: &Path, name: &KubernetesName) -> PathBuf {
    folder.join(format!("{name}{EXTENSION}"))
}

/// The modes of policy files. They contain no secrets, so all users may read them.
const MODES: Modes = Modes {
    file: 0o644,
    folder: 0o755,
};

/// Writes a policy in one step. Readers see the old or the new content, never a part.
pub(crate) fn write(path: &Path, document: &TrustPolicy, write: WriteMode) -> Result<(), Failure> {
    let text = document.to_text();
    disk::write_atomically(path, text.as_bytes(), MODES, write).map_err(cannot("write", path))
}

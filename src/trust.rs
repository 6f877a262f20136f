//! The trust policies of this machine and this user: one file each, in two folders that nobody else may write to.
//!
//! A policy that is not read could be the stricter one for a Solution, so nothing in the folders is passed over in
//! silence: a file of another name, of somebody else, or with a mistake in it ends the command. So does a folder that
//! somebody else could take away, or put another in the place of: everything above it, along every link, must be root's
//! or the user's too, also when the folder does not exist. And whoever asks is told which folders were read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use files::ownership::{self, OwnershipError, ResolvedPath};
use schemars::JsonSchema;
use schemas::{KeyId, KubernetesName, TrustPolicy, limits};
use serde::Serialize;
use signing::{Policies, Policy, PolicyError, PublicKey};

use crate::args::Output;
use crate::failure::{self, Failure, cannot};
use crate::own::{self, Modes, Write, cannot_read, user};
use crate::{environment, render};

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
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) path: PathBuf,
    pub(crate) document: TrustPolicy,
    pub(crate) policy: Policy,
}

impl Stored {
    /// The policy that a document describes.
    pub(crate) fn new(path: PathBuf, document: TrustPolicy) -> Result<Self, PolicyError> {
        let policy = Policy::new(&document)?;
        Ok(Self {
            path,
            document,
            policy,
        })
    }

    /// Each key by its id, with whose it is.
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
pub(crate) struct Folder {
    /// The path of the folder.
    path: PathBuf,
    /// How many policies it has; null if there is no such folder.
    policies: Option<usize>,
}

/// The folder of a scope. A user whose folder is not known could have policies there, so nothing goes on without them.
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

/// All policies, those of the machine first, each folder's in the order of their names; and where they were looked for.
pub(crate) fn stored() -> Result<(Vec<Stored>, Vec<Folder>), Failure> {
    let (mut all, mut folders) = (Vec::new(), Vec::new());
    for path in [folder(Scope::System)?, folder(Scope::User)?] {
        let policies = read_folder(&path, &mut all).map_err(failure::policies)?;
        folders.push(Folder { path, policies });
    }
    Ok((all, folders))
}

/// The policies, put together, and where they were looked for.
pub(crate) fn policies() -> Result<(Policies, Vec<Folder>), Failure> {
    let (stored, folders) = stored()?;
    Ok((together(&stored)?, folders))
}

/// Where policies were looked for, in one line.
pub(crate) fn in_words(folders: &[Folder]) -> String {
    let words = folders.iter().map(|Folder { path, policies }| {
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

/// Says where policies were looked for, if a person reads.
pub(crate) fn say(folders: &[Folder], output: Output) {
    if output == Output::Human && !folders.is_empty() {
        render::note(in_words(folders));
    }
}

/// Policies that are to stand beside each other.
pub(crate) fn together(stored: &[Stored]) -> Result<Policies, Failure> {
    let policies = stored.iter().map(|stored| stored.policy.clone()).collect();
    Policies::new(policies).map_err(failure::together)
}

/// Reads the policies of a folder: how many it has, or none if there is no such folder.
fn read_folder(folder: &Path, all: &mut Vec<Stored>) -> anyhow::Result<Option<usize>> {
    let target = ownership::directory(folder, user());
    let target = match target.map_err(|error| untrusted(folder, error))? {
        ResolvedPath::There(target) => target,
        ResolvedPath::Missing(_) => return Ok(None),
    };
    let entries = fs::read_dir(target).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(|error| cannot_read(folder, error))?;
    let mut names: Vec<_> = entries.iter().map(fs::DirEntry::file_name).collect();
    // What editors and package managers keep beside a file.
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

fn read_file(path: &Path) -> anyhow::Result<Stored> {
    let shown = path.display();
    let name = path.file_name().and_then(|name| name.to_str());
    let name: KubernetesName = name
        .and_then(|name| name.strip_suffix(EXTENSION)?.parse().ok())
        .ok_or_else(|| {
            anyhow!("`{shown}` does not have the name of a policy, `<name>{EXTENSION}`")
        })?;
    let bytes = own::read(path, limits::TRUST_POLICY_SIZE);
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
    Stored::new(path.to_owned(), document)
        .with_context(|| format!("cannot use the policy in `{shown}`"))
}

/// Refuses what somebody else could have written, or led elsewhere.
fn untrusted(path: &Path, error: OwnershipError) -> anyhow::Error {
    match error {
        OwnershipError::Io { path, source } => cannot_read(&path, source),
        other => anyhow::Error::new(other).context(format!("cannot trust `{}`", path.display())),
    }
}

/// Where a policy of this name stands in a folder.
pub(crate) fn file(folder: &Path, name: &KubernetesName) -> PathBuf {
    folder.join(format!("{name}{EXTENSION}"))
}

/// Everybody may know whom this machine trusts.
const MODES: Modes = Modes {
    file: 0o644,
    folder: 0o755,
};

/// Writes a policy in one step: readers see the old one or the new one, never a part.
pub(crate) fn write(path: &Path, document: &TrustPolicy, write: Write) -> Result<(), Failure> {
    let text = document.to_text();
    own::write(path, text.as_bytes(), MODES, write).map_err(cannot("write", path))
}

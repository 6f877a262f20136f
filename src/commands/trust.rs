//! `solution trust`: lists, adds and removes the trust policies of this machine and this user. A policy names the keys
//! that must sign certain Solutions.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::slice;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use schemars::JsonSchema;
use schemas::{KeyId, KubernetesName, SolutionPattern, TrustPolicy, TrustSpec, TrustedKey};
use serde::Serialize;
use signing::PublicKey;

use super::give;
use crate::args::Output;
use crate::disk::WriteMode;
use crate::failure::{self, Failure, Outcome, cannot};
use crate::keys;
use crate::render::{self, Row};
use crate::trust::{self, Scope, StoredPolicy};

/// The headings of the list.
const TITLES: [&str; 4] = ["POLICY", "SOLUTIONS", "SIGNATURES", "FILE"];

/// Manage the keys that this site trusts
#[derive(Debug, Subcommand)]
#[command(after_help = "\
The keys apply when --key is not given. A policy is a file <name>.yaml in /etc/solution/trust.d or \
~/.config/solution/trust.d. For each Solution, the policy with the closest pattern applies.

Examples:
  solution trust add acme --key acme.pub --solutions 'acme-*'
  solution trust list
  solution trust remove acme")]
pub(crate) enum Command {
    Add(AddArguments),
    List(ListArguments),
    Remove(RemoveArguments),
}

/// List the trust policies
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  solution trust list
  solution trust list --output json")]
pub(crate) struct ListArguments {}

/// The policies of a machine and of a user.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Policies<'a> {
    /// The policies.
    policies: Vec<ShownPolicy<'a>>,
}

/// A policy of trust.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Policy")]
pub(crate) struct ShownPolicy<'a> {
    /// The name of the policy.
    name: &'a KubernetesName,
    /// The path of its file.
    path: &'a Path,
    /// The Solutions that it is for.
    solutions: &'a [SolutionPattern],
    /// How many of the keys must have signed.
    threshold: usize,
    /// The keys that it trusts.
    keys: Vec<ShownKey<'a>>,
}

/// A trusted key.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PolicyKey")]
pub(crate) struct ShownKey<'a> {
    /// The id of the key: SHA-256 of its DER form.
    id: KeyId,
    /// Whose it is, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<&'a str>,
}

pub(super) fn run(command: Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Add(arguments) => add(&arguments, output),
        Command::List(ListArguments {}) => list(output),
        Command::Remove(arguments) => remove(&arguments, output),
    }
}

fn scope(system: bool) -> Scope {
    if system { Scope::System } else { Scope::User }
}

fn list(output: Output) -> Result<Outcome, Failure> {
    let (all, folders) = trust::stored()?;
    trust::print_policy(&folders, output);
    let policies = all.iter().map(shown).collect();
    render::result(output, &Policies { policies }, |Policies { policies }| {
        if policies.is_empty() {
            render::line("no key is trusted");
            render::note(
                "trust a publisher's key with `solution trust add`, or for one command with `--key`",
            );
        } else {
            show(policies);
        }
    });
    // The policies are shown before this check, so that the user sees the ones to correct.
    trust::together(&all)?;
    Ok(Outcome::Yes)
}

fn shown(stored: &StoredPolicy) -> ShownPolicy<'_> {
    let policy = &stored.policy;
    let keys = stored.keys();
    ShownPolicy {
        name: policy.name(),
        path: &stored.path,
        solutions: policy.solutions(),
        threshold: policy.trust().threshold(),
        keys: keys.map(|(id, comment)| ShownKey { id, comment }).collect(),
    }
}

fn show(policies: &[ShownPolicy<'_>]) {
    let rows: Vec<_> = policies.iter().map(row).collect();
    render::table(TITLES, &rows);
}

fn row(shown: &ShownPolicy<'_>) -> Row<4> {
    let keys = shown.keys.iter().map(|key| {
        let comment = key.comment.unwrap_or_default();
        format!("key {}  {comment}", key.id).trim_end().to_owned()
    });
    Row {
        cells: [
            shown.name.to_string(),
            render::list(shown.solutions),
            format!("{} of {}", shown.threshold, shown.keys.len()),
            shown.path.display().to_string(),
        ],
        below: keys.collect(),
    }
}

/// Trust the keys of a publisher
#[derive(Args, Debug)]
#[command(after_help = "\
Compare the key ids with those that the publisher gives you through another channel than the archives.

Examples:
  solution trust add acme --key acme.pub --solutions shop --solutions 'acme-*'
  solution trust add board --key a.pub --key b.pub --key c.pub --threshold 2 --solutions '*' \\
      --system
  solution trust add acme --key acme-next.pub --threshold 1 --extend")]
pub(crate) struct AddArguments {
    /// The name of the policy
    pub(crate) name: KubernetesName,

    /// A public key (PEM) to trust; may be repeated with --threshold
    #[arg(long = "key", value_name = "PUB", required = true)]
    pub(crate) keys: Vec<PathBuf>,

    /// The number of keys that must have signed
    #[arg(long, value_name = "N")]
    pub(crate) threshold: Option<NonZeroUsize>,

    /// The Solutions of the policy (a name, `PREFIX-*` or `*`); may be repeated
    #[arg(long, value_name = "PATTERN", required_unless_present = "extend")]
    pub(crate) solutions: Vec<SolutionPattern>,

    /// A comment, such as the owner of the keys
    #[arg(long, value_name = "TEXT")]
    pub(crate) comment: Option<String>,

    /// Add the keys and Solutions to an existing policy
    #[arg(long)]
    pub(crate) extend: bool,

    /// Change the policies of all users (/etc/solution/trust.d) instead of yours
    #[arg(long)]
    pub(crate) system: bool,
}

fn add(arguments: &AddArguments, output: Output) -> Result<Outcome, Failure> {
    let (stored, write) = arguments.policy(&[])?;
    trust::write(&stored.path, &stored.document, write)?;
    Ok(give(output, &shown(&stored), |shown| {
        show(slice::from_ref(shown));
        render::note(
            "compare each key id with the id that its owner gives you through another channel than the archives",
        );
    }))
}

impl AddArguments {
    /// Returns the new or extended policy, after a check against the stored and the pending ones.
    pub(crate) fn policy(
        &self,
        pending: &[StoredPolicy],
    ) -> Result<(StoredPolicy, WriteMode), Failure> {
        let folder = trust::folder(scope(self.system))?;
        let path = trust::file(&folder, &self.name);
        let (mut all, _) = trust::stored()?;
        let known = all.iter().position(|stored| stored.path == path);
        let (mut document, write) = match (known, self.extend) {
            (None, false) => {
                let name = self.name.clone();
                (TrustPolicy::new(name, TrustSpec::default()), WriteMode::New)
            }
            (Some(known), true) => (all.remove(known).document, WriteMode::Replace),
            (Some(_), false) => {
                return Err(Failure::no(anyhow!("`{}` exists", path.display())).hint(
                    "add keys to it with `--extend`, or remove it with `solution trust remove`",
                ));
            }
            (None, true) => {
                let missing = anyhow!("there is no policy `{}` to extend", path.display());
                return Err(
                    Failure::no(missing).hint("list the policies with `solution trust list`")
                );
            }
        };
        let spec = &mut document.spec;
        for path in &self.keys {
            spec.keys.push(TrustedKey {
                comment: self.comment.clone(),
                pem: keys::public(path)?.to_pem(),
            });
        }
        spec.solutions.extend_from_slice(&self.solutions);
        spec.threshold = self.threshold.or(spec.threshold);
        all.extend_from_slice(pending);
        all.push(StoredPolicy::new(path, document)?);
        trust::together(&all)?;
        let stored = all.pop().expect("it was pushed above");
        Ok((stored, write))
    }
}

/// The minimum length of a key id's beginning that selects a key, because shorter ones are probably mistakes.
const KEY_PREFIX: usize = 8;

/// Remove a trust policy or one of its keys
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  solution trust remove acme
  solution trust remove 91a7e27ec25e --dry-run")]
pub(crate) struct RemoveArguments {
    /// The name of a policy, or the beginning of a key id
    what: String,

    /// Change the policies of all users (/etc/solution/trust.d) instead of yours
    #[arg(long)]
    system: bool,

    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// A policy was removed, or would be.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RemovedTrust {
    /// The path of its file.
    removed: PathBuf,
    /// Whether nothing was changed.
    dry_run: bool,
}

fn remove(arguments: &RemoveArguments, output: Output) -> Result<Outcome, Failure> {
    let folder = trust::folder(scope(arguments.system))?;
    // A file that cannot be read can be removed too, because it blocks all other commands.
    let name: Option<KubernetesName> = arguments.what.parse().ok();
    let file = name.map(|name| trust::file(&folder, &name));
    if let Some(path) = file.filter(|path| path.symlink_metadata().is_ok()) {
        return remove_policy(path, arguments.dry_run, output);
    }
    let (mut all, _) = trust::stored()?;
    all.retain(|stored| stored.path.parent() == Some(&folder));
    remove_key(arguments, all, output)
}

fn remove_policy(path: PathBuf, dry_run: bool, output: Output) -> Result<Outcome, Failure> {
    if !dry_run {
        std::fs::remove_file(&path).map_err(cannot("remove", &path))?;
    }
    let removed = RemovedTrust {
        removed: path,
        dry_run,
    };
    Ok(give(output, &removed, |removed| {
        let would = if dry_run { "would be " } else { "" };
        render::line!("{would}removed     {}", removed.removed.display());
        if dry_run {
            render::dry_run();
        }
    }))
}

/// Removes a key by the beginning of its id. The id must be unique among all policies.
fn remove_key(
    arguments: &RemoveArguments,
    mut all: Vec<StoredPolicy>,
    output: Output,
) -> Result<Outcome, Failure> {
    let what = arguments.what.to_ascii_lowercase();
    let begins = |id: KeyId| what.len() >= KEY_PREFIX && id.to_string().starts_with(&what);
    all.retain(|stored| stored.keys().any(|(id, _)| begins(id)));
    let refused = |message: anyhow::Error| {
        Failure::no(message).hint(format!(
            "list policies and keys with `solution trust list`; name a key by at least {KEY_PREFIX} characters of its id, and use `--system` for policies in /etc"
        ))
    };
    if all.len() > 1 {
        let several = anyhow!("multiple policies have a key whose id begins with `{what}`");
        return Err(refused(several));
    }
    let Some(StoredPolicy {
        path, mut document, ..
    }) = all.pop()
    else {
        let what = &arguments.what;
        return Err(refused(anyhow!(
            "no policy has the name `{what}`, and no key id begins with it"
        )));
    };
    let keys = &mut document.spec.keys;
    let before = keys.len();
    keys.retain(|key| !PublicKey::from_pem(&key.pem).is_ok_and(|key| begins(key.id())));
    if keys.len() + 1 != before {
        let several = anyhow!(
            "multiple key ids of `{}` begin with `{what}`",
            path.display()
        );
        return Err(Failure::no(several).hint("use more characters of the id"));
    }
    let stored = StoredPolicy::new(path.clone(), document);
    let stored = stored.map_err(|error| failure::without_key(&path, error))?;
    if !arguments.dry_run {
        trust::write(&stored.path, &stored.document, WriteMode::Replace)?;
    }
    Ok(give(output, &shown(&stored), |shown| {
        show(slice::from_ref(shown));
        if arguments.dry_run {
            render::dry_run();
        }
    }))
}

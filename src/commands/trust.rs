//! `solution trust`: whose signatures count on this machine, for which Solutions.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use importer::Run;
use schemas::{KeyId, KubernetesName, SolutionPattern, TrustPolicy, TrustSpec, TrustedKey};
use serde::Serialize;
use signing::{Policy, PolicyError, PublicKey, TrustError};

use crate::args::{DryRunArguments, Output};
use crate::failure::{Failure, Outcome};
use crate::trust::{self, Scope, Stored, Write};
use crate::{keys, render};

/// The shortest beginning of a key id that selects a key: shorter ones are mistakes.
const KEY_PREFIX: usize = 8;

/// Say whose signatures count, and for which Solutions, where no --key is given
#[derive(Debug, Subcommand)]
#[command(after_help = "\
A policy is a file, <name>.yaml, in /etc/solution/trust.d or ~/.config/solution/trust.d, which may \
also be written by hand. For each Solution one policy counts: the one with the closest pattern. \
docs/signing.md has the rules.

Examples:
  solution trust add acme --key acme.pub --solutions 'acme-*'
  solution trust list
  solution trust remove acme")]
pub(crate) enum Command {
    Add(Add),
    List(List),
    Remove(Remove),
}

/// Trust keys: compare their ids with what the publisher tells you through another channel than the archives
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  solution trust add acme --key acme.pub --solutions shop --solutions 'acme-*'
  solution trust add board --key a.pub --key b.pub --key c.pub --threshold 2 --solutions '*' --system
  solution trust add acme --key acme-next.pub --threshold 1 --extend")]
pub(crate) struct Add {
    /// The name of the policy
    name: KubernetesName,

    /// A public key (PEM); may be repeated, then --threshold says how many are needed
    #[arg(long = "key", value_name = "PUB", required = true)]
    keys: Vec<PathBuf>,

    /// How many of the keys must have signed
    #[arg(long, value_name = "N")]
    threshold: Option<NonZeroUsize>,

    /// The Solutions that the policy is for: a name, PREFIX-* or *; may be repeated
    #[arg(long, value_name = "PATTERN", required_unless_present = "extend")]
    solutions: Vec<SolutionPattern>,

    /// Whose keys these are, for people
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,

    /// Add the keys (and Solutions) to a policy that is there
    #[arg(long)]
    extend: bool,

    /// For everybody on this machine (/etc/solution/trust.d), instead of for you
    #[arg(long)]
    system: bool,
}

/// Show the policies of this machine and of you
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  solution trust list
  solution trust list --output json")]
pub(crate) struct List {}

/// Trust a policy, or one of its keys, no longer
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  solution trust remove acme
  solution trust remove 91a7e27ec25e --dry-run")]
pub(crate) struct Remove {
    /// The name of a policy, or the beginning of a key's id
    what: String,

    /// A policy for everybody on this machine, instead of yours
    #[arg(long)]
    system: bool,

    #[command(flatten)]
    dry_run: DryRunArguments,
}

/// A policy, as it is shown.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    name: KubernetesName,
    path: PathBuf,
    solutions: Vec<SolutionPattern>,
    threshold: usize,
    keys: Vec<ShownKey>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownKey {
    id: KeyId,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Removed {
    removed: PathBuf,
    dry_run: bool,
}

pub(crate) fn run(command: Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Add(arguments) => add(&arguments, output),
        Command::List(List {}) => list(output),
        Command::Remove(arguments) => remove(&arguments, output),
    }
}

fn scope(system: bool) -> Scope {
    if system { Scope::System } else { Scope::User }
}

fn add(arguments: &Add, output: Output) -> Result<Outcome, Failure> {
    let folder = trust::folder(scope(arguments.system))?;
    let path = trust::file(&folder, &arguments.name);
    let (mut all, _) = trust::stored()?;
    let known = all.iter().position(|stored| stored.path == path);
    let (mut document, write) = match (known, arguments.extend) {
        (None, false) => (empty(&arguments.name), Write::New),
        (Some(known), true) => (all.remove(known).document, Write::Replace),
        (Some(_), false) => {
            return Err(Failure::no(anyhow!("`{}` exists", path.display()))
                .hint("`--extend` adds keys to it, `solution trust remove` removes it"));
        }
        (None, true) => {
            return Err(
                Failure::no(anyhow!("there is no policy `{}` to extend", path.display()))
                    .hint("`solution trust list` shows those that there are"),
            );
        }
    };
    let spec = &mut document.spec;
    for path in &arguments.keys {
        spec.keys.push(TrustedKey {
            comment: arguments.comment.clone(),
            pem: keys::public(path)?.to_pem(),
        });
    }
    spec.solutions.extend_from_slice(&arguments.solutions);
    spec.threshold = arguments.threshold.or(spec.threshold);
    let stored = checked(path, document)?;
    all.push(stored);
    trust::together(&all)?;
    let stored = all.pop().expect("it was pushed above");
    trust::write(&stored.path, &stored.document, write)?;
    render::result(output, &shown(&stored), |shown| {
        show(shown);
        render::note(
            "compare each key id with what its owner tells you, through another channel than the archives",
        );
    });
    Ok(Outcome::Yes)
}

fn empty(name: &KubernetesName) -> TrustPolicy {
    let spec = TrustSpec {
        solutions: Vec::new(),
        threshold: None,
        keys: Vec::new(),
    };
    TrustPolicy::new(name.clone(), spec)
}

/// A document that is about to be written, as the policy that it would be read as.
fn checked(path: PathBuf, document: TrustPolicy) -> Result<Stored, Failure> {
    match Policy::new(&document) {
        Ok(policy) => Ok(Stored {
            path,
            document,
            policy,
        }),
        Err(error) => {
            let hint = match &error {
                PolicyError::Trust {
                    source:
                        TrustError::ThresholdMissing { .. } | TrustError::ThresholdTooHigh { .. },
                    ..
                } => "say with `--threshold` how many of the keys must have signed",
                _ => "nothing was changed",
            };
            Err(Failure::usage(chain(&error)).hint(hint))
        }
    }
}

fn chain(error: &PolicyError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

fn list(output: Output) -> Result<Outcome, Failure> {
    let (all, folders) = trust::stored()?;
    trust::say(&folders, output);
    let policies: Vec<Shown> = all.iter().map(shown).collect();
    render::result(output, &policies, |policies| {
        for policy in policies {
            show(policy);
        }
        if policies.is_empty() {
            render::line("nobody is trusted");
            render::note(
                "`solution trust add` trusts a publisher's key; `--key` trusts one for one command",
            );
        }
    });
    // Shown all the same, so that one sees what to mend.
    trust::together(&all)?;
    Ok(Outcome::Yes)
}

fn shown(stored: &Stored) -> Shown {
    let policy = &stored.policy;
    let key = |key: &TrustedKey| {
        let id = PublicKey::from_pem(&key.pem).ok()?.id();
        Some(ShownKey {
            id,
            comment: key.comment.clone(),
        })
    };
    Shown {
        name: policy.name().clone(),
        path: stored.path.clone(),
        solutions: policy.solutions().to_vec(),
        threshold: policy.trust().threshold(),
        keys: stored.document.spec.keys.iter().filter_map(key).collect(),
    }
}

fn show(shown: &Shown) {
    let solutions: Vec<String> = shown.solutions.iter().map(ToString::to_string).collect();
    render::line!("policy      {}   ({})", shown.name, shown.path.display());
    render::line!("  for       {}", solutions.join(", "));
    render::line!(
        "  needs     {} of {}",
        shown.threshold,
        render::count(shown.keys.len(), "key")
    );
    for key in &shown.keys {
        let comment = key.comment.as_deref().unwrap_or_default();
        render::line(format!("  key       {}  {comment}", key.id).trim_end());
    }
}

fn remove(arguments: &Remove, output: Output) -> Result<Outcome, Failure> {
    let folder = trust::folder(scope(arguments.system))?;
    // A file that cannot be read can be removed all the same, so that there is a way out.
    let name: Option<KubernetesName> = arguments.what.parse().ok();
    let file = name.map(|name| trust::file(&folder, &name));
    if let Some(path) = file.filter(|path| path.symlink_metadata().is_ok()) {
        let run = arguments.dry_run.run();
        if run == Run::Real {
            std::fs::remove_file(&path)
                .with_context(|| format!("cannot remove `{}`", path.display()))
                .map_err(Failure::unknown)?;
        }
        let removed = Removed {
            removed: path,
            dry_run: run == Run::Dry,
        };
        render::result(output, &removed, |Removed { removed, dry_run }| {
            let would = if *dry_run { "would be " } else { "" };
            render::line!("{would}removed     {}", removed.display());
            render::dry(run);
        });
        return Ok(Outcome::Yes);
    }
    let (all, _) = trust::stored()?;
    let stored = all
        .into_iter()
        .filter(|stored| stored.path.parent() == Some(&folder));
    remove_key(arguments, stored.collect(), output)
}

/// Removes the one key whose id begins so, from the one policy that has it.
fn remove_key(arguments: &Remove, stored: Vec<Stored>, output: Output) -> Result<Outcome, Failure> {
    let what = arguments.what.to_ascii_lowercase();
    let begins = |pem: &str| {
        PublicKey::from_pem(pem).is_ok_and(|key| key.id().to_string().starts_with(&what))
    };
    let is_prefix = what.len() >= KEY_PREFIX;
    let mut found: Vec<Stored> = stored
        .into_iter()
        .filter(|stored| is_prefix && stored.document.spec.keys.iter().any(|key| begins(&key.pem)))
        .collect();
    let (
        Some(Stored {
            path, mut document, ..
        }),
        true,
    ) = (found.pop(), found.is_empty())
    else {
        let message = if found.is_empty() {
            format!(
                "there is no policy `{}`, and no key whose id begins so",
                arguments.what
            )
        } else {
            format!("several policies have a key whose id begins with `{what}`")
        };
        return Err(Failure::no(anyhow!(message)).hint(format!(
            "`solution trust list` shows policies and keys; a key is named by {KEY_PREFIX} characters of its id at least, and `--system` looks in /etc"
        )));
    };
    let keys = &mut document.spec.keys;
    let before = keys.len();
    keys.retain(|key| !begins(&key.pem));
    if keys.len() + 1 != before {
        return Err(
            Failure::no(anyhow!("several keys of `{}` begin so", path.display()))
                .hint("give more characters of the id"),
        );
    }
    let policy = Policy::new(&document).map_err(|error| {
        Failure::no(anyhow!("{}", chain(&error)).context(format!(
            "without this key `{}` asks for the impossible",
            path.display()
        )))
        .hint("remove the policy as a whole by its name, or edit the file")
    })?;
    let stored = Stored {
        path,
        document,
        policy,
    };
    let run = arguments.dry_run.run();
    if run == Run::Real {
        trust::write(&stored.path, &stored.document, Write::Replace)?;
    }
    render::result(output, &shown(&stored), |shown| {
        show(shown);
        render::dry(run);
    });
    Ok(Outcome::Yes)
}

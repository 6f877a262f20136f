//! `solution trust`: whose signatures count on this machine, for which Solutions.

pub(super) mod add;
pub(super) mod remove;

use std::path::Path;

use clap::{Args, Subcommand};
use schemars::JsonSchema;
use schemas::{KeyId, KubernetesName, SolutionPattern};
use serde::Serialize;

use self::add::Add;
use self::remove::Remove;
use crate::args::{Output, choose};
use crate::failure::{Failure, Outcome};
use crate::render::{self, Row};
use crate::trust::{self, Scope, Stored};

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
    Add(Add),
    List(List),
    Remove(Remove),
}

/// List the trust policies
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  solution trust list
  solution trust list --output json")]
pub(crate) struct List {}

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

pub(crate) fn run(command: Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Add(arguments) => add::run(&arguments, output),
        Command::List(List {}) => list(output),
        Command::Remove(arguments) => remove::run(&arguments, output),
    }
}

fn scope(system: bool) -> Scope {
    choose(system, Scope::System, Scope::User)
}

fn list(output: Output) -> Result<Outcome, Failure> {
    let (all, folders) = trust::stored()?;
    trust::say(&folders, output);
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
    // Shown first, so that one sees what to correct.
    trust::together(&all)?;
    Ok(Outcome::Yes)
}

fn shown(stored: &Stored) -> ShownPolicy<'_> {
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

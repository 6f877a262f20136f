//! `solution fleet`: manages Solutions in many clusters with one file. Each subcommand has a file or folder. Further
//! modules connect to the clusters (`connection`), plan deployments from the file (`source`, `file_source`), and store
//! the state between runs (`journal`, `hub`). This module also collects the blockers of a rollout, so that a problem of
//! all clusters is reported once and not for each of them.

pub(super) mod apply;
mod arguments;
pub(super) mod check;
mod connection;
mod delete;
pub(super) mod diff;
pub(super) mod export;
mod file_source;
mod folded;
pub(super) mod history;
mod hub;
pub(super) mod init;
mod journal;
pub(super) mod pause;
mod pin;
mod reading;
mod removal;
pub(super) mod render;
mod rollback;
mod source;
pub(super) mod status;
pub(super) mod values;

use clap::Subcommand;

pub(super) use self::folded::{ClusterPlan, show_folded};
use super::blocked::ShownBlocker;
use crate::args::Output;
use crate::failure::{Failure, Outcome};

/// Roll out Solutions to many clusters
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Only `apply`, `rollback` and `delete` change clusters.

Examples:
  solution fleet init
  solution fleet check fleet.yaml --pin
  solution fleet values fleet.yaml
  solution fleet diff fleet.yaml --key publisher.pub
  solution fleet apply fleet.yaml --key publisher.pub --dry-run
  solution fleet status fleet.yaml
  solution fleet history fleet.yaml --limit 20
  solution fleet rollback fleet.yaml --wave prod --dry-run
  solution fleet delete fleet.yaml --all --dry-run
  solution fleet export fleet.yaml --to flux --key publisher.pub --output-dir clusters")]
pub(crate) enum Command {
    Init(init::Arguments),
    Check(check::Arguments),
    Values(values::Arguments),
    Diff(Box<diff::Arguments>),
    Render(Box<render::Arguments>),
    Apply(Box<apply::Arguments>),
    Rollback(Box<rollback::Arguments>),
    Delete(Box<delete::Arguments>),
    Export(Box<export::Arguments>),
    Pause(pause::PauseArguments),
    Resume(pause::ResumeArguments),
    Approve(pause::ApproveArguments),
    Status(status::Arguments),
    History(history::Arguments),
}

pub(super) fn run(command: &Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Init(arguments) => init::run(arguments, output),
        Command::Check(arguments) => check::run(arguments, output),
        Command::Values(arguments) => values::run(arguments, output),
        Command::Diff(arguments) => diff::run(arguments, output),
        Command::Render(arguments) => render::run(arguments, output),
        Command::Apply(arguments) => apply::run(arguments, output),
        Command::Rollback(arguments) => rollback::run(arguments, output),
        Command::Delete(arguments) => delete::run(arguments, output),
        Command::Export(arguments) => export::run(arguments, output),
        Command::Pause(arguments) => pause::pause(arguments, output),
        Command::Resume(arguments) => pause::resume(arguments, output),
        Command::Approve(arguments) => pause::approve(arguments, output),
        Command::Status(arguments) => status::run(arguments, output),
        Command::History(arguments) => history::run(arguments, output),
    }
}

/// Returns the worst of multiple outcomes. A negative answer of one cluster is worse than an unknown one.
fn worst(outcomes: impl IntoIterator<Item = Outcome>) -> Outcome {
    let weight = |outcome: &Outcome| match outcome {
        Outcome::Yes => 0,
        Outcome::Unknown => 1,
        Outcome::No | Outcome::Usage | Outcome::Ended(_) => 2,
    };
    let worst = outcomes.into_iter().max_by_key(weight);
    worst.unwrap_or(Outcome::Yes)
}

/// Notes the problem of a cluster, if it has one.
fn note_problem(cluster: &str, problem: Option<&ShownBlocker>) {
    if let Some(ShownBlocker { message, fix, .. }) = problem {
        crate::render::note!("error: {cluster}: {message}");
        crate::render::note!("hint: {fix}");
    }
}

/// The blockers, each once with the clusters that have it.
#[derive(Default)]
struct Blockers(Vec<MemberBlocker>);

/// A blocker, with the clusters that have it.
struct MemberBlocker {
    clusters: Vec<String>,
    /// The deployment after a comma; empty if the blocker concerns the whole cluster.
    of: String,
    why: ShownBlocker,
}

impl Blockers {
    /// Adds the reason why a cluster is not planned, unless the user skips such clusters.
    fn add_unplanned(&mut self, name: &str, failure: &Failure, skips: bool) {
        if !skips || failure.outcome() != Outcome::Unknown {
            self.add(name, "", ShownBlocker::from(failure));
        }
    }

    /// Adds the blockers of a deployment in a cluster.
    fn add_all(&mut self, name: &str, deployment: &str, why: &[ShownBlocker]) {
        let of = format!(", {deployment}");
        for blocker in why {
            self.add(name, &of, blocker.clone());
        }
    }

    fn add(&mut self, name: &str, of: &str, why: ShownBlocker) {
        let mut known = self.0.iter_mut();
        match known.find(|blocker| blocker.of == of && blocker.why.message == why.message) {
            Some(known) => known.clusters.push(name.to_owned()),
            None => self.0.push(MemberBlocker {
                clusters: vec![name.to_owned()],
                of: of.to_owned(),
                why,
            }),
        }
    }

    /// Returns all blockers as they are displayed.
    fn told(self) -> Vec<ShownBlocker> {
        let told = |MemberBlocker { clusters, of, why }| ShownBlocker {
            message: format!("{}{of}: {}", crate::render::list(clusters), why.message),
            ..why
        };
        self.0.into_iter().map(told).collect()
    }
}

//! `solution fleet check`: what a fleet's file says, and what is wrong with it.

use std::path::{Path, PathBuf};

use clap::Args;
use fleet::{FleetChecked, FleetFile, FleetProblem};
use schemars::JsonSchema;
use serde::Serialize;

use super::order::{OrderedWave, ordered};
use crate::args::Output;
use crate::commands::give;
use crate::commands::refusal::{InTheWay, refuse};
use crate::failure::{self, Failure, Outcome};
use crate::{disk, render};

/// Check a fleet's file, and show which clusters change when
#[derive(Args, Debug)]
#[command(after_help = "\
No cluster is asked. All that is wrong is said at once.

Examples:
  solution fleet check fleet.yaml
  solution fleet check fleet.yaml --output json")]
pub(crate) struct Arguments {
    /// The file
    file: PathBuf,
}

/// What a fleet's file says.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ReadFleet<'a> {
    /// The path that was checked.
    file: &'a Path,
    /// The fleet's name.
    fleet: &'a str,
    /// Whether no further cluster is begun.
    paused: bool,
    /// The waves in their order.
    waves: Vec<OrderedWave>,
    /// What may be meant so.
    notes: Vec<String>,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let path = &arguments.file;
    let file = read(path)?;
    let FleetChecked { problems, notes } = fleet::check(&file);
    let read = ReadFleet {
        file: path,
        fleet: file.document().metadata.name.as_str(),
        paused: file.spec().paused,
        waves: ordered(file.spec()),
        notes,
    };
    if !problems.is_empty() {
        if output == Output::Human {
            show(&read);
        }
        return Ok(refuse(output, read, &problems));
    }
    Ok(give(output, &read, |read| {
        show(read);
        render::line!("`{}` can be used as a fleet's file", path.display());
    }))
}

/// Reads a fleet's file.
fn read(path: &Path) -> Result<FleetFile, Failure> {
    let bytes = disk::read(path)?;
    let name = path.display().to_string();
    FleetFile::read(name, &bytes).map_err(|error| {
        Failure::no(error)
            .context(format!(
                "`{}` cannot be used as a fleet's file",
                path.display()
            ))
            .hint("`solution fleet init` writes one with every field explained")
    })
}

fn show(read: &ReadFleet<'_>) {
    if read.paused {
        render::line("paused: no further cluster is begun");
    }
    for wave in &read.waves {
        render::line!("{wave}");
        wave.clusters.iter().for_each(|it| render::line!("  {it}"));
    }
    render::notes("note: ", &read.notes);
}

impl From<&FleetProblem> for InTheWay {
    fn from(problem: &FleetProblem) -> Self {
        Self::new(problem.to_string(), failure::fleet_fix(&problem.fault))
    }
}

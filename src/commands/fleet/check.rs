//! `solution fleet check`: shows the clusters, waves and deployments of a fleet's file, and reports its problems. It
//! does not contact clusters, unless it pins their identity.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use fleet::{ClustersOfWave, FleetChecked, FleetFile, Members};
use schemars::JsonSchema;
use schemas::{ClusterName, FleetSpec, FleetWave};
use serde::Serialize;

use super::pin::{self, PinnedCluster, RepinnedCluster};
use crate::args::{Output, ReadArguments};
use crate::commands::blocked::{refuse_plan, report_blockers};
use crate::failure::{Failure, Outcome};
use crate::{disk, render};

/// Validate a fleet file and show when clusters change
#[derive(Args, Debug)]
#[command(
    group(ArgGroup::new("asks").args(["pin", "repin"]).multiple(true)),
    mut_arg("kubeconfig", |argument| argument.requires("asks")),
    mut_arg("context", |argument| argument.requires("asks")),
    after_help = "\
The command reports all problems at once. Only --pin and --repin contact clusters.

--pin writes the UID of each cluster into the file: the UID of its namespace kube-system, or of its Cluster API \
object. If a context later refers to a cluster with another UID, that cluster is never changed.

Without UIDs in the file, the first `solution fleet apply` stores them in the journal next to the fleet file. A \
cluster that contradicts the journal is refused until you confirm it with --repin.

Examples:
  solution fleet check fleet.yaml --pin
  solution fleet check fleet.yaml --repin paris
  solution fleet check fleet.yaml --output json"
)]
pub(crate) struct Arguments {
    /// The fleet file (`fleet.yaml`)
    file: PathBuf,

    /// Write the UIDs of the clusters into the file, and verify the UIDs that it has
    #[arg(long)]
    pin: bool,

    /// Replace the UID of this cluster in the journal with its present UID; may be repeated
    #[arg(long, value_name = "CLUSTER")]
    repin: Vec<ClusterName>,

    /// Skip the confirmation; required without a terminal
    #[arg(long, requires = "repin")]
    yes: bool,

    #[command(flatten)]
    cluster: ReadArguments,
}

/// The content of a fleet's file.
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
    /// Notes on content that may be intended.
    notes: Vec<String>,
    /// With `--pin`: the result for each cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pinned: Vec<PinnedCluster>,
    /// With `--repin`: the clusters that are known by another UID than before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    repinned: Vec<RepinnedCluster>,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let (path, file) = (&arguments.file, read(&arguments.file)?);
    let FleetChecked { problems, notes } = fleet::check(&file);
    let mut read = of(&file, path, notes);
    if !problems.is_empty() {
        if output == Output::Human {
            show(&read);
        }
        return Ok(report_blockers(output, read, &problems));
    }
    let mut outcome = Outcome::Yes;
    let (names, confirmed) = (&arguments.repin, arguments.yes);
    let repinned = pin::repin(&file, path, &arguments.cluster, names, confirmed, output)?;
    let Some(repinned) = repinned else {
        return Ok(refuse_plan(output, read, [pin::unconfirmed()]));
    };
    read.repinned = repinned;
    if arguments.pin {
        (read.pinned, outcome) = pin::pin(&file, path, &arguments.cluster)?;
    }
    render::result(output, &read, |read| {
        show(read);
        pin::show_repinned(&read.repinned);
        pin::show_pinned(&read.pinned);
        if outcome == Outcome::Yes {
            render::line!("`{}` is a valid fleet file", path.display());
        }
    });
    Ok(outcome)
}

fn of<'a>(file: &'a FleetFile, path: &'a Path, notes: Vec<String>) -> ReadFleet<'a> {
    ReadFleet {
        file: path,
        fleet: file.document().metadata.name.as_str(),
        paused: file.spec().paused,
        waves: ordered(file.spec()),
        notes,
        pinned: Vec::new(),
        repinned: Vec::new(),
    }
}

/// Reports the problems of a fleet's file. None if the file is valid.
pub(super) fn refused(file: &FleetFile, path: &Path, output: Output) -> Option<Outcome> {
    let FleetChecked { problems, notes } = fleet::check(file);
    (!problems.is_empty()).then(|| report_blockers(output, of(file, path, notes), &problems))
}

/// Reads a fleet's file.
pub(super) fn read(path: &Path) -> Result<FleetFile, Failure> {
    let bytes = disk::read(path)?;
    let name = path.display().to_string();
    FleetFile::read(name, &bytes).map_err(|error| {
        Failure::no(error)
            .context(format!("`{}` is not a valid fleet file", path.display()))
            .hint("create one with comments on every field with `solution fleet init`")
    })
}

fn show(read: &ReadFleet<'_>) {
    if read.paused {
        render::line("paused: no further cluster is changed");
    }
    for wave in &read.waves {
        render::line!("{wave}");
        wave.clusters
            .iter()
            .for_each(|cluster| render::line!("  {cluster}"));
    }
    render::notes("note: ", &read.notes);
}

/// Clusters that change before those of the next wave.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OrderedWave {
    #[serde(flatten)]
    terms: WaveTerms,
    /// Its clusters.
    pub(super) clusters: Vec<OrderedCluster>,
}

/// How the clusters of a wave change.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WaveTerms {
    /// The wave's name.
    name: String,
    /// How many of its clusters change at a time.
    parallel: usize,
    /// How many may fail before no further one is begun.
    max_failures: usize,
    /// How long all of them are good before the next wave begins, as in the file.
    soak: Option<String>,
    /// Whether the wave needs an approval.
    approve: bool,
}

/// A cluster, with all that it is in.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OrderedCluster {
    /// The cluster's name.
    name: String,
    /// The groups that it is in.
    groups: Vec<String>,
    /// The deployments there, as `NAME VERSION in ENVIRONMENT`.
    solutions: Vec<String>,
}

/// Returns the waves of a fleet, in order.
pub(super) fn ordered(spec: &FleetSpec) -> Vec<OrderedWave> {
    let members = Members::of(spec);
    let mut solutions = vec![Vec::new(); spec.clusters.len()];
    for solution in &spec.solutions {
        for cluster in members.of_solution(solution) {
            solutions[cluster].push(solution.to_string());
        }
    }
    let cluster = |at: usize| {
        let groups = members.groups_of(at).into_iter();
        OrderedCluster {
            name: spec.clusters[at].name.to_string(),
            groups: groups
                .map(|group| spec.groups[group].name.to_string())
                .collect(),
            solutions: solutions[at].clone(),
        }
    };
    let waves = fleet::waves(spec, &members).into_iter();
    let waves = waves.map(|ClustersOfWave { wave, clusters }| OrderedWave {
        terms: WaveTerms::of(wave),
        clusters: clusters.into_iter().map(cluster).collect(),
    });
    waves.collect()
}

impl WaveTerms {
    pub(super) fn of(wave: &FleetWave) -> Self {
        Self {
            name: wave.name.to_string(),
            parallel: wave.parallel,
            max_failures: wave.max_failures,
            soak: wave.soak.as_ref().map(ToString::to_string),
            approve: wave.approve,
        }
    }

    /// Returns the heading of the wave, with its number of clusters.
    pub(super) fn heading(&self, clusters: usize) -> String {
        let mut words = format!("{}: {}", self.name, render::count(clusters, "cluster"));
        if self.parallel > 1 {
            words = format!("{words}, {} at a time", self.parallel);
        }
        if self.max_failures > 0 {
            words = format!("{words}, {} may fail", self.max_failures);
        }
        if let Some(soak) = &self.soak {
            words = format!("{words}, soak time {soak}");
        }
        if self.approve {
            words.push_str(", needs approval");
        }
        words
    }
}

impl fmt::Display for OrderedWave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wave {}", self.terms.heading(self.clusters.len()))
    }
}

impl fmt::Display for OrderedCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if !self.groups.is_empty() {
            write!(f, " ({})", render::list(&self.groups))?;
        }
        if !self.solutions.is_empty() {
            write!(f, ": {}", render::list(&self.solutions))?;
        }
        Ok(())
    }
}

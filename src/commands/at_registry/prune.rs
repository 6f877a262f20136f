//! `solution registry prune`: what no imported version needs any more, listed and deleted.

use std::collections::BTreeSet;

use clap::Args;
use deployer::Cluster;
use importer::Run;
use registry::{Client, RegistryAddress};
use schemars::JsonSchema;
use schemas::{Digest, SolutionId};
use serde::Serialize;
use shelf::{KeptVersion, Pruning, Record, Stock, Unprunable};

use crate::args::{ClusterArguments, DryRunArguments, Output, RegistryArguments, choose};
use crate::commands::question::agreed;
use crate::commands::refusal::{InTheWay, refuse};
use crate::commands::unimport::COLLECT;
use crate::commands::{give, import, vouched};
use crate::failure::{self, Failure, Outcome};
use crate::{cluster, environment, render};

/// List what a registry keeps of versions, and delete those that nobody needs any more
#[derive(Args, Debug)]
#[command(after_help = "\
Without names it only lists: each version whose head the registry keeps, whether a record of the
cluster needs it, and how many bytes no other version there has. Versions that are named are
deleted, after the list was shown and somebody said yes: their images and heads, but for every
image that a version which stays has too. Nothing is deleted as long as the head of any version
there cannot be read.

A version that is imported is never deleted: `solution unimport --images` forgets it first. Only
one cluster is asked. Where several use the registry, name the versions: --all-unneeded takes
those, too, that only another cluster needs. With --no-cluster nothing counts as needed, and what
goes has to be named.

Space becomes free when the registry collects its garbage. If it is interrupted, running it again
completes it. Nobody should import to the registry meanwhile.

Examples:
  solution registry prune --registry registry.example/apps
  solution registry prune shop 1.0.0 --registry registry.example/apps --dry-run
  solution registry prune shop 1.0.0 shop 1.1.0 --registry registry.example/apps
  solution registry prune --all-unneeded --yes --registry registry.example/apps
  solution registry prune shop 1.0.0 --no-cluster --registry registry.example/apps")]
pub(crate) struct PruneArguments {
    /// The versions to delete, each by its name and version; if there are none, nothing is deleted
    #[arg(value_name = "NAME VERSION")]
    versions: Vec<String>,

    /// The registry
    #[arg(long, value_name = "HOST[/PREFIX]")]
    registry: RegistryAddress,

    /// Delete every version that no record of the cluster needs
    #[arg(long, conflicts_with_all = ["versions", "no_cluster"])]
    all_unneeded: bool,

    /// Ask no cluster: no version counts as needed
    #[arg(long, conflicts_with_all = ["kubeconfig", "context"])]
    no_cluster: bool,

    /// Do not ask; needed where nobody can be asked
    #[arg(long)]
    yes: bool,

    #[command(flatten)]
    dry_run: DryRunArguments,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    cluster: ClusterArguments,
}

/// What is kept, and what was deleted or would be.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pruned {
    /// The registry, `HOST[:PORT][/PREFIX]`.
    registry: String,
    /// Every version whose head the registry keeps, sorted.
    versions: Vec<ShownVersion>,
    /// The versions that were deleted, or would be.
    deleted: Vec<SolutionId>,
    /// Manifests that were deleted at the registry, or would be, as `HOST/REPOSITORY@DIGEST`.
    freed: Vec<String>,
    /// Bytes of contents that only these versions have, of all that the registry keeps.
    freed_bytes: u64,
    /// What is worth knowing.
    notes: Vec<String>,
    #[serde(skip)]
    asked: Asked,
}

/// Whether a cluster was asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Cluster,
    Nobody,
}

/// A version whose head the registry keeps.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "KeptVersion")]
pub(crate) struct ShownVersion {
    /// The id of the Solution, `<name>-<version>`.
    solution: SolutionId,
    /// The ids of its archives.
    #[schemars(length(min = 1))]
    archives: Vec<Digest>,
    /// The record of the cluster that needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    needed_by: Option<String>,
    /// Bytes of contents that no other version there has. They are missing if a head cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    own_bytes: Option<u64>,
    /// Why a head cannot be read. Nothing is deleted as long as there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<String>,
    /// The command that deletes it.
    delete: String,
}

/// The registry, and the cluster whose records count.
struct Site {
    client: Client,
    cluster: Option<Cluster>,
}

pub(crate) fn run(arguments: &PruneArguments, output: Output) -> Result<Outcome, Failure> {
    let named = named(&arguments.versions)?;
    cluster::block_on(async {
        let site = Site::of(arguments).await?;
        let stock = site.stock().await?;
        let mut pruned = Pruned::of(&stock, &site);
        if output == Output::Human {
            show_versions(&pruned);
        }
        let chosen = if arguments.all_unneeded {
            match stock.unneeded(&site.client) {
                Ok(unneeded) => unneeded,
                Err(why) => return Ok(refuse(output, &pruned, [in_the_way(&why)])),
            }
        } else {
            named
        };
        if chosen.is_empty() {
            return Ok(give(output, &pruned, |_| ()));
        }
        let plan = match stock.plan(&site.client, &chosen).await? {
            Ok(plan) => plan,
            Err(why) => return Ok(refuse(output, &pruned, why.iter().map(in_the_way))),
        };
        pruned.add(&plan, &site.client);
        if output == Output::Human {
            show_plan(&pruned);
        }
        let run = arguments.dry_run.run();
        if run == Run::Dry {
            return Ok(give(output, &pruned, |_| render::dry(run)));
        }
        if !arguments.yes {
            if !agreed("delete all of this?", output).await? {
                return Ok(refuse(output, &pruned, [unconfirmed()]));
            }
            // Whoever was asked took their time.
            let again = site.stock().await?.plan(&site.client, &chosen).await?;
            if again.ok().as_ref() != Some(&plan) {
                let why = in_the_way(&Unprunable::Changed);
                return Ok(refuse(output, &pruned, [why]));
            }
        }
        let freed = plan.carry_out(&site.client).await;
        pruned.freed = freed.map_err(failure::pruning)?;
        Ok(give(output, &pruned, show_deleted))
    })
}

/// The versions that were named.
fn named(words: &[String]) -> Result<BTreeSet<SolutionId>, Failure> {
    let pairs = words.chunks(2).map(|pair| match pair {
        [name, version] => {
            let name = name.parse().map_err(Failure::usage)?;
            let version = version.parse().map_err(Failure::usage)?;
            SolutionId::new(name, version).map_err(Failure::usage)
        }
        _ => Err(Failure::usage(format!(
            "`{}` has no version beside it: each version is given as NAME VERSION",
            pair.concat()
        ))),
    });
    pairs.collect()
}

fn in_the_way(why: &Unprunable) -> InTheWay {
    InTheWay::new(why.to_string(), failure::unprunable(why))
}

/// That nobody said yes.
fn unconfirmed() -> InTheWay {
    let message = "nobody confirmed that these versions are to be deleted";
    InTheWay::new(message, "read the list; `--yes` confirms it")
}

impl Site {
    async fn of(arguments: &PruneArguments) -> Result<Self, Failure> {
        let (registry, reach) = (&arguments.registry, &arguments.reach);
        if arguments.no_cluster {
            let client = vouched::client(registry, reach)?;
            let cluster = None;
            return Ok(Self { client, cluster });
        }
        let cluster = cluster::connect(&arguments.cluster).await?;
        let site = importer::site(&cluster).await?;
        Ok(Self {
            client: import::client(registry, reach, &site)?,
            cluster: Some(cluster),
        })
    }

    /// What is there now.
    async fn stock(&self) -> Result<Stock, Failure> {
        let records = match &self.cluster {
            Some(cluster) => importer::records(cluster).await?,
            None => Vec::new(),
        };
        let name = |record: &Record| importer::record_place(record).to_string();
        let scratch = environment::scratch();
        Ok(Stock::read(&self.client, &records, name, &scratch).await?)
    }
}

impl Pruned {
    fn of(stock: &Stock, site: &Site) -> Self {
        let asked = choose(site.cluster.is_some(), Asked::Cluster, Asked::Nobody);
        let registry = site.client.address();
        let shown = |version: &KeptVersion| ShownVersion::of(version, registry, asked);
        Self {
            registry: registry.to_string(),
            versions: stock.versions().iter().map(shown).collect(),
            deleted: Vec::new(),
            freed: Vec::new(),
            freed_bytes: 0,
            notes: Vec::new(),
            asked,
        }
    }

    fn add(&mut self, plan: &Pruning, client: &Client) {
        self.deleted.clone_from(&plan.versions);
        self.freed = plan.names(client);
        self.freed_bytes = plan.bytes;
        self.notes = plan.notes();
        self.notes.push(COLLECT.to_owned());
    }
}

impl ShownVersion {
    fn of(version: &KeptVersion, registry: &RegistryAddress, asked: Asked) -> Self {
        let unread = version
            .unread()
            .map(|unread| Failure::no(anyhow::anyhow!("{unread}")));
        let (name, number) = (version.id.name(), version.id.version());
        let flag = choose(asked == Asked::Nobody, " --no-cluster", "");
        let delete = if version.needed_by.is_some() {
            format!("solution unimport {name} {number} --images")
        } else {
            format!("solution registry prune {name} {number}{flag} --registry {registry}")
        };
        Self {
            solution: version.id.clone(),
            archives: version.archives.clone(),
            needed_by: version.needed_by.clone(),
            own_bytes: version.own_bytes,
            unread: unread.map(|unread| unread.in_one_line()),
            delete,
        }
    }
}

fn show_versions(pruned: &Pruned) {
    let registry = &pruned.registry;
    if pruned.versions.is_empty() {
        return render::line!("{registry} keeps no version");
    }
    let count = render::count(pruned.versions.len(), "version");
    render::line!("{registry} keeps {count}");
    for version in &pruned.versions {
        let id = &version.solution;
        let need = match (&version.needed_by, pruned.asked) {
            (Some(record), _) => format!("needed by {record}"),
            (None, Asked::Cluster) => "no record of the cluster needs it".to_owned(),
            (None, Asked::Nobody) => "no cluster was asked whether it is needed".to_owned(),
        };
        let has = match (version.own_bytes, &version.unread) {
            (Some(bytes), _) => format!("{} that no other version has", render::bytes(bytes)),
            (None, unread) => unread.clone().unwrap_or_default(),
        };
        render::line!("version   {id}: {need}; {has}");
        render::line!("          `{}` deletes it", version.delete);
    }
}

fn show_plan(pruned: &Pruned) {
    for id in &pruned.deleted {
        render::line!("delete    {id}");
    }
    for manifest in &pruned.freed {
        render::line!("free      {manifest}");
    }
    let bytes = render::bytes(pruned.freed_bytes);
    render::line!("contents  {bytes} that only these have, of all versions there");
    for note in &pruned.notes {
        render::line!("note      {note}");
    }
}

fn show_deleted(pruned: &Pruned) {
    let freed = render::count(pruned.freed.len(), "manifest");
    let deleted = render::list(&pruned.deleted);
    let registry = &pruned.registry;
    render::line!("deleted   {deleted} from {registry}: {freed}");
}

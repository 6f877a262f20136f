//! `solution registry prune`: lists and deletes the content of a registry that no imported version needs. If the needs
//! of any version are unknown, nothing is deleted.

use std::collections::BTreeSet;

use clap::Args;
use kubernetes::Cluster;
use registry::{Client, RegistryAddress};
use schemars::JsonSchema;
use schemas::SolutionId;
use serde::Serialize;
use store::{PruneBlocker, PrunePlan, Record, RetainedVersions, StoredVersion};

use crate::args::{ClusterArguments, Output, RegistryArguments, choose};
use crate::commands::blocked::{ShownBlocker, refuse_plan};
use crate::commands::delete::COLLECT;
use crate::commands::{give, import, imported_version};
use crate::failure::{self, Failure, Outcome};
use crate::terminal::agreed;
use crate::{cluster, environment, render};

/// List the versions in a registry and delete unneeded ones
#[derive(Args, Debug)]
#[command(after_help = "\
The command lists the versions in the registry, whether a record in the cluster needs them, and the size that \
only they use. With versions or --all-unneeded, it deletes their images and archives after you confirm. Images that other versions in the registry also use are kept. If the command cannot read the content \
list of any other version, it deletes nothing.

The command does not delete imported versions: run `solution unimport --images` instead. If multiple clusters \
use the registry, name the versions, because --all-unneeded checks only one cluster. With --no-cluster, you must \
name the versions.

Do not import to the registry at the same time. The space becomes free when the registry collects garbage. If \
the command is interrupted, run it again.

Examples:
  solution registry prune --registry registry.example/apps
  solution registry prune shop 1.0.0 --registry registry.example/apps --dry-run
  solution registry prune shop 1.0.0 shop 1.1.0 --registry registry.example/apps
  solution registry prune --all-unneeded --yes --registry registry.example/apps
  solution registry prune shop 1.0.0 --no-cluster --registry registry.example/apps")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct PruneArguments {
    /// The versions to delete, as pairs of a name and a version [default: none, only list versions]
    #[arg(value_name = "NAME VERSION")]
    versions: Vec<String>,

    /// The address of the registry
    #[arg(long, value_name = "HOST[/PREFIX]")]
    registry: RegistryAddress,

    /// Delete every version that no record in the cluster needs
    #[arg(long, conflicts_with_all = ["versions", "no_cluster"])]
    all_unneeded: bool,

    /// Do not contact a cluster; no version counts as needed
    #[arg(long, conflicts_with_all = ["kubeconfig", "context"])]
    no_cluster: bool,

    /// Skip the confirmation; required without a terminal
    #[arg(long)]
    yes: bool,

    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    cluster: ClusterArguments,
}

impl PruneArguments {
    /// Returns the versions that the user named.
    fn named(&self) -> Result<BTreeSet<SolutionId>, Failure> {
        let pairs = self.versions.chunks(2).map(|pair| match pair {
            [name, version] => {
                let name = name.parse().map_err(Failure::usage)?;
                let version = version.parse().map_err(Failure::usage)?;
                SolutionId::new(name, version).map_err(Failure::usage)
            }
            _ => Err(Failure::usage(format!(
                "`{}` has no version: name each version as NAME VERSION",
                pair.concat()
            ))),
        });
        pairs.collect()
    }
}

/// The registry, with the cluster whose records count.
struct PruneSite {
    client: Client,
    cluster: Option<Cluster>,
}

pub(super) fn run(arguments: &PruneArguments, output: Output) -> Result<Outcome, Failure> {
    let named = arguments.named()?;
    cluster::block_on(async {
        let site = PruneSite::of(arguments).await?;
        let stock = site.stock().await?;
        let mut pruned = PruneResult::of(&stock, site.client.address(), site.asked());
        if output == Output::Human {
            show_versions(&pruned);
        }
        let chosen = if arguments.all_unneeded {
            match stock.find_unneeded(&site.client) {
                Ok(unneeded) => unneeded,
                Err(why) => return Ok(refuse_plan(output, &pruned, [&why])),
            }
        } else {
            named
        };
        if chosen.is_empty() {
            return Ok(give(output, &pruned, |_| ()));
        }
        let plan = match stock.plan(&site.client, &chosen).await? {
            Ok(plan) => plan,
            Err(why) => return Ok(refuse_plan(output, &pruned, &why)),
        };
        pruned.add(&plan, &site.client);
        if output == Output::Human {
            show_plan(&pruned);
        }
        if arguments.dry_run {
            return Ok(give(output, &pruned, |_| render::dry_run()));
        }
        if !arguments.yes {
            if !agreed("delete these versions?", output).await? {
                return Ok(refuse_plan(output, &pruned, [unconfirmed()]));
            }
            // The registry may have changed while the user answered.
            let again = site.stock().await?.plan(&site.client, &chosen).await?;
            if again.ok().as_ref() != Some(&plan) {
                return Ok(refuse_plan(output, &pruned, [&PruneBlocker::Changed]));
            }
        }
        let freed = plan.carry_out(&site.client).await;
        pruned.freed = freed.map_err(failure::pruning)?;
        Ok(give(output, &pruned, show_deleted))
    })
}

/// Returns the blocker of a deletion that was not confirmed.
fn unconfirmed() -> ShownBlocker {
    let message = "the deletion was not confirmed";
    ShownBlocker::new(message, "review the list, then confirm it with `--yes`")
}

impl PruneSite {
    async fn of(arguments: &PruneArguments) -> Result<Self, Failure> {
        let (registry, reach) = (&arguments.registry, &arguments.reach);
        if arguments.no_cluster {
            let client = imported_version::client(registry, reach)?;
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

    fn asked(&self) -> PruneRequest {
        choose(
            self.cluster.is_some(),
            PruneRequest::Cluster,
            PruneRequest::Nobody,
        )
    }

    /// Reads the current state.
    async fn stock(&self) -> Result<RetainedVersions, Failure> {
        let records = match &self.cluster {
            Some(cluster) => importer::records(cluster).await?,
            None => Vec::new(),
        };
        let name = |record: &Record| importer::record_place(record).to_string();
        let scratch = environment::scratch();
        Ok(RetainedVersions::read(&self.client, &records, name, &scratch).await?)
    }
}

/// The versions in the registry and those that were deleted, or would be.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Pruned")]
pub(crate) struct PruneResult<'a> {
    /// The registry, `HOST[:PORT][/PREFIX]`.
    registry: String,
    /// Every version whose head the registry keeps, sorted.
    versions: Vec<ShownVersion<'a>>,
    /// The versions that were deleted, or would be.
    deleted: Vec<SolutionId>,
    /// Manifests that were deleted at the registry, or would be, as `HOST/REPOSITORY@DIGEST`.
    freed: Vec<String>,
    /// Bytes of contents that only these versions have, of all that the registry keeps.
    freed_bytes: u64,
    /// Notes.
    notes: Vec<String>,
    #[serde(skip)]
    asked: PruneRequest,
}

/// The source of the list of needed versions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PruneRequest {
    Cluster,
    Nobody,
}

/// A version whose head the registry keeps.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "KeptVersion")]
pub(crate) struct ShownVersion<'a> {
    #[serde(flatten)]
    version: &'a StoredVersion,
    /// Why a head cannot be read. Nothing is deleted as long as there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<String>,
    /// The command that deletes it.
    delete: String,
}

impl<'a> PruneResult<'a> {
    fn of(stock: &'a RetainedVersions, registry: &RegistryAddress, asked: PruneRequest) -> Self {
        let shown = |version: &'a StoredVersion| ShownVersion::of(version, registry, asked);
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

    fn add(&mut self, plan: &PrunePlan, client: &Client) {
        self.deleted.clone_from(&plan.versions);
        self.freed = plan.names(client);
        self.freed_bytes = plan.bytes;
        self.notes = plan.notes();
        self.notes.push(COLLECT.to_owned());
    }
}

impl<'a> ShownVersion<'a> {
    fn of(version: &'a StoredVersion, registry: &RegistryAddress, asked: PruneRequest) -> Self {
        let unread = version
            .unusable_head()
            .map(|unread| Failure::no(anyhow::anyhow!("{unread}")));
        let (name, number) = (version.id.name(), version.id.version());
        let flag = choose(asked == PruneRequest::Nobody, " --no-cluster", "");
        let delete = if version.needed_by.is_some() {
            format!("solution unimport {name} {number} --images")
        } else {
            format!("solution registry prune {name} {number}{flag} --registry {registry}")
        };
        Self {
            version,
            unread: unread.map(|unread| unread.in_one_line()),
            delete,
        }
    }
}

/// Shows the versions that a registry contains.
fn show_versions(pruned: &PruneResult<'_>) {
    let registry = &pruned.registry;
    if pruned.versions.is_empty() {
        return render::line!("{registry} has no versions");
    }
    let count = render::count(pruned.versions.len(), "version");
    render::line!("{registry} has {count}");
    for ShownVersion {
        version,
        unread,
        delete,
    } in &pruned.versions
    {
        let id = &version.id;
        let need = match (&version.needed_by, pruned.asked) {
            (Some(record), _) => format!("needed by {record}"),
            (None, PruneRequest::Cluster) => "not needed by any record of the cluster".to_owned(),
            (None, PruneRequest::Nobody) => "need not checked: no cluster was queried".to_owned(),
        };
        let has = match (version.own_bytes, unread) {
            (Some(bytes), _) => format!("{} not shared with other versions", render::bytes(bytes)),
            (None, unread) => unread.clone().unwrap_or_default(),
        };
        render::line!("version   {id}: {need}; {has}");
        render::line!("          delete it with `{delete}`");
    }
}

/// Shows the planned deletions.
fn show_plan(pruned: &PruneResult<'_>) {
    render::lines("delete    ", &pruned.deleted);
    render::lines("free      ", &pruned.freed);
    let bytes = render::bytes(pruned.freed_bytes);
    render::line!("contents  {bytes} not shared with other versions there");
    render::lines("note      ", &pruned.notes);
}

/// Shows the deletions.
fn show_deleted(pruned: &PruneResult<'_>) {
    let freed = render::count(pruned.freed.len(), "manifest");
    let deleted = render::list(&pruned.deleted);
    let registry = &pruned.registry;
    render::line!("deleted   {deleted} from {registry}: {freed}");
}

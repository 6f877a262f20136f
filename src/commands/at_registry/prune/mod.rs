//! `solution registry prune`: what no imported version needs any more, listed and deleted.

mod arguments;
mod shown;
mod words;

use deployer::Cluster;
use importer::Run;
use registry::Client;
use shelf::{Record, Stock, Unprunable};

pub(crate) use self::arguments::PruneArguments;
use self::shown::Asked;
pub(crate) use self::shown::Pruned;
use self::words::{show_deleted, show_plan, show_versions};
use crate::args::{Output, choose};
use crate::commands::question::agreed;
use crate::commands::refusal::{InTheWay, refuse};
use crate::commands::{give, import, vouched};
use crate::failure::{self, Failure, Outcome};
use crate::{cluster, environment, render};

/// The registry, and the cluster whose records count.
struct Site {
    client: Client,
    cluster: Option<Cluster>,
}

pub(crate) fn run(arguments: &PruneArguments, output: Output) -> Result<Outcome, Failure> {
    let named = arguments.named()?;
    cluster::block_on(async {
        let site = Site::of(arguments).await?;
        let stock = site.stock().await?;
        let mut pruned = Pruned::of(&stock, site.client.address(), site.asked());
        if output == Output::Human {
            show_versions(&pruned);
        }
        let chosen = if arguments.all_unneeded {
            match stock.unneeded(&site.client) {
                Ok(unneeded) => unneeded,
                Err(why) => return Ok(refuse(output, &pruned, [&why])),
            }
        } else {
            named
        };
        if chosen.is_empty() {
            return Ok(give(output, &pruned, |_| ()));
        }
        let plan = match stock.plan(&site.client, &chosen).await? {
            Ok(plan) => plan,
            Err(why) => return Ok(refuse(output, &pruned, &why)),
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
            if !agreed("delete these versions?", output).await? {
                return Ok(refuse(output, &pruned, [unconfirmed()]));
            }
            // Whoever was asked took their time.
            let again = site.stock().await?.plan(&site.client, &chosen).await?;
            if again.ok().as_ref() != Some(&plan) {
                return Ok(refuse(output, &pruned, [&Unprunable::Changed]));
            }
        }
        let freed = plan.carry_out(&site.client).await;
        pruned.freed = freed.map_err(failure::pruning)?;
        Ok(give(output, &pruned, show_deleted))
    })
}

/// That nobody said yes.
fn unconfirmed() -> InTheWay {
    let message = "the deletion was not confirmed";
    InTheWay::new(message, "review the list, then confirm it with `--yes`")
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

    fn asked(&self) -> Asked {
        choose(self.cluster.is_some(), Asked::Cluster, Asked::Nobody)
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

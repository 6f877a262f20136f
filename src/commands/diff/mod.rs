//! `solution diff`: what a deployment would change in an environment, or what others have changed there.

mod arguments;
mod request;
pub(super) mod show;

use deployer::Cluster;
use importer::{Comparison, Running, Since};
use schemas::{Namespace, SolutionName, Version};
use validator::Accepted;

pub(crate) use self::arguments::Arguments;
use self::request::{Compared, compared, request};
use super::kept::kept;
use super::meant::{ImagesAt, Meant};
use crate::args::Output;
use crate::cluster;
use crate::failure::{Failure, Outcome};

/// What was found out; nothing where an archive is not accepted, which was said.
type Comparisons = Result<Option<Vec<Comparison>>, Failure>;

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    // A no would say that something differs.
    let found = find(arguments, output).map_err(Failure::untold)?;
    let shown = found.map(|found| show::all(&arguments.environment, &found, output));
    Ok(shown.unwrap_or(Outcome::Unknown))
}

fn find(arguments: &Arguments, output: Output) -> Comparisons {
    let Some(compared) = compared(arguments, output)? else {
        return Ok(None);
    };
    cluster::read(&arguments.cluster, async |cluster| {
        let (environment, namespace) = (&arguments.environment, arguments.namespace.as_ref());
        let diff = Diff {
            arguments,
            cluster,
            output,
        };
        // A version may be deployed into a namespace that the environment does not have yet.
        let known = namespace.filter(|_| matches!(compared, Compared::Deployed));
        let running = importer::running(cluster, environment, known).await?;
        match compared {
            Compared::Deployed => diff.deployed(running).await,
            Compared::Version(Meant::Imported(name, version)) => {
                let to = namespace.cloned();
                let found = diff.kept(&name, version, to, Since::Now).await?;
                Ok(found.map(|it| vec![it]))
            }
            Compared::Version(Meant::Archive(accepted)) => diff.archive(&accepted).await,
        }
    })
}

struct Diff<'a> {
    arguments: &'a Arguments,
    cluster: &'a Cluster,
    output: Output,
}

impl Diff<'_> {
    /// Everything that runs, against what was deployed.
    async fn deployed(&self, running: Vec<Running>) -> Comparisons {
        let mut found = Vec::new();
        for it in running {
            let since = Since::Deployed(it.namespace.clone());
            let Some(comparison) = self
                .kept(&it.solution, Some(&it.version), Some(it.namespace), since)
                .await?
            else {
                return Ok(None);
            };
            found.push(comparison);
        }
        Ok(Some(found))
    }

    /// An imported version, as the site keeps it.
    async fn kept(
        &self,
        solution: &SolutionName,
        version: Option<&Version>,
        namespace: Option<Namespace>,
        since: Since,
    ) -> Result<Option<Comparison>, Failure> {
        let reach = &self.arguments.reach;
        let Some(kept) = kept(self.cluster, solution, version, reach, self.output).await? else {
            return Ok(None);
        };
        let images = ImagesAt {
            registry: kept.registry,
            pull_registry: Some(kept.pull_registry),
        };
        let request = request(self.arguments, namespace, images)?;
        let accepted = &kept.archive.accepted;
        let found = Comparison::make(accepted, self.cluster, request, &since).await?;
        Ok(Some(found))
    }

    async fn archive(&self, accepted: &Accepted) -> Comparisons {
        let id = &accepted.statement().predicate.id;
        let images = ImagesAt::of(self.arguments.registry.as_ref(), self.cluster, id).await?;
        let namespace = self.arguments.namespace.clone();
        let request = request(self.arguments, namespace, images)?;
        let found = Comparison::make(accepted, self.cluster, request, &Since::Now).await?;
        Ok(Some(vec![found]))
    }
}

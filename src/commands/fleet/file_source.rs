//! Plans from the fleet's file: its archives, the values that it computes for each cluster, and the secrets to which it
//! refers. Sensitive values are read from separate files, because the fleet's file is shared and reviewed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use fleet::{ComputeError, ComputedSite, DeploymentIndex, FleetFile, Members};
use importer::{
    AskedParameters, CheckedArchive, FleetChoices, FoundFacts, GivenValue, Goal, PullLogin,
    Request, Target,
};
use schemas::{FleetCluster, FleetSolution, PlacedVersion, Solution};

use super::connection::Member;
use super::removal::{Departure, RemovalOptions, unlisted};
use super::source::{
    Deployable, DeployableEntry, DeployableSource, DeploymentPlace, RequestOptions, Unplannable,
    client,
};
use crate::args::Output;
use crate::commands::blocked::ShownBlocker;
use crate::commands::import::{self, SignerArguments};
use crate::commands::parameters;
use crate::failure::Failure;

/// The accepted archives, by the entries of `solutions` that name them.
pub(super) type Archives = BTreeMap<usize, Arc<CheckedArchive>>;

/// Verifies the archives that these clusters run. None if one is not accepted, which the program has reported.
pub(super) fn accept_all(
    file: &FleetFile,
    path: &Path,
    places: &[usize],
    signers: &SignerArguments,
    output: Output,
) -> Result<Option<Archives>, Failure> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let members = Members::of(file.spec());
    let mut by_path: BTreeMap<&str, Arc<CheckedArchive>> = BTreeMap::new();
    let mut archives = Archives::new();
    for (entry, solution) in file.spec().solutions.iter().enumerate() {
        let clusters = members.of_solution(solution);
        if !places.iter().any(|at| clusters.contains(at)) {
            continue;
        }
        let Some(path) = solution.archive.as_deref() else {
            continue;
        };
        let archive = if let Some(archive) = by_path.get(path) {
            Arc::clone(archive)
        } else {
            let path = &folder.join(path);
            let follows = "no cluster was changed";
            let accepted = import::accept(path, signers, follows, output)?;
            let Some(accepted) = accepted else {
                return Ok(None);
            };
            Arc::new(accepted)
        };
        check_is(solution, &archive, path)?;
        by_path.insert(path, Arc::clone(&archive));
        archives.insert(entry, archive);
    }
    Ok(Some(archives))
}

/// Checks that an archive contains the version that its entry names.
fn check_is(solution: &FleetSolution, archive: &CheckedArchive, path: &str) -> Result<(), Failure> {
    let id = &archive.accepted.statement().predicate.id;
    let FleetSolution { name, version, .. } = solution;
    if id.name() == name && id.version() == version {
        return Ok(());
    }
    let (found, version_found) = (id.name(), id.version());
    let other = anyhow!("`{path}` contains {found} {version_found} instead of {name} {version}");
    Err(Failure::no(other).hint("correct `name`, `version` or `archive` of the entry"))
}

/// The deployments of a fleet's file.
pub(super) struct FileSource<'a> {
    /// The path of the file.
    pub(super) path: &'a Path,
    pub(super) members: &'a Members<'a>,
    pub(super) archives: Archives,
    pub(super) asking: RequestOptions<'a>,
    /// The options for removing deployments that left the file; `None` if they are kept.
    pub(super) removing: Option<Arc<RemovalOptions>>,
}

impl DeployableSource for FileSource<'_> {
    async fn deployables(
        &self,
        place: &DeploymentPlace<'_>,
    ) -> Result<Vec<DeployableEntry>, Failure> {
        let file = self.asking.file;
        let computed = compute(file, self.members, place.at, place.reached).await?;
        let mut all = Vec::new();
        for deployment in computed.deployments {
            let entry = &file.spec().solutions[deployment.solution];
            let found = match deployment.values {
                Ok(values) => self.of(deployment.solution, values, place).await,
                Err(errors) => Err(Unplannable::Refused(
                    errors.iter().map(blocker_of_value).collect(),
                )),
            };
            all.push(DeployableEntry {
                placed: PlacedVersion::from(entry),
                found,
            });
        }
        Ok(all)
    }

    async fn departures(&self, place: &DeploymentPlace<'_>) -> Result<Vec<Departure>, Failure> {
        let spaces = importer::environments(&place.reached.cluster).await?;
        let left = unlisted(self.asking.file, self.members, place.at, &spaces);
        Ok(Departure::of_unlisted(left, self.removing.as_ref()))
    }
}

impl FileSource<'_> {
    /// Returns the source of the plan of a deployment.
    async fn of(
        &self,
        solution: usize,
        values: ComputedSite,
        place: &DeploymentPlace<'_>,
    ) -> Result<Deployable, Unplannable> {
        let file = self.asking.file;
        let entry = &file.spec().solutions[solution];
        let fleet = file.document().metadata.name.clone();
        let choices = FleetChoices::new(fleet, values.site).map_err(Failure::no)?;
        let goal = Goal::Deployed(Target {
            environment: entry.environment.clone(),
            namespace: None,
            pull_login: PullLogin::Keep,
            parameters: Box::default(),
            fleet: Some(Box::new(choices)),
        });
        let mut found = if let Some(archive) = self.archives.get(&solution) {
            self.carried(entry, archive, goal, place)?
        } else {
            self.asking
                .imported_version(entry, &entry.version, place, goal)
                .await?
        };
        if let Goal::Deployed(target) = &mut found.request.goal {
            let folder = self.path.parent().unwrap_or(Path::new(""));
            let manifest = found.archive.accepted.manifest();
            *target.parameters = read_secrets(folder, place.member, entry, manifest)?;
        }
        Ok(found)
    }

    /// Returns the source of the plan of a deployment with an archive in a file.
    fn carried(
        &self,
        entry: &FleetSolution,
        archive: &Arc<CheckedArchive>,
        goal: Goal,
        place: &DeploymentPlace<'_>,
    ) -> Result<Deployable, Failure> {
        let to = place.destination()?;
        let request = self.asking.request(goal, &to.registry, to.pull_registry)?;
        Ok(Deployable {
            placed: PlacedVersion::from(entry),
            note: None,
            archive: Arc::clone(archive),
            client: client(place.member, place.site, &to.registry, self.asking.reach)?,
            request: Request {
                missing: to.missing,
                from_site: to.from_site,
                ..request
            },
        })
    }
}

fn blocker_of_value(error: &ComputeError) -> ShownBlocker {
    let fix = "see the values of each cluster and their sources with `solution fleet values`";
    ShownBlocker::new(error.to_string(), fix)
}

/// Reads the sensitive values for a deployment in a cluster. Values of the cluster override those for all clusters.
/// Paths are relative to this folder.
fn read_secrets(
    folder: &Path,
    member: &FleetCluster,
    entry: &FleetSolution,
    manifest: &Solution,
) -> Result<AskedParameters, Failure> {
    let own = member.secrets.get(&entry.name);
    let mut given = BTreeMap::new();
    for file in entry.secrets.iter().chain(own) {
        let path = folder.join(file);
        let values = parameters::read(&path).map_err(Failure::settled)?;
        let declared = &manifest.spec.parameters;
        let is_plain = |name: &&_| {
            declared
                .get(*name)
                .is_some_and(|parameter| !parameter.sensitive)
        };
        if let Some(name) = values.keys().find(is_plain) {
            let path = path.display();
            let plain = anyhow!("`{path}` has a value for `{name}`, which is not sensitive");
            return Err(Failure::no(plain).hint("set it under `site`, where plans show it"));
        }
        let values = values.into_iter();
        given.extend(values.map(|(name, value)| (name, GivenValue::Filed(value))));
    }
    Ok(AskedParameters {
        given,
        ..AskedParameters::default()
    })
}

/// The computed values of a deployment in a cluster.
pub(super) struct ComputedDeployment {
    /// The index of the entry in `solutions`.
    pub(super) solution: usize,
    pub(super) values: Result<ComputedSite, Vec<ComputeError>>,
}

/// The facts and computed values of a cluster.
pub(super) struct ComputedMember {
    pub(super) found: FoundFacts,
    pub(super) deployments: Vec<ComputedDeployment>,
}

/// Queries the facts of a cluster, and computes all its values.
pub(super) async fn compute(
    file: &FleetFile,
    members: &Members<'_>,
    at: usize,
    Member {
        cluster, network, ..
    }: &Member,
) -> Result<ComputedMember, Failure> {
    let spec = file.spec();
    let member = &spec.clusters[at];
    let found = importer::find_facts(cluster, network, member, at, &spec.facts).await;
    let found = found.map_err(importer::Error::from)?;
    let solutions = spec.solutions.iter().enumerate();
    let runs = solutions.filter(|(_, entry)| members.of_solution(entry).contains(&at));
    let deployments = runs.map(|(solution, _)| {
        let deployed = DeploymentIndex {
            cluster: at,
            solution,
        };
        let values = fleet::compute(file, members, deployed, &found.facts);
        ComputedDeployment { solution, values }
    });
    Ok(ComputedMember {
        deployments: deployments.collect(),
        found,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_for_a_cluster_counts_before_what_is_for_all() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("all.yaml", "{password: a, token: b}");
        write("paris.yaml", "{password: c}");
        write("plain.yaml", "{size: 3}");
        let manifest = "{apiVersion: solutions.metalk8s.scality.com/v1alpha1, kind: Solution, metadata: {name: shop},
            spec: {version: 1.0.0, parameters: {size: {type: integer, default: 1},
            password: {type: string, sensitive: true}, token: {type: string, sensitive: true}}}}";
        let manifest = Solution::from_slice(manifest.as_bytes()).unwrap();
        let read = |all: &str, own: &str| {
            let own = json!({"name": "paris", "secrets": {"shop": own, "other": "none.yaml"}});
            let entry =
                json!({"name": "shop", "version": "1.0.0", "environment": "prod", "secrets": all});
            let (own, entry) = (serde_json::from_value(own), serde_json::from_value(entry));
            read_secrets(folder.path(), &own.unwrap(), &entry.unwrap(), &manifest)
        };
        let given = json!({"given": {"password": {"filed": "c"}, "token": {"filed": "b"}}});
        assert_eq!(json!(read("all.yaml", "paris.yaml").unwrap()), given);
        let refused = read("plain.yaml", "paris.yaml").unwrap_err();
        assert!(
            refused
                .in_one_line()
                .contains("`size`, which is not sensitive")
        );
        assert!(read("all.yaml", "missing.yaml").is_err());
    }
}

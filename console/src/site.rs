//! The site that the console shows: its cluster and its registries.

use std::sync::{Mutex, MutexGuard, PoisonError};

use importer::{Error, Goal, HeldSite, ImportedVersion, Request};
use kubernetes::Cluster;
use schemas::{SolutionName, Version};
use serde_json::Value;
use store::Record;

use crate::problem::Problem;
use crate::program::Program;

/// The site that the console shows.
pub(crate) struct Site {
    pub(crate) program: Program,
    /// The connection to the cluster, once there is one.
    cluster: Mutex<Option<Cluster>>,
}

impl std::fmt::Debug for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Site")
    }
}

impl Site {
    pub(crate) fn new(program: Program) -> Self {
        let cluster = Mutex::default();
        Self { program, cluster }
    }

    /// Returns the cluster, and connects to it if there is no connection yet.
    pub(crate) async fn cluster(&self) -> Result<Cluster, Problem> {
        if let Some(cluster) = &*self.known_cluster() {
            return Ok(cluster.clone());
        }
        // The lock is not held meanwhile, so that no request waits for the time limit of another one.
        let connected = Cluster::connect(&self.program.connect).await;
        let connected = connected.map_err(self.program.explain.unreachable)?;
        *self.known_cluster() = Some(connected.clone());
        Ok(connected)
    }

    fn known_cluster(&self) -> MutexGuard<'_, Option<Cluster>> {
        self.cluster.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the whole status of the site as the program's JSON result.
    pub(crate) async fn status_json(&self) -> Result<Value, Problem> {
        let status = importer::status(&self.cluster().await?, None).await;
        let status = status.map_err(|error| self.problem(error))?;
        Ok((self.program.results.status)(&status))
    }

    /// Converts an error of the importer to a problem with its causes and next steps.
    pub(crate) fn problem(&self, error: impl Into<Error>) -> Problem {
        (self.program.explain.error)(error.into())
    }

    /// Reads the archive of an imported version from its registry, and checks it as its medium was checked. Without a
    /// version, it is the newest one.
    pub(crate) async fn imported(
        &self,
        cluster: &Cluster,
        solution: &SolutionName,
        version: Option<&Version>,
    ) -> Result<ImportedVersion, Problem> {
        let record = importer::imported(cluster, solution, version).await;
        let record = record.map_err(|error| self.problem(error))?;
        let site = importer::site(cluster).await;
        let site = site.map_err(|error| self.problem(error))?;
        self.check(&record, &site).await
    }

    async fn check(&self, record: &Record, site: &HeldSite) -> Result<ImportedVersion, Problem> {
        let registry = record.registry().map_err(|error| self.problem(error))?;
        let client = (self.program.client)(&registry, site)?;
        let context = (self.program.context)()?;
        let (scratch, cancel) = (&context.scratch, context.writer.cancel);
        let checked = ImportedVersion::check(record, client, scratch, cancel).await;
        let checked = checked.map_err(|error| self.problem(error))?;
        checked.map_err(|report| (self.program.explain.report)(&report))
    }

    /// Returns a request for a goal with an imported version, without exceptions.
    pub(crate) fn request(
        &self,
        version: &ImportedVersion,
        goal: Goal,
    ) -> Result<Request, Problem> {
        let context = (self.program.context)()?;
        let registry = version.registry.clone();
        Ok(Request {
            pull_registry: Some(version.pull_registry.clone()),
            ..Request::new(registry, goal, self.program.limits, context)
        })
    }
}

//! The site that the console shows: its cluster and its registries.

use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use importer::{Error, Goal, HeldSite, ImportedVersion, Request};
use kubernetes::Cluster;
use registry::RegistryAddress;
use schemas::{SolutionName, Version};
use serde_json::Value;
use store::{MissingImagePolicy, Record};

use crate::problem::Problem;
use crate::program::Program;
use crate::texts;

/// The site that the console shows, with the permissions of one user.
pub(crate) struct Site {
    pub(crate) program: Program,
    registry_login: RegistryLogin,
    /// The connection to the cluster, once there is one.
    cluster: Mutex<Option<Cluster>>,
}

/// Whose logins to registries the console uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegistryLogin {
    /// The user's own.
    User,
    /// The console's. The API server decides whether a user may use them, since a registry does not know the user.
    Console,
}

impl std::fmt::Debug for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Site")
    }
}

impl Site {
    pub(crate) fn new(program: Program, registry_login: RegistryLogin) -> Self {
        let cluster = Mutex::default();
        Self {
            program,
            registry_login,
            cluster,
        }
    }

    /// Returns the cluster, and connects to it if there is no connection yet.
    pub(crate) async fn cluster(&self) -> Result<Cluster, Problem> {
        if let Some(cluster) = &*self.known_cluster() {
            return Ok(cluster.clone());
        }
        // The lock is not held meanwhile, so that no request waits for the time limit of another one.
        let connected = Cluster::connect(&self.program.connect).await;
        let connected = connected.map_err(|error| self.connection_problem(error))?;
        *self.known_cluster() = Some(connected.clone());
        Ok(connected)
    }

    fn connection_problem(&self, error: kubernetes::Error) -> Problem {
        let is_refused = matches!(error, kubernetes::Error::Unauthorized { .. });
        let problem = (self.program.explain.unreachable)(error);
        if is_refused && self.registry_login == RegistryLogin::Console {
            // The hints of the program are about its own credentials.
            let hints = vec![texts::UNKNOWN_ISSUER.to_owned()];
            return Problem { hints, ..problem };
        }
        problem
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
        let registry = record.registry().map_err(|error| self.problem(error))?;
        self.check_registry(cluster, &registry).await?;
        self.check(&record, &registry, &site).await
    }

    /// Checks that the user may read a registry with the console's login.
    async fn check_registry(
        &self,
        cluster: &Cluster,
        registry: &RegistryAddress,
    ) -> Result<(), Problem> {
        if self.registry_login == RegistryLogin::User {
            return Ok(());
        }
        let access = importer::registry_access(registry);
        let may = cluster.may(&access).await;
        if may.map_err(|error| self.problem(error))? {
            return Ok(());
        }
        Err(Problem {
            hints: vec![texts::missing_rule(&access)],
            ..Problem::with_status(StatusCode::FORBIDDEN, texts::no_right(&access))
        })
    }

    async fn check(
        &self,
        record: &Record,
        registry: &RegistryAddress,
        site: &HeldSite,
    ) -> Result<ImportedVersion, Problem> {
        let client = (self.program.client)(registry, site)?;
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
        // Users may only read with a login that is not their own.
        let missing = match self.registry_login {
            RegistryLogin::User => MissingImagePolicy::Push,
            RegistryLogin::Console => MissingImagePolicy::Refuse,
        };
        Ok(Request {
            missing,
            pull_registry: Some(version.pull_registry.clone()),
            ..Request::new(registry, goal, self.program.limits, context)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::tests::program;

    #[test]
    fn a_token_that_the_server_refuses_is_a_problem_of_its_settings() {
        let refused = || kubernetes::Error::Unauthorized {
            doing: "get the server's version".to_owned(),
            server: "https://api.test".to_owned(),
        };
        let hints = |login| {
            Site::new(program(), login)
                .connection_problem(refused())
                .hints
        };
        assert_eq!(hints(RegistryLogin::User), ["check the <kubeconfig>"]);
        assert_eq!(hints(RegistryLogin::Console), [texts::UNKNOWN_ISSUER]);
    }
}

//! Runs of Helm that change a release in a cluster: [`Helm::upgrade`] (which also installs), [`Helm::rollback`] and
//! [`Helm::uninstall`].
//!
//! Each waits until the cluster has applied the change. Helm applies its timeout to each of its waits; our time limit
//! applies to the whole run.

use std::ffi::OsString;
use std::time::Duration;

use progress::Cancel;
use schemas::{Namespace, ReleaseName};

use crate::error::HelmError;
use crate::helm_home::HelmHome;
use crate::limits;
use crate::program::Helm;
use crate::renderer::PostRenderer;
use crate::run::HelmRun;

/// The flags for writing objects and waiting for them. Objects are applied server-side, even if an earlier Helm did not
/// do so, and Jobs must complete.
const WRITING: [&str; 2] = ["server-side", "wait-for-jobs"];
/// Further flags of an upgrade:
/// - `install`: the release may not exist yet.
/// - `skip-crds`: on installation, Helm would overwrite the CRDs of `crds/`, even newer ones.
/// - `reset-values`: for empty values, Helm would use those of the last release.
/// - `rollback-on-failure`: a failed change is rolled back. A first release is then uninstalled.
/// - `hide-notes`: the notes are not used.
const UPGRADING: [&str; 5] = [
    "install",
    "skip-crds",
    "reset-values",
    "rollback-on-failure",
    "hide-notes",
];
/// The flag that prevents Helm from fetching the references of a schema.
pub(crate) const SKIP_SCHEMA: &str = "skip-schema-validation";
/// Helm's message for a release that does not exist. The flag `--ignore-not-found` is not used, because it also hides
/// other errors, such as missing permissions.
const NO_RELEASE: &str = "release: not found";

/// Helm's access to a cluster.
#[derive(Clone, Debug, Default)]
pub struct ClusterAccess {
    /// Environment variables in addition to the locations of Helm's files: `KUBECONFIG`, and those for login programs
    /// and proxies. They override Helm's own variables of the same name, such as `HOME`.
    pub environment: Vec<(OsString, OsString)>,
    /// The context of the kubeconfig; its current context if there is none.
    pub context: Option<String>,
}

/// A release in a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Release<'a> {
    /// The name of the release.
    pub name: &'a ReleaseName,
    /// The namespace of the release, which must exist.
    pub namespace: &'a Namespace,
}

/// A new revision of a release.
#[derive(Clone, Debug)]
pub struct Upgrade<'a> {
    /// The release. It is installed if it does not exist.
    pub release: Release<'a>,
    /// The chart's archive.
    pub chart: &'a [u8],
    /// Skips the validation of values with the chart's schemas, because they would be fetched from the
    /// network.
    pub skip_schema: bool,
    /// The complete values as YAML. No values of an earlier revision are kept.
    pub values: &'a [u8],
    /// Helm's timeout for waiting for the objects, and for each hook.
    pub timeout: Duration,
    /// The program that transforms the rendered objects.
    pub renderer: Option<PostRenderer<'a>>,
    /// Lets the release take over existing objects that are not part of it.
    pub take_ownership: bool,
    /// Lets the release take over fields of other field managers.
    pub force_conflicts: bool,
    /// A label, as name and value, that Helm stores with this and all later revisions. `helm list --selector` finds it.
    pub label: (&'a str, &'a str),
    /// The description of the revision; if it is empty, Helm uses its own text.
    pub description: &'a str,
}

impl Helm {
    /// Installs or upgrades a release and waits until it is ready. The CRDs of `crds/` are not installed.
    ///
    /// On failure or cancellation, a first release is uninstalled, and another one is rolled back to the newest
    /// revision that worked. Fields of other field managers are not taken over: Helm fails at the first such object
    /// after it has written the objects before it, and for the same reason fails to roll them back.
    pub fn upgrade(
        &self,
        upgrade: &Upgrade<'_>,
        access: &ClusterAccess,
        cancel: Cancel<'_>,
    ) -> Result<(), HelmError> {
        let home = self.home()?;
        let write = |name, bytes| home.write(name, bytes).map_err(|error| self.failed(error));
        let chart = write("chart.tgz", upgrade.chart)?;
        let values = write("values.yaml", upgrade.values)?;
        let mut run = change(&home, "upgrade", upgrade.release, upgrade.timeout, access);
        // After a cancellation, Helm still rolls back.
        run.farewell = limits::TAKING_BACK;
        run.arguments([chart.into()]);
        for flag in WRITING.into_iter().chain(UPGRADING) {
            run.flag(flag, "true");
        }
        run.flag("values", values);
        let (label, value) = upgrade.label;
        run.flag("labels", format!("{label}={value}"));
        run.flag("description", upgrade.description);
        if upgrade.skip_schema {
            run.flag(SKIP_SCHEMA, "true");
        }
        if upgrade.take_ownership {
            run.flag("take-ownership", "true");
        }
        if upgrade.force_conflicts {
            run.flag("force-conflicts", "true");
        }
        if let Some(renderer) = &upgrade.renderer {
            renderer
                .join(&mut run)
                .map_err(|error| self.failed(error))?;
        }
        self.run(&run, cancel).map(drop)
    }

    /// Creates a new revision of a release with the content of an earlier one, and waits until it is ready. After a
    /// cancellation, the release stays pending.
    pub fn rollback(
        &self,
        release: Release<'_>,
        revision: u32,
        timeout: Duration,
        access: &ClusterAccess,
        cancel: Cancel<'_>,
    ) -> Result<(), HelmError> {
        let home = self.home()?;
        let mut run = change(&home, "rollback", release, timeout, access);
        run.arguments([revision.to_string().into()]);
        for flag in WRITING {
            run.flag(flag, "true");
        }
        self.run(&run, cancel).map(drop)
    }

    /// Deletes a release with all its revisions, if it exists, and waits until its objects are deleted. Objects of
    /// hooks and objects with the policy to be kept are not deleted.
    pub fn uninstall(
        &self,
        release: Release<'_>,
        timeout: Duration,
        access: &ClusterAccess,
        cancel: Cancel<'_>,
    ) -> Result<(), HelmError> {
        let home = self.home()?;
        let run = change(&home, "uninstall", release, timeout, access);
        match self.run(&run, cancel) {
            Err(HelmError::Failed { said, .. }) if said.ends_with(NO_RELEASE) => Ok(()),
            other => other.map(drop),
        }
    }
}

/// Creates a run that changes a release. Its first argument is the name of the release.
fn change<'a>(
    home: &'a HelmHome,
    verb: &'static str,
    release: Release<'_>,
    timeout: Duration,
    access: &ClusterAccess,
) -> HelmRun<'a> {
    let mut run = HelmRun::new(home, verb);
    run.time = limits::REQUESTS.saturating_add(timeout.saturating_mul(limits::WAITS));
    run.farewell = limits::FAREWELL;
    run.heard = false;
    run.environment.clone_from(&access.environment);
    run.arguments([release.name.as_str().into()]);
    run.flag("namespace", release.namespace.as_str());
    if let Some(context) = &access.context {
        run.flag("kube-context", context);
    }
    run.flag("wait", "watcher");
    run.flag("timeout", format!("{}ms", timeout.as_millis()));
    run
}

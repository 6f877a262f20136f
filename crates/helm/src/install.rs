//! Runs that change a release in a cluster: it is installed or upgraded, rolled back, uninstalled.
//!
//! Each waits until the cluster is done. Helm's own time limit counts for each of its waits, ours for all of them.

use std::ffi::OsString;
use std::time::Duration;

use schemas::{Namespace, ReleaseName};
use watch::Cancel;

use crate::error::HelmError;
use crate::home::Home;
use crate::limits;
use crate::program::Helm;
use crate::renderer::PostRenderer;
use crate::run::HelmRun;

/// The flags for how objects are written and awaited: server-side, also where an earlier Helm did otherwise, and a Job
/// is there once it has completed.
const WRITING: [&str; 2] = ["server-side", "wait-for-jobs"];
/// The flags that hold for an upgrade besides: it may be the first; Helm would overwrite CRDs of `crds/`, even newer
/// ones, when it installs; it would take those of the last release for values that are empty; it takes back what
/// failed, which for a first release means to uninstall it; and nobody reads its notes.
const UPGRADING: [&str; 5] = [
    "install",
    "skip-crds",
    "reset-values",
    "rollback-on-failure",
    "hide-notes",
];
/// The flag with which Helm fetches nothing that a schema refers to.
pub(crate) const SKIP_SCHEMA: &str = "skip-schema-validation";
/// The words with which Helm says that there is no such release. Its flag that makes this no failure makes every answer
/// one, also that somebody may not look.
const NO_RELEASE: &str = "release: not found";

/// The way in which Helm reaches a cluster.
#[derive(Clone, Debug, Default)]
pub struct ClusterAccess {
    /// The variables of Helm's environment besides the places of its files: `KUBECONFIG`, and what login programs and
    /// proxies need. An entry goes before what Helm would have by that name, such as `HOME`.
    pub environment: Vec<(OsString, OsString)>,
    /// The context of the kubeconfig; by default its current one.
    pub context: Option<String>,
}

/// A release in a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Release<'a> {
    /// The name of the release.
    pub name: &'a ReleaseName,
    /// The namespace of the release, which must be there.
    pub namespace: &'a Namespace,
}

/// The revision that a release is to become.
#[derive(Clone, Debug)]
pub struct Upgrade<'a> {
    /// The release; it is installed if there is none.
    pub release: Release<'a>,
    /// The chart's archive.
    pub chart: &'a [u8],
    /// Whether values are not checked by the schemas of the chart, which would be fetched from elsewhere.
    pub skip_schema: bool,
    /// The values, as YAML: all of them, nothing is kept of an earlier revision.
    pub values: &'a [u8],
    /// The time that Helm waits for the objects, and for each hook.
    pub timeout: Duration,
    /// The program that the objects pass through.
    pub renderer: Option<PostRenderer<'a>>,
    /// Whether objects that are there already, and not of this release, become its own.
    pub take_ownership: bool,
    /// Whether fields that others own are taken over.
    pub force_conflicts: bool,
    /// A label that Helm keeps with this revision and all later ones, name and value; `helm list --selector` finds it.
    pub label: (&'a str, &'a str),
    /// The description that Helm keeps with the revision; if empty, words of its own.
    pub description: &'a str,
}

impl Helm {
    /// Installs a release, or upgrades it, and waits until it is ready. CRDs of `crds/` are left out.
    ///
    /// What failed is taken back, likewise if this is cancelled: a first release is uninstalled, another one rolled back to
    /// the newest revision that worked. Fields that somebody else owns are not taken over: Helm fails at the first such
    /// object, with those before it written, and for the same reason fails to take them back.
    pub fn upgrade(
        &self,
        upgrade: &Upgrade<'_>,
        access: &ClusterAccess,
        cancel: Cancel<'_>,
    ) -> Result<(), HelmError> {
        let home = self.home()?;
        let write = |name, bytes| home.write(name, bytes).map_err(|it| self.failed(it));
        let chart = write("chart.tgz", upgrade.chart)?;
        let values = write("values.yaml", upgrade.values)?;
        let mut run = change(&home, "upgrade", upgrade.release, upgrade.timeout, access);
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
            renderer.join(&mut run).map_err(|it| self.failed(it))?;
        }
        self.run(&run, cancel).map(drop)
    }

    /// Makes a new revision of a release that is what an earlier one was, and waits until it is ready. If this is
    /// cancelled, the release stays pending.
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

    /// Removes a release, if there is one, with all of its revisions, and waits until its objects are gone. What its hooks
    /// made stays, and what is marked to be kept.
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

/// A run that changes a release, and has its name as first argument.
fn change<'a>(
    home: &'a Home,
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

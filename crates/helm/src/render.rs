//! Rendering of a chart with values: without a cluster ([`Helm::template`]), or for the next revision of a release in a
//! cluster ([`Helm::preview`]). Both return the rendered objects as one stream of YAML and write nothing to a cluster.

use progress::Cancel;
use schemas::{Namespace, ReleaseName};
use serde_json::{Value, json};

use crate::error::HelmError;
use crate::helm_home::HelmHome;
use crate::install::{ClusterAccess, SKIP_SCHEMA};
use crate::limits;
use crate::program::Helm;
use crate::run::HelmRun;
use crate::stored::StoredRevision;

/// A chart and the values to render it with.
#[derive(Clone, Copy, Debug)]
pub struct ChartRendering<'a> {
    /// The name of the release.
    pub release: &'a ReleaseName,
    /// The namespace of the release.
    pub namespace: &'a Namespace,
    /// The chart's archive.
    pub chart: &'a [u8],
    /// Skips the validation of values with the chart's schemas, because they would be fetched from the
    /// network.
    pub skip_schema: bool,
    /// The values, as YAML.
    pub values: &'a [u8],
    /// The version of Kubernetes that templates see; by default the version that Helm was built for.
    pub kubernetes: Option<&'a str>,
    /// Additional API versions that templates see, as `GROUP/VERSION` and `GROUP/VERSION/KIND`.
    pub api_versions: &'a [String],
    /// Includes the files of `crds/` in the output.
    pub definitions: bool,
    /// The number of the revision. For all except the first one, templates see an upgrade.
    pub revision: u32,
}

/// The variable that makes Helm store releases in memory, so that it only reads from the cluster.
const IN_MEMORY: (&str, &str) = ("HELM_DRIVER", "memory");
/// The variable with the file of the releases that are initially in memory.
const RELEASES: &str = "HELM_MEMORY_DRIVER_DATA";
/// The flags that a preview shares with the change that it shows: see [`Helm::upgrade`].
const SHOWING: [&str; 3] = ["install", "skip-crds", "reset-values"];

impl Helm {
    /// Renders a chart with its hooks and tests as one stream of YAML. This opens no socket. Templates always see
    /// revision 1.
    pub fn template(
        &self,
        rendering: &ChartRendering<'_>,
        cancel: Cancel<'_>,
    ) -> Result<Vec<u8>, HelmError> {
        let home = self.home()?;
        let mut run = self.rendering(&home, "template", rendering)?;
        if let Some(version) = rendering.kubernetes {
            run.flag("kube-version", version);
        }
        for version in rendering.api_versions {
            run.flag("api-versions", version);
        }
        if rendering.definitions {
            run.flag("include-crds", "true");
        }
        if rendering.revision > 1 {
            run.flag("is-upgrade", "true");
        }
        self.run(&run, cancel)
    }

    /// Renders a chart as Helm would send it to a cluster in this revision. Templates see the cluster's objects,
    /// version and API versions instead of those in `rendering`. Nothing is written to the cluster, and its stored
    /// releases are not read.
    pub fn preview(
        &self,
        rendering: &ChartRendering<'_>,
        access: &ClusterAccess,
        cancel: Cancel<'_>,
    ) -> Result<Vec<u8>, HelmError> {
        let home = self.home()?;
        let mut run = self.rendering(&home, "upgrade", rendering)?;
        let releases = previous_releases(rendering).to_string();
        let releases = home.write("releases.yaml", releases.as_bytes());
        let releases = releases.map_err(|error| self.failed(error))?;
        run.environment.clone_from(&access.environment);
        // With releases in memory, Helm neither reads nor writes those of the cluster.
        let (driver, memory) = IN_MEMORY;
        run.environment.push((driver.into(), memory.into()));
        run.environment.push((RELEASES.into(), releases.into()));
        for flag in SHOWING {
            run.flag(flag, "true");
        }
        if let Some(context) = &access.context {
            run.flag("kube-context", context);
        }
        run.flag("dry-run", "server");
        run.flag("output", "json");
        let printed = self.run(&run, cancel)?;
        let verb = "upgrade";
        let printed = StoredRevision::printed(&printed);
        let printed = printed.map_err(|source| HelmError::Printed(verb, source))?;
        Ok(printed.stream().into_bytes())
    }

    /// Creates a run for a release, a chart and values.
    fn rendering<'a>(
        &self,
        home: &'a HelmHome,
        verb: &'static str,
        rendering: &ChartRendering<'_>,
    ) -> Result<HelmRun<'a>, HelmError> {
        let write = |name, bytes| home.write(name, bytes).map_err(|error| self.failed(error));
        let chart = write("chart.tgz", rendering.chart)?;
        let values = write("values.yaml", rendering.values)?;
        let mut run = HelmRun::new(home, verb);
        run.time = limits::RENDERING;
        run.arguments([rendering.release.as_str().into(), chart.into()]);
        run.flag("namespace", rendering.namespace.as_str());
        run.flag("values", values);
        if rendering.skip_schema {
            run.flag(SKIP_SCHEMA, "true");
        }
        Ok(run)
    }
}

/// Returns the releases before this revision: one without objects, unless it is the first revision.
fn previous_releases(rendering: &ChartRendering<'_>) -> Value {
    match rendering.revision.checked_sub(1) {
        None | Some(0) => json!([]),
        Some(revision) => json!([{
            "name": rendering.release,
            "namespace": rendering.namespace,
            "version": revision,
            "info": { "status": "deployed" },
            "chart": { "metadata": { "apiVersion": "v2", "name": "earlier", "version": "0.0.0" } },
        }]),
    }
}

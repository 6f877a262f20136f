//! Rendering of a chart with values, as Helm does it without a cluster, or for the next revision of a release.

use schemas::{Namespace, ReleaseName};
use serde_json::{Value, json};
use watch::Cancel;

use crate::error::HelmError;
use crate::home::Home;
use crate::install::{ClusterAccess, SKIP_SCHEMA};
use crate::limits;
use crate::program::Helm;
use crate::run::HelmRun;
use crate::stored::StoredRevision;

/// The chart and the values that are rendered.
#[derive(Clone, Copy, Debug)]
pub struct ChartRendering<'a> {
    /// The name of the release.
    pub release: &'a ReleaseName,
    /// The namespace that it would be installed in.
    pub namespace: &'a Namespace,
    /// The chart's archive.
    pub chart: &'a [u8],
    /// Whether values are not checked by the schemas of the chart, which would be fetched from elsewhere.
    pub skip_schema: bool,
    /// The values, as YAML.
    pub values: &'a [u8],
    /// The version of Kubernetes that the chart is told; by default the one that Helm was built for.
    pub kubernetes: Option<&'a str>,
    /// Further API versions that the chart is told, as `GROUP/VERSION` and `GROUP/VERSION/KIND`.
    pub api_versions: &'a [String],
    /// Whether the files of `crds/` come with it.
    pub definitions: bool,
    /// The revision that it would be. Of any but the first the chart is told that the release is there already.
    pub revision: u32,
}

/// The variable with which Helm keeps releases in its memory, and only reads the cluster.
const IN_MEMORY: (&str, &str) = ("HELM_DRIVER", "memory");
/// The variable that tells Helm where it finds those that are there.
const RELEASES: &str = "HELM_MEMORY_DRIVER_DATA";
/// The flags that hold for it as for the change that it shows: see [`Helm::upgrade`].
const SHOWING: [&str; 3] = ["install", "skip-crds", "reset-values"];

impl Helm {
    /// The objects of a chart, of its hooks and of its tests, as one stream of YAML. This opens no socket, and the chart is
    /// told of the first revision, whichever it would be.
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

    /// Renders the chart as it would be sent to a cluster in this revision: templates see what is there, its version
    /// and its API versions, instead of those that are given. Nothing is written there, and what it keeps of releases
    /// is not read.
    pub fn preview(
        &self,
        rendering: &ChartRendering<'_>,
        access: &ClusterAccess,
        cancel: Cancel<'_>,
    ) -> Result<Vec<u8>, HelmError> {
        let home = self.home()?;
        let mut run = self.rendering(&home, "upgrade", rendering)?;
        let releases = earlier(rendering).to_string();
        let releases = home.write("releases.yaml", releases.as_bytes());
        let releases = releases.map_err(|it| self.failed(it))?;
        run.environment.clone_from(&access.environment);
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
        let printed = printed.map_err(|source| HelmError::Printed { verb, source })?;
        Ok(printed.stream().into_bytes())
    }

    /// A run over this release, chart and values.
    fn rendering<'a>(
        &self,
        home: &'a Home,
        verb: &'static str,
        rendering: &ChartRendering<'_>,
    ) -> Result<HelmRun<'a>, HelmError> {
        let write = |name, bytes| home.write(name, bytes).map_err(|it| self.failed(it));
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

/// The releases that are there before: one without objects, if there is a revision before.
fn earlier(rendering: &ChartRendering<'_>) -> Value {
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

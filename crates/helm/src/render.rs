//! What a chart comes to with values, as Helm renders it without a cluster.

use schemas::{Namespace, ReleaseName};
use watch::Cancel;

use crate::error::HelmError;
use crate::install::Access;
use crate::limits;
use crate::program::Helm;
use crate::run::Run;

/// What is rendered.
#[derive(Clone, Copy, Debug)]
pub struct Rendering<'a> {
    /// The name of the release.
    pub release: &'a ReleaseName,
    /// The namespace that it would be installed in.
    pub namespace: &'a Namespace,
    /// The chart's archive.
    pub chart: &'a [u8],
    /// The values, as YAML.
    pub values: &'a [u8],
    /// The version of Kubernetes that the chart is told; by default the one that Helm was built for.
    pub kubernetes: Option<&'a str>,
    /// Further API versions that the chart is told, as `GROUP/VERSION` and `GROUP/VERSION/KIND`.
    pub api_versions: &'a [String],
    /// Whether the files of `crds/` come with it.
    pub definitions: bool,
    /// Whether the chart is told that the release is there already.
    pub upgrade: bool,
}

impl Helm {
    /// The objects of a chart, of its hooks and of its tests, as one stream of YAML. This opens no socket.
    pub fn template(
        &self,
        rendering: &Rendering<'_>,
        cancel: Cancel<'_>,
    ) -> Result<Vec<u8>, HelmError> {
        self.render(rendering, None, cancel)
    }

    /// The same where templates see what is in a cluster; nothing is written there. They are told its version and its API
    /// versions, and objects of other kinds are refused.
    pub fn template_in(
        &self,
        rendering: &Rendering<'_>,
        access: &Access,
        cancel: Cancel<'_>,
    ) -> Result<Vec<u8>, HelmError> {
        self.render(rendering, Some(access), cancel)
    }

    fn render(
        &self,
        rendering: &Rendering<'_>,
        access: Option<&Access>,
        cancel: Cancel<'_>,
    ) -> Result<Vec<u8>, HelmError> {
        let home = self.home()?;
        let write = |name, bytes| home.write(name, bytes).map_err(|it| self.failed(it));
        let chart = write("chart.tgz", rendering.chart)?;
        let values = write("values.yaml", rendering.values)?;
        let mut run = Run::new(&home, "template");
        run.time = limits::RENDERING;
        run.arguments([rendering.release.as_str().into(), chart.into()]);
        run.flag("namespace", rendering.namespace.as_str());
        run.flag("values", values);
        if let Some(version) = rendering.kubernetes {
            run.flag("kube-version", version);
        }
        for version in rendering.api_versions {
            run.flag("api-versions", version);
        }
        if let Some(access) = access {
            run.environment.clone_from(&access.environment);
            run.flag("dry-run", "server");
            if let Some(context) = &access.context {
                run.flag("kube-context", context);
            }
        }
        if rendering.definitions {
            run.flag("include-crds", "true");
        }
        if rendering.upgrade {
            run.flag("is-upgrade", "true");
        }
        self.run(&run, cancel)
    }
}

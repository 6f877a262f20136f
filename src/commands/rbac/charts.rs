//! What the charts of an archive render to, for the rights that they take.

use std::path::PathBuf;

use clap::Args;
use importer::{
    CreateEnvironment, Goal, ImaginedSite, PullLogin, RenderedRelease, Target, WantedWithin,
};
use schemas::{ApiName, KubernetesVersion};
use validator::Accepted;

use crate::args::ChangeArguments;
use crate::commands::import::of_goal;
use crate::commands::site;
use crate::failure::Failure;
use crate::{cluster, helm};

/// The registry that stands for any: no right depends on it, and no host is called so (RFC 2606).
const REGISTRY: &str = "registry.invalid";

/// How charts are rendered. No cluster is asked.
#[derive(Args, Debug)]
pub(crate) struct ChartArguments {
    /// The Kubernetes version for rendering charts
    #[arg(long, value_name = "VERSION", default_value = "1.36")]
    kube_version: KubernetesVersion,

    /// Additional API versions or kinds of the cluster; may be repeated
    #[arg(long, value_name = "GROUP/VERSION[/KIND]", value_delimiter = ',')]
    api_versions: Vec<ApiName>,

    /// The site configuration with values of charts
    #[arg(long, value_name = "FILE")]
    site_file: Option<PathBuf>,

    /// The `helm` program, version 4 [default: `HELM`, else that of the package, else `helm` on the PATH]
    #[arg(long, value_name = "FILE")]
    helm: Option<PathBuf>,
}

impl ChartArguments {
    /// The releases of an archive, or why they cannot be rendered.
    pub(super) fn rendered(
        &self,
        archive: &Accepted,
        within: &WantedWithin,
    ) -> Result<Result<Vec<RenderedRelease>, String>, Failure> {
        let (environment, namespace) = within.place();
        let files = self.site_file.iter().map(|path| site::read(path, None));
        let site = ImaginedSite {
            kubernetes: self.kube_version.clone(),
            api_versions: self.api_versions.clone(),
            files: files.collect::<Result<_, _>>()?,
        };
        let goal = Goal::Deployed(Target {
            environment,
            namespace: Some(namespace),
            pull_login: PullLogin::Keep,
            parameters: Box::default(),
            fleet: None,
        });
        let registry = REGISTRY.parse().map_err(Failure::unknown)?;
        let mut request = of_goal(goal, &registry, None, &ChangeArguments::default())?;
        request.helm = helm::installer(self.helm.as_deref());
        request.allowed.create = CreateEnvironment::Allow;
        let found =
            cluster::block_on(async { Ok(RenderedRelease::all(&site, archive, request).await?) })?;
        Ok(found.map_err(|obstacles| {
            let first = obstacles.first().map(ToString::to_string);
            first.unwrap_or_else(|| "nothing would be deployed".to_owned())
        }))
    }
}

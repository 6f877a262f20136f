//! `solution site rbac`: the roles that give a person exactly what verbs need. It only prints them, because an
//! administrator must review and apply them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use importer::{
    CreateEnvironment, Goal, ImaginedSite, PullLogin, RenderedRelease, RightsManifest, RightsScope,
    RightsVerb, Subject, Target, WantedRights,
};
use schemars::JsonSchema;
use schemas::{
    ApiName, EnvironmentName, KubernetesName, KubernetesVersion, Namespace, SolutionName, Version,
};
use serde::Serialize;
use validator::AcceptedArchive;

use super::read;
use crate::args::{ChangeArguments, ClusterArguments, Output, RegistryArguments, TrustArguments};
use crate::commands::give;
use crate::commands::import::goal_request;
use crate::commands::import::plan_action::role_documents;
use crate::commands::imported_version::read_imported_version;
use crate::commands::validate::check::accept;
use crate::failure::{Failure, Outcome};
use crate::{cluster, helm, render};

/// Print RBAC roles with the permissions that commands need
#[derive(Args, Debug)]
#[command(after_help = "\
The command changes nothing: an administrator reviews the roles and applies them. Kubernetes does not let you \
grant permissions that you do not have, so the roles for `deploy` include the rules of the operator. Undeploying \
and deactivating need the roles of the version that is removed. Permissions for a chart cover the objects that \
`helm` renders with the default values or with --site-file, and Helm's Secrets. Applied bindings replace their \
subjects: name all subjects at once.

With --environment, permissions are limited to its namespace, which must exist, where Kubernetes allows it. With \
--namespace alone, they are for the administrator of that namespace, who outside it can only read a few records. \
That administrator cannot deploy Solutions with objects, charts, or an operator with a role in the whole \
cluster.

Examples:
  solution site rbac
  solution site rbac app.iso --key publisher.pub --group importers | kubectl apply -f -
  solution site rbac app.iso --key publisher.pub -e prod --verb deploy --verb status --user alice
  solution site rbac app.iso --key publisher.pub -e prod --site-file site.yaml --kube-version 1.34
  solution site rbac example 1.0.0 --namespace shop --user bob
  solution site rbac --verb status --serviceaccount monitoring:probe --output json
  solution site rbac --verb fleet-hub --user alice | kubectl --context hub apply -f -")]
pub(crate) struct Arguments {
    /// The archive (a file or a block device), or the name of an imported Solution [default: permissions that every
    /// Solution needs]
    #[arg(value_name = "ARCHIVE|NAME")]
    what: Option<PathBuf>,

    /// The version of the imported Solution, required with its name
    #[arg(requires = "what")]
    version: Option<Version>,

    /// Limit the permissions to this environment
    #[arg(short, long, value_name = "NAME")]
    environment: Option<EnvironmentName>,

    /// The namespace of the environment [default: the name of the environment]. Without --environment, limit the
    /// permissions to it
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<Namespace>,

    /// The commands to permit; may be repeated [default: all except `fleet-hub`, `fleet-init` and
    /// `console`]
    #[arg(long = "verb", value_name = "VERB", value_enum)]
    verbs: Vec<RbacVerb>,

    /// Bind the roles to this user; may be repeated
    #[arg(long = "user", value_name = "NAME")]
    users: Vec<String>,

    /// Bind the roles to this group; may be repeated
    #[arg(long = "group", value_name = "NAME")]
    groups: Vec<String>,

    /// Bind the roles to this ServiceAccount; may be repeated
    #[arg(long = "serviceaccount", value_name = "NAMESPACE:NAME", value_parser = account)]
    accounts: Vec<(Namespace, KubernetesName)>,

    /// Also print the roles with which this ServiceAccount acts on behalf of the users and groups
    #[arg(long, value_name = "NAMESPACE:NAME", value_parser = account, requires = "users")]
    impersonator: Option<(Namespace, KubernetesName)>,

    #[command(flatten)]
    charts: ChartArguments,

    #[command(flatten)]
    trust: TrustArguments,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    cluster: ClusterArguments,
}

/// A verb, or those of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RbacVerb {
    /// Import versions
    Import,
    /// Activate CRDs
    Activate,
    /// Rewrite custom resources in a new storage version (`crds activate --migrate`)
    Migrate,
    /// Import and deploy versions
    Deploy,
    /// Undeploy versions
    Undeploy,
    /// Remove CRDs
    Deactivate,
    /// Unimport versions
    Unimport,
    /// Undeploy, deactivate and unimport in one step
    Delete,
    /// Create, delete, list and describe environments
    Environment,
    /// Store site configurations in the cluster
    Site,
    /// Show the status, and write support bundles
    Status,
    /// Show, pause and approve fleets in a hub (`fleet apply --hub`)
    FleetHub,
    /// Prepare a hub (`fleet init --hub`)
    FleetInit,
    /// Use the registry logins of a web console in the cluster
    Console,
}

impl RbacVerb {
    /// Returns the steps of the verb.
    fn steps(self) -> &'static [RightsVerb] {
        use RightsVerb as R;
        match self {
            Self::Import => &[R::Import],
            Self::Activate => &[R::Activate],
            Self::Migrate => &[R::Activate, R::Migrate],
            Self::Deploy => &[R::Deploy],
            Self::Undeploy => &[R::Undeploy],
            Self::Deactivate => &[R::Deactivate],
            Self::Unimport => &[R::Unimport],
            Self::Delete => &[R::Undeploy, R::Deactivate, R::Unimport],
            Self::Environment => &[R::Environment],
            Self::Site => &[R::Site],
            Self::Status => &[R::Status],
            Self::FleetHub => &[R::FleetHub],
            Self::FleetInit => &[R::FleetInit],
            Self::Console => &[R::Console],
        }
    }
}

fn account(text: &str) -> Result<(Namespace, KubernetesName), String> {
    let parts = text.split_once(':').ok_or("expected NAMESPACE:NAME")?;
    let namespace = parts.0.parse().map_err(|error| format!("{error}"))?;
    let name = parts.1.parse().map_err(|error| format!("{error}"))?;
    Ok((namespace, name))
}

/// The consequence if an archive is not accepted.
const NO_RIGHTS: &str = ", so its rights are not shown";
pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let accepted = match (&arguments.what, &arguments.version) {
        (None, _) => None,
        // Verify the archive first, because an unknown archive could request any rights.
        (Some(archive), None) => Some(accept(archive, &arguments.trust, NO_RIGHTS, output)?),
        (Some(name), Some(version)) => Some(imported(name, version, arguments, output)?),
    };
    let archive = match &accepted {
        Some(None) => return Ok(Outcome::No),
        accepted => accepted.as_ref().and_then(Option::as_ref),
    };
    let mut wanted = arguments.wanted(archive)?;
    if let Some(archive) = archive.filter(|archive| !archive.manifest().spec.charts.is_empty()) {
        match arguments.charts.rendered(archive, &wanted.within)? {
            Ok(charts) => wanted.charts = charts,
            Err(why) if output == Output::Human => render::note!(
                "note: the rights of its charts are missing, because the charts cannot be rendered: {why}"
            ),
            Err(_) => {}
        }
    }
    let list = RightsList {
        api_version: "v1",
        items: wanted.manifests()?,
        kind: "List",
    };
    Ok(give(output, &list, |list| show(&list.items)))
}

/// A Kubernetes List that kubectl accepts; kubectl ignores `schemaVersion`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RightsList {
    /// Always `v1`.
    #[schemars(extend("const" = "v1"))]
    api_version: &'static str,
    /// The namespace of the records, the roles, and what binds them.
    items: Vec<RightsManifest>,
    /// Always `List`.
    #[schemars(extend("const" = "List"))]
    kind: &'static str,
}

impl Arguments {
    /// Returns the requested rights, including those of a version if one is named.
    fn wanted<'a>(
        &self,
        archive: Option<&'a AcceptedArchive>,
    ) -> Result<WantedRights<'a>, Failure> {
        let (environment, namespace) = (self.environment.clone(), self.namespace.clone());
        let within = RightsScope::of(environment, namespace);
        let users = self.users.iter().cloned().map(Subject::User);
        let groups = self.groups.iter().cloned().map(Subject::Group);
        let accounts = self.accounts.iter().cloned();
        let accounts = accounts.map(|(namespace, name)| Subject::ServiceAccount(namespace, name));
        Ok(WantedRights {
            verbs: self.steps(&within)?,
            archive,
            within,
            subjects: users.chain(groups).chain(accounts).collect(),
            impersonator: self.impersonator.clone(),
            charts: Vec::new(),
        })
    }

    /// Returns the verbs that the person needs, out of those that are possible.
    fn steps(&self, within: &RightsScope) -> Result<BTreeSet<RightsVerb>, Failure> {
        let steps = self.verbs.iter().flat_map(|verb| verb.steps());
        let mut wanted: BTreeSet<RightsVerb> = steps.copied().collect();
        if wanted.is_empty() {
            wanted = within.verbs().iter().copied().collect();
        }
        if wanted.iter().all(|verb| within.allows(*verb)) {
            return Ok(wanted);
        }
        Err(Failure::usage(
            "use only the verbs deploy, undeploy and status with `--namespace` alone: others have effects outside the namespace",
        ))
    }
}

/// Reads the archive of an imported version, with the same checks as a deployment.
fn imported(
    name: &Path,
    version: &Version,
    arguments: &Arguments,
    output: Output,
) -> Result<Option<AcceptedArchive>, Failure> {
    let solution: Option<SolutionName> = name.to_str().and_then(|name| name.parse().ok());
    let solution = solution.ok_or_else(|| {
        let shown = name.display();
        Failure::usage(format!(
            "`{shown}` is not the name of a Solution, but a version follows it"
        ))
    })?;
    cluster::block_on(async {
        let cluster = cluster::connect(&arguments.cluster).await?;
        let version = Some(version);
        let kept =
            read_imported_version(&cluster, &solution, version, &arguments.reach, output).await?;
        Ok(kept.map(|kept| kept.archive.accepted))
    })
}

fn show(manifests: &[RightsManifest]) {
    role_documents(manifests).lines().for_each(render::line);
}

/// A placeholder for the registry. No right depends on it, and RFC 2606 reserves the name.
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
    /// Renders the releases of an archive. Returns the reason if they cannot be rendered.
    fn rendered(
        &self,
        archive: &AcceptedArchive,
        within: &RightsScope,
    ) -> Result<Result<Vec<RenderedRelease>, String>, Failure> {
        let (environment, namespace) = within.place();
        let files = self.site_file.iter().map(|path| read(path, None));
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
        let mut request = goal_request(goal, &registry, None, &ChangeArguments::default())?;
        request.context.helm = helm::installer(self.helm.as_deref());
        request.allowed.create = CreateEnvironment::Allow;
        let found =
            cluster::block_on(async { Ok(RenderedRelease::all(&site, archive, request).await?) })?;
        Ok(found.map_err(|blockers| {
            let first = blockers.first().map(ToString::to_string);
            first.unwrap_or_else(|| "nothing would be deployed".to_owned())
        }))
    }
}

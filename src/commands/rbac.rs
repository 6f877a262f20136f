//! `solution rbac`: the roles that give a person exactly what verbs need.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use importer::{RightsManifest, RightsVerb, Subject, WantedRights, WantedWithin};
use schemars::JsonSchema;
use schemas::{EnvironmentName, KubernetesName, Namespace, SolutionName, Version, yaml};
use serde::Serialize;
use validator::Accepted;

use super::give;
use super::kept::kept;
use super::validate::check::accept;
use crate::args::{ClusterArguments, Output, RegistryArguments, TrustArguments};
use crate::cluster;
use crate::failure::{Failure, Outcome};
use crate::render;

/// Print the roles that give a person exactly the rights that verbs need, for kubectl
#[derive(Args, Debug)]
#[command(after_help = "\
Nothing is changed: an administrator reads the roles and applies them. The cluster is asked only for
the archive of an imported version.
Kubernetes lets nobody grant rights that they do not hold, so for deploy the roles of an archive
hold the rules of its operator, too. Undeploying and deactivating take those of the version that
goes. Applying bindings again replaces their subjects: name them all at once.

With --environment the rights end at its namespace, which must exist, wherever Kubernetes allows.
With --namespace alone they are those of who administers only this namespace: beyond it they only
read a few records, by their names. What they cannot deploy so (a Solution that carries objects or
charts, an operator with a role in the whole cluster) gets no roles for it.

Examples:
  solution rbac
  solution rbac app.iso --key publisher.pub --group importers | kubectl apply -f -
  solution rbac app.iso --key publisher.pub -e prod --verb deploy --verb status --user alice
  solution rbac example 1.0.0 --namespace shop --user bob
  solution rbac --verb status --serviceaccount monitoring:probe --output json")]
pub(crate) struct Arguments {
    /// The archive that the verbs are for, or the name of an imported Solution [default: only what every Solution takes]
    #[arg(value_name = "ARCHIVE|NAME")]
    what: Option<PathBuf>,

    /// The version of the imported Solution, whose archive is read from the registry that it was pushed to
    #[arg(requires = "what")]
    version: Option<Version>,

    /// Only in this environment
    #[arg(short, long, value_name = "NAME")]
    environment: Option<EnvironmentName>,

    /// The namespace of the environment [default: the environment's name]; alone, for who administers only it
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<Namespace>,

    /// What the person is to do; may be repeated [default: all of it]
    #[arg(long = "verb", value_name = "VERB", value_enum)]
    verbs: Vec<Verb>,

    /// Bind the roles to this user; may be repeated
    #[arg(long = "user", value_name = "NAME")]
    users: Vec<String>,

    /// Bind the roles to this group; may be repeated
    #[arg(long = "group", value_name = "NAME")]
    groups: Vec<String>,

    /// Bind the roles to this ServiceAccount; may be repeated
    #[arg(long = "serviceaccount", value_name = "NAMESPACE:NAME", value_parser = account)]
    accounts: Vec<(Namespace, KubernetesName)>,

    #[command(flatten)]
    trust: TrustArguments,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    cluster: ClusterArguments,
}

/// Which version the verbs are for.
enum Meant<'a> {
    /// Any of any Solution.
    Any,
    Archive(&'a Path),
    Imported(SolutionName, &'a Version),
}

/// A verb, or those of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Verb {
    /// Make versions available
    Import,
    /// Put CRDs in the cluster
    Activate,
    /// Store objects anew when CRDs give up the version that they are stored in (`activate --migrate`)
    Migrate,
    /// Run operators in environments, and import what they run
    Deploy,
    /// Remove operators from environments
    Undeploy,
    /// Remove CRDs
    Deactivate,
    /// Forget versions
    Unimport,
    /// Undeploy, deactivate and unimport in one step
    Delete,
    /// Create, delete, list and describe environments
    Environment,
    /// Keep a site's file in the cluster
    Site,
    /// Show what is imported and what runs where
    Status,
}

impl Verb {
    /// What it comes to.
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
        }
    }
}

fn account(text: &str) -> Result<(Namespace, KubernetesName), String> {
    let parts = text.split_once(':').ok_or("it is not NAMESPACE:NAME")?;
    let namespace = parts.0.parse().map_err(|error| format!("{error}"))?;
    let name = parts.1.parse().map_err(|error| format!("{error}"))?;
    Ok((namespace, name))
}

/// What follows where an archive is not accepted.
const NO_RIGHTS: &str = ", so its rights are not shown";
/// What is left out.
const CHARTS: &str = "note: what its charts take is not among these: only a cluster tells what they render to, and `solution import --dry-run` names what is missing there";

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let accepted = match arguments.meant()? {
        Meant::Any => None,
        // Nobody should be given rights that an unknown archive names.
        Meant::Archive(archive) => match accept(archive, &arguments.trust, NO_RIGHTS, output)? {
            Some(accepted) => Some(accepted),
            None => return Ok(Outcome::No),
        },
        Meant::Imported(name, version) => match imported(&name, version, arguments, output)? {
            Some(accepted) => Some(accepted),
            None => return Ok(Outcome::No),
        },
    };
    let has_charts = |it: &Accepted| !it.manifest().spec.charts.is_empty();
    if accepted.as_ref().is_some_and(has_charts) && output == Output::Human {
        render::note(CHARTS);
    }
    let wanted = arguments.wanted(accepted.as_ref())?;
    let list = List {
        api_version: "v1",
        items: wanted.manifests()?,
        kind: "List",
    };
    Ok(give(output, &list, |list| show(&list.items)))
}

/// A List of Kubernetes. kubectl takes it as it is and passes over `schemaVersion`, which is of no item.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct List {
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
    /// What is meant by the first word: with a version, it names a Solution.
    fn meant(&self) -> Result<Meant<'_>, Failure> {
        match (&self.what, &self.version) {
            (None, _) => Ok(Meant::Any),
            (Some(archive), None) => Ok(Meant::Archive(archive)),
            (Some(name), Some(version)) => {
                let solution = name.to_str().and_then(|name| name.parse().ok());
                let solution = solution.map(|solution| Meant::Imported(solution, version));
                let shown = name.display();
                solution.ok_or_else(|| {
                    Failure::usage(format!(
                        "`{shown}` is no name of a Solution, and a version follows it"
                    ))
                })
            }
        }
    }

    /// Where the rights hold.
    fn within(&self) -> WantedWithin {
        match (&self.environment, &self.namespace) {
            (None, None) => WantedWithin::Anywhere,
            (None, Some(namespace)) => WantedWithin::Namespace(namespace.clone()),
            (Some(environment), namespace) => {
                let usual = || importer::default_namespace(environment);
                let namespace = namespace.clone().unwrap_or_else(usual);
                WantedWithin::Environment(environment.clone(), namespace)
            }
        }
    }

    /// What the person is to do. Who administers only a namespace deploys into it, and sees it.
    fn steps(&self, within: &WantedWithin) -> Result<BTreeSet<RightsVerb>, Failure> {
        let all: &[RightsVerb] = match within {
            WantedWithin::Namespace(_) => &RightsVerb::ALONE,
            _ => &RightsVerb::ALL,
        };
        let steps = self.verbs.iter().flat_map(|verb| verb.steps());
        let mut wanted: BTreeSet<RightsVerb> = steps.copied().collect();
        if wanted.is_empty() {
            wanted = all.iter().copied().collect();
        }
        if wanted.iter().all(|verb| all.contains(verb)) {
            return Ok(wanted);
        }
        Err(Failure::usage(
            "with `--namespace` alone the verbs are deploy, undeploy and status: others reach beyond a namespace",
        ))
    }

    fn wanted<'a>(&self, archive: Option<&'a Accepted>) -> Result<WantedRights<'a>, Failure> {
        let within = self.within();
        let users = self.users.iter().cloned().map(Subject::User);
        let groups = self.groups.iter().cloned().map(Subject::Group);
        let accounts = self.accounts.iter().cloned();
        let accounts = accounts.map(|(namespace, name)| Subject::ServiceAccount(namespace, name));
        Ok(WantedRights {
            verbs: self.steps(&within)?,
            archive,
            within,
            subjects: users.chain(groups).chain(accounts).collect(),
        })
    }
}

/// Reads the archive of an imported version as a deployment would.
fn imported(
    solution: &SolutionName,
    version: &Version,
    arguments: &Arguments,
    output: Output,
) -> Result<Option<Accepted>, Failure> {
    cluster::block_on(async {
        let cluster = cluster::connect(&arguments.cluster).await?;
        let version = Some(version);
        let kept = kept(&cluster, solution, version, &arguments.reach, output).await?;
        Ok(kept.map(|kept| kept.archive.accepted))
    })
}

/// Each as a document of YAML.
fn show(manifests: &[RightsManifest]) {
    for manifest in manifests {
        render::line("---");
        yaml::to_string(manifest).lines().for_each(render::line);
    }
}

//! `solution diff`: compares the objects in an environment with those that a deployment would apply, or with the
//! deployed ones. The second shows changes by other field managers.

use std::path::PathBuf;

use clap::Args;
use importer::{Comparison, ComparisonBase, PlannedObject, Request, Running};
use kubernetes::Cluster;
use registry::RegistryAddress;
use schemars::{JsonSchema, Schema};
use schemas::{EnvironmentName, Namespace, SolutionName, Version};
use serde::Serialize;
use serde_json::json;
use validator::AcceptedArchive;

use super::blocked::ShownBlocker;
use super::import::{self, ResolvedRegistry, SignerArguments, diff_of, warnings};
use super::imported_version::{SolutionRef, read_imported_version};
use super::parameters::ParameterArguments;
use crate::args::{Output, ReadArguments, RegistryArguments};
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

/// Show what a deployment would change, or drift in an environment
#[derive(Args, Debug)]
#[command(
    mut_arg("set", |argument| argument.requires("what")),
    mut_arg("values", |argument| argument.requires("what")),
    mut_arg("unset", |argument| argument.requires("what")),
    mut_arg("chart_values", |argument| argument.requires("what")),
    mut_arg("chart_set", |argument| argument.requires("what")),
    after_help = "\
With ARCHIVE or NAME, the command shows what `solution import` or `solution deploy` would change. Otherwise, it \
compares each Solution in the environment with its deployment, and shows what others have changed. It writes \
nothing.

A word without dots and slashes is the name of an imported Solution; anything else is a file.

Exit codes: 0 no difference, 1 differences, 3 unknown.

Examples:
  solution diff -e prod
  solution diff -e prod example 1.1.0
  solution diff -e prod ./app.iso --key publisher.pub"
)]
pub(crate) struct Arguments {
    /// The archive (a file or a block device), or the name of an imported Solution [default: all deployed Solutions]
    #[arg(value_name = "ARCHIVE|NAME")]
    what: Option<PathBuf>,

    /// The version of the imported Solution [default: the newest imported version]
    #[arg(requires = "what")]
    version: Option<Version>,

    /// The name of the environment
    #[arg(short, long, value_name = "NAME")]
    environment: EnvironmentName,

    /// The namespace of the environment [default: the only one, or all of them if no Solution is given]
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<Namespace>,

    #[command(flatten)]
    signers: SignerArguments,

    /// The registry for the images [default: from the site configuration, else where a version of the Solution was
    /// pushed]
    #[arg(long, value_name = "HOST[/PREFIX]")]
    registry: Option<RegistryAddress>,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    parameters: ParameterArguments,

    #[command(flatten)]
    cluster: ReadArguments,
}

impl Arguments {
    /// Parses the first word as a reference to a Solution, if there is one.
    fn meant(&self) -> Result<Option<SolutionRef<'_>>, Failure> {
        let what = self.what.as_deref();
        what.map(|what| SolutionRef::by(what, self.version.as_ref()))
            .transpose()
    }
}

/// The result of rendering; none if the archive is not accepted, which the program has reported.
type Comparisons = Result<Option<Vec<Comparison>>, Failure>;

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    // The outcome `no` would mean that something differs.
    let found = find(arguments, output).map_err(Failure::untold)?;
    let shown = found.map(|found| show_all(&arguments.environment, &found, output));
    Ok(shown.unwrap_or(Outcome::Unknown))
}

fn find(arguments: &Arguments, output: Output) -> Comparisons {
    let Some(compared) = compared_source(arguments, output)? else {
        return Ok(None);
    };
    cluster::read(&arguments.cluster, async |cluster| {
        let (environment, namespace) = (&arguments.environment, arguments.namespace.as_ref());
        let diff = Diff {
            arguments,
            cluster,
            output,
        };
        // A version may be deployed into a namespace that the environment does not have yet.
        let known = namespace.filter(|_| matches!(compared, ComparedSource::Deployed));
        let running = importer::running(cluster, environment, known).await?;
        match compared {
            ComparedSource::Deployed => diff.deployed(running).await,
            ComparedSource::Version(SolutionRef::Imported(name, version)) => {
                let to = namespace.cloned();
                let found = diff.kept(&name, version, to, ComparisonBase::Now).await?;
                Ok(found.map(|comparison| vec![comparison]))
            }
            ComparedSource::Version(SolutionRef::Archive(accepted)) => {
                diff.archive(&accepted).await
            }
        }
    })
}

struct Diff<'a> {
    arguments: &'a Arguments,
    cluster: &'a Cluster,
    output: Output,
}

impl Diff<'_> {
    /// Compares all deployed versions with their objects in the cluster.
    async fn deployed(&self, running: Vec<Running>) -> Comparisons {
        let mut found = Vec::new();
        for it in running {
            let since = ComparisonBase::Deployed(it.namespace.clone());
            let Some(comparison) = self
                .kept(&it.solution, Some(&it.version), Some(it.namespace), since)
                .await?
            else {
                return Ok(None);
            };
            found.push(comparison);
        }
        Ok(Some(found))
    }

    /// Compares an imported version, from its archive in the site's registry.
    async fn kept(
        &self,
        solution: &SolutionName,
        version: Option<&Version>,
        namespace: Option<Namespace>,
        since: ComparisonBase,
    ) -> Result<Option<Comparison>, Failure> {
        let reach = &self.arguments.reach;
        let Some(kept) =
            read_imported_version(self.cluster, solution, version, reach, self.output).await?
        else {
            return Ok(None);
        };
        let images = ResolvedRegistry {
            registry: kept.registry,
            pull_registry: Some(kept.pull_registry),
        };
        let request = request(self.arguments, namespace, images)?;
        let accepted = &kept.archive.accepted;
        let found = Comparison::make(accepted, self.cluster, request, &since).await?;
        Ok(Some(found))
    }

    async fn archive(&self, accepted: &AcceptedArchive) -> Comparisons {
        let id = &accepted.statement().predicate.id;
        let images =
            ResolvedRegistry::of(self.arguments.registry.as_ref(), self.cluster, id).await?;
        let namespace = self.arguments.namespace.clone();
        let request = request(self.arguments, namespace, images)?;
        let found = Comparison::make(accepted, self.cluster, request, &ComparisonBase::Now).await?;
        Ok(Some(vec![found]))
    }
}

/// The version to compare with the environment. An archive on the command line was accepted before.
enum ComparedSource<'a> {
    /// The deployed versions.
    Deployed,
    /// A version.
    Version(SolutionRef<'a, Box<AcceptedArchive>>),
}

/// Returns the version to compare; none if an archive is not accepted, which the program has reported.
fn compared_source(
    arguments: &Arguments,
    output: Output,
) -> Result<Option<ComparedSource<'_>>, Failure> {
    let Some(meant) = arguments.meant()? else {
        return Ok(Some(ComparedSource::Deployed));
    };
    let accepted = meant.accepted(&arguments.signers, "nothing was compared", output)?;
    Ok(accepted.map(ComparedSource::Version))
}

/// Returns the request of a user who only reads.
fn request(
    arguments: &Arguments,
    namespace: Option<Namespace>,
    images: ResolvedRegistry,
) -> Result<Request, Failure> {
    let target = import::target(&arguments.environment, namespace, &arguments.parameters)?;
    import::reader_request(target, images, arguments.signers.allowed())
}

/// The differences. The exit code is 1 if there are any, and 3 if some are unknown.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DiffResult<'a> {
    /// The environment.
    environment: &'a EnvironmentName,
    /// Whether any of the compared objects differs.
    differs: bool,
    /// Each version that was compared.
    comparisons: Vec<ShownComparison<'a>>,
}

/// A version compared with a namespace.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Comparison")]
pub(crate) struct ShownComparison<'a> {
    /// The id of the Solution, `<name>-<version>`.
    solution: &'a str,
    /// The namespace; null if it is not known which one is meant.
    namespace: Option<&'a Namespace>,
    /// The version that runs there; null if none does.
    running: Option<&'a Version>,
    /// The objects that differ.
    objects: Vec<DifferentObject<'a>>,
    /// The blockers that prevented further comparison.
    #[serde(rename = "obstacles", skip_serializing_if = "Vec::is_empty")]
    blockers: Vec<ShownBlocker>,
}

/// An object that differs.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DifferentObject", transform = differs)]
pub(crate) struct DifferentObject<'a> {
    #[serde(flatten)]
    pub(super) object: &'a PlannedObject,
    /// A unified diff in YAML.
    diff: &'a str,
}

/// Omits the action for unchanged objects from the schema.
fn differs(schema: &mut Schema) {
    if let Some(action) = schema.pointer_mut("/properties/action") {
        action["enum"] = json!(["create", "change", "remove"]);
    }
}

impl<'a> From<&'a PlannedObject> for DifferentObject<'a> {
    fn from(object: &'a PlannedObject) -> Self {
        Self {
            diff: &object.diff,
            object,
        }
    }
}

impl<'a> From<&'a Comparison> for ShownComparison<'a> {
    fn from(comparison: &'a Comparison) -> Self {
        Self {
            solution: &comparison.solution,
            namespace: comparison.namespace.as_ref(),
            running: comparison.running.as_ref(),
            objects: comparison
                .objects
                .iter()
                .map(DifferentObject::from)
                .collect(),
            blockers: comparison.blockers.iter().map(ShownBlocker::from).collect(),
        }
    }
}

/// Shows the differences, and returns the outcome of the command.
fn show_all(environment: &EnvironmentName, found: &[Comparison], output: Output) -> Outcome {
    let comparisons: Vec<ShownComparison> = found.iter().map(ShownComparison::from).collect();
    let differs = comparisons.iter().any(|one| !one.objects.is_empty());
    let untold = comparisons.iter().any(|one| !one.blockers.is_empty());
    let all = DiffResult {
        environment,
        differs,
        comparisons,
    };
    render::result(output, &all, |all| {
        if all.comparisons.is_empty() {
            render::line!("nothing is deployed in environment {environment}");
        }
        all.comparisons.iter().for_each(show_one);
    });
    if untold {
        return Outcome::Unknown;
    }
    Outcome::from(!differs)
}

fn show_one(one: &ShownComparison) {
    let namespace = one.namespace.map_or(String::new(), |namespace| {
        format!(" in namespace {namespace}")
    });
    let solution = one.solution;
    for DifferentObject { object, .. } in &one.objects {
        diff_of(object);
        warnings(object).iter().for_each(render::line);
    }
    for blocker in &one.blockers {
        render::note!("error: {}", blocker.message);
        render::note!("hint: {}", blocker.fix);
    }
    if !one.blockers.is_empty() {
        return render::note!("{solution}{namespace}: cannot compare");
    }
    match one.objects.len() {
        0 => render::line!("{solution}{namespace}: no differences"),
        1 => render::line!("{solution}{namespace}: 1 object differs"),
        many => render::line!("{solution}{namespace}: {many} objects differ"),
    }
}

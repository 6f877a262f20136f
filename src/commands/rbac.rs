//! `solution site rbac`: the roles that give a person exactly what verbs need.

mod arguments;
mod charts;

use std::collections::BTreeSet;
use std::path::Path;

use importer::{RightsManifest, RightsVerb, Subject, WantedRights, WantedWithin};
use schemars::JsonSchema;
use schemas::{SolutionName, Version, yaml};
use serde::Serialize;
use validator::Accepted;

pub(crate) use self::arguments::Arguments;
use super::give;
use super::kept::kept;
use super::validate::check::accept;
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

/// What follows where an archive is not accepted.
const NO_RIGHTS: &str = ", so its rights are not shown";
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let accepted = match (&arguments.what, &arguments.version) {
        (None, _) => None,
        // Nobody should be given rights that an unknown archive names.
        (Some(archive), None) => Some(accept(archive, &arguments.trust, NO_RIGHTS, output)?),
        (Some(name), Some(version)) => Some(imported(name, version, arguments, output)?),
    };
    let archive = match &accepted {
        Some(None) => return Ok(Outcome::No),
        accepted => accepted.as_ref().and_then(Option::as_ref),
    };
    let mut wanted = arguments.wanted(archive)?;
    if let Some(archive) = archive.filter(|it| !it.manifest().spec.charts.is_empty()) {
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
    /// The rights that are wanted, of a version if there is one.
    fn wanted<'a>(&self, archive: Option<&'a Accepted>) -> Result<WantedRights<'a>, Failure> {
        let (environment, namespace) = (self.environment.clone(), self.namespace.clone());
        let within = WantedWithin::of(environment, namespace);
        let users = self.users.iter().cloned().map(Subject::User);
        let groups = self.groups.iter().cloned().map(Subject::Group);
        let accounts = self.accounts.iter().cloned();
        let accounts = accounts.map(|(namespace, name)| Subject::ServiceAccount(namespace, name));
        Ok(WantedRights {
            verbs: self.steps(&within)?,
            archive,
            within,
            subjects: users.chain(groups).chain(accounts).collect(),
            charts: Vec::new(),
        })
    }

    /// What the person is to do, of all that can be done there.
    fn steps(&self, within: &WantedWithin) -> Result<BTreeSet<RightsVerb>, Failure> {
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

/// Reads the archive of an imported version as a deployment would.
fn imported(
    name: &Path,
    version: &Version,
    arguments: &Arguments,
    output: Output,
) -> Result<Option<Accepted>, Failure> {
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
        let kept = kept(&cluster, &solution, version, &arguments.reach, output).await?;
        Ok(kept.map(|kept| kept.archive.accepted))
    })
}

fn show(manifests: &[RightsManifest]) {
    documents(manifests).lines().for_each(render::line);
}

/// Each as a document of YAML.
pub(super) fn documents(manifests: &[RightsManifest]) -> String {
    let document = |manifest| format!("---\n{}", yaml::to_string(manifest));
    manifests.iter().map(document).collect()
}

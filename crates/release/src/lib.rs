//! `solution init --from` and `--chart`: a source tree made from a release. Bytes in, files and notes out;
//! only [`SourceTree::write`] and [`update`] touch the disk.
//!
//! [`carry`] takes the release as it is. [`draft`] makes an operator of it: what a Solution has a place for is taken as it
//! stands; what has none is said, never changed silently. [`chart()`] refers to a Helm chart, and [`carry_helmfile`] to those of
//! a helmfile.
//!
//! This crate must not know how archives are packed, nor the network, the terminal, the environment or the clock.

mod bundle;
mod carried;
mod changes;
mod chart;
mod charts;
mod choose;
mod container;
mod contents;
mod definitions;
mod error;
mod fields;
mod find;
mod helmfile;
mod identity;
mod images;
mod left;
pub mod limits;
mod listed;
mod merge;
mod namespaces;
mod naming;
mod notes;
mod paths;
mod rights;
mod scope;
mod template;
#[cfg(test)]
mod tests;
mod tree;
mod undecided;
mod update;
mod write;

use std::collections::BTreeMap;

use manifests::{Files, Object, Objects};
use schemas::{
    API_VERSION, EnvVar, Metadata, Operator, OperatorImage, OperatorScope, SolutionId,
    SolutionName, SolutionSource, SourceSpec, Version,
};

use choose::Chosen;
use container::Container;
use definitions::{Definitions, is_definition};
use images::DraftImages;
use rights::{AccountRoles, Roles};

pub use carried::carry;
pub use changes::Changes;
pub use chart::{PublishedChart, chart};
pub use error::ReleaseError;
pub use helmfile::{
    Helmfile, HelmfileError, HelmfilePlace, HelmfileProblem, ListedChart, ListedRelease,
    ListedValues,
};
pub use listed::{ChartRead, Copied, Reads, carry_helmfile};
pub use notes::{Note, Weight};
pub use update::{Renewed, update};

/// What the release need not say, because the user does.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// The Solution's name.
    pub name: Option<SolutionName>,
    /// Its version.
    pub version: Option<Version>,
    /// The name of the Deployment that is the operator.
    pub deployment: Option<String>,
}

/// A source tree that is not yet written.
#[derive(Clone, Debug)]
pub struct SourceTree {
    /// Name and version of the Solution.
    pub id: SolutionId,
    /// What `solution.yaml` says.
    pub source: SolutionSource,
    /// The files, by their path in the tree.
    pub files: BTreeMap<String, Vec<u8>>,
    /// What to know about it, the weightiest first.
    pub notes: Vec<Note>,
}

/// Makes a source tree of an operator's release, whose operator an import runs.
pub fn draft(release: &Files, wishes: &Wishes) -> Result<SourceTree, ReleaseError> {
    let mut objects = manifests::parse(&release.files)?;
    let mut notes = left::unread(release, &objects);
    let about = bundle::expand(&mut objects.all, &mut notes);
    let definitions = Definitions::of(&objects.all);
    let choice = choose::choose(
        &objects.all,
        &definitions.groups(),
        wishes.deployment.as_deref(),
    )?;
    let own_allowed = about.as_ref().is_some_and(|about| about.own_namespace);
    let container = container::read(choice.workload, &objects.all, own_allowed)?;
    let images = find::images(&objects, about.as_ref(), &choice, &container, &mut notes)?;
    let rights = Roles::of(&objects.all).rights(&choice.account);
    let (scope, why) = scope::scope(&rights, &container, &definitions.cluster_scoped());
    let (roles, role_notes) = rights::role_file(&rights, scope, choice.workload.namespace());
    let id = identity::of_operator(&objects, about.as_ref(), choice.workload, &container)
        .choose(wishes)?;
    notes.extend([choice.note.clone(), Note::new(Weight::Chosen, "scope", why)]);
    notes.extend(container.notes.iter().cloned());
    notes.extend(role_notes);
    container.note_namespaces(&scope::namespaces(choice.workload, &rights), &mut notes);
    notes.extend(find::rewritten(&images));
    notes.extend(find::of_others(&images, &choice));
    notes.extend(leftover(&objects, &choice, &rights, &definitions));
    let mut files = definitions.files(&mut notes)?;
    notes.sort_by_key(|note| note.weight);
    let operator = operator(&container, &images, scope)?;
    let shown = about
        .map(|about| about.display_name)
        .filter(|name| !name.is_empty());
    let mut source = empty_source(&id, shown);
    source.spec.images = images.sources();
    source.spec.operator = Some(operator);
    let release = release.name.as_str();
    for (path, bytes) in [
        (archive::ROLE, roles.into_bytes()),
        ("solution.yaml", write::source(&source, &images, release)?),
        ("NOTES.md", write::notes(&id, release, &images, &notes)),
    ] {
        files.insert(path.to_owned(), bytes);
    }
    Ok(SourceTree {
        id,
        source,
        files,
        notes,
    })
}

/// What is not in the draft, by kind.
fn leftover(
    objects: &Objects<'_>,
    choice: &Chosen<'_>,
    rights: &AccountRoles<'_>,
    definitions: &Definitions<'_>,
) -> Vec<Note> {
    let granted = |object: &Object<'_>| {
        rights
            .granted
            .iter()
            .any(|granted| std::ptr::eq(granted.role, object))
    };
    let left = objects.all.iter().filter(|object| {
        !is_definition(object) && !std::ptr::eq(*object, choice.workload) && !granted(object)
    });
    let (roles, others): (Vec<_>, Vec<_>) = left.partition(|object| rights::is_role(object));
    let mut notes = left::notes(others, &definitions.kinds());
    notes.extend(left::other_roles(&roles, &choice.account));
    notes
}

fn operator(
    container: &Container,
    images: &DraftImages,
    scope: OperatorScope,
) -> Result<Operator, ReleaseError> {
    let image = images.get(&container.image).ok_or(ReleaseError::Spelling)?;
    let mut env = container.env(images);
    // An import tells every operator to watch its namespace, unless the manifest says otherwise.
    if scope == OperatorScope::Cluster && !container.says_what_to_watch {
        env.insert(
            0,
            EnvVar {
                name: "WATCH_NAMESPACE".to_owned(),
                value: String::new(),
            },
        );
    }
    Ok(Operator {
        image: OperatorImage {
            name: image.name.clone(),
            tag: image.tag.clone(),
        },
        // An empty command is the image's own entrypoint.
        command: Some(container.command(images)),
        args: container.args(images),
        env,
        security_context: container.security,
        scope,
        metrics: None,
        template: container.template.clone(),
    })
}

/// What `solution.yaml` says of a Solution that has nothing yet. People call it `shown`, or else by its name.
fn empty_source(id: &SolutionId, shown: Option<String>) -> SolutionSource {
    let annotation = "solutions.metalk8s.scality.com/display-name".to_owned();
    let shown = shown.unwrap_or_else(|| id.name().to_string());
    SolutionSource {
        api_version: API_VERSION.to_owned(),
        kind: "SolutionSource".to_owned(),
        metadata: Metadata {
            name: id.name().clone(),
            annotations: BTreeMap::from([(annotation, shown)]),
            labels: BTreeMap::new(),
        },
        spec: SourceSpec {
            version: id.version().clone(),
            images: Vec::new(),
            operator: None,
            crds: "operator/deploy/crds".into(),
            roles: archive::ROLE.into(),
            manifests: Vec::new(),
            charts: Vec::new(),
            kubernetes: Vec::new(),
            parameters: BTreeMap::new(),
            upgrade_from: None,
            expires: None,
        },
    }
}

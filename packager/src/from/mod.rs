//! `solution init --from`: a source tree made from the rendered manifests of an operator's release. Bytes in, files and
//! notes out; only [`read`] touches the disk, and only `init` writes.
//!
//! What a Solution has a place for is taken as it stands; what has none is said, never changed silently.

mod bundle;
mod choose;
mod container;
mod error;
mod fields;
mod images;
mod left;
mod notes;
mod objects;
mod read;
mod rights;
#[cfg(test)]
mod tests;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use schemas::{
    API_VERSION, EnvVar, KubernetesName, Metadata, Operator, OperatorImage, OperatorScope,
    SolutionId, SolutionName, SolutionSource, SourceSpec, Version,
};

use crate::{files, limits};
use bundle::About;
use choose::Choice;
use container::Container;
use images::{Hint, Images, Named};
use objects::{Object, Objects, text};
use rights::{Reach, Rights};

pub use error::FromError;
pub use notes::{Note, Weight};
pub use objects::Place;
pub use read::{Release, read};

/// One file of a release.
#[derive(Clone, Debug)]
pub struct ReleaseFile {
    /// Its name, for messages.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

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
pub struct Draft {
    /// Name and version of the Solution.
    pub id: SolutionId,
    /// What `solution.yaml` says.
    pub source: SolutionSource,
    /// The files, by their path in the tree.
    pub files: BTreeMap<String, Vec<u8>>,
    /// What to know about it, the weightiest first.
    pub notes: Vec<Note>,
}

/// Makes a source tree of a release.
pub fn draft(release: &Release, wishes: &Wishes) -> Result<Draft, FromError> {
    let mut objects = objects::parse(&release.files)?;
    let about = bundle::expand(&mut objects);
    let mut notes = release.notes.clone();
    notes.append(&mut objects.notes);
    let definitions: Vec<&Object<'_>> = objects
        .all
        .iter()
        .filter(|object| is_definition(object))
        .collect();
    let groups = definitions
        .iter()
        .map(|object| text(&object.value, "/spec/group"))
        .collect();
    let choice = choose::choose(&objects.all, &groups, wishes.deployment.as_deref())?;
    let own_allowed = about.as_ref().is_some_and(|about| about.own_namespace);
    let container = container::read(choice.workload, &objects.all, own_allowed)
        .filter(|container| !container.image.is_empty());
    let container = container.ok_or_else(|| FromError::Workload {
        place: choice.workload.place.clone(),
        what: format!(
            "{} has no container with an image; choose another with `--deployment`",
            choice.workload.title()
        ),
    })?;
    let images = find_images(&objects, about.as_ref(), &choice, &container, &mut notes)?;
    let rights = rights::rights(&objects.all, &choice.account);
    let (scope, why) = scope(&rights, &container);
    let (roles, role_notes) = rights::role_file(&rights, scope, choice.workload.namespace());
    let id = identity(
        &objects,
        about.as_ref(),
        choice.workload,
        &container,
        wishes,
    )?;
    notes.extend([choice.note.clone(), Note::new(Weight::Chosen, "scope", why)]);
    notes.extend(container.notes.iter().cloned());
    notes.extend(role_notes);
    container.note_namespaces(&namespaces(choice.workload, &rights), &mut notes);
    let operator = operator(&container, &images, scope)?;
    notes.extend(rewritten(&images));
    notes.extend(leftover(&objects, &choice, &rights, &definitions));
    let crds = definition_files(&definitions, &mut notes)?;
    notes.sort_by_key(|note| note.weight);
    let display_name = about
        .map(|about| about.display_name)
        .filter(|name| !name.is_empty());
    let source = source(&id, &images, operator, display_name);
    let mut files = crds;
    files.insert(archive::ROLE.to_owned(), roles.into_bytes());
    files.insert(
        "solution.yaml".to_owned(),
        write::source(&source, &images, &release.name)?,
    );
    files.insert(
        "NOTES.md".to_owned(),
        write::notes(&id, &release.name, &images, &notes),
    );
    Ok(Draft {
        id,
        source,
        files,
        notes,
    })
}

fn is_definition(object: &Object<'_>) -> bool {
    text(&object.value, "/apiVersion") == "apiextensions.k8s.io/v1"
        && object.kind() == "CustomResourceDefinition"
}

/// Everything that names images: the operator first, then what the release lists, its other workloads, the defaults of
/// its definitions, and its other objects.
fn find_images(
    objects: &Objects<'_>,
    about: Option<&About>,
    choice: &Choice<'_>,
    container: &Container,
    notes: &mut Vec<Note>,
) -> Result<Named, FromError> {
    let mut images = Images::default();
    container.scan(&mut images, &choice.workload.title());
    for (name, image) in about.into_iter().flat_map(|about| &about.images) {
        images.scan(
            image,
            Hint::Image,
            &format!("relatedImages `{}`", notes::shown(name)),
        );
    }
    for object in &objects.all {
        let title = object.title();
        if object.kind() == "CustomResourceDefinition" {
            if images.scan_defaults(&object.value["spec"], &title) {
                notes.push(Note::new(Weight::Decide, title, "has images among its default values, which stay as they are: the site's nodes must find these references, by a mirror or by values in the custom resources"));
            }
        } else if !rights::is_role(object) && !rights::is_binding(object) {
            images.scan_fields(&object.value, object.kind() != "ConfigMap", &title);
        }
        if images.len() > limits::RELEASE_IMAGES {
            let what = format!("{} images", limits::RELEASE_IMAGES);
            return Err(FromError::Weight {
                place: object.place.clone(),
                what,
            });
        }
    }
    Ok(images.named())
}

/// Where the operator works, and why.
fn scope(rights: &Rights<'_>, container: &Container) -> (OperatorScope, String) {
    let cluster = |why: String| {
        let text =
            format!("Cluster: {why}; the administrator allows it with `--allow-cluster-scope`");
        (OperatorScope::Cluster, text)
    };
    if let Some(what) = rights.cluster_wide() {
        return cluster(format!(
            "the operator's roles grant {what}, which is in no namespace"
        ));
    }
    if rights.is_everywhere() && !container.watches_own {
        return cluster("its roles are bound in the whole cluster, and no variable tells it to watch its own namespace only".to_owned());
    }
    let why = if rights.is_everywhere() {
        "Namespace: the operator is told to watch its own namespace"
    } else {
        "Namespace: no role is bound in the whole cluster"
    };
    (OperatorScope::Namespace, why.to_owned())
}

/// The namespaces of the release, which a site will call otherwise.
fn namespaces<'a>(workload: &'a Object<'_>, rights: &Rights<'a>) -> BTreeSet<&'a str> {
    let reaches = rights.granted.iter().map(|granted| match granted.reach {
        Reach::Namespace(namespace) => namespace,
        Reach::Cluster | Reach::Unbound => "",
    });
    reaches
        .chain([workload.namespace()])
        .filter(|namespace| !namespace.is_empty())
        .collect()
}

fn operator(
    container: &Container,
    images: &Named,
    scope: OperatorScope,
) -> Result<Operator, FromError> {
    let image = images.get(&container.image).ok_or(FromError::Spelling)?;
    let mut env = container.env(images);
    // An import tells every operator to watch its namespace, unless the manifest says otherwise.
    if scope == OperatorScope::Cluster && !container.sets_watching() {
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
    })
}

/// Name and version: as wished, else as the release says.
fn identity(
    objects: &Objects<'_>,
    about: Option<&About>,
    workload: &Object<'_>,
    container: &Container,
    wishes: &Wishes,
) -> Result<SolutionId, FromError> {
    let labels = ["/metadata/labels", "/spec/template/metadata/labels"];
    let label = |name: &str| {
        labels
            .iter()
            .map(|at| {
                workload
                    .value
                    .pointer(at)
                    .and_then(|labels| labels.get(name)?.as_str())
                    .unwrap_or_default()
            })
            .collect::<Vec<_>>()
    };
    let mut names = vec![
        objects.package.as_deref().unwrap_or_default(),
        about.map_or("", |about| &about.name),
    ];
    names.extend(label("app.kubernetes.io/part-of"));
    names.extend(label("app.kubernetes.io/name"));
    names.extend([
        workload.name().trim_end_matches("-controller-manager"),
        workload.name(),
    ]);
    // Names that builders of operators write into every release.
    names.retain(|name| !name.is_empty() && *name != "deployment" && *name != "controller-manager");
    let tag = container
        .image
        .parse()
        .ok()
        .and_then(|reference: schemas::ImageReference| reference.tag().map(str::to_owned));
    let mut versions = vec![about.map_or("", |about| &about.version)];
    versions.extend(label("app.kubernetes.io/version"));
    versions.push(tag.as_deref().unwrap_or_default());
    versions.retain(|version| !version.is_empty());
    let found = |texts: &[&str]| {
        if texts.is_empty() {
            "nothing".to_owned()
        } else {
            notes::names(texts.iter().copied())
        }
    };
    let name = wishes
        .name
        .clone()
        .or_else(|| names.iter().find_map(|name| name.parse().ok()));
    let name = name.ok_or_else(|| FromError::NoName {
        found: found(&names),
    })?;
    let version = |text: &&str| text.strip_prefix('v').unwrap_or(text).parse().ok();
    let version = wishes
        .version
        .clone()
        .or_else(|| versions.iter().find_map(version));
    let version = version.ok_or_else(|| FromError::NoVersion {
        found: found(&versions),
    })?;
    SolutionId::new(name, version).map_err(FromError::Id)
}

fn rewritten(images: &Named) -> Option<Note> {
    let names = images
        .rewritten
        .iter()
        .map(|(written, reference)| format!("{written} is {reference}"));
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| {
        Note::new(
            Weight::Chosen,
            "references",
            format!(
                "without registry or tag were completed as container engines do: {}",
                notes::names(names.iter().map(String::as_str))
            ),
        )
    })
}

/// What is not in the draft, by kind.
fn leftover(
    objects: &Objects<'_>,
    choice: &Choice<'_>,
    rights: &Rights<'_>,
    definitions: &[&Object<'_>],
) -> Vec<Note> {
    let own: Vec<(String, String)> = definitions
        .iter()
        .map(|object| {
            [
                text(&object.value, "/spec/group"),
                text(&object.value, "/spec/names/kind"),
            ]
            .map(str::to_owned)
            .into()
        })
        .collect();
    let granted = |object: &Object<'_>| {
        rights
            .granted
            .iter()
            .any(|granted| std::ptr::eq(granted.role, object))
    };
    let (roles, others): (Vec<_>, Vec<_>) = objects
        .all
        .iter()
        .filter(|object| {
            !is_definition(object) && !std::ptr::eq(*object, choice.workload) && !granted(object)
        })
        .partition(|object| rights::is_role(object));
    let mut notes = left::notes(others, &own);
    notes.extend(left::other_roles(&roles, &choice.account));
    notes
}

/// Each definition in a file of its own.
fn definition_files(
    definitions: &[&Object<'_>],
    notes: &mut Vec<Note>,
) -> Result<BTreeMap<String, Vec<u8>>, FromError> {
    let mut files = BTreeMap::new();
    for object in definitions {
        let conversion = &object.value["spec"]["conversion"];
        if conversion["strategy"] == "Webhook" || conversion.get("webhook").is_some() {
            notes.push(Note::new(Weight::Decide, object.title(), "converts its versions by a webhook, which a Solution cannot have, so `solution pack` refuses it; if every version has the same fields, or only one is in use, write `conversion: {strategy: None}` into its file"));
        }
        files.insert(definition_path(object)?, rights::own(object).into_bytes());
    }
    if files.is_empty() {
        files.insert("operator/deploy/crds/.gitkeep".to_owned(), Vec::new());
    }
    Ok(files)
}

/// The file of a definition, named after it. The name is checked first, since it becomes a path.
fn definition_path(object: &Object<'_>) -> Result<String, FromError> {
    let name: KubernetesName = object.name().parse().map_err(|_| FromError::Name {
        place: object.place.clone(),
        what: object.title(),
    })?;
    let path = archive::crd_path(name.as_str()).or_else(|_| {
        let hash = files::digest(name.as_str().as_bytes()).hex();
        let cut: String = name.as_str().chars().take(70).collect();
        archive::crd_path(&format!("{cut}-{}", &hash[..12]))
    });
    path.map(|path| path.to_string())
        .map_err(|_| FromError::Spelling)
}

fn source(
    id: &SolutionId,
    images: &Named,
    operator: Operator,
    display_name: Option<String>,
) -> SolutionSource {
    let display_name = display_name.unwrap_or_else(|| id.name().to_string());
    let annotation = "solutions.metalk8s.scality.com/display-name".to_owned();
    SolutionSource {
        api_version: API_VERSION.to_owned(),
        kind: "SolutionSource".to_owned(),
        metadata: Metadata {
            name: id.name().clone(),
            annotations: BTreeMap::from([(annotation, display_name)]),
            labels: BTreeMap::new(),
        },
        spec: SourceSpec {
            version: id.version().clone(),
            images: images
                .images
                .iter()
                .map(|named| named.image.clone())
                .collect(),
            operator: Some(operator),
            crds: "operator/deploy/crds".into(),
            roles: archive::ROLE.into(),
            upgrade_from: None,
            expires: None,
        },
    }
}

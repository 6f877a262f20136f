//! Drafts of operators, which an import installs. [`draft`] takes one Deployment with the argument `--config`, its
//! custom resource definitions, and the roles of its account. Notes list all other objects.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use manifests::{Compiler, ManifestFiles, ManifestObject, list, shown, text};
use schemas::{
    EnvVar, KubernetesName, Operator, OperatorImage, OperatorScope, OperatorTemplate,
    TemplateMetadata,
};
use serde_json::{Map, Value};

use crate::carried;
use crate::contents::{self, ReleaseObjects};
use crate::images::DraftImages;
use crate::notes::{self, Note, NoteWeight, names};
use crate::paths::{NOTES, SOURCE};
use crate::roles::OperatorRoles;
use crate::{ReleaseError, SourceTree, Wishes, empty_source, identity, undecided, write};

/// The environment variable with the namespace that an operator watches. An empty value means all namespaces.
const WATCH: &str = "WATCH_NAMESPACE";

/// Fields of a Deployment that the draft takes over, or that have no effect on an import.
const OF_DEPLOYMENT: [&str; 5] = [
    "progressDeadlineSeconds",
    "replicas",
    "revisionHistoryLimit",
    "selector",
    "template",
];

/// Drafts the source tree of an operator.
///
/// # Errors
///
/// Fails if no Deployment or multiple Deployments could be the operator, if its roles cannot be granted by an import,
/// and if the result does not meet the rules for a Solution.
pub fn draft(release: &ManifestFiles, wishes: &Wishes) -> Result<SourceTree, ReleaseError> {
    let objects = manifests::parse(&release.files)?;
    carried::refuse_bundle(&objects)?;
    let mut notes = undecided::of_files(release, &objects);
    let program = OperatorContainer::of(&objects.all, wishes.deployment.as_deref())?;
    let roles = OperatorRoles::of(&objects.all, program.workload)?;
    let contents = ReleaseObjects::of(objects.all.clone());
    let images = contents.images()?;
    let own = ReleaseObjects::of(vec![program.workload.clone()]);
    let id = identity::of_release(&own, "").choose(wishes)?;
    let scope = program.scope(&roles);
    let mut source = empty_source(&id);
    source.spec.images = images.sources();
    let operator = program.operator(&images, scope)?;
    notes.push(scope_note(scope));
    notes.push(notes::started(rules::starters(
        objects.all.iter().map(|object| &object.value),
    )));
    notes.extend(roles.note());
    notes.extend(program.notes(&operator));
    notes.extend(left_out(&objects.all, &program, &roles));
    let definitions_of = contents.definitions.iter();
    notes.extend(definitions_of.filter_map(undecided::of_definition));
    notes.sort_by_key(|note| note.weight);
    source.spec.operator = Some(operator);
    let mut files = definitions(&objects.all)?;
    files.insert(archive::ROLE.to_owned(), roles.text().into_bytes());
    let text = write::operator(&source, &images, &release.name)?;
    files.insert(SOURCE.to_owned(), text);
    let made = write::made(&id, &release.name, &notes);
    files.insert(NOTES.to_owned(), made.into_bytes());
    Ok(SourceTree {
        id,
        source,
        files,
        notes,
        named_by: images.named_by(),
    })
}

/// The operator's main container, with its workload and pod specification.
struct OperatorContainer<'a> {
    workload: &'a ManifestObject<'a>,
    pod: &'a Value,
    container: &'a Value,
}

impl<'a> OperatorContainer<'a> {
    /// Finds the Deployment with the argument `--config`, and with the name that the user chose, if any.
    fn of(objects: &'a [ManifestObject<'a>], wished: Option<&str>) -> Result<Self, ReleaseError> {
        let program = |workload: &'a ManifestObject<'a>| {
            let pod = workload.value.pointer("/spec/template/spec")?;
            let container = contents::main_container(&workload.value, pod)?;
            let is_deployment = workload.group() == "apps" && workload.kind() == "Deployment";
            let mut words = words(container, "/command").chain(words(container, "/args"));
            let takes_config = words.any(|word| config(word).is_some());
            (is_deployment && takes_config).then_some(Self {
                workload,
                pod,
                container,
            })
        };
        let mut programs: Vec<Self> = objects.iter().filter_map(program).collect();
        let all = names(programs.iter().map(|program| program.workload.name()));
        let is_wished =
            |program: &Self| wished.is_none_or(|wished| program.workload.name() == wished);
        programs.retain(is_wished);
        match (programs.pop(), wished) {
            (Some(_), _) if !programs.is_empty() => Err(ReleaseError::Ambiguous(all)),
            (Some(program), _) => Ok(program),
            (None, Some(wished)) => Err(ReleaseError::NoSuchOperator {
                wished: shown(wished),
                names: all,
            }),
            (None, None) => Err(ReleaseError::NoOperator),
        }
    }

    fn watch(&self) -> Option<&'a Value> {
        let mut variables = list(self.container, "/env").iter();
        variables.find(|variable| text(variable, "/name") == WATCH)
    }

    /// Returns the scope of the operator. It is the whole cluster if a role is bound there and the variable does not
    /// limit the operator to one namespace.
    fn scope(&self, roles: &OperatorRoles<'_>) -> OperatorScope {
        let is_told =
            |watch: &Value| watch.get("valueFrom").is_some() || !text(watch, "/value").is_empty();
        if roles.are_everywhere && !self.watch().is_some_and(is_told) {
            OperatorScope::Cluster
        } else {
            OperatorScope::Namespace
        }
    }

    fn operator(
        &self,
        images: &DraftImages,
        scope: OperatorScope,
    ) -> Result<Operator, ReleaseError> {
        let image = text(self.container, "/image");
        let image = images.get(image).ok_or_else(|| ReleaseError::Workload {
            place: self.workload.place.clone(),
            what: format!(
                "{} has the image `{}`, which is not a valid reference",
                self.workload.title(),
                shown(image)
            ),
        })?;
        let mut workload = self.workload.value.clone();
        let compiler = Compiler {
            images: &images.known(),
            namespaces: &[],
            templates: &[],
        };
        compiler.compile(&mut workload);
        let mut pod = workload["spec"]["template"]["spec"].take();
        let containers = list(self.pod, "/containers").iter();
        let own = containers.take_while(|container| !std::ptr::eq(*container, self.container));
        let own = own.count();
        let [command, args] =
            ["/command", "/args"].map(|field| configured(&pod["containers"][own], field));
        let mut env = own_only(&mut pod, own, self.workload.namespace());
        // By default, an import sets the variable to the operator's namespace. An explicit empty value overrides this.
        if scope == OperatorScope::Cluster && self.watch().is_none() {
            env.push(EnvVar {
                name: WATCH.to_owned(),
                value: String::new(),
            });
        }
        Ok(Operator {
            image: OperatorImage {
                name: image.name.clone(),
                tag: image.tag.clone(),
            },
            // An empty command runs the image's entrypoint, whereas an absent one runs the default command of upstream.
            command: Some(command),
            args,
            env,
            security_context: schemas::SecurityContext::default(),
            scope,
            metrics: None,
            template: template(&workload, pod.as_object().cloned().unwrap_or_default()),
        })
    }

    /// Returns notes about the Secrets, ConfigMaps and claims that the pods need, and about fields of the Deployment
    /// that are not taken over.
    fn notes(&self, operator: &Operator) -> Vec<Note> {
        let about = self.workload.title();
        let template = operator.template.iter();
        let needed = template.flat_map(|template| template.spec.values().flat_map(needs));
        let needed = needed.collect();
        let fields = self.workload.value["spec"]
            .as_object()
            .into_iter()
            .flatten();
        let others = fields.filter(|(field, _)| !OF_DEPLOYMENT.contains(&field.as_str()));
        let others: BTreeSet<&str> = others.map(|(field, _)| field.as_str()).collect();
        let note = |names_of: BTreeSet<&str>, before: &str, behind: &str| {
            let text = format!("{before} {}{behind}", names(names_of.iter().copied()));
            (!names_of.is_empty()).then(|| Note::new(NoteWeight::Decide, about.clone(), text))
        };
        let needs = note(
            needed,
            "its pods use",
            ", which a site does not have: add it to a set in spec.manifests and name the set in `needs` of spec.operator.template, or remove it from the template",
        );
        let others = note(others, "has", ", which an import does not support");
        needs.into_iter().chain(others).collect()
    }
}

/// Returns the texts of a list in a container.
fn words<'a>(container: &'a Value, field: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    list(container, field).iter().filter_map(Value::as_str)
}

/// Returns the path in an argument `--config=PATH` or `-config=PATH`, and an empty text if the path is the next
/// argument.
fn config(word: &str) -> Option<&str> {
    let rest = word
        .strip_prefix("--config")
        .or(word.strip_prefix("-config"))?;
    if rest.is_empty() {
        Some(rest)
    } else {
        rest.strip_prefix('=')
    }
}

/// Returns the arguments of a list, with the configuration's path replaced by that of an import.
fn configured(container: &Value, field: &str) -> Vec<String> {
    let path = format!("{}/operator.yaml", OperatorTemplate::CONFIG_PATH);
    let mut is_next = false;
    let mut written = Vec::new();
    for word in words(container, field) {
        let is_path = std::mem::take(&mut is_next);
        written.push(match config(word) {
            _ if is_path => path.clone(),
            Some("") => {
                is_next = true;
                word.to_owned()
            }
            Some(_) => format!("--config={path}"),
            None => word.to_owned(),
        });
    }
    written
}

/// Removes from a pod the mount of its configuration and the fields of the operator's container that `spec.operator`
/// has. Returns the environment variables for `spec.operator`.
fn own_only(pod: &mut Value, own: usize, home: &str) -> Vec<EnvVar> {
    let mut mounted = BTreeSet::new();
    let mut env = Vec::new();
    if let Some(fields) = pod["containers"][own].as_object_mut() {
        for field in ["args", "command", "image", "imagePullPolicy"] {
            fields.remove(field);
        }
        let mut taken = |field: &str, is_taken: &dyn Fn(&Value) -> bool| {
            let list = fields.get_mut(field).and_then(Value::as_array_mut);
            let taken = list.map(|list| list.extract_if(.., |item| is_taken(item)).collect());
            let taken: Vec<Value> = taken.unwrap_or_default();
            if fields.get(field).is_some_and(is_empty) {
                fields.remove(field);
            }
            taken
        };
        let is_config = |mount: &Value| OperatorTemplate::is_config_path(text(mount, "/mountPath"));
        let configs = taken("volumeMounts", &is_config);
        mounted.extend(configs.iter().map(|mount| text(mount, "/name").to_owned()));
        taken("env", &|variable| is_given(variable, home));
        let is_plain = |variable: &Value| {
            variable.get("valueFrom").is_none() && !variable["value"].is_number()
        };
        let variable = |variable: &Value| EnvVar {
            name: text(variable, "/name").to_owned(),
            value: text(variable, "/value").to_owned(),
        };
        env.extend(taken("env", &is_plain).iter().map(variable));
    }
    if let Some(volumes) = pod.get_mut("volumes").and_then(Value::as_array_mut) {
        volumes.retain(|volume| !mounted.contains(text(volume, "/name")));
    }
    env
}

/// Returns whether an import sets a variable to the same value. `home` is the namespace of the operator in the release.
fn is_given(variable: &Value, home: &str) -> bool {
    let field = match text(variable, "/value") {
        value if value == home && !home.is_empty() => "metadata.namespace",
        _ => text(variable, "/valueFrom/fieldRef/fieldPath"),
    };
    matches!(
        [text(variable, "/name"), field],
        [WATCH | "POD_NAMESPACE", "metadata.namespace"] | ["POD_NAME", "metadata.name"]
    )
}

/// Returns whether a value is null, an empty list or an empty map.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        value => value.is_null(),
    }
}

/// Returns the template with the fields that an import does not set itself. Returns `None` if there are none.
fn template(workload: &Value, mut pod: Map<String, Value>) -> Option<OperatorTemplate> {
    pod.retain(|field, value| !rules::OF_PODS.contains(&field.as_str()) && !is_empty(value));
    let is_named_only = |container: &Value| {
        let fields = container.as_object();
        fields.is_some_and(|fields| fields.keys().eq(["name"]))
    };
    if matches!(list(&Value::Object(pod.clone()), "/containers"), [own] if is_named_only(own)) {
        pod.remove("containers");
    }
    let spec = &workload["spec"];
    let texts = |field: &str| {
        let map = spec.pointer(&format!("/template/metadata/{field}"));
        let map = map.and_then(Value::as_object).into_iter().flatten();
        let text =
            |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
        map.filter(|(name, _)| !rules::is_set_label(name))
            .filter_map(text)
            .collect()
    };
    let replicas = spec["replicas"]
        .as_u64()
        .and_then(|replicas| u32::try_from(replicas).ok());
    let template = OperatorTemplate {
        replicas: replicas
            .and_then(NonZeroU32::new)
            .filter(|replicas| replicas.get() > 1),
        metadata: TemplateMetadata {
            labels: texts("labels"),
            annotations: texts("annotations"),
        },
        spec: pod,
        ..OperatorTemplate::default()
    };
    (template != OperatorTemplate::default()).then_some(template)
}

/// Returns the names of the Secrets, ConfigMaps and claims to which a part of a pod refers.
fn needs(value: &Value) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(list) => open.extend(list),
            Value::Object(fields) => {
                for (field, value) in fields {
                    let name = match field.as_str() {
                        "secretName" | "claimName" => value.as_str(),
                        "configMap" | "configMapKeyRef" | "configMapRef" | "secretKeyRef"
                        | "secretRef" => value.get("name").and_then(Value::as_str),
                        _ => None,
                    };
                    found.extend(name);
                    open.push(value);
                }
            }
            _ => {}
        }
    }
    found
}

fn scope_note(scope: OperatorScope) -> Note {
    let text = match scope {
        OperatorScope::Cluster => {
            "Cluster: one of its roles is bound in the whole cluster, and no variable limits it to one namespace; the administrator consents to its rights with `--accept`"
        }
        OperatorScope::Namespace => {
            "Namespace: a variable limits it to one namespace, or none of its roles is bound in the whole cluster"
        }
    };
    Note::new(NoteWeight::Chosen, "scope", text)
}

/// Returns the note about objects that the draft does not take over and an import does not create.
fn left_out(
    objects: &[ManifestObject<'_>],
    program: &OperatorContainer<'_>,
    roles: &OperatorRoles<'_>,
) -> Option<Note> {
    const MADE: [&str; 4] = [
        "ClusterRoleBinding",
        "Namespace",
        "RoleBinding",
        "ServiceAccount",
    ];
    let is_left = |object: &&ManifestObject<'_>| {
        !std::ptr::eq(*object, program.workload)
            && !rules::is_definition(&object.value)
            && !roles
                .granted
                .iter()
                .any(|role| std::ptr::eq(*role, *object))
            && !MADE.contains(&object.kind())
    };
    let left: Vec<String> = objects
        .iter()
        .filter(is_left)
        .map(ManifestObject::title)
        .collect();
    (!left.is_empty()).then(|| {
        let text = format!(
            "{}: if the operator needs them, add them to a set in spec.manifests, or package the release unchanged",
            left.join(", ")
        );
        Note::new(NoteWeight::Lost, "objects", text)
    })
}

/// Returns the definitions, each in its own file with the release's text.
fn definitions(objects: &[ManifestObject<'_>]) -> Result<BTreeMap<String, Vec<u8>>, ReleaseError> {
    let mut files = BTreeMap::new();
    for object in objects
        .iter()
        .filter(|object| rules::is_definition(&object.value))
    {
        files.insert(path(object)?, write::object(object).into_bytes());
    }
    if files.is_empty() {
        // `pack` requires the directory, and a tree consists of files.
        files.insert("operator/deploy/crds/.gitkeep".to_owned(), Vec::new());
    }
    Ok(files)
}

/// Returns the path for a definition. Its name is validated first, because it becomes a part of the path.
fn path(object: &ManifestObject<'_>) -> Result<String, ReleaseError> {
    let refuse = || ReleaseError::Name {
        place: object.place.clone(),
        what: object.title(),
    };
    let name: KubernetesName = object.name().parse().map_err(|_| refuse())?;
    let path = archive::crd_path(name.as_str()).or_else(|_| {
        // The name is too long for a path of an archive.
        let hash = files::digest(name.as_str().as_bytes()).hex();
        let cut: String = name.as_str().chars().take(70).collect();
        archive::crd_path(&format!("{cut}-{}", &hash[..12]))
    });
    path.map(|path| path.to_string()).map_err(|_| refuse())
}

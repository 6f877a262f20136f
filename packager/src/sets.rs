//! The sets of manifests of a Solution. [`load`] reads and patches them before images are known. [`LoadedSet::files`]
//! compiles them when the references of images are known.

use std::collections::BTreeSet;

use archive::ArchiveFile;
use manifests::{
    CompileQuestion, Compiler, DocumentPlace, KnownImages, ManifestFile, ManifestObject,
    ObjectKinds,
};
use rules::catalogue::{manifests as of_manifests, source};
use rules::{self, ObjectNames, PlaceholderNames};
use schemas::{
    ArchivePath, ChartRelease, Namespace, ObjectSet, OwnNamespace, SourceImage, SourceSet,
    SourceSpec, yaml,
};
use serde_json::{Map, Value};

use crate::charts::LoadedChart;
use validator::ErrorChain;

use crate::error::PackError;
use crate::missing_images::MissingImage;
use crate::problems::SourceProblems;
use crate::source_files::SourceDocument;

/// A set whose files were read and patched.
#[derive(Debug)]
pub(crate) struct LoadedSet {
    pub(crate) source: SourceSet,
    /// The set in `manifest.yaml`.
    pub(crate) set: ObjectSet,
    /// The objects of the set in order.
    objects: Vec<PlacedObject>,
    /// The custom resource definitions that belong to the whole cluster.
    definitions: Vec<PlacedObject>,
}

/// An object and its place in the source.
#[derive(Debug)]
struct PlacedObject {
    place: DocumentPlace,
    value: Value,
}

/// Reads the set at this field of `solution.yaml`. If an object cannot be read or patched, the set has no objects,
/// because findings about the others could be consequences.
pub(crate) fn load(
    source: &SourceSet,
    field: &str,
    problems: &mut SourceProblems<'_>,
) -> Result<LoadedSet, PackError> {
    let files = files(source, field, problems)?;
    let objects = files
        .as_ref()
        .map(|files| objects(source, field, files, problems));
    let (definitions, own): (Vec<_>, Vec<_>) = objects
        .unwrap_or_default()
        .into_iter()
        .partition(is_the_clusters_definition);
    let objects: Vec<PlacedObject> = own
        .into_iter()
        .map(|object| place_object(object, tidy))
        .collect();
    let definitions: Vec<PlacedObject> = definitions
        .into_iter()
        .map(|definition| place_object(definition, tidy_definition))
        .collect();
    Ok(LoadedSet {
        source: source.clone(),
        set: set(source, &objects, &definitions),
        objects,
        definitions,
    })
}

/// Returns the files of a set with paths relative to the source directory. Returns `None` and adds findings if one
/// cannot be read.
fn files(
    source: &SourceSet,
    field: &str,
    problems: &mut SourceProblems<'_>,
) -> Result<Option<Vec<ManifestFile>>, PackError> {
    let mut files = Some(Vec::new());
    for (number, path) in source.files.iter().enumerate() {
        let field = format!("{field}.files[{number}]");
        let Some(at) = problems.resolve_path(&field, path) else {
            files = None;
            continue;
        };
        match manifests::read(&at) {
            Ok(read) => {
                let below = |file: ManifestFile| {
                    let path = if at.is_dir() {
                        path.join(file.name)
                    } else {
                        path.clone()
                    };
                    let name = path.display().to_string();
                    ManifestFile { name, ..file }
                };
                if let Some(files) = &mut files {
                    files.extend(read.files.into_iter().map(below));
                }
            }
            Err(error) => {
                problems.add_unreadable(&field, error)?;
                files = None;
            }
        }
    }
    Ok(files)
}

/// Returns the patched objects in these files. Returns none if a file cannot be parsed or a patch cannot be applied.
fn objects<'a>(
    source: &SourceSet,
    field: &str,
    files: &'a [ManifestFile],
    problems: &mut SourceProblems<'_>,
) -> Vec<ManifestObject<'a>> {
    let (mut objects, errors) = manifests::parse_all(files);
    for error in &errors {
        problems.add_unparsed(error);
    }
    for (place, _) in &objects.kindless {
        let message = "has no `kind`, so it is not a Kubernetes object";
        problems.at_document(&of_manifests::OBJECT, &place.into(), message);
    }
    if !errors.is_empty() {
        return Vec::new();
    }
    if objects.all.is_empty() && objects.kindless.is_empty() {
        let message = format_args!("the files of the set `{}` contain no object", source.name);
        problems.at_field(&of_manifests::EMPTY, field, message);
        return Vec::new();
    }
    let mut is_patched = true;
    for (number, patch) in source.patches.iter().enumerate() {
        if let Err(error) = manifests::patch(&mut objects.all, patch) {
            let set = &source.name;
            let message = format_args!(
                "patch {} of the set `{set}`: {}",
                number + 1,
                ErrorChain(&error)
            );
            problems.at_field(
                &source::PATCH,
                &format!("{field}.patches[{number}]"),
                message,
            );
            is_patched = false;
        }
    }
    if is_patched { objects.all } else { Vec::new() }
}

/// Returns true for custom resource definitions without webhook conversion. One with webhook conversion names a
/// namespace, so it belongs to an environment.
fn is_the_clusters_definition(object: &ManifestObject<'_>) -> bool {
    object.kind() == "CustomResourceDefinition"
        && object.group() == "apiextensions.k8s.io"
        && !rules::converts_by_webhook(&object.value)
}

fn place_object(object: ManifestObject<'_>, tidy: impl Fn(&mut Value)) -> PlacedObject {
    let (place, mut value) = (object.place, object.value);
    tidy(&mut value);
    PlacedObject { place, value }
}

/// Removes fields that only clusters and tools set and that imports do not apply.
fn tidy(object: &mut Value) {
    const KEPT: [&str; 4] = ["annotations", "labels", "name", "namespace"];
    const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    fields.remove("status");
    let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    // `generateName` is kept without a name, because the finding about the missing name explains it.
    let has_name = metadata.contains_key("name");
    metadata.retain(|field, value| {
        let is_kept = KEPT.contains(&field.as_str()) || !has_name && field == "generateName";
        is_kept && !value.is_null() && value.as_str() != Some("")
    });
    if let Some(annotations) = metadata
        .get_mut("annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.remove(APPLIED);
    }
}

/// Removes the metadata of a definition that imports do not apply.
fn tidy_definition(definition: &mut Value) {
    let applied = rules::metadata(definition);
    let mut metadata = Map::new();
    let name = definition.pointer("/metadata/name").cloned();
    metadata.extend(name.map(|name| ("name".to_owned(), name)));
    for (field, texts) in [
        ("labels", applied.labels),
        ("annotations", applied.annotations),
    ] {
        if !texts.is_empty() {
            metadata.insert(field.to_owned(), texts.into_iter().collect());
        }
    }
    if let Some(fields) = definition.as_object_mut() {
        fields.remove("status");
        fields.insert("metadata".to_owned(), metadata.into());
    }
}

/// Returns the set in `manifest.yaml`.
fn set(source: &SourceSet, objects: &[PlacedObject], definitions: &[PlacedObject]) -> ObjectSet {
    let own = source
        .namespaces
        .iter()
        .map(|namespace| namespace.name.as_str())
        .collect();
    let kinds = ObjectKinds::new(definitions.iter().map(|definition| &definition.value));
    let reaches_out = objects
        .iter()
        .any(|object| kinds.reaches_out(&object.value, &own));
    let namespaces = source.namespaces.iter().map(|namespace| OwnNamespace {
        name: namespace.name.clone(),
        fixed: namespace.fixed.unwrap_or(reaches_out),
    });
    ObjectSet {
        name: source.name.clone(),
        namespaces: namespaces.collect(),
        needs: source.needs.clone(),
        strategy: source.strategy,
        when: source.when.clone(),
        phase: source.phase,
    }
}

/// Adds findings that do not depend on images, such as conflicts between sets and charts.
pub(crate) fn check(
    sets: &[LoadedSet],
    charts: &[LoadedChart],
    spec: &SourceSpec,
    problems: &mut SourceProblems<'_>,
) {
    // If a chart could not be read, references to it would be reported as unknown.
    if charts.len() == spec.charts.len() {
        let charts: Vec<ChartRelease> = charts.iter().map(|chart| chart.release.clone()).collect();
        let own: Vec<ObjectSet> = sets.iter().map(|set| set.set.clone()).collect();
        problems.of_source(rules::object_sets(&own, &charts, &spec.parameters), spec);
    }
    problems.of_source(rules::parameters(&spec.parameters), spec);
    let definitions = sets.iter().flat_map(|set| &set.definitions);
    let kinds = ObjectKinds::new(definitions.clone().map(|definition| &definition.value));
    let places: Vec<_> = spec.images.iter().map(SourceImage::place).collect();
    let placeholders = PlaceholderNames::new(&places, &spec.parameters);
    let mut names = ObjectNames::default();
    for PlacedObject { place, value } in definitions {
        let twice = names.add_definition(value, &place.to_string());
        let found = rules::definition(value).into_iter().chain(twice);
        problems.of_document(found, &place.into());
        if archive::crd_path(manifests::text(value, "/metadata/name")).is_err() {
            let message = "the name is not valid for a file in an archive";
            problems.at_document(&source::FILE_NAME, &place.into(), message);
        }
    }
    for set in sets {
        for PlacedObject { place, value } in &set.objects {
            let found = rules::object(value).into_iter();
            let found = found.chain(names.add(value, &set.set, &kinds, &place.to_string()));
            let found = found.chain(placeholders.check(value, &set.set));
            problems.of_document(found, &place.into());
        }
    }
    for chart in charts {
        let source = spec
            .charts
            .iter()
            .find(|source| source.name == chart.release.name);
        if let Some(source) = source {
            chart.check_placeholders(source, &placeholders, problems);
        }
    }
}

/// Adds findings for images of containers that are not in `images`.
pub(crate) fn check_images(
    sets: &[LoadedSet],
    images: &KnownImages,
    problems: &mut SourceProblems<'_>,
) {
    for set in sets {
        let moved = set.movable_namespaces();
        let compiler = set.compiler(images, &moved);
        for PlacedObject { place, value } in &set.objects {
            for remark in compiler.compile(&mut value.clone()) {
                if let CompileQuestion::Missing(reference) = remark.what {
                    let missing = MissingImage {
                        reference,
                        place: place.to_string(),
                        pointer: remark.path,
                    };
                    problems.image(missing, &place.into());
                }
            }
        }
    }
}

/// Returns the written image references of pods that may create pods.
pub(crate) fn starters(sets: &[LoadedSet]) -> BTreeSet<&str> {
    let objects = sets.iter().flat_map(|set| &set.objects);
    rules::starters(objects.map(|object| &object.value))
}

impl LoadedSet {
    /// Returns the namespaces whose name a site may change.
    fn movable_namespaces(&self) -> Vec<Namespace> {
        let free = self
            .set
            .namespaces
            .iter()
            .filter(|namespace| !namespace.fixed);
        free.map(|namespace| namespace.name.clone()).collect()
    }

    fn compiler<'a>(&'a self, images: &'a KnownImages, moved: &'a [Namespace]) -> Compiler<'a> {
        Compiler {
            images,
            namespaces: moved,
            templates: &self.source.pod_templates,
        }
    }

    /// Returns the custom resource definitions as files of the archive.
    pub(crate) fn definitions(&self) -> Vec<ArchiveFile> {
        let definitions = self.definitions.iter();
        definitions
            .map(|definition| file(definition_path(&definition.value), &definition.value))
            .collect()
    }

    /// Returns the compiled objects as files of the archive.
    pub(crate) fn files(&self, images: &KnownImages) -> Vec<ArchiveFile> {
        let moved = self.movable_namespaces();
        let compiler = self.compiler(images, &moved);
        let object_file = |(number, PlacedObject { value, .. }): (usize, &PlacedObject)| {
            let mut object = value.clone();
            // The check of the draft archive compiles again and reports the remaining problems.
            compiler.compile(&mut object);
            file(self.object_path(number, &object), &object)
        };
        (1..).zip(&self.objects).map(object_file).collect()
    }

    /// Returns the source documents of the set's files, by path in the archive.
    pub(crate) fn documents(&self) -> impl Iterator<Item = (String, SourceDocument)> {
        let definitions = self.definitions.iter();
        let definitions =
            definitions.map(|definition| (definition_path(&definition.value), &definition.place));
        let objects = (1..).zip(&self.objects);
        let objects = objects
            .map(|(number, object)| (self.object_path(number, &object.value), &object.place));
        let all = definitions.chain(objects);
        all.map(|(path, place)| (path.to_string(), place.into()))
    }

    fn object_path(&self, number: usize, object: &Value) -> ArchivePath {
        let text = |pointer| manifests::text(object, pointer);
        archive::object_path(
            &self.set.name,
            number,
            text("/kind"),
            text("/metadata/name"),
        )
    }
}

fn definition_path(definition: &Value) -> ArchivePath {
    let path = archive::crd_path(manifests::text(definition, "/metadata/name"));
    path.expect("a tree with another name is refused")
}

fn file(path: ArchivePath, document: &Value) -> ArchiveFile {
    ArchiveFile::from_bytes(path, yaml::to_string(document).into_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use schemas::ImageReference;

    use super::*;
    use crate::load::LoadedSource;
    use crate::testing::{self, RELEASE, SOLUTION, bytes};

    /// Loads a source tree with this release and additional fields of its set.
    fn loaded(release: &str, set: &str) -> Result<LoadedSource, PackError> {
        let tree = testing::texts(&format!(
            "{SOLUTION}  manifests:\n    - name: web\n      files: [release.yaml]\n      namespaces: [{{name: shop}}]\n{set}"
        ));
        fs::write(tree.path().join("release.yaml"), release).unwrap();
        testing::load(tree.path())
    }

    fn refused(release: &str, set: &str) -> String {
        testing::refused(loaded(release, set))
    }

    fn known() -> KnownImages {
        let reference: ImageReference = "r.test/demo:1".parse().unwrap();
        KnownImages::new([("demo-operator:1.0.0".parse().unwrap(), &reference)])
    }

    #[test]
    fn a_release_is_taken_apart_compiled_and_without_what_clusters_write() {
        let loaded = loaded(RELEASE, "").unwrap();
        let set = &loaded.sets[0];
        let files = set.files(&known());
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "manifests/web/0001-deployment-web.yaml",
                "manifests/web/0002-service-web.yaml",
                "manifests/web/0003-configmap-web.yaml"
            ]
        );
        let object: Value = yaml::from_slice(bytes(&files[0])).unwrap();
        assert_eq!(object["metadata"]["namespace"], "$(namespace:shop)");
        assert_eq!(
            object["metadata"]["annotations"],
            serde_json::json!({"a": "b"})
        );
        assert!(object["metadata"].get("creationTimestamp").is_none());
        assert!(object.get("status").is_none());
        let image = object.pointer("/spec/template/spec/containers/0/image");
        assert_eq!(image.unwrap(), "$(image:demo-operator)");
        let config: Value = yaml::from_slice(bytes(&files[2])).unwrap();
        assert_eq!(config["data"]["worker"], "image=$(image:demo-operator)");
        let definitions = set.definitions();
        let paths: Vec<&str> = definitions.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["operator/deploy/crds/shops.shop.test_crd.yaml"]);
        let definition: Value = yaml::from_slice(bytes(&definitions[0])).unwrap();
        let metadata = serde_json::json!({"name": "shops.shop.test", "labels": {"app": "shop"}});
        assert_eq!(definition["metadata"], metadata);
    }

    #[test]
    fn namespaces_are_fixed_by_default_where_objects_reach_out_of_them() {
        let fixed = |release: &str| loaded(release, "").unwrap().sets[0].set.namespaces[0].fixed;
        assert!(!fixed(RELEASE));
        let role = "\n---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: x}}\n";
        assert!(fixed(&format!("{RELEASE}{role}")));
        let other =
            "\n---\n{apiVersion: v1, kind: Service, metadata: {name: x, namespace: kube-system}}\n";
        assert!(fixed(&format!("{RELEASE}{other}")));
    }

    #[test]
    fn lists_of_objects_are_their_objects() {
        let list = "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Service, metadata: {name: a}}, {apiVersion: v1, kind: Service, metadata: {name: b}}]}";
        assert_eq!(loaded(list, "").unwrap().sets[0].objects.len(), 2);
    }

    #[test]
    fn what_is_wrong_with_a_release_is_said_with_its_place() {
        let with = |text: &str| format!("{RELEASE}\n---\n{text}\n");
        let of =
            |line: usize, id: &str, words: &str| format!("release.yaml:{line}: [{id}] {words}");
        for (release, words) in [
            (
                with("just text"),
                of(38, "manifests.object", "has no `kind`, so it is not a"),
            ),
            (
                with("[a, b]"),
                of(38, "manifests.object", "has no `kind`, so it is not"),
            ),
            (
                with("{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}}"),
                of(
                    38,
                    "manifests.repeated",
                    "defines Service `web`, as `release.yaml`, document 2 (line 18) does differently",
                ),
            ),
            (
                with("{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}"),
                of(
                    38,
                    "manifests.repeated",
                    "is ConfigMap `web`, which is also in `release.yaml`, document 3 (line 21)",
                ),
            ),
            (
                with("{apiVersion: v1, kind: PodList, metadata: {name: x}, items: {}}"),
                of(38, "manifests.object", "is a list of objects (`PodList`)"),
            ),
            (
                with("{apiVersion: v1, kind: Secret, metadata: {name: x}, data: {a: Yg==}}"),
                of(38, "manifests.forbidden", "is a Secret with data"),
            ),
            (
                with(
                    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  a: '$(param:size)'",
                ),
                of(
                    42,
                    "manifests.placeholder",
                    "/data/a: there is no parameter `size`",
                ),
            ),
            (
                with("{apiVersion: v1, kind: ConfigMap, metadata: {generateName: x}}"),
                of(38, "manifests.object", "has `metadata.generateName`"),
            ),
            (
                with("a: ["),
                "release.yaml:39:1: [manifests.yaml] did not find".to_owned(),
            ),
            (
                format!("{RELEASE}      description: {}\n", "x".repeat(10_000_000)),
                of(23, "manifests.yaml", "has 1000"),
            ),
            (
                with(&format!(
                    "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: x}}, data: {{a: {}}}}}",
                    "x".repeat(4 << 20)
                )),
                of(37, "manifests.yaml", "has 419"),
            ),
        ] {
            let said = refused(&release, "");
            assert!(said.starts_with(&words), "{said}\n{words}");
        }
    }

    #[test]
    fn five_thousand_objects_are_taken() {
        let object = |number| {
            format!(
                "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: n{number}}}, data: {{at: n{number}.shop.svc}}}}\n"
            )
        };
        let release: String = (0..5000).map(object).collect();
        let loaded = loaded(&release, "").unwrap();
        let files = loaded.sets[0].files(&known());
        assert_eq!(files.len(), 5000);
        let last = &files[4999];
        assert_eq!(
            last.path.as_str(),
            "manifests/web/5000-configmap-n4999.yaml"
        );
        let text = String::from_utf8(bytes(last).to_vec()).unwrap();
        assert!(text.contains("n4999.$(namespace:shop).svc"), "{text}");
    }

    #[test]
    fn what_is_wrong_with_a_set_is_said() {
        for (release, set, words) in [
            (
                RELEASE,
                "    - name: again\n      files: [release.yaml]\n      namespaces: [{name: shop}]\n",
                "release.yaml:27: [manifests.repeated] is CustomResourceDefinition `shops.shop.test`, which is also in",
            ),
            (
                "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
                "    - name: again\n      files: [release.yaml]\n      namespaces: [{name: other}]\n",
                "release.yaml:1: [manifests.repeated] is ConfigMap `a`, which is also in `release.yaml`, document 1 (line 1)",
            ),
            (
                RELEASE,
                "  parameters: {size: {type: integer, enum: [1, x]}}\n",
                "solution.yaml:14: [manifests.parameter] the parameter `size` has a value in `enum` that is not of its type",
            ),
            (
                RELEASE,
                "      patches:\n        - {target: {kind: Service}, patch: '{metadata: {labels: {a: b}}}'}\n        - {target: {kind: StatefulSet}, patch: '{}'}\n",
                "solution.yaml:16: [source.patch] patch 2 of the set `web`: no object matches its target, a StatefulSet",
            ),
            (
                RELEASE,
                "      needs: [crds]\n",
                "solution.yaml:11: [manifests.sets] the set `web` needs `crds`, which is neither a set",
            ),
            (
                RELEASE,
                "  parameters: {size: {type: integer, default: x}}\n",
                "solution.yaml:14: [manifests.parameter] the parameter `size` has a `default` that is not a whole number",
            ),
            (
                "# nothing\n",
                "",
                "solution.yaml:11: [manifests.empty] the files of the set `web` contain no object",
            ),
        ] {
            let said = refused(release, set);
            assert!(said.starts_with(words), "{said}\n{words}");
        }
    }

    #[test]
    fn images_that_are_not_carried_are_named_before_anything_takes_time() {
        let release = RELEASE.replace("r.test/demo:1\n", "r.test/other:2\n");
        let loaded = loaded(&release, "");
        let Err(PackError::RefusedSource(refused)) = loaded else {
            panic!("they were not missed");
        };
        let expected = MissingImage {
            reference: "r.test/other:2".parse().unwrap(),
            place: "`release.yaml`, document 1 (line 1)".to_owned(),
            pointer: "/spec/template/spec/containers/0/image".to_owned(),
        };
        assert_eq!(refused.missing, [expected]);
        assert_eq!(
            testing::said(&refused.findings),
            "release.yaml:15: [source.image] /spec/template/spec/containers/0/image is `r.test/other:2`, which spec.images does not list"
        );
        let patch = "      patches: [{target: {kind: Deployment}, json: [{op: replace, path: /spec/template/spec/containers/0/image, value: 'r.test/demo:1'}]}]\n";
        assert!(self::loaded(&release, patch).is_ok());
    }
}

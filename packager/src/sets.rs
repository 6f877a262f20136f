//! The sets of objects that a Solution carries as they are: read and patched before the images are known, compiled when
//! their references are.

use std::path::{Path, PathBuf};

use archive::ArchiveFile;
use manifests::{CompileQuestion, Compiler, KnownImages, ManifestObject, ObjectKinds};
use rules::{self, ObjectNames, PlaceholderNames};
use schemas::{ChartRelease, Namespace, ObjectSet, OwnNamespace, SourceSet, SourceSpec, yaml};
use serde_json::{Map, Value};

use crate::charts::LoadedChart;
use crate::error::PackError;
use crate::missing::MissingImage;

/// A set whose files were read and patched.
#[derive(Debug)]
pub(crate) struct LoadedSet {
    pub(crate) source: SourceSet,
    /// The set as `manifest.yaml` has it.
    pub(crate) set: ObjectSet,
    /// The objects of the set itself, in order.
    objects: Vec<PlacedObject>,
    /// Definitions of custom resources, which are the cluster's.
    definitions: Vec<PlacedObject>,
}

/// An object, and where it was read.
#[derive(Debug)]
struct PlacedObject {
    place: String,
    value: Value,
}

/// Reads a set; `below` resolves the paths of `solution.yaml`.
pub(crate) fn load(
    source: &SourceSet,
    below: impl Fn(&Path) -> Result<PathBuf, PackError>,
) -> Result<LoadedSet, PackError> {
    let mut files = Vec::new();
    for path in &source.files {
        files.extend(manifests::read(&below(path)?)?.files);
    }
    let mut objects = manifests::parse(&files)?;
    if let Some((place, _)) = objects.kindless.first() {
        return Err(PackError::NoObject(place.to_string()));
    }
    for (number, patch) in (1..).zip(&source.patches) {
        let failed = |error| PackError::Patch {
            set: source.name.clone(),
            number,
            source: Box::new(error),
        };
        manifests::patch(&mut objects.all, patch).map_err(failed)?;
    }
    if objects.all.is_empty() {
        return Err(PackError::EmptySet(source.name.clone()));
    }
    let (definitions, own): (Vec<_>, Vec<_>) = objects
        .all
        .into_iter()
        .partition(is_the_clusters_definition);
    let objects: Vec<PlacedObject> = own.into_iter().map(|it| placed(it, tidy)).collect();
    let definitions: Vec<PlacedObject> = definitions
        .into_iter()
        .map(|it| placed(it, tidy_definition))
        .collect();
    Ok(LoadedSet {
        source: source.clone(),
        set: set(source, &objects, &definitions),
        objects,
        definitions,
    })
}

/// Whether an object is a definition that belongs to no environment: one with webhook conversion names a namespace.
fn is_the_clusters_definition(object: &ManifestObject<'_>) -> bool {
    object.kind() == "CustomResourceDefinition"
        && object.group() == "apiextensions.k8s.io"
        && !rules::converts_by_webhook(&object.value)
}

fn placed(object: ManifestObject<'_>, tidy: impl Fn(&mut Value)) -> PlacedObject {
    let (place, mut value) = (object.place.to_string(), object.value);
    tidy(&mut value);
    PlacedObject { place, value }
}

/// Leaves out what only clusters and tools write, and no import applies.
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
    metadata.retain(|field, value| {
        KEPT.contains(&field.as_str()) && !value.is_null() && value.as_str() != Some("")
    });
    if let Some(annotations) = metadata
        .get_mut("annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.remove(APPLIED);
    }
}

/// Reduces a definition's metadata to what an import applies.
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

/// The set as `manifest.yaml` has it.
fn set(source: &SourceSet, objects: &[PlacedObject], definitions: &[PlacedObject]) -> ObjectSet {
    let own = source
        .namespaces
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    let kinds = ObjectKinds::new(definitions.iter().map(|it| &it.value));
    let reaches_out = objects.iter().any(|it| kinds.reaches_out(&it.value, &own));
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

/// Finds the first thing that keeps sets and charts from being carried together, as far as it can be told without the images.
pub(crate) fn check(
    sets: &[LoadedSet],
    charts: &[LoadedChart],
    spec: &SourceSpec,
) -> Result<(), PackError> {
    let charts: Vec<ChartRelease> = charts.iter().map(|it| it.release.clone()).collect();
    let own: Vec<ObjectSet> = sets.iter().map(|it| it.set.clone()).collect();
    let problems = rules::object_sets(&own, &charts, &spec.parameters);
    let problem = problems.chain(rules::parameters(&spec.parameters)).next();
    problem.map_or(Ok(()), |problem| {
        Err(PackError::in_file(Path::new("solution.yaml"))(problem))
    })?;
    let definitions = sets.iter().flat_map(|set| &set.definitions);
    let kinds = ObjectKinds::new(definitions.clone().map(|it| &it.value));
    let places: Vec<_> = spec
        .images
        .iter()
        .map(schemas::SourceImage::place)
        .collect();
    let placeholders = PlaceholderNames::new(&places, &spec.parameters);
    let mut names = ObjectNames::default();
    for PlacedObject { place, value } in definitions {
        let problem = names.add_definition(value, place);
        problem.map_or(Ok(()), |problem| Err(in_object(place, problem)))?;
    }
    for set in sets {
        for PlacedObject { place, value } in &set.objects {
            let problems = rules::object(value).into_iter();
            let problems = problems.chain(names.add(value, &set.set, &kinds, place));
            let mut problems = problems.chain(placeholders.check(value, &set.set));
            if let Some(problem) = problems.next() {
                return Err(in_object(place, problem));
            }
        }
    }
    Ok(())
}

fn in_object(place: &str, problem: rules::Problem) -> PackError {
    PackError::Object {
        place: place.to_owned(),
        problem: Box::new(problem),
    }
}

/// The images of containers that are not among these.
pub(crate) fn missing(sets: &[LoadedSet], images: &KnownImages) -> Vec<MissingImage> {
    let mut missing = Vec::new();
    for set in sets {
        let moved = set.moved();
        let compiler = set.compiler(images, &moved);
        for PlacedObject { place, value } in &set.objects {
            for remark in compiler.compile(&mut value.clone()) {
                if let CompileQuestion::Missing(reference) = remark.what {
                    missing.push(MissingImage {
                        reference,
                        place: place.clone(),
                        pointer: remark.path,
                    });
                }
            }
        }
    }
    missing
}

impl LoadedSet {
    /// The namespaces that may have another name at a site.
    fn moved(&self) -> Vec<Namespace> {
        let free = self.set.namespaces.iter().filter(|it| !it.fixed);
        free.map(|namespace| namespace.name.clone()).collect()
    }

    fn compiler<'a>(&'a self, images: &'a KnownImages, moved: &'a [Namespace]) -> Compiler<'a> {
        Compiler {
            images,
            namespaces: moved,
            templates: &self.source.pod_templates,
        }
    }

    /// The definitions of custom resources, as files of the archive.
    pub(crate) fn definitions(&self) -> Result<Vec<ArchiveFile>, PackError> {
        let file = |PlacedObject { value, .. }: &PlacedObject| {
            let name = manifests::text(value, "/metadata/name");
            let path = archive::crd_path(name);
            let path = path.map_err(|_| PackError::FileName(name.into()))?;
            let text = yaml::to_string(value);
            Ok(ArchiveFile::from_bytes(path, text.into_bytes()))
        };
        self.definitions.iter().map(file).collect()
    }

    /// The files of the set in the archive, compiled.
    pub(crate) fn files(&self, images: &KnownImages) -> Vec<ArchiveFile> {
        let moved = self.moved();
        let compiler = self.compiler(images, &moved);
        let file = |(number, PlacedObject { value, .. }): (usize, &PlacedObject)| {
            let mut object = value.clone();
            // What is left is for the check of the draft to name, which compiles again.
            compiler.compile(&mut object);
            let text = |pointer| manifests::text(&object, pointer);
            let (kind, name) = (text("/kind"), text("/metadata/name"));
            let path = archive::object_path(&self.set.name, number, kind, name);
            ArchiveFile::from_bytes(path, yaml::to_string(&object).into_bytes())
        };
        (1..).zip(&self.objects).map(file).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;
    use std::fs;

    use schemas::ImageReference;

    use super::*;
    use crate::load::Loaded;
    use crate::testing::{self, RELEASE, SOLUTION, bytes};

    /// A tree with the release and more text for its set.
    fn loaded(release: &str, set: &str) -> Result<Loaded, PackError> {
        let tree = testing::texts(&format!(
            "{SOLUTION}  manifests:\n    - name: web\n      files: [release.yaml]\n      namespaces: [{{name: shop}}]\n{set}"
        ));
        fs::write(tree.path().join("release.yaml"), release).unwrap();
        testing::load(tree.path())
    }

    fn refused(release: &str, set: &str) -> String {
        let error = loaded(release, set).unwrap_err();
        let cause = error.source().map(|cause| format!(": {cause}"));
        format!("{error}{}", cause.unwrap_or_default())
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
        let definitions = set.definitions().unwrap();
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
        let other = "`release.yaml`, document 5 (line 37)";
        for (release, words) in [
            (
                with("just text"),
                format!(
                    "{other} has no `kind`, so it is not a Kubernetes object; remove it from the set"
                ),
            ),
            (
                with("[a, b]"),
                format!("{other} has no `kind`, so it is not"),
            ),
            (
                with("{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}}"),
                format!(
                    "`release.yaml`, document 2 (line 18) and {other} both define Service `web`, differently"
                ),
            ),
            (
                with("{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}"),
                format!("{other}: is ConfigMap `web`, as `release.yaml`, document 3 (line 21) is"),
            ),
            (
                with("{apiVersion: v1, kind: PodList, metadata: {name: x}, items: {}}"),
                format!("{other}: is a list of objects (`PodList`)"),
            ),
            (
                with("{apiVersion: v1, kind: Secret, metadata: {name: x}, data: {a: Yg==}}"),
                format!("{other}: is a Secret with data"),
            ),
            (
                with(
                    "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: '$(param:size)'}}",
                ),
                format!("{other}: /data/a: there is no parameter `size`"),
            ),
            (
                with("{apiVersion: v1, kind: ConfigMap, metadata: {generateName: x}}"),
                format!("{other}: `metadata.name` is missing"),
            ),
            (with("a: ["), format!("{other} is not usable YAML")),
            (
                format!("{RELEASE}      description: {}\n", "x".repeat(10_000_000)),
                "`release.yaml`, document 4 (line 23) is not usable YAML".to_owned(),
            ),
            (
                with(&format!(
                    "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: x}}, data: {{a: {}}}}}",
                    "x".repeat(4 << 20)
                )),
                format!(
                    "{other} is not usable YAML; correct it, or render the release again if it is a template: has 419"
                ),
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
                "`release.yaml`, document 4 (line 23): is CustomResourceDefinition `shops.shop.test`, as",
            ),
            (
                "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
                "    - name: again\n      files: [release.yaml]\n      namespaces: [{name: other}]\n",
                "`release.yaml`, document 1 (line 1): is ConfigMap `a`, as `release.yaml`, document 1 (line 1) is",
            ),
            (
                RELEASE,
                "  parameters: {size: {type: integer, enum: [1, x]}}\n",
                "`solution.yaml`: the parameter `size` has a value in `enum` that is not of its type",
            ),
            (
                RELEASE,
                "      patches: [{target: {kind: StatefulSet}, merge: {}}]\n",
                "patch 1 of the set `web` cannot be applied: no object is a StatefulSet",
            ),
            (
                RELEASE,
                "      needs: [crds]\n",
                "`solution.yaml`: the set `web` needs `crds`, which is no set",
            ),
            (
                RELEASE,
                "  parameters: {size: {type: integer, default: x}}\n",
                "`solution.yaml`: the parameter `size` has a `default` that is not a whole number",
            ),
            (
                "# nothing\n",
                "",
                "the files of the set `web` hold no object",
            ),
        ] {
            let said = refused(release, set);
            assert!(said.starts_with(words), "{said}\n{words}");
        }
    }

    #[test]
    fn images_that_are_not_carried_are_named_before_anything_takes_time() {
        let release = RELEASE.replace("r.test/demo:1\n", "r.test/other:2\n");
        let Err(PackError::MissingImages(missing)) = loaded(&release, "") else {
            panic!("they were not missed");
        };
        let expected = MissingImage {
            reference: "r.test/other:2".parse().unwrap(),
            place: "`release.yaml`, document 1 (line 1)".to_owned(),
            pointer: "/spec/template/spec/containers/0/image".to_owned(),
        };
        assert_eq!(missing, [expected]);
        let patch = "      patches: [{target: {kind: Deployment}, json: [{op: replace, path: /spec/template/spec/containers/0/image, value: 'r.test/demo:1'}]}]\n";
        assert!(loaded(&release, patch).is_ok());
    }
}

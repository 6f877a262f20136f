//! Checks of the sets of manifests in `manifests/`, specified in docs/reference/format-manifests.md. The entry point is
//! [`check`], which reads all objects and applies the rules of the `rules` crate to each.

use std::collections::{BTreeMap, BTreeSet};

use archive::{Feature, MANIFEST, MANIFESTS, OpenError};
use manifests::{Compiler, KnownImages, ObjectKinds};
use schemas::{
    ArchivePath, Capability, ContentsEntry, DocumentCost, Image, ImagePlace, Namespace, ObjectSet,
    Solution, limits, yaml,
};
use serde_json::Value;

use crate::capability;
use crate::definitions::PackagedDefinition;
use crate::files::ListedFiles;
use crate::finding::{Findings, report};
use rules::catalogue::manifests::{CAPABILITY, EMPTY, UNEXPECTED, YAML};
use rules::{ObjectNames, PlaceholderNames, PossibleMinors, Problem, WorkloadChecker};

const DIRECTORY: &str = "manifests/";

/// An object in an archive and its file.
#[derive(Clone, Debug, PartialEq)]
pub struct PackagedObject {
    /// The path of the object's file.
    pub path: ArchivePath,
    /// The document, with placeholders.
    pub document: Value,
}

/// A set of objects.
#[derive(Clone, Debug, PartialEq)]
pub struct PackagedSet {
    /// The set in the manifest.
    pub set: ObjectSet,
    /// The objects in the order of their numbers.
    pub objects: Vec<PackagedObject>,
}

/// The images, definitions and capabilities that the objects are compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetContext<'a> {
    pub(crate) images: &'a [Image],
    /// The users of the images that declare one.
    pub(crate) users: &'a BTreeMap<ImagePlace, String>,
    pub(crate) definitions: &'a [PackagedDefinition],
    /// The capabilities that the signed statement requires of a reader.
    pub(crate) requires: &'a [Capability],
}

/// Reads and checks the objects of all sets. `solution` is `None` if the manifest could not be read; the sets are not
/// checked then.
pub(crate) fn check(
    files: &ListedFiles<'_>,
    solution: Option<&Solution>,
    context: SetContext<'_>,
    findings: &mut Findings,
) -> Result<Vec<PackagedSet>, OpenError> {
    let Some(solution) = solution else {
        return Ok(Vec::new());
    };
    capability::check(
        Feature::Manifests,
        [
            "has sets of manifests or parameters",
            "has neither sets of manifests nor parameters",
        ],
        solution,
        context.requires,
        &CAPABILITY,
        findings,
    );
    let spec = &solution.spec;
    let problems = rules::object_sets(&spec.manifests, &spec.charts, &spec.parameters);
    report(problems, MANIFEST, findings);
    report(rules::parameters(&spec.parameters), MANIFEST, findings);
    // The signed list contains all sizes, so the limits are checked before any file is read.
    let entries = || files.below(DIRECTORY);
    let bytes = entries().fold(0, |sum: u64, entry| sum.saturating_add(entry.size));
    if let Err(problem) = rules::check_object_files(entries().count(), bytes) {
        report([problem], MANIFESTS, findings);
        return Ok(Vec::new());
    }
    let mut places = places(files, spec.manifests.as_slice(), findings);
    let mut judge = SetJudge::new(solution, context);
    // CRDs of sets are in `operator/`, without a reference to their set. A set without objects may therefore consist of
    // CRDs.
    let mut definitions = context.definitions.iter();
    let may_define = definitions.any(|definition| archive::is_crd(&definition.path));
    let mut sets = Vec::new();
    for set in &spec.manifests {
        let entries = places.remove(set.name.as_str()).unwrap_or_default();
        if entries.is_empty() && !may_define {
            let message = format_args!("there is nothing below {DIRECTORY}{}/", set.name);
            findings.add(&EMPTY, MANIFEST, message);
        }
        match judge.set(files, set, &entries, findings)? {
            Ok(set) => sets.push(set),
            Err(problem) => {
                report([problem], MANIFESTS, findings);
                return Ok(Vec::new());
            }
        }
    }
    Ok(sets)
}

/// Returns the files of each set in the order of their numbers. Adds findings for files that belong to no set.
fn places<'a>(
    files: &ListedFiles<'a>,
    sets: &[ObjectSet],
    findings: &mut Findings,
) -> BTreeMap<&'a str, Vec<&'a ContentsEntry>> {
    let known: BTreeSet<&str> = sets.iter().map(|set| set.name.as_str()).collect();
    let mut places: BTreeMap<&str, Vec<(usize, &ContentsEntry)>> = BTreeMap::new();
    for entry in files.below(DIRECTORY) {
        match place(entry) {
            Some((set, _)) if !known.contains(set) => {
                let message = format_args!("manifest.yaml has no set `{set}`");
                findings.add(&UNEXPECTED, &entry.path, message);
            }
            Some((set, number)) => places.entry(set).or_default().push((number, entry)),
            None => {
                let message = "is not manifests/SET/NUMBER-KIND-NAME.yaml";
                findings.add(&UNEXPECTED, &entry.path, message);
            }
        }
    }
    let sorted = places.into_iter().map(|(set, mut entries)| {
        entries.sort_by_key(|(number, _)| *number);
        (set, entries.into_iter().map(|(_, entry)| entry).collect())
    });
    sorted.collect()
}

/// Returns the set and the number in a path.
fn place(entry: &ContentsEntry) -> Option<(&str, usize)> {
    let (set, file) = entry
        .path
        .as_str()
        .strip_prefix(DIRECTORY)?
        .split_once('/')?;
    let (number, name) = file.strip_suffix(".yaml")?.split_once('-')?;
    if name.contains('/') {
        return None;
    }
    Some((set, number.parse().ok()?))
}

/// The state of the checks of all objects.
struct SetJudge<'a> {
    images: KnownImages,
    placeholders: PlaceholderNames<'a>,
    kinds: ObjectKinds,
    names: ObjectNames,
    workloads: WorkloadChecker<'a>,
    minors: Option<PossibleMinors>,
    cost: DocumentCost,
}

impl<'a> SetJudge<'a> {
    fn new(solution: &'a Solution, context: SetContext<'a>) -> Self {
        let documents = context
            .definitions
            .iter()
            .map(|definition| &definition.document);
        let references = context
            .images
            .iter()
            .filter_map(|image| Some((image.place.clone(), image.reference.as_ref()?)));
        let mut names = ObjectNames::default();
        for PackagedDefinition { path, document } in context.definitions {
            // Two files that define the same resource are already a finding.
            names.add_definition(document, path.as_str());
        }
        Self {
            images: KnownImages::new(references),
            placeholders: PlaceholderNames::new(&solution.spec.images, &solution.spec.parameters),
            kinds: ObjectKinds::new(documents),
            names,
            workloads: WorkloadChecker::new(&solution.spec.images, context.users),
            minors: PossibleMinors::of(solution.spec.prerequisites.kubernetes.as_ref()),
            cost: DocumentCost::default(),
        }
    }

    /// Reads and checks a set. The inner error is a problem that ends the check of all sets, because their objects
    /// exceed a limit.
    fn set(
        &mut self,
        files: &ListedFiles<'_>,
        set: &ObjectSet,
        entries: &[&ContentsEntry],
        findings: &mut Findings,
    ) -> Result<Result<PackagedSet, Problem>, OpenError> {
        let mut objects = Vec::new();
        let mut judged = set.clone();
        // A longer list is already a finding. It is cut because the check searches every text of every object for each
        // namespace.
        judged.namespaces.truncate(rules::limits::SET_NAMESPACES);
        let free = judged
            .namespaces
            .iter()
            .filter(|namespace| !namespace.fixed);
        let namespaces: Vec<Namespace> = free.map(|namespace| namespace.name.clone()).collect();
        for (number, entry) in (1..).zip(entries) {
            let Some(bytes) = files.read(entry, limits::YAML_SIZE, &YAML, findings)? else {
                continue;
            };
            let document: Value = match yaml::from_slice(&bytes) {
                Ok(document) => document,
                Err(error) => {
                    findings.add(&YAML, &entry.path, error);
                    continue;
                }
            };
            self.cost.add(&document);
            if let Err(problem) = rules::check_object_cost(self.cost) {
                return Ok(Err(problem));
            }
            let object = PackagedObject {
                path: entry.path.clone(),
                document,
            };
            self.object(&judged, &namespaces, number, &object, findings);
            objects.push(object);
        }
        let set = set.clone();
        Ok(Ok(PackagedSet { set, objects }))
    }

    fn object(
        &mut self,
        set: &ObjectSet,
        namespaces: &[Namespace],
        number: usize,
        PackagedObject { path, document }: &PackagedObject,
        findings: &mut Findings,
    ) {
        let place = path.as_str();
        let problems = rules::object(document);
        let is_object = !problems
            .iter()
            .any(|problem| matches!(problem, Problem::ObjectShape(_)));
        report(problems, place, findings);
        if !is_object {
            return;
        }
        let text = |pointer| manifests::text(document, pointer);
        let expected =
            archive::object_path(&set.name, number, text("/kind"), text("/metadata/name"));
        if *path != expected {
            findings.add(&UNEXPECTED, path, format_args!("should be `{expected}`"));
        }
        report(
            self.names.add(document, set, &self.kinds, place),
            place,
            findings,
        );
        report(rules::unreplaced(document), place, findings);
        report(
            rules::namespace_of_cluster(document, &self.kinds),
            place,
            findings,
        );
        report(
            rules::api_lifecycle(document, set.when.as_ref(), self.minors),
            place,
            findings,
        );
        report(self.workloads.check(document), place, findings);
        report(rules::monitoring(document, set), place, findings);
        report(self.placeholders.check(document, set), place, findings);
        let compiler = Compiler {
            images: &self.images,
            namespaces,
            // The packager used pod templates of custom kinds when it compiled the objects. They are not needed to
            // check the result.
            templates: &[],
        };
        report(rules::compiled(&compiler, document), place, findings);
    }
}

#[cfg(test)]
mod tests {
    use progress::Cancel;
    use schemas::{Contents, Digest};

    use super::*;
    use crate::files::ReadProblem;

    fn contents(count: usize, size: u64) -> Contents {
        let set = "web".parse().unwrap();
        let entries = (1..=count).map(|number| ContentsEntry {
            path: archive::object_path(&set, number, "ConfigMap", &format!("n{number}")),
            size,
            digest: Digest::new([7; 32]),
        });
        Contents::new(entries.collect()).unwrap()
    }

    /// Returns the findings for `count` objects, and the number of objects that were read. `text` returns the content
    /// of a path.
    fn found(count: usize, size: u64, text: &dyn Fn(&str) -> String) -> (Vec<String>, usize) {
        found_with("[]", count, size, text)
    }

    /// Returns the findings for a set with these namespaces, and the number of objects that were read.
    fn found_with(
        namespaces: &str,
        count: usize,
        size: u64,
        text: &dyn Fn(&str) -> String,
    ) -> (Vec<String>, usize) {
        let contents = contents(count, size);
        let read = |path: &str, _| -> Result<_, ReadProblem> { Ok(text(path).into_bytes()) };
        let solution = format!(
            "{{apiVersion: solutions.metalk8s.scality.com/v1alpha1, kind: Solution, metadata: {{name: a}}, spec: {{version: 1.0.0, manifests: [{{name: web, namespaces: {namespaces}}}]}}}}"
        );
        let solution = Solution::from_slice(solution.as_bytes());
        let mut findings = Findings::default();
        let context = SetContext {
            images: &[],
            users: &BTreeMap::new(),
            definitions: &[],
            requires: &[Feature::Manifests.capability()],
        };
        let sets = check(
            &ListedFiles::new(&contents, &read, Cancel::never()),
            Some(&solution.unwrap()),
            context,
            &mut findings,
        );
        let objects = sets.unwrap().iter().map(|set| set.objects.len()).sum();
        let findings = findings.into_sorted().into_iter();
        (
            findings
                .map(|finding| format!("{}: {}", finding.id, finding.message))
                .collect(),
            objects,
        )
    }

    fn object(path: &str) -> String {
        let name = path.rsplit(['-', '/']).next().unwrap();
        let name = name.strip_suffix(".yaml").unwrap();
        format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}")
    }

    #[test]
    fn five_thousand_objects_are_read_in_the_order_of_their_numbers() {
        assert_eq!(found(5000, 1, &object), (vec![], 5000));
        assert_eq!(
            found(rules::limits::OBJECTS, 1, &object),
            (vec![], rules::limits::OBJECTS)
        );
    }

    /// Each namespace is searched in every object. For 20,000 namespaces and 5,000 objects, that took two minutes.
    #[test]
    fn namespaces_beyond_their_number_are_not_looked_at() {
        let namespaces: Vec<String> = (0..20_000)
            .map(|number| format!("{{name: n{number}}}"))
            .collect();
        let namespaces = format!("[{}]", namespaces.join(","));
        let (words, read) = found_with(&namespaces, 1, 1, &|path| {
            object(path).replace("}}", "}, data: {a: $(namespace:n15) $(namespace:n16)}}")
        });
        let expected = [
            "manifests.sets: the set `web` has 20000 namespaces; at most 16 are read",
            "manifests.placeholder: /data/a: `n16` is not a namespace of the release",
        ];
        assert_eq!(words, expected);
        assert_eq!(read, 1);
    }

    /// The sizes in the list suffice, so no file is read.
    #[test]
    fn the_objects_are_bounded_before_they_are_read() {
        let unread = |path: &str| -> String { panic!("{path} was read") };
        let (words, read) = found(rules::limits::OBJECTS + 1, 1, &unread);
        assert_eq!(
            (&words[..], read),
            (
                &["manifests.budget: there are 10001 objects; at most 10000 are read".to_owned()][..],
                0
            )
        );
        let (words, _) = found(17, limits::YAML_SIZE, &unread);
        assert_eq!(
            words,
            ["manifests.budget: the files have 71303168 bytes; at most 67108864 are read"]
        );
    }

    /// Documents that are not objects count like objects.
    #[test]
    fn what_the_objects_hold_is_bounded() {
        let values = |_: &str| format!("[{}]", "0,".repeat(200_000));
        let (words, read) = found(11, 1, &values);
        assert_eq!(
            (words[0].as_str(), read),
            (
                "manifests.budget: the objects hold more than 2000000 values",
                0
            )
        );
        let aliases = |_: &str| format!("[&a {}{}]", "x".repeat(1_000_000), ", *a".repeat(39));
        let (words, _) = found(2, 1, &aliases);
        assert_eq!(
            words[0],
            "manifests.budget: the objects hold more than 67108864 bytes of text"
        );
    }
}

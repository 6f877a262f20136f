//! The name and version of the Solution. [`of_release`], [`of_chart`] and [`of_helmfile`] collect candidates, and
//! [`Candidates::choose`] takes the first valid ones unless the user chose others.

use std::collections::{BTreeMap, BTreeSet};

use manifests::reference::{normal, path};
use schemas::{ChartName, ChartVersion, SolutionId, SolutionName, Version};

use crate::contents::{ReleaseObjects, main_container, pod};
use crate::notes;
use crate::{InitOptions, ReleaseError};
use manifests::{ManifestObject, text};
use serde_json::Value;

/// Candidates for the name and version, the most likely first.
#[derive(Debug, Default)]
pub(crate) struct Candidates<'a> {
    names: Vec<&'a str>,
    versions: Vec<&'a str>,
    /// Versions of parts of the release. None of them is known to be the version of the whole.
    of_parts: Vec<&'a str>,
}

/// Returns the candidates for a Solution with this chart. The version of a Solution has no build metadata, so `+` and
/// all that follows are cut off.
pub(crate) fn of_chart<'a>(name: &'a ChartName, version: &'a ChartVersion) -> Candidates<'a> {
    let version = version.as_str();
    Candidates {
        names: vec![name.as_str()],
        versions: vec![
            version
                .split_once('+')
                .map_or(version, |(before, _)| before),
        ],
        of_parts: Vec::new(),
    }
}

/// Returns the candidates for a Solution with the releases of a helmfile. Its name is that of the helmfile's directory.
pub(crate) fn of_helmfile<'a>(directory: &'a str, version: &'a str) -> Candidates<'a> {
    Candidates {
        names: vec![directory],
        versions: vec![version],
        of_parts: Vec::new(),
    }
}

/// Maximum number of names from labels that are compared with the names of workloads.
const CALLED: usize = 100;

/// Returns the candidates for a release of manifests. Names come from the labels of most objects, then from the
/// workload whose name is the prefix of all others, then from the namespace and the other workloads.
pub(crate) fn of_release<'a>(
    contents: &'a ReleaseObjects<'_>,
    namespace: &'a str,
) -> Candidates<'a> {
    let objects = &contents.objects;
    let values = || {
        let own = objects.iter().map(|object| &object.value);
        own.chain(&contents.definitions)
    };
    let label = |name: &str| {
        let pointer = format!("/metadata/labels/app.kubernetes.io~1{name}");
        commonest(values().map(|value| text(value, &pointer)))
    };
    let workloads = objects.iter().filter(|object| pod(&object.value).is_some());
    let workloads: Vec<&str> = workloads.map(ManifestObject::name).collect();
    // In a release with multiple programs, the common prefix of the workloads is the most likely name.
    let mut called = label("name");
    called.truncate(CALLED);
    let named_after = |name: &str| {
        let workloads = workloads.iter();
        workloads
            .filter(|workload| workload.starts_with(name))
            .count()
    };
    called.sort_by_key(|name| std::cmp::Reverse(named_after(name)));
    let mut names = [label("part-of"), called].concat();
    let shortest = workloads.iter().min_by_key(|name| name.len());
    let of_all = shortest.filter(|name| named_after(name) == workloads.len());
    names.extend(of_all.map(|name| name.trim_end_matches("-controller-manager")));
    names.push(namespace.trim_end_matches("-system"));
    names.extend(workloads);
    let programs = programs(objects);
    let is_name = |name: &&&str| name.parse::<SolutionName>().is_ok();
    let name = without_builders(&names).find(is_name).copied();
    let versions = name.map(|name| own_versions(name, &values(), &programs));
    Candidates {
        versions: versions.unwrap_or_default(),
        of_parts: [
            label("version"),
            commonest(programs.iter().map(|program| tag(program.image))),
        ]
        .concat(),
        names,
    }
}

/// The program that a workload runs.
struct WorkloadProgram<'a> {
    workload: &'a str,
    /// The image of the main container, without those of sidecars.
    image: &'a str,
}

fn programs<'a>(objects: &'a [ManifestObject<'_>]) -> Vec<WorkloadProgram<'a>> {
    let program = |object: &'a ManifestObject<'_>| {
        let pod = pod(&object.value)?;
        let container = main_container(&object.value, pod)?;
        Some(WorkloadProgram {
            workload: object.name(),
            image: text(container, "/image"),
        })
    };
    objects.iter().filter_map(program).collect()
}

/// Returns the versions that a release with this name declares, the most likely first. Each source counts only if all
/// its values are equal:
///
/// - the version labels of the objects with this name, of the parts of it, and of objects without both labels;
///
/// - the tags of the images with this name, of the workloads with this name, and of all programs.
///
/// Different values are versions of parts.
fn own_versions<'a>(
    name: &str,
    objects: &(impl Iterator<Item = &'a Value> + Clone),
    programs: &[WorkloadProgram<'a>],
) -> Vec<&'a str> {
    let version = |objects: &mut dyn Iterator<Item = &'a Value>| {
        only(
            objects
                .map(|object| text(object, VERSION))
                .filter(|version| !version.is_empty()),
        )
    };
    let called = |at: &'static str| {
        let is_own = move |object: &&Value| is_called(text(object, at), name);
        version(&mut objects.clone().filter(is_own))
    };
    let is_workload =
        |object: &&Value| pod(object).is_some() && is_called(text(object, "/metadata/name"), name);
    let is_of_nothing =
        |object: &&Value| text(object, NAME).is_empty() && text(object, PART_OF).is_empty();
    let tags = |is_own: &dyn Fn(&&WorkloadProgram<'_>) -> bool| {
        let own = programs.iter().filter(is_own);
        only(own.map(|program| tag(program.image)))
    };
    let found = [
        called(NAME),
        version(&mut objects.clone().filter(is_workload)),
        called(PART_OF),
        version(&mut objects.clone().filter(is_of_nothing)),
        tags(&|program| is_image_called(program.image, name)),
        tags(&|program| is_called(program.workload, name)),
        tags(&|_| true),
    ];
    found.into_iter().flatten().collect()
}

/// JSON Pointers of the recommended labels of Kubernetes with an object's name, the application that it is part of, and
/// its version.
const NAME: &str = "/metadata/labels/app.kubernetes.io~1name";
const PART_OF: &str = "/metadata/labels/app.kubernetes.io~1part-of";
const VERSION: &str = "/metadata/labels/app.kubernetes.io~1version";

/// Returns whether two names are equal without the suffixes that are common for operators.
fn is_called(called: &str, name: &str) -> bool {
    let ends = ["-controller-manager", "-controller", "-operator"];
    let bare = |text: &'_ str| {
        let end = ends.iter().find(|end| text.ends_with(**end));
        text.len() - end.map_or(0, |end| end.len())
    };
    called[..bare(called)] == name[..bare(name)]
}

/// Returns whether the last part of an image's path, or the whole path with `-` between its parts, is this name.
fn is_image_called(image: &str, name: &str) -> bool {
    let Some(reference) = normal(image) else {
        return false;
    };
    let path = path(&reference);
    let last = path.rsplit('/').next().unwrap_or(path);
    is_called(last, name) || is_called(&path.replace('/', "-"), name)
}

/// Returns the text that all items have; `None` if they differ or there are none.
fn only<'a>(mut texts: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let first = texts.next()?;
    texts.all(|text| text == first).then_some(first)
}

/// Returns the names without those that operator scaffolding tools write into every release.
fn without_builders<'a, 'b>(names: &'b [&'a str]) -> impl Iterator<Item = &'b &'a str> {
    let of_builders = ["", "deployment", "controller-manager"];
    names.iter().filter(move |name| !of_builders.contains(name))
}

/// Returns the tag of an image, or an empty text.
fn tag(image: &str) -> &str {
    let name = image.split('@').next().unwrap_or_default();
    let (_, last) = name.rsplit_once('/').unwrap_or(("", name));
    last.split_once(':').map_or("", |(_, tag)| tag)
}

/// Returns the distinct texts, the most frequent first.
fn commonest<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    let mut index: BTreeMap<&str, usize> = BTreeMap::new();
    for text in texts {
        let at = *index.entry(text).or_insert(counted.len());
        if at == counted.len() {
            counted.push((text, 0));
        }
        counted[at].1 += 1;
    }
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counted.into_iter().map(|(text, _)| text).collect()
}

impl Candidates<'_> {
    /// Returns the first candidate that is a valid version, with or without a leading `v`.
    pub(crate) fn version(&self) -> Option<Version> {
        let version = |text: &&str| text.strip_prefix('v').unwrap_or(text).parse().ok();
        self.versions.iter().find_map(version)
    }

    /// Chooses the name and version: those of the user, else the first valid candidates.
    ///
    /// # Errors
    ///
    /// Fails if there is no valid name or version. The error lists the candidates.
    pub(crate) fn choose(self, options: &InitOptions) -> Result<SolutionId, ReleaseError> {
        let names: Vec<&str> = without_builders(&self.names).copied().collect();
        let found = |texts: &[&str]| {
            if texts.is_empty() {
                "nothing".to_owned()
            } else {
                notes::names(texts.iter().copied())
            }
        };
        let name = options
            .name
            .clone()
            .or_else(|| names.iter().find_map(|name| name.parse().ok()));
        let name = name.ok_or_else(|| ReleaseError::NoName(found(&names)))?;
        let version = options.version.clone().or_else(|| self.version());
        let version = version.ok_or_else(|| {
            let mut versions = [self.versions, self.of_parts].concat();
            let mut seen = BTreeSet::new();
            versions.retain(|version| !version.is_empty() && seen.insert(*version));
            ReleaseError::NoVersion(found(&versions))
        })?;
        SolutionId::new(name, version).map_err(ReleaseError::Id)
    }
}

//! Name and version of the Solution.

use std::collections::{BTreeMap, BTreeSet};

use manifests::reference::{normal, path};
use schemas::{ChartName, ChartVersion, SolutionId, SolutionName, Version};

use crate::contents::{ReleaseObjects, main_container, pod};
use crate::notes;
use crate::{ReleaseError, Wishes};
use manifests::{ManifestObject, text};
use serde_json::Value;

/// The names and versions that a release may have, the likeliest first.
#[derive(Debug, Default)]
pub(crate) struct Candidates<'a> {
    names: Vec<&'a str>,
    versions: Vec<&'a str>,
    /// The versions of its parts, of which nothing says that one is its own.
    of_parts: Vec<&'a str>,
}

/// Returns what a Solution that carries a chart may be called. Its versions have no `+`.
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

/// Returns what a Solution that carries the releases of a helmfile may be called: as its directory is.
pub(crate) fn of_helmfile<'a>(directory: &'a str, version: &'a str) -> Candidates<'a> {
    Candidates {
        names: vec![directory],
        versions: vec![version],
        of_parts: Vec::new(),
    }
}

/// The number of names from labels that are compared with those of workloads.
const CALLED: usize = 100;

/// Returns what a release of any kind may be called: as most of its objects say; else as the workload is called that
/// all others are named after, or the namespace.
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
    let workloads = objects.iter().filter(|it| pod(&it.value).is_some());
    let workloads: Vec<&str> = workloads.map(ManifestObject::name).collect();
    // A release of several programs is called like the one that the others are named after.
    let mut called = label("name");
    called.truncate(CALLED);
    let named_after = |name: &str| workloads.iter().filter(|it| it.starts_with(name)).count();
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
            commonest(programs.iter().map(|it| tag(it.image))),
        ]
        .concat(),
        names,
    }
}

/// The program that a workload runs.
struct WorkloadProgram<'a> {
    workload: &'a str,
    /// The image of its container, without those beside it.
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

/// The versions that a release of this name gives itself, the likeliest first: by labels of what is called so, of what is
/// a part of it, and of what says no more of itself; by the image that is called so, or whose workload is; and the one that
/// all its programs have. Where these differ, they are those of its parts.
fn own_versions<'a>(
    name: &str,
    objects: &(impl Iterator<Item = &'a Value> + Clone),
    programs: &[WorkloadProgram<'a>],
) -> Vec<&'a str> {
    let version = |objects: &mut dyn Iterator<Item = &'a Value>| {
        only(
            objects
                .map(|it| text(it, VERSION))
                .filter(|it| !it.is_empty()),
        )
    };
    let called = |at: &'static str| {
        let is_own = move |it: &&Value| is_called(text(it, at), name);
        version(&mut objects.clone().filter(is_own))
    };
    let is_workload =
        |it: &&Value| pod(it).is_some() && is_called(text(it, "/metadata/name"), name);
    let is_of_nothing = |it: &&Value| text(it, NAME).is_empty() && text(it, PART_OF).is_empty();
    let tags = |is_own: &dyn Fn(&&WorkloadProgram<'_>) -> bool| {
        only(programs.iter().filter(is_own).map(|it| tag(it.image)))
    };
    let found = [
        called(NAME),
        version(&mut objects.clone().filter(is_workload)),
        called(PART_OF),
        version(&mut objects.clone().filter(is_of_nothing)),
        tags(&|it| is_image_called(it.image, name)),
        tags(&|it| is_called(it.workload, name)),
        tags(&|_| true),
    ];
    found.into_iter().flatten().collect()
}

/// The labels that say what an object is, what it belongs to, and in which version.
const NAME: &str = "/metadata/labels/app.kubernetes.io~1name";
const PART_OF: &str = "/metadata/labels/app.kubernetes.io~1part-of";
const VERSION: &str = "/metadata/labels/app.kubernetes.io~1version";

/// Whether something is called like the release, but for what operators are called besides.
fn is_called(called: &str, name: &str) -> bool {
    let ends = ["-controller-manager", "-controller", "-operator"];
    let bare = |text: &'_ str| {
        let end = ends.iter().find(|end| text.ends_with(**end));
        text.len() - end.map_or(0, |end| end.len())
    };
    called[..bare(called)] == name[..bare(name)]
}

/// Whether an image is called like the release, by the last part of its path or by all of them.
fn is_image_called(image: &str, name: &str) -> bool {
    let Some(reference) = normal(image) else {
        return false;
    };
    let path = path(&reference);
    let last = path.rsplit('/').next().unwrap_or(path);
    is_called(last, name) || is_called(&path.replace('/', "-"), name)
}

/// Returns the one text that all of them are.
fn only<'a>(mut texts: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let first = texts.next()?;
    texts.all(|text| text == first).then_some(first)
}

/// The names that are not those which builders of operators write into every release.
fn without_builders<'a, 'b>(names: &'b [&'a str]) -> impl Iterator<Item = &'b &'a str> {
    let of_builders = ["", "deployment", "controller-manager"];
    names.iter().filter(move |name| !of_builders.contains(name))
}

/// The tag of an image, or nothing.
fn tag(image: &str) -> &str {
    let name = image.split('@').next().unwrap_or_default();
    let (_, last) = name.rsplit_once('/').unwrap_or(("", name));
    last.split_once(':').map_or("", |(_, tag)| tag)
}

/// The different texts, those that occur most often first.
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
    /// The version that the release gives itself.
    pub(crate) fn version(&self) -> Option<Version> {
        let version = |text: &&str| text.strip_prefix('v').unwrap_or(text).parse().ok();
        self.versions.iter().find_map(version)
    }

    /// Chooses the name and version: as wished, else the first that can be one.
    pub(crate) fn choose(self, wishes: &Wishes) -> Result<SolutionId, ReleaseError> {
        let names: Vec<&str> = without_builders(&self.names).copied().collect();
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
        let name = name.ok_or_else(|| ReleaseError::NoName(found(&names)))?;
        let version = wishes.version.clone().or_else(|| self.version());
        let version = version.ok_or_else(|| {
            let mut versions = [self.versions, self.of_parts].concat();
            let mut seen = BTreeSet::new();
            versions.retain(|version| !version.is_empty() && seen.insert(*version));
            ReleaseError::NoVersion(found(&versions))
        })?;
        SolutionId::new(name, version).map_err(ReleaseError::Id)
    }
}

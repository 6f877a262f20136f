//! Name and version of the Solution.

use std::collections::BTreeMap;

use schemas::{ChartName, ChartVersion, SolutionId, Version};

use crate::bundle::{self, About};
use crate::container::Container;
use crate::contents::{Contents, pod};
use crate::notes;
use crate::{ReleaseError, Wishes};
use manifests::{Object, Objects, list, text};

/// What a release may be called, and which version it may be, the likeliest first.
#[derive(Debug, Default)]
pub(crate) struct Candidates<'a> {
    names: Vec<&'a str>,
    versions: Vec<&'a str>,
}

/// What an operator's release may be called.
pub(crate) fn of_operator<'a>(
    objects: &'a Objects<'_>,
    about: Option<&'a About>,
    workload: &'a Object<'_>,
    container: &'a Container,
) -> Candidates<'a> {
    let labels = ["/metadata/labels", "/spec/template/metadata/labels"];
    let label = |name: &str| {
        labels.map(|at| text(&workload.value, &format!("{at}/app.kubernetes.io~1{name}")))
    };
    let mut names = vec![
        bundle::packages(objects).next().unwrap_or_default(),
        about.map_or("", |about| &about.name),
    ];
    names.extend(label("part-of"));
    names.extend(label("name"));
    names.extend([
        workload.name().trim_end_matches("-controller-manager"),
        workload.name(),
    ]);
    let mut versions = vec![about.map_or("", |about| &about.version)];
    versions.extend(label("version"));
    versions.push(tag(&container.image));
    Candidates { names, versions }
}

/// What a Solution that carries a chart may be called. Its versions have no `+`.
pub(crate) fn of_chart<'a>(name: &'a ChartName, version: &'a ChartVersion) -> Candidates<'a> {
    let version = version.as_str();
    Candidates {
        names: vec![name.as_str()],
        versions: vec![
            version
                .split_once('+')
                .map_or(version, |(before, _)| before),
        ],
    }
}

/// What a Solution that carries the releases of a helmfile may be called: as its directory is.
pub(crate) fn of_helmfile<'a>(directory: &'a str, version: &'a str) -> Candidates<'a> {
    Candidates {
        names: vec![directory],
        versions: vec![version],
    }
}

/// How many of the names that labels give are compared with those of workloads.
const CALLED: usize = 100;

/// What a release of any kind may be called: as most of its objects say; else as the workload is called that all others
/// are named after, or the namespace.
pub(crate) fn of_release<'a>(contents: &'a Contents<'_>, namespace: &'a str) -> Candidates<'a> {
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
    let workloads: Vec<&str> = workloads.map(Object::name).collect();
    let pods = objects.iter().filter_map(|object| pod(&object.value));
    let containers = pods.flat_map(|pod| list(pod, "/containers"));
    let tags = commonest(containers.map(|container| tag(text(container, "/image"))));
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
    Candidates {
        names,
        versions: [label("version"), tags].concat(),
    }
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

    /// Name and version: as wished, else the first that can be one.
    pub(crate) fn choose(mut self, wishes: &Wishes) -> Result<SolutionId, ReleaseError> {
        // Names that builders of operators write into every release.
        let of_builders = ["", "deployment", "controller-manager"];
        self.names.retain(|name| !of_builders.contains(name));
        self.versions.retain(|version| !version.is_empty());
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
            .or_else(|| self.names.iter().find_map(|name| name.parse().ok()));
        let name = name.ok_or_else(|| ReleaseError::NoName(found(&self.names)))?;
        let version = wishes.version.clone().or_else(|| self.version());
        let version = version.ok_or_else(|| ReleaseError::NoVersion(found(&self.versions)))?;
        SolutionId::new(name, version).map_err(ReleaseError::Id)
    }
}

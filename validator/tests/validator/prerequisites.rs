//! Changes to the prerequisites of a Solution, and Solutions without images.

use archive::Feature;

use crate::mistakes::Case;
use crate::source::{CRD, ROLE, Source};

const NEEDED: &str = "  prerequisites:
    solutions: [{name: db, version: '>=1.2, <2'}, {name: cni, version: '*', scope: cluster}]
    kubernetes: '>=1.30'
    apiGroups: [monitoring.coreos.com/v1]
    storageClass: {default: true}
    free: {cpu: '2', memory: 4Gi}
    nodes: 3
";

/// Adds prerequisites to the good source.
fn needed(source: &mut Source) {
    let manifest = source.text("manifest.yaml");
    source.put("manifest.yaml", format!("{manifest}{NEEDED}"));
    require(source);
}

fn require(source: &mut Source) {
    let capability = Feature::Prerequisites.capability();
    source.requires.push(capability);
}

/// Removes everything except a set of manifests.
fn imageless(source: &mut Source) {
    source.carry();
    source.remove_operator();
    source.images.clear();
    let web: Vec<String> = source.files.keys().cloned().collect();
    let web = web.iter().filter(|path| path.starts_with("manifests/web/"));
    web.for_each(|path| source.remove(path));
    source.remove(CRD);
    source.remove(ROLE);
    for (from, to) in [
        ("[example-operator:1.0.0, server:1.0.0]", "[]"),
        ("    - {name: web, namespaces: [{name: web}]}\n", ""),
        ("needs: [web], ", ""),
        (
            "    replicas: {type: integer, default: 3, minimum: 1}\n",
            "",
        ),
    ] {
        source.edit("manifest.yaml", from, to);
    }
}

pub(crate) const CASES: &[Case] = &[
    ("good prerequisites", needed, &[]),
    (
        "prerequisites not required",
        |s| {
            needed(s);
            s.requires.clear();
        },
        &["manifest.capability"],
    ),
    (
        "prerequisites required in vain",
        require,
        &["manifest.capability"],
    ),
    (
        "no images",
        |s| {
            imageless(s);
            require(s);
        },
        &[],
    ),
    (
        "no images, as before there was a capability",
        imageless,
        &[],
    ),
    (
        "an unknown prerequisite",
        |s| {
            needed(s);
            s.edit("manifest.yaml", "nodes: 3", "disks: 3");
        },
        &["manifest.yaml"],
    ),
    (
        "itself",
        |s| {
            needed(s);
            s.edit("manifest.yaml", "name: db,", "name: example,");
        },
        &["manifest.prerequisite"],
    ),
];

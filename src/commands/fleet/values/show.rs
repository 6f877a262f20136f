//! What the clusters of a fleet choose, for people.

use std::collections::BTreeMap;

use fleet::FleetFile;
use schemas::{API_VERSION, yaml};
use serde_json::json;

use super::super::outcome::worst;
use super::computed::{ComputedCluster, ComputedValues, FleetValues};
use crate::args::Output;
use crate::failure::Outcome;
use crate::render;

pub(super) fn show(
    file: &FleetFile,
    clusters: &[ComputedCluster],
    explain: bool,
    output: Output,
) -> Outcome {
    let all = FleetValues {
        fleet: file.document().metadata.name.as_str(),
        clusters,
    };
    render::result(output, &all, |all| {
        if explain {
            explained(all.clusters);
        } else {
            documents(all.clusters);
        }
        problems(all.clusters);
    });
    worst(clusters.iter().map(|it| it.outcome))
}

/// Prints the site's file of each deployment, once for clusters with equal values.
fn documents(clusters: &[ComputedCluster]) {
    let all = clusters.iter().flat_map(|cluster| {
        let deployments = cluster.deployments.iter();
        deployments.map(move |deployment| (deployment, cluster.name.as_str()))
    });
    let is_same = |one: &ComputedValues, other: &ComputedValues| {
        (&one.deployment, &one.spec, &one.errors) == (&other.deployment, &other.spec, &other.errors)
    };
    for (deployment, names) in grouped(all, is_same) {
        let names = render::list(names);
        let ComputedValues {
            deployment,
            spec,
            errors,
            ..
        } = deployment;
        for error in errors {
            render::note!("error: {names}: {deployment}: {error}");
        }
        if errors.is_empty() {
            render::line!("---");
            render::line!("# {deployment} on {names}");
            let document = json!({ "apiVersion": API_VERSION, "kind": "Site", "spec": spec });
            render::lines("", yaml::to_string(&document).lines());
        }
    }
}

/// Prints each value and where it comes from, once for clusters with equal values of equal origin.
fn explained(clusters: &[ComputedCluster]) {
    let asked = clusters.iter().filter(|it| it.problem.is_none());
    let all = asked.map(|cluster| (cluster.deployments.as_slice(), cluster.name.as_str()));
    for (deployments, names) in grouped(all, |one, other| one == other) {
        render::line!("{}", render::list(names));
        for ComputedValues {
            deployment,
            values,
            errors,
            ..
        } in deployments
        {
            render::line!("  {deployment}");
            render::lines("    ", values);
            render::lines("    error: ", errors);
        }
    }
}

/// Groups names by what is the same, in the order of the first name.
fn grouped<'a, T: ?Sized>(
    all: impl Iterator<Item = (&'a T, &'a str)>,
    is_same: impl Fn(&T, &T) -> bool,
) -> Vec<(&'a T, Vec<&'a str>)> {
    let mut groups: Vec<(&T, Vec<&str>)> = Vec::new();
    for (one, name) in all {
        match groups.iter_mut().find(|(other, _)| is_same(one, other)) {
            Some((_, names)) => names.push(name),
            None => groups.push((one, vec![name])),
        }
    }
    groups
}

/// Reports which clusters could not be asked, and what could not be seen there.
fn problems(clusters: &[ComputedCluster]) {
    let mut unseen: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for cluster in clusters {
        for why in &cluster.unseen {
            unseen.entry(why).or_default().push(&cluster.name);
        }
        if let Some(problem) = &cluster.problem {
            render::note!("error: {}: {}", cluster.name, problem.message);
            render::note!("hint: {}", problem.fix);
        }
    }
    for (why, names) in unseen {
        render::note!("note: {}: {why}", render::list(names));
    }
}

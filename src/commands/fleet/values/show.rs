//! What the clusters of a fleet choose, for people.

use std::collections::BTreeMap;

use fleet::FleetFile;

use super::super::outcome::worst;
use super::computed::{ComputedCluster, ComputedValues, FleetValues};
use crate::args::Output;
use crate::failure::Outcome;
use crate::render;

pub(super) fn show(file: &FleetFile, clusters: &[ComputedCluster], output: Output) -> Outcome {
    let all = FleetValues {
        fleet: file.document().metadata.name.as_str(),
        clusters,
    };
    render::result(output, &all, |all| people(all.clusters));
    worst(clusters.iter().map(|it| it.outcome))
}

fn people(clusters: &[ComputedCluster]) {
    let mut shown: Vec<(&[ComputedValues], Vec<&str>)> = Vec::new();
    for cluster in clusters.iter().filter(|it| it.problem.is_none()) {
        let values = cluster.deployments.as_slice();
        match shown.iter_mut().find(|(same, _)| *same == values) {
            Some((_, names)) => names.push(&cluster.name),
            None => shown.push((values, vec![&cluster.name])),
        }
    }
    for (deployments, names) in shown {
        render::line!("{}", render::list(names));
        for ComputedValues {
            deployment,
            values,
            errors,
        } in deployments
        {
            render::line!("  {deployment}");
            render::lines("    ", values);
            render::lines("    error: ", errors);
        }
    }
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

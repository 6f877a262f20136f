//! From what was found out of all clusters to what is pushed and shown.

use fleet::FleetFile;

use super::super::apply::{Hindrances, KnownClusters};
use super::super::outcome::worst;
use super::made::{MadeCluster, made};
use super::planned::MemberExport;
use super::shown::FleetExport;
use super::{Arguments, push, show};
use crate::args::{Output, choose};
use crate::commands::refusal::{InTheWay, refuse};
use crate::failure::{Failure, Outcome};

/// What is exported for the cluster of an entry, if it can be found out.
pub(super) struct FoundMember<'a> {
    name: &'a str,
    found: Result<MemberExport, Failure>,
}

/// Refuses to export twice for one cluster.
pub(super) fn once_each<'a>(
    file: &'a FleetFile,
    places: &[usize],
    found: Vec<Result<MemberExport, Failure>>,
) -> Vec<FoundMember<'a>> {
    let mut known = KnownClusters::default();
    let planned = places.iter().zip(found).map(|(at, found)| {
        let name = file.spec().clusters[*at].name.as_str();
        let found = found.and_then(|it| known.add(name, &it.system).map(|()| it));
        FoundMember { name, found }
    });
    planned.collect()
}

/// Pushes what was found, unless something is in the way, and shows it.
pub(super) async fn carry_out(
    file: &FleetFile,
    planned: Vec<FoundMember<'_>>,
    arguments: &Arguments,
    output: Output,
) -> Result<Outcome, Failure> {
    let away = planned.iter().filter_map(|it| it.found.as_ref().err());
    let reached = worst(away.map(Failure::outcome));
    let (mut hindrances, mut is_refused) = (Hindrances::default(), false);
    let mut clusters: Vec<MadeCluster<'_>> = Vec::new();
    for FoundMember { name, found } in planned {
        let mut cluster = MadeCluster::new(name);
        match found {
            Err(failure) => {
                hindrances.add_unplanned(name, &failure, arguments.skip_unreachable);
                cluster.problem = Some(InTheWay::from(&failure));
            }
            Ok(member) => {
                for (deployment, made) in made(file, member, arguments) {
                    match made {
                        Ok(made) => cluster.deployments.push(made),
                        Err(why) => {
                            hindrances.add_all(name, &deployment, &why);
                            is_refused = true;
                        }
                    }
                }
            }
        }
        clusters.push(cluster);
    }
    let why = hindrances.told();
    if !why.is_empty() {
        let export = FleetExport::of(file, arguments, &clusters);
        let refused = refuse(output, export, why);
        return Ok(choose(is_refused, refused, reached));
    }
    if !arguments.dry_run {
        push::all(&clusters, output).await?;
    }
    let export = FleetExport::of(file, arguments, &clusters);
    show::all(&export, arguments, output)?;
    Ok(reached)
}

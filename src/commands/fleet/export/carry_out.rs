//! From what was found out of all clusters to what is pushed and shown.

use fleet::FleetFile;

use super::super::apply::Hindrances;
use super::super::outcome::worst;
use super::super::read_member::ReadMember;
use super::apart::apart;
use super::made::{MadeCluster, made};
use super::planned::ExportPlan;
use super::shown::FleetExport;
use super::{Arguments, push, show};
use crate::args::{Output, choose};
use crate::commands::refusal::{InTheWay, refuse};
use crate::failure::{Failure, Outcome};

/// Pushes what was found, unless something is in the way, and shows it.
pub(super) async fn carry_out(
    file: &FleetFile,
    planned: Vec<ReadMember<'_, ExportPlan>>,
    arguments: &Arguments,
    output: Output,
) -> Result<Outcome, Failure> {
    let away = planned.iter().filter_map(|it| it.found.as_ref().err());
    let reached = worst(away.map(Failure::outcome));
    let (mut hindrances, mut is_refused) = (Hindrances::default(), false);
    let mut clusters: Vec<MadeCluster<'_>> = Vec::new();
    for ReadMember { at, name, found } in planned {
        let mut cluster = MadeCluster::new(name);
        match found {
            Err(failure) => {
                hindrances.add_unplanned(name, &failure, arguments.skip_unreachable);
                cluster.problem = Some(InTheWay::from(&failure));
            }
            Ok(plans) => {
                for (deployment, made) in made(file, at, apart(plans)?, arguments) {
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

//! `solution fleet export`: what the clusters of a fleet are to run, pushed for the tool by which a site changes its clusters,
//! and the objects that have the tool apply it. No cluster is changed.

mod apart;
mod arguments;
mod artifact;
mod carry_out;
mod made;
mod name;
mod notes;
mod plan;
mod planned;
mod push;
mod show;
pub(in crate::commands) mod shown;
mod tool;
mod tools;

use fleet::Members;
use importer::Nodes;

pub(crate) use self::arguments::Arguments;
use self::carry_out::{carry_out, once_each};
use self::plan::plan;
use super::apply::{Asking, FileSource, accept_all};
use super::check::{read, refused};
use super::reach::Reaching;
use crate::args::Output;
use crate::cluster;
use crate::failure::{Failure, Outcome};

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    arguments.check()?;
    let path = &arguments.file;
    let file = read(path)?;
    if let Some(outcome) = refused(&file, path, output) {
        return Ok(outcome);
    }
    let places = arguments.selection.of(&file)?;
    let Some(archives) = accept_all(&file, path, &places, &arguments.signers, output)? else {
        return Ok(Outcome::No);
    };
    let turn = arguments.turn();
    let source = FileSource {
        path,
        members: &Members::of(file.spec()),
        archives,
        asking: Asking {
            file: &file,
            reach: &arguments.reach,
            turn: &turn,
            nodes: Nodes::AsTheyAre,
            allowed: arguments.allowed(),
            accept: &[],
            writer: cluster::writer(&turn)?,
            output,
        },
        removing: None,
    };
    cluster::block_on(async {
        let reaching = Reaching::to_read(&file, path, &arguments.cluster)?;
        let found = reaching.each(&places, async |at, member| {
            Box::pin(plan(&source, arguments.to, at, member)).await
        });
        let found = once_each(&file, &places, found.await);
        Box::pin(carry_out(&file, found, arguments, output)).await
    })
}

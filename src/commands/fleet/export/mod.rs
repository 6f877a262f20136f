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

pub(crate) use self::arguments::Arguments;
use self::carry_out::carry_out;
use self::plan::look;
use crate::args::Output;
use crate::failure::{Failure, Outcome};

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    arguments.check()?;
    let outcome = arguments.reading.run(
        &[],
        output,
        &async |deployable, cluster| Box::pin(look(deployable, arguments.to, cluster)).await,
        async |file, found| carry_out(file, found, arguments, output).await,
    );
    Ok(outcome?.unwrap_or(Outcome::No))
}

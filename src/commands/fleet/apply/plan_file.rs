//! Which file of a fleet's plan is written, or followed.

use std::path::{Path, PathBuf};

use clap::Args;
use importer::FleetPlanFile;

use crate::approval::{ApprovalArguments, check_approval};
use crate::args::Output;
use crate::failure::Failure;
use crate::plans;

/// The file of a fleet's plan.
#[derive(Args, Debug)]
pub(in crate::commands::fleet) struct FilingArguments {
    /// Write the plan to this file and stop, for `solution sign` and --plan
    #[arg(long, value_name = "FILE", conflicts_with = "plan")]
    plan_out: Option<PathBuf>,

    /// Apply the plan in this file, which needs no --accept; refused if the plan has changed
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,

    #[command(flatten)]
    approval: ApprovalArguments,
}

/// What becomes of a plan, but for being carried out.
#[derive(Debug)]
pub(in crate::commands::fleet) enum Filing<'a> {
    /// There is no file of it.
    None,
    /// It is written to this file, which must not exist.
    Write(&'a Path),
    /// It has to be the one that this file holds.
    Follow(Box<FleetPlanFile>),
}

impl FilingArguments {
    /// Reads the plan that is followed, if one is, once those have signed it who must.
    pub(in crate::commands::fleet) fn filing(&self, output: Output) -> Result<Filing<'_>, Failure> {
        if let Some(path) = &self.plan {
            let plan = plans::read_of_fleet(path)?;
            check_approval(path, &plan.envelope, &self.approval, output)?;
            return Ok(Filing::Follow(Box::new(plan.file)));
        }
        Ok(self.plan_out.as_deref().map_or(Filing::None, Filing::Write))
    }
}

impl Filing<'_> {
    /// Whether the plans of deployments are made for a file.
    pub(super) fn is_any(&self) -> bool {
        !matches!(self, Self::None)
    }
}

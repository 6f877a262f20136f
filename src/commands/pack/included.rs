//! The programs and the documentation that an archive includes.

use std::path::PathBuf;

use anyhow::anyhow;
use packager::{ProgramFile, ProgramKind};

use super::Arguments;
use crate::environment;
use crate::failure::Failure;

/// The page of documentation to include: the named one, else that of the package.
pub(super) fn documentation(arguments: &Arguments) -> Result<Option<PathBuf>, Failure> {
    const PAGE: &str = "share/doc/solution/solution.html";
    let Some(named) = &arguments.include_docs else {
        return Ok(None);
    };
    if named.is_some() {
        return Ok(named.clone());
    }
    let places = environment::installed(&environment::own_program(), PAGE);
    let found = places.into_iter().find(|page| page.is_file());
    found.map(Some).ok_or_else(|| {
        let error = anyhow!("cannot include the documentation: `{PAGE}` not found");
        Failure::no(error).hint("install a package of `solution`, which contains it, or run `make book` in the source tree and use `--include-docs=target/solution.html`")
    })
}

/// The programs to include.
pub(super) fn programs(arguments: &Arguments) -> Vec<ProgramFile> {
    let helm = arguments.include_helm.iter();
    let helm = helm.map(|it| it.as_included(ProgramKind::Helm));
    let tool = arguments.include_tool.iter();
    let tool = tool.map(|it| it.as_included(ProgramKind::Solution));
    helm.chain(tool).collect()
}

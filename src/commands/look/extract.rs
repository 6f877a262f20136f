//! `solution archive extract`: files of an archive, written into a directory.

use std::collections::BTreeMap;
use std::path::PathBuf;

use archive::{Extracted, Listed, Overwrite};
use clap::Args;
use schemars::JsonSchema;
use schemas::{ContentsEntry, Digest};
use serde::Serialize;

use super::listed::unknown;
use super::signers::SignerArguments;
use crate::args::{Output, choose};
use crate::commands::give;
use crate::failure::{self, Failure, Outcome};
use crate::{interrupt, progress, render};

/// What the bar says.
const EXTRACT: &str = "extract";

/// Extract files of an archive to a directory
#[derive(Args, Debug)]
#[command(after_help = "\
Each file keeps its path below the directory, and is written only if it is intact. Identical files in the \
directory are kept, so that you can run an interrupted command again. The command writes nothing outside the \
directory and does not follow links. If a different file exists, it writes nothing without \
--overwrite.

Files with the same content become hard links where the file system supports them: edit a copy.

Examples:
  solution archive extract app.iso --to app
  solution archive extract app.iso operator manifest.yaml --to app
  solution archive extract app.iso --to app && (cd app && sha256sum -c --quiet SHA256SUMS)")]
pub(crate) struct Arguments {
    /// The archive (a file or a block device)
    archive: PathBuf,

    /// Files or directories, with paths as in `solution archive ls` [default: all files]
    paths: Vec<String>,

    /// The directory to extract to; it is created if it does not exist
    #[arg(long, value_name = "DIR")]
    to: PathBuf,

    /// Replace files with different content
    #[arg(long)]
    overwrite: bool,

    #[command(flatten)]
    signers: SignerArguments,
}

/// The written files. Each was compared with the archive's list; signatures are not verified.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExtractedFiles {
    /// SHA-256 of the statement.
    archive_id: Digest,
    /// The directory.
    directory: PathBuf,
    /// Files that were written.
    written: usize,
    /// Their bytes.
    bytes: u64,
    /// Files that became another name of one with the same content.
    linked: usize,
    /// Files that were there already.
    kept: usize,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let listed = arguments.signers.list(&arguments.archive)?;
    let files = chosen(&listed, arguments)?;
    let overwrite = choose(arguments.overwrite, Overwrite::Replace, Overwrite::Refuse);
    let to = arguments.to.display();
    interrupt::note(format!(
        "interrupted: files below `{to}` with their final name are complete; run the same command again to write the rest"
    ));
    let extracted = progress::watched(
        output,
        EXTRACT,
        |bar, progress| bar.show(EXTRACT, progress),
        |watch| listed.extract(&files, &arguments.to, overwrite, watch),
    );
    let extracted = extracted.map_err(|error| failure::extracting(&arguments.archive, error))?;
    let Extracted {
        written,
        bytes,
        linked,
        kept,
    } = extracted;
    let result = ExtractedFiles {
        archive_id: listed.archive_id(),
        directory: arguments.to.clone(),
        written,
        bytes,
        linked,
        kept,
    };
    let shown = give(output, &result, show);
    arguments.signers.note();
    Ok(shown)
}

/// The files that are wanted, each once.
fn chosen(listed: &Listed, arguments: &Arguments) -> Result<Vec<ContentsEntry>, Failure> {
    let all = listed.files();
    if arguments.paths.is_empty() {
        return Ok(all.root().files().to_vec());
    }
    let mut chosen = BTreeMap::new();
    for path in &arguments.paths {
        let node = all.at(path);
        let node = node.ok_or_else(|| unknown(listed, &arguments.archive, path))?;
        chosen.extend(node.files().iter().map(|it| (&it.path, it)));
    }
    Ok(chosen.into_values().cloned().collect())
}

fn show(result: &ExtractedFiles) {
    let (written, bytes) = (
        render::count(result.written, "file"),
        render::bytes(result.bytes),
    );
    render::line!(
        "written     {written} ({bytes}) below {}",
        result.directory.display()
    );
    for (count, what) in [
        (result.linked, "linked      "),
        (result.kept, "kept        "),
    ] {
        if count > 0 {
            render::line!("{what}{}", render::count(count, "file"));
        }
    }
}

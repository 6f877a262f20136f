//! Three ways to read the files of an archive: `solution archive extract` writes them into a directory, `cat` prints
//! one, and `mount` shows all as a read-only file system. Content is verified against the archive's list while it is
//! read, so damaged bytes are never reported as good.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::anyhow;
use archive::{ExtractReport, ListedArchive, OpenError, Overwrite, PieceReader};
use clap::Args;
use mount::{FileOwner, MountSession, Unmounter};
use schemars::JsonSchema;
use schemas::{ContentsEntry, Digest, limits};
use serde::Serialize;

use super::{SignerArguments, unknown};
use crate::args::{Output, choose};
use crate::commands::give;
use crate::failure::{self, Failure, Outcome};
use crate::{cluster, interrupt, progress_bar, render};

/// The label of the progress bar.
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

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let listed = arguments.signers.list(&arguments.archive)?;
    let files = chosen(&listed, arguments)?;
    let overwrite = choose(arguments.overwrite, Overwrite::Replace, Overwrite::Refuse);
    let to = arguments.to.display();
    interrupt::note(format!(
        "interrupted: files below `{to}` with their final name are complete; run the same command again to write the rest"
    ));
    let extracted = progress_bar::watched(
        output,
        EXTRACT,
        |bar, progress| bar.show(EXTRACT, progress),
        |watch| listed.extract(&files, &arguments.to, overwrite, watch),
    );
    let extracted = extracted.map_err(|error| failure::extracting(&arguments.archive, error))?;
    let ExtractReport {
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

/// Returns the chosen files, each once.
fn chosen(listed: &ListedArchive, arguments: &Arguments) -> Result<Vec<ContentsEntry>, Failure> {
    let all = listed.files();
    if arguments.paths.is_empty() {
        return Ok(all.root().files().to_vec());
    }
    let mut chosen = BTreeMap::new();
    for path in &arguments.paths {
        let node = all.at(path);
        let node = node.ok_or_else(|| unknown(listed, &arguments.archive, path))?;
        chosen.extend(node.files().iter().map(|file| (&file.path, file)));
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

/// The size up to which a file is verified before any of it is written. Every document of an archive is smaller.
const WHOLE: u64 = limits::YAML_SIZE;

/// Print a file of an archive
#[derive(Args, Debug)]
#[command(after_help = "\
A terminal shows text with escapes (\\u{1b}) for control characters. Binary files, and files over 4 MiB, need a \
redirection to a file or program.

Exit code 1 means that the file differs from the digest in the archive. Files over 4 MiB are verified while they \
are written: use the output only if the exit code is 0.

Examples:
  solution archive cat app.iso manifest.yaml
  solution archive cat app.iso operator/deploy/role.yaml
  solution archive cat app.iso SHA256SUMS > SHA256SUMS
  solution archive cat app.iso images/shop/1.0.0/manifest.json | jq .layers")]
pub(crate) struct CatArguments {
    /// The archive (a file or a block device)
    archive: PathBuf,

    /// The file, with a path as in `solution archive ls`
    path: String,

    #[command(flatten)]
    signers: SignerArguments,
}

pub(super) fn cat(arguments: &CatArguments, output: Output) -> Result<Outcome, Failure> {
    if output == Output::Json {
        let hint = "omit `--output json`; to list the files in JSON, use `solution archive ls -R`";
        return Err(Failure::usage("cannot write a file's bytes as JSON").hint(hint));
    }
    let read = |error| failure::reading(&arguments.archive, error);
    let listed = arguments.signers.list(&arguments.archive)?;
    let pieces = listed.pieces(&arguments.path);
    let pieces = pieces.map_err(|error| match error {
        OpenError::NoSuchFile(_) => no_file(&listed, arguments),
        other => read(other),
    })?;
    let whole = || listed.read(&arguments.path, WHOLE).map_err(read);
    match (render::is_terminal(), pieces.remaining() <= WHOLE) {
        (true, true) => show_file(&whole()?, arguments)?,
        (true, false) => return Err(elsewhere(arguments, "large")),
        (false, true) => write(&whole()?).map(drop)?,
        (false, false) => stream(pieces, arguments)?,
    }
    arguments.signers.note();
    Ok(Outcome::Yes)
}

/// Shows a text at a terminal.
fn show_file(bytes: &[u8], arguments: &CatArguments) -> Result<(), Failure> {
    let text = str::from_utf8(bytes).map_err(|_| elsewhere(arguments, "not text"))?;
    text.lines().for_each(render::line);
    Ok(())
}

/// Returns the failure for content that a terminal must not show.
fn elsewhere(arguments: &CatArguments, what: &str) -> Failure {
    let path = &arguments.path;
    Failure::usage(format!("cannot write `{path}` to a terminal: it is {what}"))
        .hint("write it to a file (`> FILE`), or pipe it to another program (`| less`)")
}

/// Writes a large file while it is verified, because it may not fit into memory.
fn stream(mut pieces: PieceReader<'_>, arguments: &CatArguments) -> Result<(), Failure> {
    let failed = |error| {
        failure::reading(&arguments.archive, error)
            .hint("do not use the output: it is incomplete or damaged")
    };
    while let Some(piece) = pieces.piece().map_err(failed)? {
        if write(piece)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Writes bytes unchanged to standard output, until the reader closes it.
pub(crate) fn write(bytes: &[u8]) -> Result<ControlFlow<()>, Failure> {
    let written = render::raw(bytes);
    written.map_err(|error| Failure::unknown(error).context("cannot write to standard output"))
}

/// Returns the failure for a file that does not exist.
fn no_file(listed: &ListedArchive, arguments: &CatArguments) -> Failure {
    let (archive, path) = (&arguments.archive, &arguments.path);
    match listed.contents().below(path) {
        Some(file) => {
            let archive = archive.display();
            let message = format!("`{path}` is a directory of `{archive}`");
            Failure::no(anyhow!(message)).hint(format!(
                "name one of its files, such as `{file}`; `solution archive ls` lists them"
            ))
        }
        None => unknown(listed, archive, path),
    }
}

/// Mount an archive as a read-only file system
#[derive(Args, Debug)]
#[command(after_help = "\
The first open of a file verifies all of its content. Later reads are not verified, so no other program may \
write to the archive.

The mount ends with Ctrl-C, SIGTERM or `umount`. It needs /dev/fuse, and root or `fusermount3`. Only the user \
who mounted the archive sees the files.

Examples:
  solution archive mount app.iso /mnt/app
  solution archive mount /dev/sr0 /mnt/app")]
pub(crate) struct MountArguments {
    /// The archive (a file or a block device)
    archive: PathBuf,

    /// The mount point
    directory: PathBuf,

    #[command(flatten)]
    signers: SignerArguments,
}

/// The mounted archive; printed once it is mounted.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MountedFiles {
    /// SHA-256 of the statement.
    archive_id: Digest,
    /// The directory.
    directory: PathBuf,
}

pub(super) fn mount(arguments: &MountArguments, output: Output) -> Result<Outcome, Failure> {
    let listed = arguments.signers.list(&arguments.archive)?;
    let result = MountedFiles {
        archive_id: listed.archive_id(),
        directory: arguments.directory.clone(),
    };
    let owner = FileOwner {
        user: rustix::process::getuid().as_raw(),
        group: rustix::process::getgid().as_raw(),
    };
    let mut mounted = MountSession::mount(listed, &arguments.directory, owner, |refused| {
        let error = failure::reading(refused.path.as_ref(), refused.error);
        render::note!("error: {}", error.in_one_line());
    })
    .map_err(failure::mounting)?;
    interrupt::note("unmounted: files that are still open there can no longer be read".to_owned());
    let unmounter = mounted.unmounter();
    std::thread::spawn(move || unmount(unmounter));
    render::result(output, &result, |result| {
        let directory = result.directory.display();
        render::line!("mounted     {directory}; Ctrl-C unmounts it");
    });
    arguments.signers.note();
    mounted.serve().map_err(failure::mounting)?;
    Ok(Outcome::Yes)
}

/// Unmounts the file system once the program was asked to end, so that the server ends.
fn unmount(unmounter: Unmounter) {
    // This future never completes, so only a signal ends the wait.
    let _ = cluster::block_on::<()>(std::future::pending());
    if let Err(error) = unmounter.unmount() {
        let failure = failure::mounting(error);
        failure.lines().for_each(render::note);
    }
}

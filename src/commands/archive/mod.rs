//! `solution archive`: reads the contents of archives. This module lists them, and opens an archive with or without a
//! check of its signatures.

pub(super) mod contents;
pub(super) mod extract;
pub(super) mod values;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use archive::{ListedArchive, Medium, OpenedArchive, SignedDirectory, SignedNode, TrustedArchive};
use clap::{Args, Subcommand};
use schemars::JsonSchema;
use schemas::Digest;
use serde::Serialize;
use validator::{AcceptedArchive, PriorAcceptance, Report};

use super::give;
use crate::args::{Output, TrustArguments};
use crate::failure::{self, Failure, Outcome};
use crate::{interrupt, keys, render};

/// List, print, extract or mount the contents of an archive
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Ls(ListArguments),
    Cat(extract::CatArguments),
    Extract(extract::Arguments),
    Mount(extract::MountArguments),
    Values(values::Arguments),
}

pub(super) fn run(command: &Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Ls(arguments) => list(arguments, output),
        Command::Cat(arguments) => extract::cat(arguments, output),
        Command::Extract(arguments) => extract::run(arguments, output),
        Command::Mount(arguments) => extract::mount(arguments, output),
        Command::Values(arguments) => values::run(arguments, output),
    }
}

/// The number of similar files that a hint names.
const SUGGESTED: usize = 3;

/// Returns the failure for a file that does not exist, with similar names.
fn unknown(listed: &ListedArchive, archive: &Path, path: &str) -> Failure {
    let archive = archive.display();
    let alike = listed.contents().find_similar(path).take(SUGGESTED);
    let alike = render::list(alike.map(|file| format!("`{file}`")));
    let failure = Failure::no(anyhow!("`{archive}` has no file `{path}`"));
    match alike.as_str() {
        "" => failure.hint("list the files with `solution archive ls -R`"),
        _ => failure.hint(format!(
            "did you mean {alike}? `solution archive ls -R` lists all files"
        )),
    }
}

/// Checks the documents of an archive as an import does, without trusting a signer, because nothing but the archive's
/// own content is shown. Returns the report if the documents are invalid.
pub(super) fn unvouched(
    archive: &Path,
    archive_id: Digest,
) -> Result<Result<AcceptedArchive, Box<Report>>, Failure> {
    let itself = PriorAcceptance {
        archive_id,
        signers: Vec::new(),
    };
    let report = Medium::open(archive)
        .and_then(|medium| validator::check_accepted(medium, itself, interrupt::cancel()));
    let report = report.map_err(|error| failure::reading(archive, error))?;
    Ok(report.accept())
}

/// The note for readers of an archive whose signatures were not verified.
const NOT_VERIFIED: &str =
    "not verified: run `solution validate` to check its signatures and content";

/// The keys whose signatures are verified before anything of an archive is shown.
#[derive(Args, Debug)]
#[command(mut_arg("keys", |argument| argument.help(
    "A public key (PEM) to verify signatures with; may be repeated with --threshold [default: signatures are not verified]"
)))]
pub(crate) struct SignerArguments {
    #[command(flatten)]
    trust: TrustArguments,
}

impl SignerArguments {
    /// Opens an archive.
    ///
    /// # Errors
    ///
    /// Fails if keys are given and did not sign the archive, inside or next to it.
    pub(crate) fn open(&self, archive: &Path) -> Result<(OpenedArchive, TrustedArchive), Failure> {
        let mut opened =
            OpenedArchive::open(archive).map_err(|error| failure::reading(archive, error))?;
        if !self.trust.keys.is_empty() {
            attach(&mut opened, archive)?;
        }
        let trusted = self.verify(&opened, archive)?;
        Ok((opened, trusted))
    }

    /// Opens an archive and reads its list of files.
    pub(crate) fn list(&self, archive: &Path) -> Result<ListedArchive, Failure> {
        let (_, trusted) = self.open(archive)?;
        let listed = trusted.list();
        listed.map_err(|error| failure::reading(archive, error))
    }

    /// Verifies the signatures of an archive, if keys are given.
    pub(crate) fn verify(
        &self,
        opened: &OpenedArchive,
        archive: &Path,
    ) -> Result<TrustedArchive, Failure> {
        let trusted = if self.trust.keys.is_empty() {
            opened.skip_signature()
        } else {
            opened.verify(&keys::trusted(&self.trust)?)
        };
        trusted.map_err(|error| failure::reading(archive, error))
    }

    /// Notes that no signature was verified, if no key is given.
    pub(crate) fn note(&self) {
        if self.trust.keys.is_empty() {
            render::note(NOT_VERIFIED);
        }
    }
}

/// Adds the signatures in a file next to an archive.
pub(super) fn attach(opened: &mut OpenedArchive, archive: &Path) -> Result<(), Failure> {
    let error = |error| failure::beside(archive, error);
    if let Some(detached) = archive::read_detached(archive).map_err(error)? {
        opened.attach(&detached).map_err(error)?;
    }
    Ok(())
}

/// List the files of an archive
#[derive(Args, Debug)]
#[command(after_help = "\
The list is the signed statement, and the directory tree of the archive must match it. The content of files is \
verified when it is read (`solution archive cat`, `solution archive extract`). The statement itself is not \
listed.

Examples:
  solution archive ls app.iso
  solution archive ls app.iso operator/deploy -l
  solution archive ls app.iso images -R
  solution archive ls app.iso -R --output json")]
pub(crate) struct ListArguments {
    /// The archive (a file or a block device)
    archive: PathBuf,

    /// A directory or file in the archive [default: the root]
    #[arg(default_value = "", hide_default_value = true)]
    path: String,

    /// Show sizes and digests; the size of a directory is the sum of its files
    #[arg(short, long)]
    long: bool,

    /// List all files below the directory
    #[arg(short = 'R', long)]
    recursive: bool,

    #[command(flatten)]
    signers: SignerArguments,
}

/// The files of an archive. Their names, sizes and digests are those of the signed list; who signed is not verified.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Listing {
    /// SHA-256 of the statement.
    archive_id: Digest,
    /// The requested entries, sorted by path.
    entries: Vec<ListingEntry>,
}

/// A file or a directory.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum ListingEntry {
    /// A file.
    #[schemars(title = "File")]
    File {
        /// Its path from the root of the archive.
        path: String,
        /// Bytes.
        size: u64,
        /// SHA-256 of its bytes.
        digest: Digest,
    },
    /// A directory.
    #[schemars(title = "Directory")]
    Directory {
        /// Its path from the root of the archive.
        path: String,
        /// Bytes of all files below it.
        size: u64,
        /// How many files are below it.
        files: usize,
    },
}

fn list(arguments: &ListArguments, output: Output) -> Result<Outcome, Failure> {
    let listed = arguments.signers.list(&arguments.archive)?;
    let files = listed.files();
    let node = files.at(&arguments.path);
    let node = node.ok_or_else(|| unknown(&listed, &arguments.archive, &arguments.path))?;
    let nodes = match node {
        _ if arguments.recursive => node.files().iter().map(SignedNode::File).collect(),
        SignedNode::File(_) => vec![node],
        SignedNode::Directory(directory) => SignedDirectory::children(&directory),
    };
    let listing = Listing {
        archive_id: listed.archive_id(),
        entries: nodes.into_iter().map(ListingEntry::from).collect(),
    };
    let shown = give(output, &listing, |listing| show_listing(listing, arguments));
    arguments.signers.note();
    Ok(shown)
}

impl From<SignedNode<'_>> for ListingEntry {
    fn from(node: SignedNode<'_>) -> Self {
        let path = node.path().to_owned();
        match node {
            SignedNode::File(entry) => Self::File {
                path,
                size: entry.size,
                digest: entry.digest,
            },
            SignedNode::Directory(_) => Self::Directory {
                path,
                // Each is below 8 TiB, and there are fewer than a million.
                size: node.files().iter().map(|entry| entry.size).sum(),
                files: node.files().len(),
            },
        }
    }
}

fn show_listing(listing: &Listing, arguments: &ListArguments) {
    for entry in &listing.entries {
        match (entry, arguments.long) {
            (ListingEntry::File { path, .. }, false) => render::line(path),
            (ListingEntry::Directory { path, .. }, false) => render::line!("{path}/"),
            (ListingEntry::File { path, size, digest }, true) => {
                render::line!("{size:>14}  {digest}  {path}");
            }
            (ListingEntry::Directory { path, size, files }, true) => {
                let files = render::count(*files, "file");
                render::line!("{size:>14}  {files:<71}  {path}/");
            }
        }
    }
}

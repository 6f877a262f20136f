//! `solution archive ls`: the files of an archive, as a folder shows them.

use std::path::PathBuf;

use archive::{SignedDirectory, SignedNode};
use clap::Args;
use schemars::JsonSchema;
use schemas::Digest;
use serde::Serialize;

use super::listed::unknown;
use super::signers::SignerArguments;
use crate::args::Output;
use crate::commands::give;
use crate::failure::{Failure, Outcome};
use crate::render;

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
pub(crate) struct Arguments {
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

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
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
    let shown = give(output, &listing, |listing| show(listing, arguments));
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

fn show(listing: &Listing, arguments: &Arguments) {
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

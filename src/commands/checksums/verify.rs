//! `solution checksums verify`: whether a list is as one of these keys signed it, and the files beside it are as it says.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use archive::detached_path;
use clap::Args;
use schemars::JsonSchema;
use schemas::{Digest, KeyId};
use serde::Serialize;

use super::state::{ListedState, compared};
use super::{beside, list};
use crate::args::{Output, choose};
use crate::commands::history::signature;
use crate::failure::{Failure, Outcome, cannot};
use crate::render;

/// Verify a signed list of checksums and its files
#[derive(Args, Debug)]
#[command(after_help = "\
The command reads those files of the list that are in its directory; at least one must exist. Exit code 1 means \
that a file differs, or that none of the keys signed the list. In the second case, the command does not read the \
files.

Examples:
  solution checksums verify SHA256SUMS --key release.pub
  solution checksums verify SHA256SUMS --key a.pub --key b.pub --output json")]
pub(crate) struct VerifyChecksums {
    /// The list, with its signatures in `<LIST>.dsse.json` next to it
    list: PathBuf,

    /// A public key (PEM) to trust; may be repeated, and one signature is enough
    #[arg(long = "key", value_name = "PUB", required = true)]
    keys: Vec<PathBuf>,
}

/// The result of comparing files with a signed list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VerifiedChecksums<'a> {
    /// The list that was read.
    list: &'a Path,
    /// Whether one of the keys signed it, at least one of its files exists, and none differs.
    valid: bool,
    /// Those of the given keys that signed it.
    signed_by: Vec<KeyId>,
    /// Its files, unless none of the keys signed it.
    files: Vec<ListedFile>,
}

/// A file of a list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListedFile {
    /// Its name.
    name: String,
    /// The expected digest.
    digest: Digest,
    /// A description of the text.
    state: ListedState,
}

pub(super) fn run(arguments: &VerifyChecksums, output: Output) -> Result<Outcome, Failure> {
    let path = arguments.list.as_path();
    let trust = signature::trust(&arguments.keys)?.expect("a key is required");
    let (list, bytes) = list(path)?;
    let envelope = beside(path)?.ok_or_else(|| {
        let missing = detached_path(path);
        Failure::no(anyhow!("`{}` is not signed", path.display()))
            .hint(format!("put its signatures into `{}`", missing.display()))
    })?;
    let is_of_list = envelope.payload() == bytes;
    let signers = signing::verify(&envelope, &trust)
        .ok()
        .filter(|_| is_of_list);
    let signed_by = signers.map(|signers| signers.trusted).unwrap_or_default();
    let mut files = Vec::new();
    if !signed_by.is_empty() {
        let folder = path.parent().unwrap_or(Path::new(""));
        for (name, digest) in list.files() {
            let place = folder.join(name);
            let state = compared(&place, digest).map_err(cannot("read", &place))?;
            let name = name.to_owned();
            files.push(ListedFile {
                name,
                digest,
                state,
            });
        }
    }
    let verified = VerifiedChecksums {
        list: path,
        valid: are_valid(&files),
        signed_by,
        files,
    };
    render::result(output, &verified, show);
    Ok(choose(verified.valid, Outcome::Yes, Outcome::No))
}

/// Whether something was found as it must be, and nothing otherwise.
fn are_valid(files: &[ListedFile]) -> bool {
    let any = |state| files.iter().any(|file| file.state == state);
    any(ListedState::Same) && !any(ListedState::Different)
}

fn show(verified: &VerifiedChecksums<'_>) {
    let list = verified.list.display();
    let named = |state| {
        let files = verified.files.iter().filter(move |it| it.state == state);
        files.map(|it| it.name.as_str())
    };
    render::lines("same       ", named(ListedState::Same));
    render::lines("different  ", named(ListedState::Different));
    render::lines("missing    ", named(ListedState::Missing));
    if verified.valid {
        render::line!(
            "valid: `{list}` and its files in this directory are unchanged since they were signed"
        );
    } else if verified.signed_by.is_empty() {
        render::note!("error: `{list}` has no valid signature by one of these keys");
        render::note(
            "hint: get the list and its signatures again, and the public key through another channel",
        );
    } else if named(ListedState::Different).next().is_some() {
        render::note!("error: files differ from the signed list `{list}`");
        render::note("hint: get these files again");
    } else {
        render::note!("error: none of the files in `{list}` exists in its directory");
        render::note("hint: copy the list into the directory of the files");
    }
}

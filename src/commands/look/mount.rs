//! `solution archive mount`: an archive as a read-only file system.

use std::path::PathBuf;

use clap::Args;
use mount::{FileOwner, Mounted, Unmounter};
use schemars::JsonSchema;
use schemas::Digest;
use serde::Serialize;

use super::signers::SignerArguments;
use crate::args::Output;
use crate::failure::{self, Failure, Outcome};
use crate::{cluster, interrupt, render};

/// Mount an archive read-only, verifying each file at its first open
#[derive(Args, Debug)]
#[command(after_help = "\
The first open of a file reads and hashes all of it before the first byte is given: a file that is not what is listed \
cannot be opened. Later reads are not compared again, so the medium must not be one that others write to.

Files with the same content are one file with several names. The mount lasts until Ctrl-C, SIGTERM or `umount`. It \
takes /dev/fuse, and root or `fusermount3`; only the user who mounted sees the files.

Examples:
  solution archive mount app.iso /mnt/app
  solution archive mount /dev/sr0 /mnt/app")]
pub(crate) struct Arguments {
    /// The archive: a file, or the device of a disc
    archive: PathBuf,

    /// The directory to mount on
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

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let listed = arguments.signers.list(&arguments.archive)?;
    let result = MountedFiles {
        archive_id: listed.archive_id(),
        directory: arguments.directory.clone(),
    };
    let owner = FileOwner {
        user: rustix::process::getuid().as_raw(),
        group: rustix::process::getgid().as_raw(),
    };
    let mut mounted = Mounted::mount(listed, &arguments.directory, owner, |refused| {
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

/// Unmounts once the program was asked to end: then serving ends.
fn unmount(unmounter: Unmounter) {
    // Only the program's end ends that.
    let _ = cluster::block_on::<()>(std::future::pending());
    if let Err(error) = unmounter.unmount() {
        let failure = failure::mounting(error);
        failure.lines().for_each(render::note);
    }
}

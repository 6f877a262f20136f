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
pub(crate) struct Arguments {
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

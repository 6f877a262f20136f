//! `solution pack`: a source directory becomes one signed archive.

use std::path::PathBuf;

use archive::Overwrite;
use clap::Args;
use indicatif::ProgressBar;
use packager::{Event, Request, Signing};
use serde::Serialize;

use super::support;
use crate::args::Output;
use crate::exit::{Failure, Outcome};
use crate::{environment, progress, render};

/// Pack images, operator and manifest into one signed ISO image
#[derive(Args, Debug)]
#[command(after_help = "\
The same inputs give the same bytes: on any machine, in any directory. SOURCE_DATE_EPOCH sets the time
in the image, otherwise it is 1980-01-01.

Examples:
  solution pack -o app.iso --key publisher.key
  solution pack shop -o shop-1.0.0.iso --key a.key --key b.key
  solution pack shop -o draft.iso --unsigned")]
pub(crate) struct Arguments {
    /// The directory with solution.yaml
    #[arg(default_value = ".", value_name = "DIR")]
    directory: PathBuf,

    /// The archive to write
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    out: PathBuf,

    /// A secret key (PEM) to sign with; may be repeated
    #[arg(
        long = "key",
        value_name = "KEY",
        required_unless_present = "unsigned",
        conflicts_with = "unsigned"
    )]
    keys: Vec<PathBuf>,

    /// Leave the archive unsigned, to be signed later with `solution sign`
    #[arg(long)]
    unsigned: bool,

    /// Replace the archive if it exists
    #[arg(long)]
    force: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Packed {
    archive: PathBuf,
    archive_id: String,
    size: u64,
    images: usize,
    blobs: usize,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let keys = arguments
        .keys
        .iter()
        .map(|path| support::secret_key(path))
        .collect::<Result<Vec<_>, _>>()?;
    let request = Request {
        directory: arguments.directory.clone(),
        output: arguments.out.clone(),
        signing: if arguments.unsigned {
            Signing::Unsigned
        } else {
            Signing::Keys(keys)
        },
        overwrite: if arguments.force {
            Overwrite::Replace
        } else {
            Overwrite::Refuse
        },
        time: environment::source_date()?,
        threads: environment::threads(),
    };
    let cancel = environment::interrupted()?;
    let bar = progress::bytes(output, "pack", 0);
    let packed = packager::pack(&request, &|event| show_event(&bar, event), &cancel);
    bar.finish_and_clear();
    let packed = packed.map_err(support::pack_failure)?;
    let packed = Packed {
        archive: packed.path,
        archive_id: packed.archive_id.to_string(),
        size: packed.size,
        images: packed.images,
        blobs: packed.blobs,
    };
    render::result(output, &packed, show);
    Ok(Outcome::Yes)
}

fn show_event(bar: &ProgressBar, event: Event<'_>) {
    match event {
        Event::Collecting { place, number, of } => {
            bar.set_message(format!("image {number}/{of} {place}"))
        }
        Event::Writing { done, total } => {
            bar.set_message("write");
            bar.set_length(total);
            bar.set_position(done);
        }
        Event::Unused(path) => bar.suspend(|| {
            render::note(format!(
                "warning: `{}` is not used: solution.yaml has no operator",
                path.display()
            ));
        }),
    }
}

fn show(packed: &Packed) {
    render::line(format!(
        "packed      {} ({}, {}, {})",
        packed.archive.display(),
        render::bytes(packed.size),
        render::count(packed.images, "image"),
        render::count(packed.blobs, "blob")
    ));
    render::line(format!("archive id  {}", packed.archive_id));
}

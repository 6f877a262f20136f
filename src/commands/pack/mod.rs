//! `solution pack`: a source directory becomes one signed archive.

mod preview;
mod size;

use std::io;
use std::path::{Path, PathBuf};

use archive::{Overwrite, WriteError};
use clap::{Args, ValueEnum};
use packager::{Event, PackError, Request, Signing};
use schemas::ImageSource;
use serde::Serialize;
use signing::SecretKey;
use sources::{CacheOptions, Remote};
use tempfile::TempDir;
use validator::{Finding, Report, Verdict};

use super::{support, validate};
use crate::args::{Output, PassphraseArguments, RegistryArguments};
use crate::failure::{Failure, Outcome};
use crate::{environment, interrupt, progress, render};
use size::Size;

/// Pack images, operator and manifest into one signed ISO image
#[derive(Args, Debug)]
#[command(after_help = "\
The same inputs give the same bytes: on any machine, in any directory. SOURCE_DATE_EPOCH sets the time \
in the image, otherwise it is 1980-01-01.

Images of registries (`source: docker://HOST/REPOSITORY:TAG` or `@sha256:…`) are downloaded into a \
cache: what broke off goes on in the next run, and what did not change is not downloaded again. \
Logins are those of docker or podman; HTTPS_PROXY, http_proxy and NO_PROXY are obeyed. Images of an \
engine (`docker-daemon:REF`) come from Docker's or podman's socket, which DOCKER_HOST can name.

Examples:
  solution pack -o app.iso --key publisher.key
  solution pack shop -o shop-1.0.0.iso --key a.key --key b.key
  solution pack shop -o draft.iso --unsigned
  solution pack shop --check
  solution pack shop --check --files --output json
  solution pack shop -o app.iso --key publisher.key --compression zstd --cache-dir /var/cache/solution
  solution pack shop -o shop.iso --key a.key --ca-file registry-ca.pem")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct Arguments {
    /// The directory with solution.yaml
    #[arg(default_value = ".", value_name = "DIR")]
    directory: PathBuf,

    /// The archive to write
    #[arg(
        short = 'o',
        long = "out",
        value_name = "FILE",
        required_unless_present = "check"
    )]
    out: Option<PathBuf>,

    /// A secret key (PEM, perhaps encrypted) to sign with; may be repeated
    #[arg(
        long = "key",
        value_name = "KEY",
        required_unless_present_any = ["unsigned", "check"],
        conflicts_with = "unsigned"
    )]
    keys: Vec<PathBuf>,

    #[command(flatten)]
    passphrase: PassphraseArguments,

    /// Leave the archive unsigned, to be signed later with `solution sign`
    #[arg(long)]
    unsigned: bool,

    /// Show what would go in, and whether it would be accepted, and write no archive
    #[arg(long)]
    check: bool,

    /// Show every file with its size and digest
    #[arg(long, requires = "check")]
    files: bool,

    /// Replace the archive if it exists
    #[arg(long)]
    force: bool,

    /// What to do with layers that are not compressed, of `docker-archive:` and `docker-daemon:` sources; a registry's
    /// or a layout's images are never changed
    #[arg(long, value_enum, default_value_t, value_name = "CODING")]
    compression: Compression,

    /// Where contents that were downloaded, unpacked or compressed are kept for the next time [default: `solution` in
    /// `XDG_CACHE_HOME` or `~/.cache`]
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,

    /// Keep nothing for the next time
    #[arg(long, conflicts_with = "cache_dir")]
    no_cache: bool,

    /// How much all sources together may unpack to, such as `500M`, `10G` or `10Gi`
    #[arg(long, value_name = "SIZE", default_value_t = Size(sources::UNPACK_LIMIT))]
    unpack_limit: Size,

    #[command(flatten)]
    reach: RegistryArguments,
}

/// What to do with layers that are not compressed.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Compression {
    /// Keep them as they are
    #[default]
    None,
    /// Readable by every engine
    Gzip,
    /// Smaller, and faster to unpack
    Zstd,
}

impl From<Compression> for sources::Compression {
    fn from(compression: Compression) -> Self {
        match compression {
            Compression::None => Self::None,
            Compression::Gzip => Self::Gzip,
            Compression::Zstd => Self::Zstd,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Packed<'a> {
    archive: &'a Path,
    archive_id: String,
    size: u64,
    images: usize,
    blobs: usize,
    /// What each image is.
    pinned: Vec<Pinned>,
    /// Warnings only.
    findings: Vec<&'a Finding>,
}

#[derive(Serialize)]
struct Pinned {
    image: String,
    source: String,
    digest: String,
    #[serde(skip)]
    can_move: bool,
}

impl From<packager::Pinned> for Pinned {
    fn from(pinned: packager::Pinned) -> Self {
        Self {
            image: pinned.place.to_string(),
            source: pinned.from.to_string(),
            digest: pinned.digest.to_string(),
            can_move: matches!(
                pinned.from,
                ImageSource::Docker(_) | ImageSource::DockerDaemon(_)
            ),
        }
    }
}

#[derive(Serialize)]
struct Refused<'a> {
    archive: &'a Path,
    verdict: Verdict,
    findings: Vec<&'a Finding>,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    match &arguments.out {
        Some(out) if !arguments.check => write(arguments, out, output),
        _ => preview::run(arguments, output),
    }
}

fn write(arguments: &Arguments, out: &Path, output: Output) -> Result<Outcome, Failure> {
    // A wrong passphrase is known at once, not after a long pack.
    let keys = support::secret_keys(&arguments.keys, &arguments.passphrase)?;
    interrupt::note(format!(
        "interrupted: `{}` is not written; run the same command again: what is in the cache is not fetched anew",
        out.display()
    ));
    let cache = cache(arguments, directory(out))?;
    let request = request(arguments, keys, out, cache.path())?;
    let packed = progress::watched(output, "pack", show_event, |watch| {
        packager::pack(&request, watch)
    });
    let packed = match packed {
        Ok(packed) => packed,
        Err(PackError::Refused(report)) => {
            return Ok(refuse(out, findings(&report, output), output));
        }
        Err(error) => return Err(error.into()),
    };
    let findings = findings(&packed.report, output);
    let packed = Packed {
        archive: out,
        archive_id: packed.archive_id.to_string(),
        size: packed.size,
        images: packed.images,
        blobs: packed.blobs,
        pinned: packed.pinned.into_iter().map(Pinned::from).collect(),
        findings,
    };
    render::result(output, &packed, show);
    Ok(Outcome::Yes)
}

/// What `solution validate` would say, shown if a person reads.
fn findings(report: &Report, output: Output) -> Vec<&Finding> {
    if output == Output::Human {
        validate::show_findings(report);
    }
    report.findings().iter().collect()
}

/// Where contents are kept.
enum Cache {
    /// For the next time too.
    Kept(PathBuf),
    /// Until the end.
    Passing(TempDir),
}

impl Cache {
    fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Passing(directory) => directory.path(),
        }
    }
}

/// The cache; one that is not kept lies in `beside`.
fn cache(arguments: &Arguments, beside: &Path) -> Result<Cache, Failure> {
    let kept = arguments.cache_dir.clone().or_else(environment::cache);
    if let Some(path) = kept.filter(|_| !arguments.no_cache) {
        return Ok(Cache::Kept(path));
    }
    let passing = tempfile::Builder::new()
        .prefix(".solution-")
        .suffix(".cache")
        .tempdir_in(beside);
    passing
        .map(Cache::Passing)
        .map_err(|error| cannot_write(beside, error.kind().into()))
}

/// The directory of a file.
fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn request(
    arguments: &Arguments,
    keys: Vec<SecretKey>,
    out: &Path,
    cache: &Path,
) -> Result<Request, Failure> {
    Ok(Request {
        directory: arguments.directory.clone(),
        output: out.to_owned(),
        // Only a check may go without both.
        signing: if keys.is_empty() {
            Signing::Unsigned
        } else {
            Signing::Keys(keys)
        },
        overwrite: overwrite(arguments),
        compression: arguments.compression.into(),
        time: environment::source_date().map_err(Failure::usage)?,
        now: environment::now().map_err(Failure::unknown)?,
        threads: environment::threads(),
        cache: CacheOptions {
            directory: cache.to_owned(),
            unpack_limit: arguments.unpack_limit.0,
        },
        remote: Remote {
            registries: registry::Options {
                proxies: environment::proxies(),
                ..support::registry_options(&arguments.reach)?
            },
            logins: environment::logins(),
            engine: environment::engine(),
        },
    })
}

fn overwrite(arguments: &Arguments) -> Overwrite {
    if arguments.force {
        Overwrite::Replace
    } else {
        Overwrite::Refuse
    }
}

fn refuse(archive: &Path, findings: Vec<&Finding>, output: Output) -> Outcome {
    let refused = Refused {
        archive,
        verdict: Verdict::Refused,
        findings,
    };
    render::result(output, &refused, |refused| {
        render::note!(
            "refused: `{}` was not written, since `solution validate` would refuse it",
            refused.archive.display()
        );
    });
    Outcome::No
}

fn cannot_write(path: &Path, source: io::Error) -> Failure {
    let path = path.to_owned();
    WriteError::Target { path, source }.into()
}

fn show_event(bar: &progress::Bar, event: Event) {
    match event {
        Event::Sources(event) => show_source(bar, event),
        Event::Writing(progress) => bar.show("write", progress),
        Event::Unused(path) => bar.suspend(|| {
            render::note!(
                "warning: `{}` is not used: solution.yaml has no operator",
                path.display()
            );
        }),
        Event::Untidy(error) => bar.suspend(|| {
            render::note!("warning: the cache keeps more than it should: {error}");
        }),
    }
}

fn show_source(bar: &progress::Bar, event: sources::Event) {
    use sources::Event;
    match event {
        Event::Collecting { place, number, of } => {
            bar.set_message(format!("image {number}/{of} {place}"));
        }
        Event::Preparing(progress) => bar.show("prepare", progress),
        Event::Downloading(progress) => bar.show("download", progress),
        Event::Retrying { reason, wait } => bar.suspend(|| {
            render::note!(
                "note: {reason}; trying again in {} s",
                wait.as_secs_f32().ceil()
            );
        }),
        Event::Damaged(digest) => bar.suspend(|| {
            render::note!(
                "note: the cache's copy of {digest} was damaged; it was removed, and packing starts over"
            );
        }),
    }
}

fn show(packed: &Packed<'_>) {
    render::line!(
        "packed      {} ({}, {}, {})",
        packed.archive.display(),
        render::bytes(packed.size),
        render::count(packed.images, "image"),
        render::count(packed.blobs, "blob")
    );
    // What may be something else the next time.
    for pinned in packed.pinned.iter().filter(|pinned| pinned.can_move) {
        let source = pinned.source.split('@').next().unwrap_or_default();
        render::line!(
            "image       {} from {source}@{}",
            pinned.image,
            pinned.digest
        );
    }
    render::line!("archive id  {}", packed.archive_id);
}

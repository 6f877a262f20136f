//! `solution support-bundle`: one file with what somebody elsewhere needs to see what is wrong in an environment.

mod archive;

use std::path::{Path, PathBuf};

use clap::Args;
use importer::{Description, History, SupportFiles, UnreadFile, Wanted};
use schemars::JsonSchema;
use schemas::EnvironmentName;
use serde::Serialize;

use super::give;
use super::history::shown::shown;
use crate::args::{Output, ReadArguments};
use crate::failure::{Failure, Outcome};
use crate::{cluster, disk, environment, render};

/// Write what is known of an environment into one file, for whoever helps and has no access to the cluster
#[derive(Args, Debug)]
#[command(after_help = "\
The file is a tar: CONTENTS.json lists what is in it and what is missing, and why. It has the versions of this program and
of the cluster, what `solution environment describe` and `solution history` say, the environment's workloads, pods and
events, and the end of each container's log (1 MiB of each run and of the one before; 64 MiB in all). What you may not read
is missing.

Secrets, and ConfigMaps but for this program's own records, are never read, and values of variables and of arguments that are called password, secret, token, key
or credential are masked. Logs and events are as programs wrote them: look at them before you send the file.

Examples:
  solution support-bundle -e prod --out prod-support.tar
  tar -xOf prod-support.tar CONTENTS.json")]
pub(crate) struct Arguments {
    /// The environment
    #[arg(short, long, value_name = "NAME")]
    environment: EnvironmentName,

    /// The file, which does not exist yet
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,

    #[command(flatten)]
    cluster: ReadArguments,
}

/// A support bundle was written.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WrittenBundle<'a> {
    /// The file.
    written: &'a Path,
    /// Bytes of it.
    size: usize,
    /// How many files it has.
    files: usize,
    /// The files that are missing.
    unread: &'a [UnreadFile],
}

/// What made the bundle, and of what.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Versions<'a> {
    solution: &'static str,
    kubernetes: &'a str,
    environment: &'a EnvironmentName,
    made_at: String,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let now = environment::now().map_err(Failure::unknown)?;
    let files = cluster::read(&arguments.cluster, async |cluster| {
        let environment = &arguments.environment;
        let described = importer::describe_environment(cluster, environment).await?;
        let wanted = Wanted {
            environment: Some(environment.clone()),
            ..Wanted::default()
        };
        let history = importer::history(cluster, &wanted).await?;
        let versions = Versions {
            solution: env!("CARGO_PKG_VERSION"),
            kubernetes: &cluster.version().text,
            environment,
            made_at: now.to_string(),
        };
        let mut files = SupportFiles::default();
        for (path, text) in own_files(&versions, &described, &history) {
            files.add(path, text.into_bytes());
        }
        importer::support(cluster, environment, &mut files).await?;
        Ok(files)
    })?;
    let bytes = archive::tar(&files, now).map_err(Failure::unknown)?;
    // Logs may hold what only their owner should see.
    disk::write_new(&arguments.out, 0o600, &bytes)?;
    Ok(tell(arguments, &files, bytes.len(), output))
}

/// What this program says of the environment.
fn own_files(
    versions: &Versions<'_>,
    described: &Description,
    history: &History,
) -> [(&'static str, String); 3] {
    [
        ("versions.json", archive::pretty(versions)),
        ("environment.json", archive::pretty(described)),
        ("history.json", archive::pretty(&shown(history, None))),
    ]
}

fn tell(arguments: &Arguments, files: &SupportFiles, size: usize, output: Output) -> Outcome {
    let written = WrittenBundle {
        written: &arguments.out,
        size,
        files: files.files.len(),
        unread: &files.unread,
    };
    give(output, &written, |written| {
        for UnreadFile { path, why } in written.unread {
            render::note!("missing: {path}: {why}");
        }
        let (file, size) = (written.written.display(), render::bytes(size as u64));
        let count = render::count(written.files, "file");
        render::line!("written     {file} ({count}, {size})");
        render::note!(
            "next: look at the logs in it before you send it; only what is called secret was masked"
        );
    })
}

//! `solution support-bundle`: collects diagnostics of an environment into one tar file, for people without access to
//! the cluster. Secrets are never included, and free text only with a flag, because the file leaves the site.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use importer::{ChangeFilter, SupportFile, SupportFiles, UnreadFile};
use schemars::JsonSchema;
use schemas::{EnvironmentName, StatementTime};
use serde::Serialize;
use tar::{Builder, EntryType, Header};

use super::blocked::{ShownBlocker, refuse_plan};
use super::give;
use crate::args::{Output, ReadArguments};
use crate::failure::{Failure, Outcome};
use crate::terminal::agreed;
use crate::{cluster, disk, environment, render};

/// The question before free text is written.
const QUESTION: &str = "Include arguments, variables, annotations, volume options, paths of probes, values of \
    parameters, and messages of events and conditions? They may contain secrets that are not known.";

/// Collect diagnostics for an environment into one file
#[derive(Args, Debug)]
#[command(after_help = "\
The file is a tar archive. It contains versions, the output of `solution environment describe` and `solution \
history`, workloads, pods, events, and the end of each container's log (1 MiB of the current and previous run; \
64 MiB in all). CONTENTS.json lists the files, and missing files with the reason.

Free text is masked without --include-text: arguments, variables, annotations, volume options, paths of probes, \
values of parameters, and messages.

Secrets are never written. The values of Secrets that you may read are removed from all files, and text in the \
form of a credential is removed from logs. Logs may contain the values of other Secrets: inspect them before you \
send the file.

Examples:
  solution support-bundle -e prod --out prod-support.tar
  solution support-bundle -e prod --out prod-support.tar --include-text --yes
  tar -xOf prod-support.tar CONTENTS.json")]
pub(crate) struct Arguments {
    /// The name of the environment
    #[arg(short, long, value_name = "NAME")]
    environment: EnvironmentName,

    /// The file to create, which must not exist
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// Include free text, such as arguments, variables, annotations and messages
    #[arg(long)]
    include_text: bool,

    /// Skip the confirmation of --include-text; required without a terminal
    #[arg(long, requires = "include_text")]
    yes: bool,

    #[command(flatten)]
    cluster: ReadArguments,
}

/// The versions of the program and the cluster.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Versions<'a> {
    solution: &'static str,
    kubernetes: &'a str,
    environment: &'a EnvironmentName,
    made_at: String,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let now = environment::now().map_err(Failure::unknown)?;
    let include_text = arguments.include_text;
    if include_text && !arguments.yes && !cluster::block_on(agreed(QUESTION, output))? {
        let unwritten = UnwrittenBundle {
            unwritten: &arguments.out,
        };
        let message = "cannot write the support bundle: free text was not confirmed";
        let why = ShownBlocker::new(message, "add `--yes`, or omit `--include-text`");
        return Ok(refuse_plan(output, &unwritten, [why]));
    }
    let files = cluster::read(&arguments.cluster, async |cluster| {
        let environment = &arguments.environment;
        let described = importer::describe_environment(cluster, environment).await?;
        let wanted = ChangeFilter {
            environment: Some(environment.clone()),
            ..ChangeFilter::default()
        };
        let history = importer::history(cluster, &wanted).await?;
        let versions = Versions {
            solution: env!("CARGO_PKG_VERSION"),
            kubernetes: &cluster.version().text,
            environment,
            made_at: now.to_string(),
        };
        let mut files = SupportFiles::begin(cluster, environment, include_text).await?;
        files.add_report("versions.json", &versions);
        files.add_report("environment.json", &described);
        files.add_report("history.json", &history);
        importer::support(cluster, environment, &mut files).await?;
        Ok(files)
    })?;
    let bytes = tar(&files, now).map_err(Failure::unknown)?;
    // Logs may contain secrets, so only the owner can read the file.
    disk::write_new(&arguments.out, 0o600, &bytes)?;
    Ok(show(&arguments.out, &files, bytes.len(), output))
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

/// A support bundle that was not written.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UnwrittenBundle<'a> {
    /// The file that was not written.
    unwritten: &'a Path,
}

/// Shows the bundle, and the parts that are missing in it.
fn show(path: &Path, files: &SupportFiles, size: usize, output: Output) -> Outcome {
    let written = WrittenBundle {
        written: path,
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
            "next: inspect the logs in it before you send it; they may contain secrets that are not known"
        );
    })
}

/// The table of contents of a bundle, with the omitted parts.
#[derive(Serialize)]
struct TableOfContents<'a> {
    files: Vec<Entry>,
    missing: &'a [UnreadFile],
}

#[derive(Serialize)]
struct Entry {
    path: String,
    size: usize,
}

/// Creates the tar file.
fn tar(files: &SupportFiles, now: StatementTime) -> io::Result<Vec<u8>> {
    let entry = |file: &SupportFile| Entry {
        path: file.path.clone(),
        size: file.bytes.len(),
    };
    let contents = TableOfContents {
        files: files.files.iter().map(entry).collect(),
        missing: &files.unread,
    };
    let mut tar = Builder::new(Vec::new());
    let mut add = |path: &str, bytes: &[u8]| {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o600);
        header.set_mtime(now.unix().unsigned_abs());
        header.set_size(bytes.len() as u64);
        tar.append_data(&mut header, path, bytes)
    };
    add("CONTENTS.json", pretty(&contents).as_bytes())?;
    for file in &files.files {
        add(&file.path, &file.bytes)?;
    }
    tar.into_inner()
}

/// Returns indented JSON.
fn pretty<T: Serialize>(value: &T) -> String {
    let text = serde_json::to_string_pretty(value);
    text.expect("a description of an environment has a JSON form") + "\n"
}

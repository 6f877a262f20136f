//! `solution support-bundle`: one file with what somebody elsewhere needs to see what is wrong in an environment.

mod archive;
pub(super) mod written;

use std::path::PathBuf;

use clap::Args;
use importer::{FreeText, SupportFiles, Wanted};
use schemas::EnvironmentName;
use serde::Serialize;

use self::written::UnwrittenBundle;
use self::written::show;
use super::history::shown::shown;
use super::question::agreed;
use super::refusal::{InTheWay, refuse};
use crate::args::{Output, ReadArguments};
use crate::failure::{Failure, Outcome};
use crate::{cluster, disk, environment};

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
    let text = if arguments.include_text {
        if !arguments.yes && !cluster::block_on(agreed(QUESTION, output))? {
            let unwritten = UnwrittenBundle {
                unwritten: &arguments.out,
            };
            let message = "cannot write the support bundle: free text was not confirmed";
            let why = InTheWay::new(message, "add `--yes`, or omit `--include-text`");
            return Ok(refuse(output, &unwritten, [why]));
        }
        FreeText::Shown
    } else {
        FreeText::Masked
    };
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
        let mut files = SupportFiles::begin(cluster, environment, text).await?;
        files.add_report("versions.json", &versions);
        files.add_report("environment.json", &described);
        files.add_report("history.json", &shown(&history, None));
        importer::support(cluster, environment, &mut files).await?;
        Ok(files)
    })?;
    let bytes = archive::tar(&files, now).map_err(Failure::unknown)?;
    // Logs may hold what only their owner should see.
    disk::write_new(&arguments.out, 0o600, &bytes)?;
    Ok(show(&arguments.out, &files, bytes.len(), output))
}

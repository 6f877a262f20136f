//! `solution version`: what this program reads and writes.

use std::path::PathBuf;

use archive::Feature;
use clap::Args as ClapArgs;
use helm::Helm;
use schemars::JsonSchema;
use schemas::Capability;
use serde::Serialize;

use crate::args::Output;
use crate::commands::give;
use crate::failure::Outcome;
use crate::{helm as programs, render};

/// The format of archives (docs/reference/format.md).
const ARCHIVE_FORMAT: u32 = 1;

/// Show the version, formats and capabilities of this program
#[derive(ClapArgs, Debug)]
#[command(after_help = "\
An archive requires capabilities, which `solution inspect` shows. A program that does not know one of them \
refuses the archive. An import stores records in the cluster. A program that does not know their format stops.

`helm` is the Helm that charts are rendered and installed with, unless --helm names another one.

Examples:
  solution version
  solution version --output json | jq .archives.capabilities")]
pub(crate) struct Arguments {}

/// The program's version and the formats that it reads and writes.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProgramVersion {
    /// The version of the program.
    version: &'static str,
    /// The architecture that it runs on.
    architecture: &'static str,
    /// Archives.
    archives: ArchiveFormats,
    /// The records of a cluster.
    records: RecordFormats,
    /// The Helm that commands use without `--helm`; missing if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    helm: Option<HelmVersion>,
}

/// A Helm on this machine.
#[derive(Serialize, JsonSchema)]
struct HelmVersion {
    /// The program.
    path: PathBuf,
    #[serde(flatten)]
    answer: HelmAnswer,
}

/// The answer of a program to the question for its version.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum HelmAnswer {
    /// The version that it reports.
    Version(String),
    /// The reason why it cannot be used.
    Error(String),
}

impl HelmVersion {
    fn find() -> Option<Self> {
        let path = programs::program(None)?;
        let answer = match Helm::at(&path) {
            Ok(helm) => HelmAnswer::Version(helm.version().to_owned()),
            Err(error) => HelmAnswer::Error(format!("{:#}", anyhow::Error::new(error))),
        };
        Some(Self { path, answer })
    }
}

/// The archive formats.
#[derive(Serialize, JsonSchema)]
struct ArchiveFormats {
    /// The format that is read and written.
    format: u32,
    /// The capabilities that an archive may require.
    capabilities: Vec<Capability>,
}

/// The formats of records.
#[derive(Serialize, JsonSchema)]
struct RecordFormats {
    /// Those that are read.
    read: &'static [&'static str],
    /// Those that are written: the first, unless a record has what only a later one can say.
    written: &'static [&'static str],
}

pub(super) fn run(output: Output) -> Outcome {
    let capabilities = Feature::ALL.into_iter().map(Feature::capability);
    let version = ProgramVersion {
        version: env!("CARGO_PKG_VERSION"),
        architecture: std::env::consts::ARCH,
        archives: ArchiveFormats {
            format: ARCHIVE_FORMAT,
            capabilities: capabilities.filter(|it| !Feature::is_draft(it)).collect(),
        },
        records: RecordFormats {
            read: &importer::RECORD_FORMATS_READ,
            written: &importer::RECORD_FORMATS_WRITTEN,
        },
        helm: HelmVersion::find(),
    };
    give(output, &version, show)
}

fn show(version: &ProgramVersion) {
    render::line!("solution    {} ({})", version.version, version.architecture);
    render::line!("archives    format {}", version.archives.format);
    render::lines("capability  ", &version.archives.capabilities);
    let list = |formats: &[&str]| render::list(formats.iter());
    let RecordFormats { read, written } = &version.records;
    render::line!(
        "records     formats {} are read, {} written",
        list(read),
        list(written)
    );
    match &version.helm {
        None => render::line("helm        not found"),
        Some(HelmVersion { path, answer }) => match answer {
            HelmAnswer::Version(said) => render::line!("helm        {said} ({})", path.display()),
            HelmAnswer::Error(error) => render::line!("helm        cannot be used: {error}"),
        },
    }
}

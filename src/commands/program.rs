//! Verbs about the program itself: its version, shell completion, manual pages, JSON Schemas, and the post-renderer
//! that Helm calls. They need no archive and no cluster. Manual pages and schemas are generated from the same sources
//! as the help and the checks.

use std::path::PathBuf;
use std::{fs, io};

use archive::Feature;
use clap::{Args as ClapArgs, Args, Subcommand, ValueEnum};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use helm::Helm;
use schemars::JsonSchema;
use schemas::Capability;
use serde::Serialize;

use super::archive::extract;
use super::explain::catalogue::{self, SchemaDocument};
use super::{Files, give};
use crate::args::Output;
use crate::failure::{Failure, Outcome, cannot};
use crate::{helm as programs, render};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Version(VersionArguments),
    Schema(SchemaArguments),
    Completion(CompletionArguments),
    Man(ManArguments),
}

pub(super) fn run(command: &Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Version(_) => Ok(show_version(output)),
        Command::Schema(arguments) => print_schema(arguments, output),
        Command::Completion(arguments) => print_completion(arguments, super::command(), output),
        Command::Man(arguments) => write_manual(arguments, super::command(), output),
    }
}

/// The script that kubectl runs for completion. kubectl runs a program instead of reading a script, so this one calls
/// the bash completion.
const KUBECTL: &str = include_str!("program/kubectl_complete-solution");

/// Print a shell completion script
#[derive(Args, Debug)]
#[command(after_help = "\
The examples write each script to the directory where its shell looks for it. For `kubectl solution`, kubectl \
needs bash, and `kubectl_complete-solution` and `kubectl-solution` on the PATH.

Examples:
  solution completion bash > /usr/local/share/bash-completion/completions/solution
  solution completion zsh > /usr/local/share/zsh/site-functions/_solution
  solution completion fish > /usr/local/share/fish/vendor_completions.d/solution.fish
  solution completion kubectl > kubectl_complete-solution && chmod +x kubectl_complete-solution")]
pub(crate) struct CompletionArguments {
    /// The shell, or kubectl
    #[arg(value_enum, value_name = "SHELL")]
    shell: Completer,
}

/// Who completes command lines.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Completer {
    Bash,
    Zsh,
    Fish,
    Kubectl,
}

fn print_completion(
    arguments: &CompletionArguments,
    cli: clap::Command,
    output: Output,
) -> Result<Outcome, Failure> {
    if output == Output::Json {
        let failure = Failure::usage("cannot write a script as JSON");
        return Err(failure.hint("omit `--output json`"));
    }
    let script = match arguments.shell {
        Completer::Bash => generated(Shell::Bash, cli),
        Completer::Zsh => generated(Shell::Zsh, cli),
        Completer::Fish => generated(Shell::Fish, cli),
        Completer::Kubectl => KUBECTL.into(),
    };
    extract::write(&script).map(drop)?;
    Ok(Outcome::Yes)
}

fn generated(shell: Shell, mut cli: clap::Command) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli, "solution", &mut script);
    script
}

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
pub(crate) struct VersionArguments {}

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
        let answer = match Helm::from_path(&path) {
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

fn show_version(output: Output) -> Outcome {
    let capabilities = Feature::ALL.into_iter().map(Feature::capability);
    let version = ProgramVersion {
        version: env!("CARGO_PKG_VERSION"),
        architecture: std::env::consts::ARCH,
        archives: ArchiveFormats {
            format: ARCHIVE_FORMAT,
            capabilities: capabilities
                .filter(|capability| !Feature::is_draft(capability))
                .collect(),
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

/// Pass on to Helm what its plan showed
#[derive(Args, Debug)]
pub(crate) struct PostrenderArguments {
    /// The directory of the run
    directory: PathBuf,
}

pub(super) fn postrender(arguments: &PostrenderArguments) -> Result<Outcome, Failure> {
    let done = importer::postrender(&arguments.directory, io::stdin().lock(), render::stream());
    done.map_err(Failure::no)?;
    Ok(Outcome::Yes)
}

/// The heading of the last part of a help text.
const EXAMPLES: &str = "Examples:\n";

/// Write the manual pages to a directory
#[derive(Args, Debug)]
#[command(after_help = "\
Each command has its own page, such as solution-pack(1). solution-findings(7), solution-site(5) and \
solution-fleet(5) have the findings and the fields of files. Existing pages are replaced.

Examples:
  solution man pages && man -l pages/solution-pack.1
  solution man pages && install -m 644 pages/*.1 /usr/local/share/man/man1")]
pub(crate) struct ManArguments {
    /// The directory; it is created if it does not exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

fn write_manual(
    arguments: &ManArguments,
    cli: clap::Command,
    output: Output,
) -> Result<Outcome, Failure> {
    let directory = &arguments.directory;
    fs::create_dir_all(directory).map_err(cannot("create", directory))?;
    let mut program = cli.disable_help_subcommand(true);
    program.build();
    let mut open = vec![program];
    let mut pages = catalogue::pages();
    while let Some(command) = open.pop() {
        let shown = command
            .get_subcommands()
            .filter(|subcommand| !subcommand.is_hide_set());
        open.extend(shown.cloned());
        pages.push(page(command));
    }
    let mut written = Vec::new();
    for (name, page) in pages {
        let path = directory.join(name);
        fs::write(&path, page).map_err(cannot("write", &path))?;
        written.push(path);
    }
    written.sort();
    Ok(give(output, &Files { files: written }, |written| {
        let pages = render::count(written.files.len(), "manual page");
        render::line!("{pages} in {}", directory.display());
    }))
}

/// Returns a page, with the name of its file.
fn page(command: clap::Command) -> (String, Vec<u8>) {
    let help = command.get_after_help().map(ToString::to_string);
    let is_above_others = command.has_subcommands();
    let man = Man::new(command).source(concat!("solution ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    write(&man, is_above_others, &help.unwrap_or_default(), &mut page)
        .expect("writing to memory does not fail");
    (man.get_filename(), page)
}

fn write(man: &Man, is_above_others: bool, help: &str, page: &mut Vec<u8>) -> io::Result<()> {
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    if is_above_others {
        man.render_subcommands_section(page)?;
    }
    let (notes, examples) = help.split_once(EXAMPLES).unwrap_or((help, ""));
    let mut last = Roff::new();
    section(&mut last, "NOTES", notes);
    section(&mut last, "EXAMPLES", examples);
    last.to_writer(page)
}

/// Adds a section. A paragraph of one line is filled; one with multiple lines or leading spaces keeps its layout.
fn section(page: &mut Roff, title: &str, text: &str) {
    if text.is_empty() {
        return;
    }
    page.control("SH", [title]);
    for paragraph in text.trim_end().split("\n\n") {
        let is_filled = !paragraph.contains('\n') && !paragraph.starts_with(' ');
        page.control("PP", []);
        page.control(if is_filled { "fi" } else { "nf" }, []);
        for line in paragraph.lines() {
            page.text([roman(line)]);
        }
    }
}

/// Print the JSON Schema of a document
#[derive(Args, Debug)]
#[command(after_help = "\
Files from `solution init`, `site init` and `fleet init` begin with `# yaml-language-server: $schema=FILE`. \
Editors then find the schema next to the document without a network.

Examples:
  solution schema
  solution schema solution-source > shop/solution-source.schema.json
  solution schema site > site.schema.json")]
pub(crate) struct SchemaArguments {
    /// The name of the document [default: list all documents]
    #[arg(value_enum, value_name = "NAME")]
    document: Option<SchemaDocument>,
}

/// The documents that have a schema.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Schemas {
    /// Their names.
    schemas: Vec<String>,
}

fn print_schema(arguments: &SchemaArguments, output: Output) -> Result<Outcome, Failure> {
    let Some(document) = arguments.document else {
        return Ok(list(output));
    };
    if output == Output::Json {
        let hint = "omit `--output json`";
        return Err(Failure::usage("a schema is always JSON").hint(hint));
    }
    extract::write(document.text().as_bytes()).map(|_| Outcome::Yes)
}

fn list(output: Output) -> Outcome {
    let values = SchemaDocument::value_variants().iter();
    let values: Vec<_> = values.filter_map(ValueEnum::to_possible_value).collect();
    give(
        output,
        &Schemas {
            schemas: catalogue::document_names(),
        },
        |_| {
            for value in &values {
                let help = value.get_help().map(ToString::to_string);
                render::line!("{:<24}{}", value.get_name(), help.unwrap_or_default());
            }
        },
    )
}

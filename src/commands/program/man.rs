//! `solution man`: the help of every verb as a manual page, and the pages of ids and files.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::args::{Output, choose};
use crate::commands::explain::manual;
use crate::commands::{Files, give};
use crate::failure::{Failure, Outcome, cannot};
use crate::render;

/// How the last part of a help begins.
const EXAMPLES: &str = "Examples:\n";

/// Write the manual pages to a directory
#[derive(Args, Debug)]
#[command(after_help = "\
Each command has its own page, such as solution-pack(1). solution-findings(7), solution-site(5) and \
solution-fleet(5) have the findings and the fields of files. Existing pages are replaced.

Examples:
  solution man pages && man -l pages/solution-pack.1
  solution man pages && install -m 644 pages/*.1 /usr/local/share/man/man1")]
pub(crate) struct Arguments {
    /// The directory; it is created if it does not exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, cli: Command, output: Output) -> Result<Outcome, Failure> {
    let directory = &arguments.directory;
    fs::create_dir_all(directory).map_err(cannot("create", directory))?;
    let mut program = cli.disable_help_subcommand(true);
    program.build();
    let mut open = vec![program];
    let mut pages = manual::pages();
    while let Some(command) = open.pop() {
        let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
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

/// A page, and the name of its file.
fn page(command: Command) -> (String, Vec<u8>) {
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

/// A paragraph of one line is filled. Where it has several, or begins with spaces, somebody has laid it out.
fn section(page: &mut Roff, title: &str, text: &str) {
    if text.is_empty() {
        return;
    }
    page.control("SH", [title]);
    for paragraph in text.trim_end().split("\n\n") {
        let is_filled = !paragraph.contains('\n') && !paragraph.starts_with(' ');
        page.control("PP", []);
        page.control(choose(is_filled, "fi", "nf"), []);
        for line in paragraph.lines() {
            page.text([roman(line)]);
        }
    }
}

//! The pages whose commands tests run: in blocks marked `console`, a command follows each `$`.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the documentation.
const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs");

/// Returns the pages of a folder, in the order of the table of contents.
pub(crate) fn pages(folder: &str) -> Vec<PathBuf> {
    let summary = fs::read_to_string(Path::new(DOCS).join("SUMMARY.md")).unwrap();
    let links = summary.lines().filter_map(|line| {
        let (_, link) = line.split_once("](")?;
        let page = link.strip_suffix(')')?;
        page.starts_with(folder).then(|| Path::new(DOCS).join(page))
    });
    links.collect()
}

/// Returns the commands in the console blocks of a page.
pub(crate) fn commands(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let blocks = text.split("```console\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap());
    blocks
        .flat_map(str::lines)
        .map(|line| {
            let command = line.strip_prefix("$ ");
            command
                .unwrap_or_else(|| panic!("{}: not a command: {line}", page.display()))
                .to_owned()
        })
        .collect()
}

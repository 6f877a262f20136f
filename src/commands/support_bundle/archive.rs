//! The tar of a support bundle, its table of contents first.

use std::io;

use importer::{SupportFile, SupportFiles, UnreadFile};
use schemas::StatementTime;
use serde::Serialize;
use tar::{Builder, EntryType, Header};

/// What is in a bundle, and what is not.
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

/// Makes the tar.
pub(super) fn tar(files: &SupportFiles, now: StatementTime) -> io::Result<Vec<u8>> {
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

/// JSON for people.
fn pretty<T: Serialize>(value: &T) -> String {
    let text = serde_json::to_string_pretty(value);
    text.expect("a description of an environment has a JSON form") + "\n"
}

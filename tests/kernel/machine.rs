//! The emulated machine and its output.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::common::Answer;

/// A file or a directory, as `stat` shows it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) mode: u32,
    pub(crate) owner: [u32; 2],
    pub(crate) links: u64,
    pub(crate) size: u64,
    pub(crate) modified: i64,
}

/// The kernel's view of one mount. Paths have no leading slash; the root is empty.
#[derive(Debug, Default)]
pub(crate) struct Mount {
    /// The requested mount: `DEVICE:OPTIONS`.
    pub(crate) name: String,
    pub(crate) nodes: BTreeMap<String, Node>,
    /// The SHA-256 of whole files.
    pub(crate) sums: BTreeMap<String, String>,
    /// The SHA-256 of single mebibytes of large files, by path and number.
    pub(crate) pieces: BTreeMap<(String, u64), String>,
}

/// Boots the machine with an image and these requests: `mount=DEVICE:OPTIONS`, `pieces=N,N,…`. Returns the mounts in
/// the requested order.
pub(crate) fn boot(image: &Path, words: &[&str]) -> Vec<Mount> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel/boot");
    let answer = Answer::from_command(Command::new(script).arg(image).args(words));
    let stderr = answer.stderr.clone();
    let mounts = read(&answer.success());
    let asked = words.iter().filter_map(|word| word.strip_prefix("mount="));
    let asked: Vec<&str> = asked.collect();
    let names: Vec<&str> = mounts.iter().map(|mount| mount.name.as_str()).collect();
    assert_eq!(names, asked, "{stderr}");
    mounts
}

fn read(answer: &str) -> Vec<Mount> {
    let mut mounts = Vec::new();
    let mut open: Option<Mount> = None;
    for line in answer.lines() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if word == "mount" {
            assert!(open.is_none(), "a mount has no end before `{line}`");
            let name = rest.replacen(' ', ":", 1);
            open = Some(Mount {
                name,
                ..Mount::default()
            });
            continue;
        }
        let mount = open
            .as_mut()
            .unwrap_or_else(|| panic!("`{line}` is outside of a mount"));
        match word {
            "node" => mount.add_node(rest),
            "sum" => mount.add_sum(rest),
            "piece" => mount.add_piece(rest),
            "end" => mounts.extend(open.take()),
            _ => panic!("the machine said `{line}`"),
        }
    }
    assert!(open.is_none(), "the last mount has no end");
    mounts
}

/// Returns a path without its prefix: `.` is the root, and everything else begins with `./`.
fn path(shown: &str) -> String {
    shown
        .strip_prefix("./")
        .unwrap_or(if shown == "." { "" } else { shown })
        .to_owned()
}

impl Mount {
    /// Adds a node: mode in hexadecimal digits, user, group, links, number, size, time, path.
    fn add_node(&mut self, line: &str) {
        let fields: Vec<&str> = line.splitn(8, ' ').collect();
        let node = Node {
            mode: u32::from_str_radix(fields[0], 16).unwrap(),
            owner: [fields[1].parse().unwrap(), fields[2].parse().unwrap()],
            links: fields[3].parse().unwrap(),
            size: fields[5].parse().unwrap(),
            modified: fields[6].parse().unwrap(),
        };
        let before = self.nodes.insert(path(fields[7]), node);
        assert_eq!(before, None, "twice: {line}");
    }

    /// Adds a line of `sha256sum`.
    fn add_sum(&mut self, line: &str) {
        let (sum, file) = line.split_once("  ").unwrap();
        self.sums.insert(path(file), sum.to_owned());
    }

    /// Adds a mebibyte: number, SHA-256, path.
    fn add_piece(&mut self, line: &str) {
        let fields: Vec<&str> = line.splitn(3, ' ').collect();
        let key = (path(fields[2]), fields[0].parse().unwrap());
        self.pieces.insert(key, fields[1].to_owned());
    }
}

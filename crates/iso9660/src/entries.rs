//! The entries of one directory with their identifiers, in the order that a tree requires: [`entries`]. Names with the
//! same shortened form get numbered identifiers in the primary tree.

use crate::InputFile;
use crate::error::PlanError;
use crate::names::{IdentifierKind, Stem, append_ucs2};
use crate::region::TreeKind;
use crate::tree::{Child, PathTree};

/// One entry of a directory.
#[derive(Debug)]
pub(crate) struct NamedChild<'a> {
    pub(crate) child: Child,
    pub(crate) name: &'a str,
    /// The name in the primary tree; unused in the Joliet tree.
    stem: Stem,
}

impl NamedChild<'_> {
    fn kind(&self) -> IdentifierKind {
        match self.child {
            Child::File(_) => IdentifierKind::File,
            Child::Directory(_) => IdentifierKind::Directory,
        }
    }

    /// Appends the identifier of the entry in a tree.
    pub(crate) fn append_identifier(&self, out: &mut Vec<u8>, tree: TreeKind) {
        match tree {
            TreeKind::Primary => self.stem.append_identifier(out, self.kind()),
            TreeKind::Joliet => append_ucs2(out, self.name),
        }
    }
}

/// Returns the entries of a directory in record order: that of ECMA-119 9.3, or of UCS-2 code units.
pub(crate) fn entries<'a>(
    tree: &PathTree,
    files: &'a [InputFile],
    dir: usize,
    kind: TreeKind,
) -> Vec<NamedChild<'a>> {
    let named = |child| {
        let name = tree.name(files, child);
        let mut entry = NamedChild {
            child,
            name,
            stem: Stem::numbered(0),
        };
        entry.stem = Stem::from_name(name, entry.kind());
        entry
    };
    // Children are sorted by name, and every character is one UCS-2 code unit, so this is the Joliet order.
    let mut entries: Vec<_> = tree.children(dir).into_iter().map(named).collect();
    if kind == TreeKind::Primary {
        number_clashes(&mut entries);
        entries.sort_unstable_by_key(|entry| entry.stem);
    }
    entries
}

/// Gives numbered stems to all entries with a common stem, in name order, skipping numbered stems that are names
/// already.
fn number_clashes(entries: &mut [NamedChild<'_>]) {
    let mut stems: Vec<_> = entries.iter().map(|entry| entry.stem).collect();
    stems.sort_unstable();
    let (mut clashing, mut taken) = (Vec::new(), Vec::new());
    for group in stems.chunk_by(|a, b| a == b) {
        if group.len() > 1 {
            clashing.push(group[0]);
        } else if group[0].looks_numbered() {
            taken.push(group[0]);
        }
    }
    let mut free = (0..)
        .map(Stem::numbered)
        .filter(|stem| taken.binary_search(stem).is_err());
    for entry in entries
        .iter_mut()
        .filter(|entry| clashing.binary_search(&entry.stem).is_ok())
    {
        entry.stem = free.next().expect("numbers do not run out");
    }
}

/// Refuses siblings whose names differ only in case: readers on Windows and macOS, and those of Joliet, confuse them.
pub(crate) fn check_siblings(
    tree: &PathTree,
    files: &[InputFile],
    dir: usize,
) -> Result<(), PlanError> {
    let mut names: Vec<_> = tree
        .children(dir)
        .into_iter()
        .map(|child| tree.name(files, child))
        .collect();
    let lower = |byte: u8| byte.to_ascii_lowercase();
    names.sort_by(|a, b| a.bytes().map(lower).cmp(b.bytes().map(lower)));
    match names
        .windows(2)
        .find(|pair| pair[0].eq_ignore_ascii_case(pair[1]))
    {
        None => Ok(()),
        Some(pair) => Err(PlanError::OnlyCaseDiffers {
            directory: tree.directory_path(files, dir).to_owned(),
            first: pair[0].to_owned(),
            second: pair[1].to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(paths: &[&str]) -> (Vec<InputFile>, PathTree) {
        let file = |path: &&str| InputFile {
            path: (*path).into(),
            size: 0,
            content: None,
        };
        let files: Vec<_> = paths.iter().map(file).collect();
        let tree = PathTree::build(&files).unwrap();
        (files, tree)
    }

    fn identifiers(paths: &[&str]) -> Vec<String> {
        let (files, tree) = tree(paths);
        let identifier = |entry: &NamedChild<'_>| {
            let mut out = Vec::new();
            entry.append_identifier(&mut out, TreeKind::Primary);
            format!("{} {}", String::from_utf8(out).unwrap(), entry.name)
        };
        entries(&tree, &files, 0, TreeKind::Primary)
            .iter()
            .map(identifier)
            .collect()
    }

    #[test]
    fn all_clashing_entries_are_numbered_in_path_order() {
        assert_eq!(
            identifiers(&["b-c", "b_c", "b.c", "a", "x0000000", "a./f"]),
            [
                "A.;1 a",
                "A_ a.",
                "B.C;1 b.c",
                "X0000000.;1 x0000000",
                "X0000001.;1 b-c",
                "X0000002.;1 b_c"
            ]
        );
    }

    #[test]
    fn a_directory_and_a_file_with_an_empty_extension_clash() {
        // `FOO` and `FOO.;1` compare equal in ECMA-119 9.3.
        assert_eq!(
            identifiers(&["foo/f", "foo."]),
            ["X0000000 foo", "X0000001.;1 foo."]
        );
    }

    #[test]
    fn siblings_must_differ_in_more_than_case() {
        let check = |paths: &[&str]| {
            let (files, tree) = tree(paths);
            (0..tree.dirs.len()).try_for_each(|dir| check_siblings(&tree, &files, dir))
        };
        check(&["a/b", "b/B", "c"]).unwrap();
        assert_eq!(
            check(&["x/Ab", "x/c", "x/aB/f"]).unwrap_err().to_string(),
            "names `Ab` and `aB` in directory `x` differ only in case"
        );
    }
}

//! The reader of images by any tool, on a changed image. It reads no more than the limits allow. Its result is a sorted
//! tree in which every path is safe and unique, and every extent is inside the medium and within every limit.
#![no_main]

use iso9660::limits::Limits;
use iso9660::reader::{EntryKind, NameSource, Tree, read_tree};
use libfuzzer_sys::fuzz_target;
use solution_fuzz::{Choices, Watched, small};

const LIMITS: Limits = Limits {
    descriptors: 16,
    entries: 500,
    directories: 50,
    depth: 16,
    path_len: 1024,
    name_bytes: 1 << 16,
    metadata_bytes: 1 << 20,
    continuations: 8,
    sections: 100,
};

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices::new(bytes);
    let image = small().patched(&mut choices);
    let size = image.len() as u64;
    let descriptors = u64::from(LIMITS.descriptors) * iso9660::SECTOR_SIZE;
    let medium = Watched::new(image, LIMITS.metadata_bytes + descriptors);
    if let Ok(tree) = read_tree(&medium, size, &LIMITS) {
        check(&tree, size);
    }
});

fn check(tree: &Tree, size: u64) {
    let entries = &tree.entries;
    assert!(entries.len() <= LIMITS.entries);
    let names: usize = entries.iter().map(|entry| entry.path.len()).sum();
    assert!(names <= LIMITS.name_bytes);
    for pair in entries.windows(2) {
        assert!(pair[0].path < pair[1].path);
    }
    let directories = entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Directory);
    assert!(directories.count() < LIMITS.directories);
    for entry in entries {
        assert!(entry.path.len() <= LIMITS.path_len);
        assert!(entry.path.split('/').count() <= LIMITS.depth + 1);
        for component in entry.path.split('/') {
            assert!(!matches!(component, "" | "." | ".."), "{:?}", entry.path);
            assert!(!component.contains(char::is_control), "{:?}", entry.path);
        }
        if let Some((parent, _)) = entry.path.rsplit_once('/') {
            let found = entries.binary_search_by(|entry| entry.path.as_str().cmp(parent));
            let parent = &entries[found.expect("a parent is there")];
            assert_eq!(parent.kind, EntryKind::Directory);
        }
        assert!(entry.kind == EntryKind::File || entry.extents.is_empty());
        assert!(entry.extents.len() <= LIMITS.sections);
        assert!(entry.mode.is_none() || tree.names == NameSource::RockRidge);
        let total: u64 = entry.extents.iter().map(|extent| extent.size).sum();
        assert_eq!(total, entry.size);
        for extent in &entry.extents {
            assert!(extent.size > 0 && extent.offset + extent.size <= size);
        }
    }
}

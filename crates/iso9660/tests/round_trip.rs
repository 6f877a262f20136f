//! Tests that every planned and written image reads back the same, in both trees, with every property of the layout.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{Content, Random, Sparse, assert_covered, image};
use iso9660::limits::Limits;
use iso9660::reader::{EntryKind, NameSource, Tree, read_tree};
use iso9660::{ImagePlan, ReadAt, WriteAt, compare};
use proptest::prelude::*;

/// Generates files whose names clash, nest and repeat contents. No path is a directory of another.
fn files() -> impl Strategy<Value = Vec<Content>> {
    let name = prop_oneof![
        "[a-c]",
        "[A-Za-z0-9_][A-Za-z0-9._-]{0,12}",
        "[a-z]{30}[.-][a-z]{0,68}"
    ];
    let path = (prop::collection::vec(name, 1..8), 0u8..30)
        .prop_map(|(parts, n)| format!("{}.f{n}", parts.join("/")));
    let bytes = prop_oneof![
        Just(0),
        1usize..10,
        2040usize..2056,
        4090usize..4100,
        Just(9000)
    ]
    .prop_flat_map(|len| (0u8..3).prop_map(move |fill| vec![fill; len]));
    prop::collection::vec((path, bytes), 0..60).prop_map(distinct)
}

/// Removes paths that the rules forbid: those that differ only in case, or that use a file as a directory.
fn distinct(files: Vec<Content>) -> Vec<Content> {
    let mut kept: BTreeMap<String, Content> = BTreeMap::new();
    let mut spellings: BTreeMap<String, String> = BTreeMap::new();
    for (path, bytes) in files {
        let ends: Vec<_> = path
            .match_indices('/')
            .map(|(end, _)| end)
            .chain([path.len()])
            .collect();
        let same_spelling = ends.iter().all(|&end| {
            let spelling = spellings
                .entry(path[..end].to_lowercase())
                .or_insert_with(|| path[..end].to_owned());
            *spelling == path[..end]
        });
        if same_spelling {
            kept.insert(path.clone(), (path, bytes));
        }
    }
    let paths: BTreeSet<String> = kept.keys().cloned().collect();
    let is_directory = |path: &str| {
        paths
            .iter()
            .any(|other| other.starts_with(&format!("{path}/")))
    };
    kept.into_values()
        .filter(|(path, _)| !is_directory(path))
        .collect()
}

/// Returns the paths of a tree with their bytes.
fn contents(image: &Sparse, tree: &Tree) -> Vec<Content> {
    let files = tree
        .entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::File)
        .map(|entry| {
            let mut bytes = vec![0; usize::try_from(entry.size).unwrap()];
            if let [extent] = entry.extents[..] {
                image.read_exact_at(&mut bytes, extent.offset).unwrap();
            }
            (entry.path.clone(), bytes)
        });
    files.collect()
}

fn read(image: &Sparse) -> Tree {
    read_tree(image, image.size, &Limits::default()).unwrap()
}

/// Returns the image without its Rock Ridge announcement, so that readers use Joliet.
fn without_rock_ridge(plan: &ImagePlan, image: &Sparse) -> Sparse {
    let copy = Sparse::new(image.size);
    copy.write_all_at(&image.to_bytes(), 0).unwrap();
    plan.visit_metadata(&mut |region| {
        if region.part == iso9660::ImagePart::ContinuationArea {
            copy.write_all_at(&[0; 2048], region.offset)
        } else {
            Ok(())
        }
    })
    .unwrap();
    copy
}

/// Checks the layout's guarantees about offsets: alignment, sharing, ascending order, the tail.
fn assert_layout(plan: &ImagePlan, files: &[Content]) {
    let mut places = BTreeMap::new();
    for (path, bytes) in files {
        let extent = plan.extent_of(path);
        assert_eq!(
            extent.map(|extent| extent.size),
            Some(bytes.len() as u64).filter(|&size| size > 0)
        );
        if let Some(extent) = extent {
            assert_eq!(
                extent.offset % if extent.size >= 4096 { 4096 } else { 2048 },
                0
            );
            assert_eq!(
                places.entry(bytes).or_insert(extent.offset),
                &extent.offset,
                "one content, one extent"
            );
        }
    }
    let offsets: Vec<_> = plan.extents().iter().map(|extent| extent.offset).collect();
    assert!(offsets.is_sorted() && offsets.len() == places.len());
    assert_eq!(plan.image_size() % (32 << 10), 0);
    let end = plan
        .extents()
        .last()
        .map_or(0, |extent| extent.offset + extent.size);
    assert!(plan.image_size() - end >= 1 << 20);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_back(mut files in files(), split in 0usize..3, seed: u64) {
        let sorted = files.clone();
        let mut random = Random(seed);
        for index in (1..files.len()).rev() {
            files.swap(index, random.below(index + 1));
        }
        let (head, body) = files.split_at(split.min(files.len()));
        let (plan, image) = image(head, body);
        assert_covered(&plan);
        prop_assert_eq!(compare(&plan, &image, 1).unwrap(), []);
        let tree = read(&image);
        prop_assert_eq!(tree.names, NameSource::RockRidge);
        prop_assert_eq!(tree.volume.size, plan.image_size());
        prop_assert!(contents(&image, &tree) == sorted);
        let joliet = read(&without_rock_ridge(&plan, &image));
        prop_assert_eq!(joliet.names, NameSource::Joliet);
        prop_assert!(contents(&image, &joliet) == sorted);
        if split == 0 {
            assert_layout(&plan, &files);
        }
    }
}

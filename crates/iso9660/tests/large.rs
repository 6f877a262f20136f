//! Tests with sizes that do not fit into memory or into one directory.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Sparse, described, volume};
use iso9660::limits::Limits;
use iso9660::reader::{FileExtent, read_tree};
use iso9660::{
    ContentId, ImagePlan, Input, InputFile, Layout, PlanError, WriteAt, compare, plan,
    write_metadata,
};

const SECTION: u64 = 0xFFFF_F800;

fn planned(body: Vec<InputFile>) -> Result<ImagePlan, PlanError> {
    plan(
        Layout::V1,
        Input {
            volume: volume(),
            head: described(&[]),
            body,
        },
    )
}

fn file(path: &str, size: u64) -> InputFile {
    InputFile {
        path: path.into(),
        size,
        content: None,
    }
}

fn written(plan: &ImagePlan) -> Sparse {
    let image = Sparse::new(plan.image_size());
    write_metadata(plan, &image).unwrap();
    image
}

#[test]
fn files_beyond_4_gib_come_back_whole_and_shared() {
    for (size, sections) in [(SECTION, 1), (SECTION + 1, 2), (10 << 30, 3)] {
        let content = Some(ContentId([7; 32]));
        let body = ["big", "d/same", "later"].map(|path| InputFile {
            content,
            ..file(path, size)
        });
        let body = body.into_iter().chain([file("z", 1)]).collect();
        let plan = planned(body).unwrap();
        let image = written(&plan);
        let extent = *plan.extent_of("big").unwrap();
        image
            .write_all_at(b"end", extent.offset + size - 3)
            .unwrap();
        assert_eq!(compare(&plan, &image, 1).unwrap(), []);
        let tree = read_tree(&image, image.size, &Limits::default()).unwrap();
        let found: Vec<_> = tree
            .entries
            .iter()
            .filter(|entry| entry.size == size)
            .collect();
        assert_eq!(found.len(), 3);
        for entry in found {
            assert_eq!(
                entry.extents,
                [FileExtent {
                    offset: extent.offset,
                    size
                }]
            );
            assert_eq!(entry.links, Some(3));
        }
        let allowed = Limits {
            sections,
            ..Limits::default()
        };
        assert!(read_tree(&image, image.size, &allowed).is_ok());
        let forbidden = Limits {
            sections: sections - 1,
            ..Limits::default()
        };
        assert!(read_tree(&image, image.size, &forbidden).is_err());
    }
}

#[test]
fn a_byte_behind_a_large_file_is_found() {
    let plan = planned(vec![file("big", (5 << 30) + 1), file("next", 1)]).unwrap();
    let image = written(&plan);
    let offset = plan.extent_of("big").unwrap().offset + (5 << 30) + 1;
    image.write_all_at(b"!", offset).unwrap();
    let found = compare(&plan, &image, 2).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].to_string(),
        format!("padding after big at byte {offset}: 0x21 instead of 0x00")
    );
}

#[test]
fn twenty_thousand_files_in_one_directory() {
    let body = (0..20_000)
        .map(|n| file(&format!("d/{n:064x}"), n % 3))
        .collect();
    let plan = planned(body).unwrap();
    let image = written(&plan);
    assert_eq!(compare(&plan, &image, 1).unwrap(), []);
    let tree = read_tree(&image, image.size, &Limits::default()).unwrap();
    assert_eq!(tree.entries.len(), 20_001);
    // All names are equal after truncation, so there are also 20,000 clashes.
    assert_eq!(tree.entries[20_000].path, format!("d/{:064x}", 19_999));
}

#[test]
fn the_largest_file_has_99_sections() {
    let plan = planned(vec![file("max", 99 * SECTION)]).unwrap();
    let tree = read_tree(&written(&plan), plan.image_size(), &Limits::default()).unwrap();
    assert_eq!(tree.entries[0].size, 99 * SECTION);
    let error = planned(vec![file("max", 99 * SECTION + 1)]).unwrap_err();
    assert!(matches!(error, PlanError::FileTooLarge { .. }), "{error}");
}

#[test]
fn images_stay_below_8_tib() {
    let many = |count: u64, last: u64| {
        let full = (0..count).map(|n| file(&format!("f{n}"), 99 * SECTION));
        planned(full.chain([file("last", last)]).collect())
    };
    // After 20 files of maximum size, another one does not fit.
    assert!(many(20, 200 << 30).unwrap().image_size() < 8 << 40);
    assert_eq!(many(21, 0).unwrap_err(), PlanError::ImageTooLarge);
    assert_eq!(
        planned(vec![file("f", u64::MAX)]).map(drop),
        Err(PlanError::FileTooLarge {
            path: "f".to_owned(),
            size: u64::MAX
        })
    );
}

#[test]
fn sixty_five_thousand_directories() {
    let plan = planned((0..65_534).map(|n| file(&format!("{n}/f"), 0)).collect()).unwrap();
    let image = written(&plan);
    assert_eq!(compare(&plan, &image, 1).unwrap(), []);
    assert_eq!(
        read_tree(&image, image.size, &Limits::default())
            .unwrap()
            .entries
            .len(),
        2 * 65_534
    );
}

/// Builds records of maximum length, with the maximum number of them for each file.
fn crowded(files: usize) -> Vec<InputFile> {
    let file = |index| InputFile {
        content: Some(ContentId([7; 32])),
        ..file(&format!("d/{index:0>103}"), 99 * SECTION)
    };
    (0..files).map(file).collect()
}

#[test]
fn a_directory_beyond_its_limit_is_an_error() {
    assert!(planned(crowded(10_000)).is_ok());
    // These need more than the 2^32 bytes that a directory's length can express. Measuring stops at the limit.
    let path = "d".to_owned();
    assert_eq!(
        planned(crowded(200_000)).unwrap_err(),
        PlanError::DirectoryTooLarge(path)
    );
}

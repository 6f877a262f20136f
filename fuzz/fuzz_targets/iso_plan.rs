//! The layout plan. Metadata and data cover the image of any files exactly once. The written image is read back as the
//! same files. A change of any metadata byte is detected at its position.
#![no_main]

use std::convert::Infallible;

use iso9660::limits::Limits;
use iso9660::reader::{EntryKind, NameSource, read_tree};
use iso9660::{
    ContentId, ImagePlan, Input, InputFile, Layout, ReadAt as _, Timestamp, Volume, WriteAt as _,
    compare, plan, write_metadata,
};
use libfuzzer_sys::fuzz_target;
use solution_fuzz::{Choices, Sparse};

/// Enough for directories of several sectors.
const FILES: usize = 60;

const NAMES: &[u8] = b"abcABC019._-/////";

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices::new(bytes);
    let (at, change) = (choices.number(), choices.byte());
    let input = input(&mut choices);
    let Ok(plan) = plan(Layout::V1, input) else {
        return;
    };
    covers(&plan);
    let medium = Sparse::new(plan.image_size());
    write_metadata(&plan, &medium).expect("memory can be written");
    assert_eq!(compare(&plan, &medium, 1).expect("memory can be read"), []);
    reads_back(&plan, &medium);
    notices(&plan, &medium, u64::from(at), change);
});

fn input(choices: &mut Choices<'_>) -> Input {
    let volume = Volume {
        id: "FUZZ".to_owned(),
        set_id: "fuzz-1".to_owned(),
        time: Timestamp::from_unix_seconds(315_532_800 + u64::from(choices.number()))
            .unwrap_or_else(|_| Timestamp::from_unix_seconds(315_532_800).expect("1980")),
    };
    let heads = usize::from(choices.byte() % 3);
    let mut files = Vec::new();
    while !choices.is_empty() && files.len() < FILES {
        files.push(file(choices));
    }
    let body = files.split_off(heads.min(files.len()));
    Input {
        volume,
        head: files,
        body,
    }
}

fn file(choices: &mut Choices<'_>) -> InputFile {
    let repeat = 1 + usize::from(choices.byte() % 30);
    let len = 1 + usize::from(choices.byte() % 12);
    let name = choices.bytes(len).iter();
    let name = name.map(|byte| char::from(NAMES[usize::from(*byte) % NAMES.len()]));
    // Some names have a long component: the first character many times.
    let mut path: String = name.collect();
    if repeat > 20 {
        let first = path.chars().next().unwrap_or('x').to_string();
        path.insert_str(0, &first.repeat(repeat * 4));
    }
    // The size follows from the content's number: empty, small, or multiple sections.
    let content = choices.byte();
    let size = match content % 8 {
        0 => 0,
        7 => (u64::from(content) << 26) + 5,
        _ => u64::from(content) * 97,
    };
    let content = (content < 200).then_some(ContentId([content; 32]));
    InputFile {
        path: path.into(),
        size,
        content,
    }
}

/// Asserts that the regions ascend, and that regions and extents cover the image exactly once.
fn covers(plan: &ImagePlan) {
    let extents = plan.extents().iter();
    let mut runs: Vec<(u64, u64)> = extents.map(|extent| (extent.offset, extent.size)).collect();
    let visited: Result<(), Infallible> = plan.visit_metadata(&mut |region| {
        runs.push((region.offset, region.bytes.size()));
        Ok(())
    });
    let Ok(()) = visited;
    runs.sort_unstable();
    let mut end = 0;
    for (offset, len) in runs {
        assert_eq!(offset, end, "a gap or an overlap");
        assert!(len > 0);
        end += len;
    }
    assert_eq!(end, plan.image_size());
}

fn reads_back(plan: &ImagePlan, medium: &Sparse) {
    let tree = read_tree(medium, plan.image_size(), &Limits::default()).expect("our own image");
    assert_eq!(tree.names, NameSource::RockRidge);
    assert_eq!(tree.volume.size, plan.image_size());
    let found = tree.entries.iter();
    let mut found = found.filter(|entry| entry.kind != EntryKind::Directory);
    let mut given: Vec<&InputFile> = plan.files().iter().collect();
    given.sort_by(|a, b| a.path.cmp(&b.path));
    for file in given {
        let entry = found.next().expect("every file is in the image");
        assert_eq!((entry.path.as_str(), entry.size), (&*file.path, file.size));
        assert_eq!(entry.kind, EntryKind::File);
        let place = plan
            .extent_of(&file.path)
            .map(|extent| (extent.offset, extent.size));
        let read = entry
            .extents
            .first()
            .map(|extent| (extent.offset, extent.size));
        assert_eq!(place, read);
    }
    assert!(found.next().is_none(), "no other file is in the image");
}

/// Changes one byte that is not file data, and asserts that the reader detects it.
fn notices(plan: &ImagePlan, medium: &Sparse, at: u64, change: u8) {
    let at = at % plan.image_size();
    let mut extents = plan.extents().iter();
    if change == 0
        || extents.any(|extent| (extent.offset..extent.offset + extent.size).contains(&at))
    {
        return;
    }
    let mut byte = [0];
    medium.read_exact_at(&mut byte, at).expect("it is inside");
    let changed = [byte[0] ^ change];
    medium.write_all_at(&changed, at).expect("it is inside");
    let found = compare(plan, medium, 2).expect("memory can be read");
    let found: Vec<_> = found
        .iter()
        .map(|difference| (difference.offset, difference.found))
        .collect();
    assert_eq!(found, [(at, changed[0])]);
}

//! Tests of extraction into a directory, including interruptions and concurrent changes.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that fails"
)]

mod common;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use archive::{ExtractError, ExtractReport, ListedArchive, Overwrite, PathBlocker};
use common::Place;
use progress::{Cancel, Progress, Watch};

/// The number of additional files after which a run is cancelled.
const MORE: usize = 6;

fn extract(
    listed: &ListedArchive,
    to: &Path,
    tell: &(dyn Fn(Progress) + Sync),
    cancel: Cancel<'_>,
) -> Result<ExtractReport, ExtractError> {
    let files = listed.files();
    let watch = Watch { tell, cancel };
    listed.extract(files.root().files(), to, Overwrite::Refuse, &watch)
}

/// Counts the files with a name of the archive, each of which must be complete, and all other files.
fn found(listed: &ListedArchive, to: &Path) -> [usize; 2] {
    let files = listed.files();
    let whole = files.root().files().iter().filter(|entry| {
        let bytes = fs::read(to.join(entry.path.as_str()));
        let expected = listed.read(entry.path.as_str(), 1 << 30).unwrap();
        bytes
            .map(|bytes| assert!(bytes == expected, "{}", entry.path))
            .is_ok()
    });
    let whole = whole.count();
    let mut open = vec![to.to_owned()];
    let mut all = 0;
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                all += 1;
            }
        }
    }
    [whole, all - whole]
}

#[test]
fn whatever_ends_it_running_again_completes_it() {
    let place = Place::new();
    place.write();
    let listed = place.list().unwrap();
    let target = tempfile::tempdir().unwrap();
    let to = target.path();
    let files = listed.files();
    let every = files.root().files().len();
    let mut before = 0;
    // Each run completes more files than the previous one.
    for runs in 0.. {
        let asked = AtomicBool::new(false);
        let tell = |progress: Progress| {
            assert!(progress.done <= progress.total, "{progress:?}");
            let there = files
                .root()
                .files()
                .iter()
                .filter(|entry| to.join(entry.path.as_str()).exists());
            asked.store(there.count() >= before + MORE, Ordering::Relaxed);
        };
        let ended = extract(&listed, to, &tell, Cancel::from_flag(&asked));
        let [whole, parts] = found(&listed, to);
        assert_eq!(parts, 0);
        match ended {
            Err(ExtractError::Interrupted(_)) => assert!(whole > before, "run {runs}"),
            ended => {
                assert_eq!((ended.unwrap().kept, whole), (before, every));
                assert!(runs > 2, "it was ended {runs} times");
                break;
            }
        }
        before = whole;
    }
    let again = extract(&listed, to, &|_| (), Cancel::never()).unwrap();
    let kept = ExtractReport {
        kept: every,
        ..ExtractReport::default()
    };
    assert_eq!(again, kept);
}

#[test]
fn what_comes_meanwhile_is_not_replaced() {
    let place = Place::new();
    place.write();
    let listed = place.list().unwrap();
    let target = tempfile::tempdir().unwrap();
    let last = listed.plan().extents().last().unwrap();
    let path = target.path().join(listed.plan().path_of(last));
    let tell = |_: Progress| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "somebody's").unwrap();
    };
    let ended = extract(&listed, target.path(), &tell, Cancel::never());
    let Err(ExtractError::InTheWay(found)) = ended else {
        panic!("{ended:?}");
    };
    assert_eq!(
        (&found[0].path, found[0].why),
        (&path, PathBlocker::OtherContent)
    );
    assert_eq!(fs::read(&path).unwrap(), b"somebody's");
}

//! Tests of files that are read in pieces.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that fails"
)]

mod common;

use std::os::unix::fs::FileExt as _;

use archive::{ListedArchive, OpenError, SHA256SUMS, limits};
use common::{Place, digest};

/// Returns the sizes of a file's pieces, its bytes, and the result at the end.
fn read(listed: &ListedArchive, path: &str) -> (Vec<usize>, Vec<u8>, Result<(), OpenError>) {
    let mut pieces = listed.pieces(path).unwrap();
    let (mut sizes, mut bytes) = (Vec::new(), Vec::new());
    loop {
        match pieces.piece() {
            Ok(Some(piece)) => {
                sizes.push(piece.len());
                bytes.extend_from_slice(piece);
            }
            Ok(None) => return (sizes, bytes, Ok(())),
            Err(error) => return (sizes, bytes, Err(error)),
        }
    }
}

#[test]
fn every_file_comes_whole_and_in_pieces_of_a_buffer_at_most() {
    let place = Place::new();
    place.write();
    let listed = place.list().unwrap();
    let mut most = 0;
    for entry in listed.contents().entries() {
        let path = entry.path.as_str();
        assert_eq!(
            listed.pieces(path).unwrap().remaining(),
            entry.size,
            "{path}"
        );
        let (sizes, bytes, ended) = read(&listed, path);
        ended.unwrap();
        assert_eq!(digest(&bytes), entry.digest, "{path}");
        assert!(sizes.iter().all(|size| *size <= limits::BUFFER), "{path}");
        most = most.max(sizes.len());
    }
    assert_eq!(most, 4, "the largest has 3 MiB and 5 bytes");
    let (_, sums, ended) = read(&listed, SHA256SUMS);
    ended.unwrap();
    assert_eq!(sums, listed.read(SHA256SUMS, 1 << 20).unwrap());
    let missing = listed.pieces("nowhere");
    assert!(matches!(missing, Err(OpenError::NoSuchFile(_))));
}

#[test]
fn a_difference_is_said_at_the_end() {
    let place = Place::new();
    place.write();
    let listed = place.list().unwrap();
    let entries = listed.contents().entries().iter();
    let large = entries.max_by_key(|entry| entry.size).unwrap();
    let path = large.path.as_str();
    let first = listed.plan().extent_of(path).unwrap().offset;
    let file = std::fs::File::options().write(true).open(place.archive());
    let (_, bytes, _) = read(&listed, path);
    file.unwrap().write_all_at(&[bytes[0] ^ 1], first).unwrap();
    let (_, altered, ended) = read(&listed, path);
    assert_eq!(altered.len(), bytes.len());
    let Err(OpenError::FileDigest {
        path: named,
        expected,
        found,
    }) = ended
    else {
        panic!("{ended:?}");
    };
    assert_eq!((named.as_str(), expected), (path, large.digest));
    assert_eq!(found, digest(&altered));
}

//! Tests of archives whose head is in a file and whose blobs come from another source. They pass through the same
//! stages as a whole archive and are compared with the archive that was accepted earlier.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that fails"
)]

mod common;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use archive::{Blobs, ListedArchive, MANIFEST, Medium, OpenError, OpenedArchive};
use common::{Place, digest, images, key};
use progress::{Cancel, Watch};
use schemas::{Digest, Image};
use signing::Signers;

/// Blobs by digest, as a registry stores them.
#[derive(Debug)]
struct Kept(BTreeMap<Digest, Vec<u8>>);

impl Kept {
    fn all() -> Self {
        let (images, blobs) = images();
        let documents = images
            .iter()
            .flat_map(Image::documents)
            .map(|document| document.bytes.to_vec());
        let all = blobs.into_iter().chain(documents);
        Self(all.map(|bytes| (digest(&bytes), bytes)).collect())
    }
}

impl Blobs for Kept {
    fn read_exact_at(&self, blob: &Digest, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let bytes = self.0.get(blob).ok_or(io::ErrorKind::NotFound)?;
        let from = usize::try_from(offset).unwrap();
        buf.copy_from_slice(&bytes[from..from + buf.len()]);
        Ok(())
    }
}

/// Returns a file with the head of the archive, the archive's id, and the bytes of the whole archive.
fn head(place: &Place) -> (PathBuf, Digest, Vec<u8>) {
    let written = place.write();
    let listed = place.list().unwrap();
    let head = listed.head(Cancel::never()).unwrap();
    let mut bytes = vec![0; usize::try_from(head.size()).unwrap()];
    head.read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(digest(&bytes), head.digest());
    let path = place.directory.path().join("head");
    fs::write(&path, &bytes).unwrap();
    let all = fs::read(place.archive()).unwrap();
    assert!(all.starts_with(&bytes));
    (path, written.archive_id, all)
}

fn list(path: &PathBuf, blobs: Kept, accepted: Digest) -> Result<ListedArchive, OpenError> {
    let medium = Medium::of_head(File::open(path).unwrap(), path.clone(), Arc::new(blobs))?;
    let signers = Signers {
        trusted: vec![key().public().id()],
        unknown: vec![],
    };
    OpenedArchive::read(medium)?
        .recognise(accepted, Some(signers))?
        .list()
}

#[test]
fn everything_is_read_without_the_medium() {
    let place = Place::new();
    let (path, id, all) = head(&place);
    fs::remove_file(place.archive()).unwrap();
    let listed = list(&path, Kept::all(), id).unwrap();
    assert_eq!(listed.image_size(), all.len() as u64);
    assert_eq!(listed.signers().unwrap().trusted, [key().public().id()]);
    for file in place.files() {
        let bytes = listed.read(file.path.as_str(), 4 << 20).unwrap();
        assert_eq!(digest(&bytes), file.digest, "{}", file.path);
    }
    let threads = NonZeroUsize::new(2).unwrap();
    let damaged = listed.verify_data(threads, &Watch::silent(Cancel::never()));
    assert_eq!(damaged.unwrap(), []);
    let again = listed.head(Cancel::never()).unwrap();
    assert_eq!(again.digest(), digest(&fs::read(&path).unwrap()));
}

#[test]
fn the_head_ends_where_the_first_blob_begins() {
    let place = Place::new();
    let (path, _, all) = head(&place);
    let size = usize::try_from(fs::metadata(path).unwrap().len()).unwrap();
    let largest = images().1.into_iter().max_by_key(Vec::len).unwrap();
    assert!(all[size..].starts_with(&largest));
}

#[test]
fn another_archive_is_not_the_one_that_was_accepted() {
    let place = Place::new();
    let (path, id, _) = head(&place);
    let accepted = digest(b"another statement");
    match list(&path, Kept::all(), accepted) {
        Err(OpenError::OtherArchive {
            accepted: wanted,
            found,
        }) => assert_eq!((wanted, found), (accepted, id)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn wrong_and_missing_blobs_are_found() {
    let place = Place::new();
    let (path, id, _) = head(&place);
    let mut blobs = Kept::all();
    let [wrong, missing] = [0, 1].map(|number| *blobs.0.keys().nth(number).unwrap());
    *blobs.0.get_mut(&wrong).unwrap().first_mut().unwrap() ^= 1;
    blobs.0.remove(&missing);
    let listed = list(&path, blobs, id).unwrap();
    let read = |blob: &Digest| listed.read(archive::blob_path(blob).as_ref(), 4 << 20);
    assert!(matches!(read(&wrong), Err(OpenError::FileDigest { .. })));
    match read(&missing) {
        Err(OpenError::Read { source, .. }) => assert_eq!(source.kind(), io::ErrorKind::NotFound),
        other => panic!("{other:?}"),
    }
    assert!(listed.read(MANIFEST, 1 << 20).is_ok());
}

#[test]
fn an_altered_head_or_one_of_another_length_is_refused() {
    let place = Place::new();
    let (path, id, _) = head(&place);
    let whole = fs::read(&path).unwrap();
    let listed = list(&path, Kept::all(), id).unwrap();
    let statement = usize::try_from(archive::STATEMENT_OFFSET).unwrap();
    let contents = usize::try_from(archive::CONTENTS_OFFSET).unwrap();
    // A directory record comes directly after the list.
    let directories = contents + usize::try_from(listed.plan().extents()[1].size).unwrap() + 4096;
    for altered in [40_000, statement, contents, directories] {
        let mut bytes = whole.clone();
        bytes[altered] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert!(list(&path, Kept::all(), id).is_err(), "{altered}");
    }
    for len in [0, 40_000, contents, directories, whole.len() - 1] {
        fs::write(&path, &whole[..len]).unwrap();
        assert!(list(&path, Kept::all(), id).is_err(), "{len}");
    }
    fs::write(&path, [&whole[..], &[0]].concat()).unwrap();
    let longer = list(&path, Kept::all(), id);
    assert!(matches!(longer, Err(OpenError::TooLong { .. })));
}

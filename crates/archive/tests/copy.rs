//! Tests that reconstruct an archive from its head and its blobs: the result has the same bytes, or is not published.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that fails"
)]

mod common;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use archive::{
    ArchiveCopy, Blobs, DraftArchive, ImageRole, ListedArchive, Medium, OpenError, OpenedArchive,
    Overwrite, WriteError,
};
use common::{Place, digest, images};
use progress::Cancel;
use schemas::{Digest, Image};

/// A source without blobs: the head alone.
#[derive(Debug)]
struct Nowhere;

impl Blobs for Nowhere {
    fn read_exact_at(&self, _: &Digest, _: &mut [u8], _: u64) -> std::io::Result<()> {
        Err(std::io::ErrorKind::NotFound.into())
    }
}

/// The head of the archive in a file, and the target of the reconstruction.
fn head(place: &Place) -> (PathBuf, PathBuf) {
    place.write();
    let listed = place.list().unwrap();
    let head = listed.head(Cancel::never()).unwrap();
    let mut bytes = vec![0; usize::try_from(head.size()).unwrap()];
    head.read_exact_at(&mut bytes, 0).unwrap();
    let path = place.directory.path().join("head");
    fs::write(&path, &bytes).unwrap();
    (path, place.directory.path().join("again.iso"))
}

fn list(head: &Path) -> ListedArchive {
    let file = File::open(head).unwrap();
    let medium = Medium::of_head(file, head.to_owned(), Arc::new(Nowhere)).unwrap();
    let opened = OpenedArchive::read(medium).unwrap();
    opened.skip_signature().unwrap().list().unwrap()
}

fn blobs() -> BTreeMap<Digest, Vec<u8>> {
    let (images, blobs) = images();
    let documents = images
        .iter()
        .flat_map(Image::documents)
        .map(|document| document.bytes.to_vec());
    let all = blobs.into_iter().chain(documents);
    all.map(|bytes| (digest(&bytes), bytes)).collect()
}

fn begin(listed: &ListedArchive, target: &Path) -> Result<ArchiveCopy, WriteError> {
    listed.copy(target, Overwrite::Refuse, Cancel::never())
}

/// Writes every blob but `except`, in two pieces each.
fn fill(listed: &ListedArchive, copying: &ArchiveCopy, except: Option<Digest>) {
    let blobs = blobs();
    for (digest, size) in listed.blobs_behind() {
        if except == Some(digest) {
            continue;
        }
        let bytes = &blobs[&digest];
        assert_eq!(bytes.len() as u64, size);
        let mut slot = copying.slot(&digest).unwrap();
        let (first, second) = bytes.split_at(bytes.len() / 2);
        slot.write(first).unwrap();
        slot.write(second).unwrap();
        slot.finish().unwrap();
    }
}

fn finish(copying: ArchiveCopy) -> Result<DraftArchive, WriteError> {
    copying.finish(Cancel::never())
}

#[test]
fn the_same_bytes_come_out() {
    let place = Place::new();
    let (head, target) = head(&place);
    let listed = list(&head);
    let copying = begin(&listed, &target).unwrap();
    fill(&listed, &copying, None);
    let draft = finish(copying).unwrap();
    assert!(!target.exists());
    let written = draft.publish(Cancel::never()).unwrap();
    assert_eq!(written.archive_id, listed.archive_id());
    assert!(fs::read(&target).unwrap() == fs::read(place.archive()).unwrap());
    assert!(matches!(
        begin(&listed, &target),
        Err(WriteError::Exists(_))
    ));
}

#[test]
fn a_blob_that_is_missing_or_wrong_leaves_nothing() {
    let place = Place::new();
    let (head, target) = head(&place);
    let listed = list(&head);
    let (largest, size) = listed.blobs_behind().next().unwrap();
    let copying = begin(&listed, &target).unwrap();
    fill(&listed, &copying, Some(largest));
    let mut slot = copying.slot(&largest).unwrap();
    slot.write(&vec![0; usize::try_from(size).unwrap()])
        .unwrap();
    assert!(slot.write(&[0]).is_err(), "more than the blob has");
    let found = slot.finish().unwrap_err();
    assert_ne!(found, largest);
    assert_eq!(slot.position(), 0);
    match finish(copying) {
        Err(WriteError::Lacking(digest)) => assert_eq!(digest, largest),
        other => panic!("{other:?}"),
    }
    let left: Vec<_> = fs::read_dir(place.directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        left.iter()
            .all(|name| !name.to_string_lossy().contains("part")),
        "{left:?}"
    );
    assert!(!target.exists());
}

#[test]
fn a_file_of_the_head_that_was_altered_is_named() {
    let place = Place::new();
    let (head, target) = head(&place);
    let listed = list(&head);
    let extent = listed.plan().extent_of(archive::MANIFEST).unwrap();
    let mut bytes = fs::read(&head).unwrap();
    bytes[usize::try_from(extent.offset).unwrap()] ^= 1;
    fs::write(&head, bytes).unwrap();
    // Bytes that are not file data stay intact, so that the head can still be listed.
    match begin(&list(&head), &target) {
        Err(WriteError::Head(OpenError::FileDigest { path, .. })) => {
            assert_eq!(path, archive::MANIFEST);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_written_is_read_once_more_before_it_gets_its_name() {
    let place = Place::new();
    let (head, target) = head(&place);
    let listed = list(&head);
    let copying = begin(&listed, &target).unwrap();
    fill(&listed, &copying, None);
    let mut part = fs::read_dir(place.directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let part = part
        .find(|path| {
            path.extension()
                .is_some_and(|extension| extension == "part")
        })
        .unwrap();
    let mut bytes = fs::read(&part).unwrap();
    bytes[40_000] ^= 1;
    fs::write(&part, bytes).unwrap();
    match finish(copying) {
        Err(WriteError::Draft(OpenError::Differences(_))) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_list_says_which_contents_an_image_has() {
    let place = Place::new();
    place.write();
    let listed = place.list().unwrap();
    let (images, _) = images();
    for image in &images {
        let contents = listed.image_contents();
        let mut own: Vec<_> = contents
            .filter(|content| content.place == image.place)
            .collect();
        own.sort_by_key(|content| content.digest);
        let of = |role| {
            let own = own.iter().filter(move |content| content.role == role);
            own.map(|content| content.digest).collect::<Vec<_>>()
        };
        assert_eq!(of(ImageRole::Root), [image.root.digest]);
        let mut children: Vec<_> = image.children.iter().map(|child| child.digest).collect();
        children.sort_unstable();
        assert_eq!(of(ImageRole::Child), children);
        let blobs: Vec<_> = image.blobs.keys().copied().collect();
        assert_eq!(of(ImageRole::Blob), blobs);
    }
}

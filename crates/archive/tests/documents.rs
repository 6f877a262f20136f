//! Tests of reading the images' documents and of its limits.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that fails"
)]

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use archive::tree::derived;
use archive::{
    ArchiveFile, FileSource, MANIFEST, OpenError, OpenedArchive, RootDocuments, image_manifest_path,
};
use common::{Place, digest, id, images, info, trust};
use progress::Cancel;
use schemas::{Digest, Image, ImageDocument, ImagePlace};

#[test]
fn a_document_that_very_many_tags_name_is_looked_at_once() {
    static LOOKED: AtomicUsize = AtomicUsize::new(0);
    fn look(document: &ImageDocument) -> usize {
        LOOKED.fetch_add(1, Ordering::Relaxed);
        document.descriptors().count()
    }
    let (images, blobs) = images();
    let places: Vec<ImagePlace> = (0..500)
        .map(|tag| format!("many:{tag}").parse().unwrap())
        .collect();
    let tagged = places.iter().map(|place| Image {
        place: place.clone(),
        ..images[1].clone()
    });
    let tagged: Vec<Image> = tagged.collect();
    let blobs = blobs
        .into_iter()
        .map(|bytes| (digest(&bytes), bytes.into()));
    let blobs: BTreeMap<Digest, Arc<[u8]>> = blobs.collect();
    let blob = |digest: &Digest| FileSource::Bytes(Arc::clone(&blobs[digest]));
    let mut files = derived(&id(), &tagged, blob).unwrap();
    let manifest = ArchiveFile::from_bytes(MANIFEST.parse().unwrap(), b"x".to_vec());
    files.push(manifest);
    let place = Place::new();
    place.write_with(info(), files, 2).unwrap();
    let listed = place.list().unwrap();
    let mut roots = RootDocuments::new(&listed, look);
    for place in &places {
        let (digest, descriptors) = roots.find_document(place).unwrap();
        assert_eq!((digest, descriptors), (images[1].root.digest, Some(&3)));
    }
    assert_eq!(LOOKED.load(Ordering::Relaxed), 1);
    assert!(roots.find_document(&"other:1".parse().unwrap()).is_none());
}

#[test]
fn a_document_that_cannot_be_read_is_nothing_known() {
    let place = Place::new();
    let mut files = place.files();
    let app: ImagePlace = "app:1.0".parse().unwrap();
    let path = image_manifest_path(&app);
    let file = files.iter_mut().find(|file| file.path == path).unwrap();
    *file = ArchiveFile::from_bytes(path, b"{".to_vec());
    place.write_with(info(), files, 2).unwrap();
    let listed = place.list().unwrap();
    let mut roots = RootDocuments::new(&listed, |_| ());
    assert_eq!(roots.find_document(&app), Some((digest(b"{"), None)));
}

#[test]
fn listing_ends_when_it_is_told_to() {
    let place = Place::new();
    place.write();
    let opened = OpenedArchive::open(&place.archive()).unwrap();
    let trusted = opened.verify(&trust()).unwrap();
    let listed = trusted.clone().list_unless(Cancel::never());
    assert!(listed.is_ok());
    let listed = trusted.list_unless(Cancel::from_flag(&AtomicBool::new(true)));
    assert!(matches!(listed, Err(OpenError::Interrupted(_))));
}

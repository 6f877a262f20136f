//! Forged locations of bytes: extents, sections and relocation.

use schemas::Digest;

use super::{README, ROLE};
use crate::image::{FLAGS, Image, LENGTH, LOCATION, Tree};
use crate::source::sha256;

/// Returns the digests of two layers of 15 bytes each.
fn layers() -> [Digest; 2] {
    ["layer for amd64", "layer for arm64"].map(|text| sha256(text.as_bytes()))
}

#[test]
fn swapped_extents_of_equal_sizes_are_refused() {
    let mut image = Image::good();
    for directory in ["blobs/sha256", "images/server/1.0.0"] {
        for tree in Tree::BOTH {
            let path = |digest: &Digest| format!("{directory}/{}", digest.hex());
            let [a, b] = layers().map(|digest| image.record(tree, &path(&digest)).start);
            image.swap(a + LOCATION, b + LOCATION, 8);
        }
    }
    let seen = image.seen().unwrap();
    let amd64 = format!("blobs/sha256/{}", layers()[0].hex());
    assert_eq!(image.file(&seen, &amd64), b"layer for arm64");
    image.refused_at(&[
        "primary directory blobs/sha256",
        "primary directory images/server/1.0.0",
        "Joliet directory blobs/sha256",
        "Joliet directory images/server/1.0.0",
    ]);
}

#[test]
fn swapped_data_of_equal_sizes_is_refused() {
    let mut image = Image::good();
    let paths = layers().map(|digest| format!("blobs/sha256/{}", digest.hex()));
    let [a, b] = [0, 1].map(|at| image.extent(image.record(Tree::Primary, &paths[at]).start));
    assert_eq!(a.len(), b.len());
    image.swap(a.start, b.start, a.len());
    let found = image.refused_with(&crate::subject::options());
    let mut damaged: Vec<&str> = found.iter().map(|(_, place, _)| place.as_str()).collect();
    damaged.sort_unstable();
    let mut expected: Vec<&str> = paths.iter().map(String::as_str).collect();
    expected.sort_unstable();
    assert_eq!(damaged, expected);
    assert!(
        found
            .iter()
            .all(|(id, _, message)| id == "integrity.damaged"
                && message.ends_with("signed: damaged or altered"))
    );
}

/// The signed bytes remain in the image, but no record points to them.
#[test]
fn a_relocated_file_is_refused() {
    let mut image = Image::good();
    let (tail, text) = (image.tail(), b"run this as root");
    image.put(tail, text);
    for tree in Tree::BOTH {
        let record = image.record(tree, README).start;
        image.put_both32(record + LOCATION, tail / 2048);
        image.put_both32(record + LENGTH, text.len());
    }
    for seen in [image.seen().unwrap(), image.seen_by_joliet()] {
        assert_eq!(image.file(&seen, README), text);
    }
    image.refused_at(&[
        "primary root directory",
        "Joliet root directory",
        "zeros at the end",
    ]);
}

/// RRIP 4.1.5: a file that represents a directory elsewhere.
#[test]
fn a_relocated_directory_is_refused() {
    let mut image = Image::good();
    let elsewhere = image.directory(Tree::Primary, "images");
    let record = image.record(Tree::Primary, "operator");
    let px = image.entry(&record, *b"PX").unwrap();
    let mut child = b"CL\x0c\x01".to_vec();
    child.extend(crate::image::both32(elsewhere.start / 2048));
    child.extend([b'P', b'D', 32, 1]);
    child.resize(px.len(), 0);
    image.put(px.start, &child);
    image.bytes[record.start + FLAGS] = 0;
    // A directory may only have one location, so it is removed from the other one.
    let record = image.record(Tree::Primary, "images");
    let px = image.entry(&record, *b"PX").unwrap();
    image.put(px.start, b"RE\x04\x01PD\x28\x01");
    let seen = image.seen().unwrap();
    let paths: Vec<&str> = seen
        .entries
        .iter()
        .map(|entry| entry.path.as_str())
        .collect();
    assert!(paths.contains(&"operator/server/1.0.0/manifest.json"));
    assert!(!paths.contains(&ROLE) && !paths.contains(&"images"));
    image.refused_at(&["primary root directory"]);
}

/// A file of two sections: the signed one, and an additional one.
#[test]
fn a_multi_extent_flag_is_refused() {
    let mut image = Image::good();
    let (tail, text) = (image.tail(), b"and more");
    image.put(tail, text);
    for tree in Tree::BOTH {
        let record = image.record(tree, ROLE);
        let mut second = image.bytes[record.clone()].to_vec();
        image.bytes[record.start + FLAGS] |= 0x80;
        let place = crate::image::both32(tail / 2048);
        second[LOCATION..LOCATION + 8].copy_from_slice(&place);
        second[LENGTH..LENGTH + 8].copy_from_slice(&crate::image::both32(text.len()));
        let directory = image.directory(tree, "operator/deploy");
        image.insert_record(directory, record.end, &second);
    }
    for seen in [image.seen().unwrap(), image.seen_by_joliet()] {
        let text = image.file(&seen, ROLE);
        assert!(text.starts_with(b"\napiVersion") && text.ends_with(b"and more"));
    }
    image.refused_at(&[
        "primary directory operator/deploy",
        "Joliet directory operator/deploy",
        "zeros at the end",
    ]);
}

#[test]
fn a_shorter_file_is_refused() {
    let mut image = Image::good();
    for tree in Tree::BOTH {
        let record = image.record(tree, ROLE).start;
        image.put_both32(record + LENGTH, 1);
    }
    let seen = image.seen().unwrap();
    assert_eq!(image.file(&seen, ROLE), b"\n");
    image.refused_at(&[
        "primary directory operator/deploy",
        "Joliet directory operator/deploy",
    ]);
}

//! Every kind of tampering that the format can detect, with the error that each produces.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that fails"
)]

mod common;

use std::fs;
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use archive::{
    CONTENTS_OFFSET, ListError, MANIFEST, OpenError, OpenedArchive, STATEMENT_OFFSET,
    UnsignedArchive, WriteError,
};
use common::{Place, digest, info, key};
use iso9660::{ImagePart, RegionBytes, TreeKind};
use progress::{Cancel, Watch};
use schemas::{Contents, ContentsEntry, Digest, Envelope, EnvelopeError, PayloadType, Statement};
use signing::{SecretKey, Trust, VerifyError};

/// A written archive.
fn written() -> Place {
    let place = Place::new();
    place.write();
    place
}

fn refused(place: &Place) -> OpenError {
    place.list().unwrap_err()
}

fn flip(path: &Path, offset: u64) {
    let file = fs::File::options()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 1], offset).unwrap();
}

/// Changes the signed statement and signs it again with the trusted key, as a careless or hostile publisher could.
fn resign(place: &Place, change: impl FnOnce(&mut Statement, &mut Vec<ContentsEntry>)) {
    let opened = OpenedArchive::open(&place.archive()).unwrap();
    let mut statement = Statement::from_slice(opened.envelope().payload()).unwrap();
    let mut entries = place.list().unwrap().contents().entries().to_vec();
    let before = statement.clone();
    change(&mut statement, &mut entries);
    let contents = Contents::new(entries).unwrap();
    let bytes = contents.to_bytes();
    // Fields that the change did not set are derived from the list.
    if statement.predicate.contents == before.predicate.contents {
        statement.predicate.contents = digest(&bytes);
    }
    if statement.predicate.contents_size == before.predicate.contents_size {
        statement.predicate.contents_size = bytes.len() as u64;
    }
    if statement.sha256sums == before.sha256sums {
        statement.sha256sums = digest(&contents.to_sha256sums(&digest(&bytes)));
    }
    let mut envelope = Envelope::new(statement.to_bytes()).unwrap();
    envelope
        .add(key().sign(PayloadType::Statement, envelope.payload()))
        .unwrap();
    let file = fs::File::options()
        .write(true)
        .open(place.archive())
        .unwrap();
    file.write_all_at(&envelope.to_bytes(), STATEMENT_OFFSET)
        .unwrap();
    file.write_all_at(&bytes, CONTENTS_OFFSET).unwrap();
}

#[test]
fn signing_the_same_again_changes_nothing() {
    let place = written();
    let before = fs::read(place.archive()).unwrap();
    resign(&place, |_, _| ());
    assert_eq!(fs::read(place.archive()).unwrap(), before);
}

#[test]
fn a_cut_off_archive_is_refused() {
    let place = written();
    let image = fs::read(place.archive()).unwrap();
    for len in [
        40_000,
        65_536,
        100_000,
        131_072,
        140_000,
        200_000,
        image.len() / 2,
        image.len() - 2048,
        image.len() - 1,
    ] {
        fs::write(place.archive(), &image[..len]).unwrap();
        let error = refused(&place);
        assert!(
            matches!(error, OpenError::Truncated { found, .. } if found == len as u64),
            "{len}: {error}"
        );
    }
    for len in [0, 2048, 32_768] {
        fs::write(place.archive(), &image[..len]).unwrap();
        let refusal = refused(&place);
        match len {
            0 => assert!(matches!(refusal, OpenError::Empty(_)), "{refusal}"),
            _ => assert!(matches!(refusal, OpenError::TooShort { .. }), "{refusal}"),
        }
    }
}

#[test]
fn bytes_behind_the_end_are_refused() {
    let place = written();
    let mut image = fs::read(place.archive()).unwrap();
    image.push(0);
    fs::write(place.archive(), &image).unwrap();
    assert!(matches!(refused(&place), OpenError::TooLong { .. }));
}

#[test]
fn what_is_no_archive_is_called_by_its_name() {
    let place = Place::new();
    let open = || OpenedArchive::open(&place.archive()).unwrap_err();
    assert!(matches!(open(), OpenError::Open(..)));
    fs::write(place.archive(), vec![7; 1 << 20]).unwrap();
    assert!(matches!(open(), OpenError::NotIso(_)));
    // An image that consists of a volume descriptor only, which claims `sectors`.
    let foreign = |len: usize, sectors: u32| {
        let mut image = vec![0; len];
        image[32_769..32_774].copy_from_slice(b"CD001");
        image[32_848..32_852].copy_from_slice(&sectors.to_le_bytes());
        fs::write(place.archive(), image).unwrap();
        open()
    };
    assert!(matches!(foreign(1 << 20, 512), OpenError::Foreign(_)));
    assert!(matches!(foreign(40 * 2048, 40), OpenError::Foreign(_)));
    assert!(matches!(foreign(1 << 20, 513), OpenError::Truncated { .. }));
    assert!(matches!(
        OpenedArchive::open(Path::new("/dev/null")).unwrap_err(),
        OpenError::NotAFile(_)
    ));
    let directory = || OpenedArchive::open(place.directory.path()).unwrap_err();
    assert!(matches!(directory(), OpenError::Directory(_)));
    for name in ["CONTENTS", "statement.dsse.json"] {
        fs::write(place.directory.path().join(name), "").unwrap();
    }
    assert!(matches!(directory(), OpenError::Unpacked { .. }));
}

#[test]
fn altered_data_is_found_when_it_is_read() {
    let place = written();
    let listed = place.list().unwrap();
    let extents = listed.plan().extents().to_vec();
    // The last byte of each content, except for the statement and CONTENTS.
    for extent in &extents[2..] {
        let offset = extent.offset + extent.size - 1;
        flip(&place.archive(), offset);
        let listed = place.list().unwrap();
        let damaged = listed
            .verify_data(NonZeroUsize::MIN, &Watch::silent(Cancel::never()))
            .unwrap();
        let path = listed.plan().path_of(extent);
        assert_eq!(damaged.len(), 1, "{path}");
        assert_eq!(damaged[0].path, path);
        assert_eq!(
            (damaged[0].offset, damaged[0].size),
            (extent.offset, extent.size)
        );
        assert_ne!(damaged[0].expected, damaged[0].found);
        let read = listed.read(path, 8 << 20);
        assert!(matches!(read, Err(OpenError::FileDigest { .. })), "{path}");
        flip(&place.archive(), offset);
    }
    assert!(extents.len() > 12, "{}", extents.len());
}

#[test]
fn swapped_data_is_found() {
    let place = written();
    let listed = place.list().unwrap();
    let crd = listed
        .plan()
        .extent_of("operator/deploy/crds/example_crd.yaml")
        .unwrap();
    let role = listed
        .plan()
        .extent_of("operator/deploy/role.yaml")
        .unwrap();
    let file = fs::File::options()
        .read(true)
        .write(true)
        .open(place.archive())
        .unwrap();
    let [mut a, mut b] = [vec![0; 11], vec![0; 11]];
    file.read_exact_at(&mut a, crd.offset).unwrap();
    file.read_exact_at(&mut b, role.offset).unwrap();
    file.write_all_at(&b, crd.offset).unwrap();
    file.write_all_at(&a, role.offset).unwrap();
    let damaged = place
        .list()
        .unwrap()
        .verify_data(NonZeroUsize::MIN, &Watch::silent(Cancel::never()))
        .unwrap();
    assert_eq!(damaged.len(), 2);
}

/// Flips the first, the middle and the last byte of each region.
#[test]
fn every_part_of_the_image_that_is_not_data_is_compared() {
    let place = written();
    let listed = place.list().unwrap();
    let mut regions = Vec::new();
    let visited: Result<(), ()> = listed.plan().visit_metadata(&mut |region| {
        let len = match region.bytes {
            RegionBytes::Bytes(bytes) => bytes.len() as u64,
            RegionBytes::Zeros(len) => len,
        };
        regions.push((region.offset, len, region.part.into_owned()));
        Ok(())
    });
    visited.unwrap();
    for (start, len, part) in &regions {
        for offset in [*start, start + len / 2, start + len - 1] {
            // The signature and the size in the volume descriptor are also used to recognise an archive.
            if (32_768..32_768 + 84).contains(&offset) {
                continue;
            }
            flip(&place.archive(), offset);
            let OpenError::Differences(differences) = refused(&place) else {
                panic!("{part} at {offset} was accepted");
            };
            assert_eq!(differences.0.len(), 1);
            assert_eq!(
                (differences.0[0].offset, &differences.0[0].part),
                (offset, part)
            );
            flip(&place.archive(), offset);
        }
    }
    let wanted: [fn(&ImagePart<'_>) -> bool; 9] = [
        |part| matches!(part, ImagePart::SystemArea),
        |part| matches!(part, ImagePart::Reserved),
        |part| matches!(part, ImagePart::Descriptor(TreeKind::Joliet)),
        |part| matches!(part, ImagePart::Padding { .. }),
        |part| matches!(part, ImagePart::Tail),
        |part| matches!(part, ImagePart::PathTable { tree, .. } if *tree == TreeKind::Primary),
        |part| matches!(part, ImagePart::PathTable { tree, .. } if *tree == TreeKind::Joliet),
        |part| matches!(part, ImagePart::Directory { tree, .. } if *tree == TreeKind::Primary),
        |part| matches!(part, ImagePart::Directory { tree, .. } if *tree == TreeKind::Joliet),
    ];
    for is_part in wanted {
        assert!(regions.iter().any(|(_, _, part)| is_part(part)));
    }
}

#[test]
fn the_envelope_has_one_spelling() {
    let place = written();
    let expect_envelope = |offset: u64| {
        flip(&place.archive(), offset);
        let error = refused(&place);
        assert!(
            matches!(error, OpenError::Envelope(..)),
            "{offset}: {error}"
        );
        flip(&place.archive(), offset);
    };
    // The envelope's first and last byte, and its padding.
    expect_envelope(STATEMENT_OFFSET);
    expect_envelope(STATEMENT_OFFSET + 60_000);
    expect_envelope(STATEMENT_OFFSET + 65_535);
    // With one space less, the line feed comes too early.
    let file = fs::File::options()
        .write(true)
        .open(place.archive())
        .unwrap();
    file.write_all_at(b"\n ", STATEMENT_OFFSET + 65_534)
        .unwrap();
    let error = refused(&place);
    assert!(
        matches!(&error, OpenError::Envelope(_, EnvelopeError::Spelling)),
        "{error}"
    );
}

#[test]
fn the_signature_is_over_every_byte_of_the_statement() {
    let place = written();
    let bytes = fs::read(place.archive()).unwrap();
    // The payload's base64 starts after `{"payload":"`; these replacements keep it valid base64.
    let start = usize::try_from(STATEMENT_OFFSET).unwrap() + 12;
    for index in [0, 100, 300] {
        let mut altered = bytes.clone();
        altered[start + index] = if altered[start + index] == b'A' {
            b'B'
        } else {
            b'A'
        };
        fs::write(place.archive(), &altered).unwrap();
        let error = refused(&place);
        let wrong = OpenError::Signature(VerifyError::Wrong(key().public().id()));
        assert_eq!(error.to_string(), wrong.to_string());
    }
}

#[test]
fn signatures_must_suffice() {
    let place = written();
    let opened = OpenedArchive::open(&place.archive()).unwrap();
    let other = SecretKey::generate().unwrap().public();
    let stranger = Trust::new(vec![other.clone()], None).unwrap();
    let too_few = opened.verify(&stranger).unwrap_err();
    assert!(matches!(
        &too_few,
        OpenError::Signature(VerifyError::TooFew { needed: 1, .. })
    ));
    let both = Trust::new(vec![key().public(), other], NonZeroUsize::new(2)).unwrap();
    let too_few = opened.verify(&both).unwrap_err();
    assert!(matches!(
        &too_few,
        OpenError::Signature(VerifyError::TooFew { needed: 2, .. })
    ));
}

#[test]
fn one_key_signs_once() {
    let place = Place::new();
    let unsigned = UnsignedArchive::new(info(), place.files()).unwrap();
    let twice = unsigned.sign(&[key(), key()]).unwrap_err();
    assert!(matches!(
        twice,
        WriteError::Sign(EnvelopeError::Repeated(_))
    ));
    let unsigned = UnsignedArchive::new(info(), place.files()).unwrap();
    assert!(matches!(unsigned.sign(&[]), Err(WriteError::NoKey)));
}

#[test]
fn what_must_be_understood_and_is_not_is_refused_by_name() {
    let place = Place::new();
    let requires = vec!["time-travel".parse().unwrap()];
    let demanding = archive::StatementInfo { requires, ..info() };
    place.write_with(demanding, place.files(), 1).unwrap();
    let error = refused(&place);
    assert!(matches!(&error, OpenError::Capability(name) if name.as_str() == "time-travel"));
    assert!(error.to_string().contains("`time-travel`"));
    place.write();
    resign(&place, |statement, _| statement.predicate.layout = 2);
    assert!(matches!(refused(&place), OpenError::Layout(_)));
    place.write();
    resign(&place, |statement, _| statement.predicate.optional.clear());
    let error = refused(&place);
    assert!(
        matches!(error, OpenError::List(ListError::TopLevel(path)) if path.as_str() == "extra/empty")
    );
}

#[test]
fn contents_is_what_was_signed() {
    let place = written();
    flip(&place.archive(), CONTENTS_OFFSET);
    assert!(matches!(refused(&place), OpenError::ContentsDigest { .. }));
    for size in [0, schemas::limits::CONTENTS_SIZE + 1, u64::MAX >> 11] {
        place.write();
        resign(&place, |statement, _| {
            statement.predicate.contents_size = size;
        });
        assert!(
            matches!(refused(&place), OpenError::ContentsSize(_)),
            "{size}"
        );
    }
    place.write();
    resign(&place, |statement, _| {
        statement.predicate.contents_size = 100 << 20;
    });
    assert!(matches!(refused(&place), OpenError::Truncated { .. }));
    place.write();
    resign(&place, |statement, _| {
        statement.predicate.contents_size -= 1;
    });
    assert!(matches!(refused(&place), OpenError::ContentsDigest { .. }));
    place.write();
    resign(&place, |statement, _| {
        statement.sha256sums = Digest::new([0; 32]);
    });
    assert!(matches!(refused(&place), OpenError::Sha256sums));
    place.write();
    resign(&place, |statement, _| {
        statement.predicate.volume.id = "OTHER".to_owned();
    });
    assert!(matches!(refused(&place), OpenError::VolumeNames { .. }));
}

#[test]
fn a_list_that_is_not_the_images_is_refused() {
    let differs = |change: fn(&mut Vec<ContentsEntry>)| {
        let place = written();
        resign(&place, |_, entries| change(entries));
        let error = refused(&place);
        assert!(
            matches!(
                error,
                OpenError::Differences(_) | OpenError::Truncated { .. }
            ),
            "{error}"
        );
    };
    // A file in the image that is not listed.
    differs(|entries| entries.retain(|entry| entry.path.as_str() != "README.txt"));
    // A listed file that is not in the image: once with the content of another file, once with its own.
    differs(|entries| {
        let copy = entries[0].clone();
        entries.push(ContentsEntry {
            path: "operator/copy".parse().unwrap(),
            ..copy
        });
    });
    differs(|entries| {
        let (path, digest) = ("operator/new".parse().unwrap(), Digest::new([9; 32]));
        entries.push(ContentsEntry {
            path,
            size: 10,
            digest,
        });
    });
    // A different name, and sizes that are wrong by one byte and by many.
    differs(|entries| entries[0].path = "operator/other".parse().unwrap());
    differs(|entries| find(entries, MANIFEST).size += 1);
    differs(|entries| find(entries, MANIFEST).size += 1 << 38);
    // Two files with the same digest but different sizes cannot be laid out.
    let place = written();
    resign(&place, |_, entries| {
        let manifest = find(entries, MANIFEST).clone();
        let readme = find(entries, "README.txt");
        readme.digest = manifest.digest;
    });
    assert!(matches!(refused(&place), OpenError::Plan(_)));
}

fn find<'a>(entries: &'a mut [ContentsEntry], path: &str) -> &'a mut ContentsEntry {
    let mut entries = entries.iter_mut();
    entries.find(|entry| entry.path.as_str() == path).unwrap()
}

#[test]
fn a_list_that_no_archive_has_is_refused() {
    let place = written();
    resign(&place, |_, entries| {
        entries.retain(|entry| entry.path.as_str() != MANIFEST);
    });
    assert!(matches!(
        refused(&place),
        OpenError::List(ListError::Missing(MANIFEST))
    ));
    for own in ["CONTENTS", "SHA256SUMS", "statement.dsse.json"] {
        place.write();
        resign(&place, |_, entries| entries[0].path = own.parse().unwrap());
        assert!(
            matches!(refused(&place), OpenError::List(ListError::Reserved(_))),
            "{own}"
        );
    }
    for (path, optional) in [("operator", ""), ("README.txt/x", "README.txt")] {
        place.write();
        resign(&place, |statement, entries| {
            let top = path.split('/').next().unwrap();
            entries.retain(|entry| entry.path.components().next() != Some(top));
            find(entries, "extra/empty").path = path.parse().unwrap();
            statement.predicate.optional.push(optional.to_owned());
        });
        let error = refused(&place);
        assert!(
            matches!(error, OpenError::List(ListError::TopLevelKind(_))),
            "{error}"
        );
    }
    place.write();
    resign(&place, |_, entries| {
        find(entries, "extra/empty").digest = Digest::new([1; 32]);
    });
    assert!(matches!(
        refused(&place),
        OpenError::List(ListError::EmptyDigest(_))
    ));
}

//! Tests that an archive reads back as it was written, that the number of threads does not change its bytes, and that a
//! failure leaves no file behind.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that fails"
)]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use archive::{
    ArchiveFile, CONTENTS, CONTENTS_OFFSET, Destination, FileSource, ListError, MANIFEST,
    OpenError, OpenedArchive, Overwrite, README, SHA256SUMS, STATEMENT, STATEMENT_OFFSET,
    SignableArchive, SigningSubject, UnsignedArchive, WriteError, detached_path, read_detached,
};
use common::{Place, digest, id, images, info, key, trust};
use progress::{Cancel, Progress, Watch};
use schemas::{Digest, Envelope, PAYLOAD_TYPE, PayloadType};
use signing::{PublicKey, SecretKey, Trust};

const TWO: NonZeroUsize = NonZeroUsize::new(2).unwrap();

#[test]
fn an_archive_is_read_as_it_was_written() {
    let place = Place::new();
    let written = place.write();
    let listed = place.list().unwrap();
    assert_eq!(listed.archive_id(), written.archive_id);
    assert_eq!(listed.image_size(), written.size);
    assert_eq!(listed.bytes_behind(), 0);
    assert_eq!(listed.statement().predicate.id, id());
    assert_eq!(listed.signers().unwrap().trusted, [key().public().id()]);
    for file in place.files() {
        let bytes = listed.read(file.path.as_str(), 4 << 20).unwrap();
        assert_eq!(digest(&bytes), file.digest, "{}", file.path);
    }
    let sums = listed
        .contents()
        .to_sha256sums(&listed.statement().predicate.contents);
    assert_eq!(listed.read(SHA256SUMS, 1 << 20).unwrap(), sums);
    assert_eq!(place.left_behind(), ["example-1.0.0.iso"]);
}

#[test]
fn files_are_read_within_limits() {
    let place = Place::new();
    place.write();
    let listed = place.list().unwrap();
    let too_large = listed.read(MANIFEST, 14);
    assert!(matches!(
        too_large,
        Err(OpenError::FileSize {
            size: 15,
            limit: 14,
            ..
        })
    ));
    let missing = listed.read("nowhere", 14);
    assert!(matches!(missing, Err(OpenError::NoSuchFile(_))));
}

#[test]
fn blobs_are_read_in_pieces_and_no_further() {
    let place = Place::new();
    place.write();
    let listed = place.list().unwrap();
    for bytes in images().1 {
        let blob = listed.blob(&digest(&bytes)).unwrap();
        assert_eq!(blob.size(), bytes.len() as u64);
        let mut found = vec![0; bytes.len()];
        let (first, second) = found.split_at_mut(bytes.len() / 3);
        blob.read_exact_at(first, 0).unwrap();
        blob.read_exact_at(second, first.len() as u64).unwrap();
        assert_eq!(found, bytes);
        assert!(blob.read_exact_at(&mut [0; 2], blob.size() - 1).is_err());
        assert!(blob.read_exact_at(&mut [0], u64::MAX).is_err());
    }
    assert!(listed.blob(&digest(b"something else")).is_none());
}

#[test]
fn one_content_lies_once() {
    let place = Place::new();
    let written = place.write();
    let listed = place.list().unwrap();
    let listed_bytes: u64 = listed
        .contents()
        .entries()
        .iter()
        .map(|entry| entry.size)
        .sum();
    let extents = listed.plan().extents().iter();
    let data_bytes: u64 = extents.map(|extent| extent.size).sum();
    assert!(listed_bytes > 2 * data_bytes);
    assert!(written.size < data_bytes + (2 << 20));
    let statement = listed.plan().extent_of(STATEMENT).unwrap();
    let contents = listed.plan().extent_of(CONTENTS).unwrap();
    assert_eq!(
        (statement.offset, statement.size),
        (STATEMENT_OFFSET, 65_536)
    );
    assert_eq!(contents.offset, CONTENTS_OFFSET);
}

#[test]
fn all_data_is_verified_once_and_progress_reaches_its_end() {
    let place = Place::new();
    place.write();
    let listed = place.list().unwrap();
    let (most, totals) = (AtomicU64::new(0), Mutex::new(BTreeSet::new()));
    let tell = |Progress { done, total }| {
        most.fetch_max(done, Ordering::Relaxed);
        totals.lock().unwrap().insert(total);
    };
    let watch = Watch {
        tell: &tell,
        cancel: Cancel::never(),
    };
    let damaged = listed.verify_data(TWO, &watch).unwrap();
    assert_eq!(damaged, []);
    let extents = listed.plan().extents().iter();
    let all: u64 = extents.skip(1).map(|extent| extent.size).sum();
    assert_eq!(most.into_inner(), all);
    assert_eq!(totals.into_inner().unwrap(), BTreeSet::from([all]));
    let cancelled = AtomicBool::new(true);
    let stopped = listed.verify_data(TWO, &Watch::silent(Cancel::from_flag(&cancelled)));
    assert!(matches!(stopped, Err(OpenError::Interrupted(_))));
}

/// Archives must be identical on every machine and in every version: publishers publish their ids, and sites compare
/// them. A failure means that the format has changed. `README.txt` is replaced here, because its text may improve.
#[test]
fn the_bytes_are_those_of_format_1() {
    for threads in [1, 2, 7] {
        let place = Place::new();
        let mut files = place.files();
        files.retain(|file| file.path.as_str() != README);
        files.push(ArchiveFile::from_bytes(
            README.parse().unwrap(),
            b"read me\n".to_vec(),
        ));
        if threads == 7 {
            files.reverse();
        }
        let written = place.write_with(info(), files, threads).unwrap();
        let image = fs::read(place.archive()).unwrap();
        assert_eq!(image.len() as u64, written.size);
        let found = [written.archive_id.hex(), digest(&image).hex()];
        let expected = [
            "6a3103922957c033cf593b1a7db961431fd1338183e0bcd06830ef6a964e8c2d",
            "dcf2484f93c5945d50c56eaa646a72d72dd0081ccfdef51eeca36b11642e6e95",
        ];
        assert_eq!(found, expected, "{threads} threads");
    }
}

#[test]
fn others_may_read_an_archive() {
    let place = Place::new();
    place.write();
    let mode = fs::metadata(place.archive()).unwrap().permissions().mode();
    let plain = place.directory.path().join("plain");
    fs::write(&plain, "").unwrap();
    assert_eq!(mode, fs::metadata(plain).unwrap().permissions().mode());
}

#[test]
fn an_existing_file_is_replaced_only_when_told() {
    let place = Place::new();
    fs::write(place.archive(), "precious").unwrap();
    let write = |overwrite| {
        let signed = UnsignedArchive::new(info(), place.files())
            .unwrap()
            .leave_unsigned();
        let watch = Watch::silent(Cancel::never());
        let draft = signed.write(&place.archive(), overwrite, TWO, &watch)?;
        draft.publish(watch.cancel)
    };
    assert!(matches!(
        write(Overwrite::Refuse),
        Err(WriteError::Exists(_))
    ));
    assert_eq!(fs::read(place.archive()).unwrap(), b"precious");
    write(Overwrite::Replace).unwrap();
    let opened = OpenedArchive::open(&place.archive()).unwrap();
    let unsigned = opened.verify(&trust());
    assert!(matches!(
        unsigned,
        Err(OpenError::Signature(signing::VerifyError::Unsigned))
    ));
    let listed = opened.skip_signature().unwrap().list().unwrap();
    assert!(listed.signers().is_none());
}

#[test]
fn failures_leave_nothing_behind() {
    let place = Place::new();
    let blob = |files: &mut Vec<ArchiveFile>| {
        let is_file = |file: &&mut ArchiveFile| matches!(file.source, FileSource::File { .. });
        let file = files.iter_mut().find(is_file).unwrap();
        let FileSource::File { path, .. } = &file.source else {
            unreachable!("only files were looked for")
        };
        (path.clone(), file.path.to_string())
    };
    let mut files = place.files();
    let (source, path) = blob(&mut files);
    let good = fs::read(&source).unwrap();
    let attempt = |bytes: &[u8]| {
        fs::write(&source, bytes).unwrap();
        let refused = place.write_with(info(), files.clone(), 2).unwrap_err();
        assert_eq!(place.left_behind(), [""; 0]);
        refused
    };
    let mut flipped = good.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let changed = attempt(&flipped);
    assert!(matches!(&changed, WriteError::Changed { path: found, .. } if *found == path));
    let short = attempt(&good[..good.len() - 1]);
    assert!(matches!(&short, WriteError::Source { file, .. } if *file == source));
    fs::remove_file(&source).unwrap();
    let missing = place.write_with(info(), files.clone(), 2).unwrap_err();
    assert!(matches!(missing, WriteError::Source { .. }));
    assert_eq!(place.left_behind(), [""; 0]);
}

#[test]
fn what_is_not_there_yet_is_laid_out_and_not_written() {
    let place = Place::new();
    let planned = |files| {
        UnsignedArchive::new(info(), files)
            .unwrap()
            .leave_unsigned()
    };
    let mut files = place.files();
    for file in &mut files {
        if matches!(file.source, FileSource::File { .. }) {
            let (path, offset) = (place.archive().with_file_name("later"), 0);
            file.source = FileSource::File { path, offset };
        }
    }
    let size = planned(place.files()).image_size();
    assert_eq!(planned(files.clone()).image_size(), size);
    let outline = planned(files.clone()).outline(&place.archive(), &BTreeSet::new());
    OpenedArchive::read(outline.unwrap()).unwrap();
    let refused = place.write_with(info(), files, 2).unwrap_err();
    assert!(matches!(refused, WriteError::Source { .. }), "{refused}");
    assert_eq!(place.left_behind(), [""; 0]);
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    let place = Place::new();
    let signed = UnsignedArchive::new(info(), place.files())
        .unwrap()
        .leave_unsigned();
    let cancel = AtomicBool::new(false);
    // The interrupt arrives when a part is written.
    let watch = Watch {
        tell: &|_| cancel.store(true, Ordering::Relaxed),
        cancel: Cancel::from_flag(&cancel),
    };
    let one = NonZeroUsize::MIN;
    let stopped = signed.write(&place.archive(), Overwrite::Refuse, one, &watch);
    assert!(matches!(stopped, Err(WriteError::Interrupted(_))));
    assert_eq!(place.left_behind(), [""; 0]);
    // The interrupt arrives when everything but the rename is done.
    let signed = UnsignedArchive::new(info(), place.files())
        .unwrap()
        .leave_unsigned();
    let draft = signed.write(
        &place.archive(),
        Overwrite::Refuse,
        one,
        &Watch::silent(Cancel::never()),
    );
    let draft = draft.unwrap();
    assert_eq!(
        OpenedArchive::read(draft.medium().unwrap())
            .unwrap()
            .envelope()
            .signatures()
            .len(),
        0
    );
    let stopped = draft.publish(watch.cancel);
    assert!(matches!(stopped, Err(WriteError::Interrupted(_))));
    assert_eq!(place.left_behind(), [""; 0]);
}

#[test]
fn files_that_an_archive_cannot_have_are_refused() {
    let place = Place::new();
    let with = |path: &str| {
        let mut files = place.files();
        files.push(ArchiveFile::from_bytes(path.parse().unwrap(), vec![1]));
        UnsignedArchive::new(info(), files).unwrap_err()
    };
    for path in [STATEMENT, CONTENTS, SHA256SUMS] {
        assert!(matches!(
            with(path),
            WriteError::List(ListError::Reserved(_))
        ));
    }
    assert!(matches!(
        with("elsewhere/file"),
        WriteError::List(ListError::TopLevel(_))
    ));
    for path in [
        "operator",
        "images",
        "blobs",
        "README.txt/x",
        "index.json/x",
    ] {
        assert!(
            matches!(with(path), WriteError::List(ListError::TopLevelKind(_))),
            "{path}"
        );
    }
    let mut files = place.files();
    let mut empty = ArchiveFile::from_bytes("images/a/1/x".parse().unwrap(), vec![]);
    empty.digest = schemas::Digest::new([1; 32]);
    files.push(empty);
    let empty = UnsignedArchive::new(info(), files).unwrap_err();
    assert!(matches!(empty, WriteError::List(ListError::EmptyDigest(_))));
    assert!(matches!(with(MANIFEST), WriteError::Contents(_)));
    assert!(matches!(with("operator/Deploy"), WriteError::Plan(_)));
    let missing = UnsignedArchive::new(info(), vec![]).unwrap_err();
    assert!(matches!(
        missing,
        WriteError::List(ListError::Missing(MANIFEST))
    ));
}

fn add_signature(archive: &Path, key: &SecretKey) -> Result<Digest, OpenError> {
    let mut signable = SignableArchive::open(archive, Destination::Inside)?;
    signable.sign(key)?;
    signable.write()?;
    Ok(signable.archive_id())
}

fn attach_signature(archive: &Path, key: &PublicKey, bytes: Vec<u8>) -> Result<(), OpenError> {
    let mut signable = SignableArchive::open(archive, Destination::Inside)?;
    signable.attach(key, bytes)?;
    signable.write()
}

#[test]
fn a_counter_signature_changes_the_envelope_only() {
    let place = Place::new();
    let written = place.write();
    let before = fs::read(place.archive()).unwrap();
    let [second, third] = [(); 2].map(|()| SecretKey::generate().unwrap());
    assert_eq!(
        add_signature(&place.archive(), &second).unwrap(),
        written.archive_id
    );
    let after = fs::read(place.archive()).unwrap();
    assert_eq!(before[..65_536], after[..65_536]);
    assert_ne!(before[65_536..131_072], after[65_536..131_072]);
    assert_eq!(before[131_072..], after[131_072..]);
    let keys = vec![key().public(), second.public()];
    let both = Trust::new(keys, Some(TWO)).unwrap();
    let opened = OpenedArchive::open(&place.archive()).unwrap();
    assert_eq!(
        opened
            .verify(&both)
            .unwrap()
            .signers()
            .unwrap()
            .trusted
            .len(),
        2
    );
    let again = add_signature(&place.archive(), &second).unwrap_err();
    assert!(matches!(
        again,
        OpenError::Sign(schemas::EnvelopeError::Repeated(_))
    ));
    // A signature made elsewhere is verified before it is added.
    let good = third
        .sign(PayloadType::Statement, opened.envelope().payload())
        .bytes;
    let other = third.sign(PayloadType::Statement, b"something else").bytes;
    let wrong = attach_signature(&place.archive(), &third.public(), other);
    assert!(matches!(wrong, Err(OpenError::WrongSignature)));
    assert_eq!(fs::read(place.archive()).unwrap(), after);
    attach_signature(&place.archive(), &third.public(), good).unwrap();
    assert_eq!(
        OpenedArchive::open(&place.archive())
            .unwrap()
            .envelope()
            .signatures()
            .len(),
        3
    );
}

#[test]
fn only_one_signs_at_a_time() {
    let place = Place::new();
    place.write();
    let first = SignableArchive::open(&place.archive(), Destination::Inside).unwrap();
    for target in [
        Destination::Inside,
        Destination::Beside,
        Destination::Nowhere,
    ] {
        let second = SignableArchive::open(&place.archive(), target).unwrap_err();
        assert!(matches!(second, OpenError::Locked(_)), "{second}");
    }
    drop(first);
    SignableArchive::open(&place.archive(), Destination::Inside).unwrap();
}

#[test]
fn signatures_beside_an_archive_leave_it_as_it_is() {
    let place = Place::new();
    let written = place.write();
    let before = fs::read(place.archive()).unwrap();
    let [second, third] = [(); 2].map(|()| SecretKey::generate().unwrap());
    assert!(read_detached(&place.archive()).unwrap().is_none());
    let sign = |key: &SecretKey| {
        let mut signable = SignableArchive::open(&place.archive(), Destination::Beside)?;
        signable.sign(key)?;
        signable.write()
    };
    sign(&second).unwrap();
    sign(&third).unwrap();
    assert!(
        fs::read(place.archive()).unwrap() == before,
        "it was written to"
    );
    let beside = read_detached(&place.archive()).unwrap().unwrap();
    assert_eq!(beside.signatures().len(), 2);
    // A key that signed in either place is refused in both.
    for key in [&key(), &second] {
        let again = sign(key).unwrap_err();
        assert!(matches!(
            again,
            OpenError::Sign(schemas::EnvelopeError::Repeated(_))
        ));
    }
    assert_eq!(read_detached(&place.archive()).unwrap(), Some(beside));
    // A file that is not an envelope is not overwritten; the error names it.
    let path = detached_path(&place.archive());
    for damaged in [&b"{}"[..], &before[..65_536]] {
        fs::write(&path, damaged).unwrap();
        let refused = sign(&second).unwrap_err();
        assert!(refused.to_string().contains(".dsse.json"), "{refused}");
        assert!(matches!(refused, OpenError::Detached(..)));
        assert_eq!(fs::read(&path).unwrap(), damaged);
    }
    // An envelope for another archive is not overwritten either.
    let other = Envelope::new(b"another".to_vec()).unwrap().to_bytes();
    fs::write(&path, &other).unwrap();
    assert!(matches!(sign(&second), Err(OpenError::OtherPayload)));
    assert_eq!(fs::read(&path).unwrap(), other);
    assert_eq!(
        SignableArchive::open(&place.archive(), Destination::Nowhere)
            .unwrap()
            .archive_id(),
        written.archive_id
    );
}

#[test]
fn a_statement_alone_is_signed() {
    let place = Place::new();
    let written = place.write();
    let bytes = fs::read(place.archive()).unwrap();
    let alone = place.archive().with_file_name("statement.dsse.json");
    fs::write(&alone, &bytes[65_536..131_072]).unwrap();
    let second = SecretKey::generate().unwrap();
    let mut signable = SignableArchive::open(&alone, Destination::Inside).unwrap();
    assert_eq!(signable.subject(), SigningSubject::Statement);
    assert_eq!(signable.archive_id(), written.archive_id);
    signable.sign(&second).unwrap();
    signable.write().unwrap();
    drop(signable);
    let signed = Envelope::from_slice(&fs::read(&alone).unwrap()).unwrap();
    assert_eq!(signed.signatures().len(), 2);
    // A statement alone cannot have a detached envelope, and it must be valid.
    let beside = SignableArchive::open(&alone, Destination::Beside).unwrap_err();
    assert!(matches!(beside, OpenError::StatementAlone(_)));
    let other = Envelope::new(b"no statement".to_vec()).unwrap();
    fs::write(&alone, other.to_bytes()).unwrap();
    let refused = SignableArchive::open(&alone, Destination::Inside).unwrap_err();
    assert!(matches!(refused, OpenError::Statement(_)), "{refused}");
}

#[test]
fn signatures_beside_the_archive_count_for_the_same_statement_only() {
    let place = Place::new();
    place.write();
    let second = SecretKey::generate().unwrap();
    let mut opened = OpenedArchive::open(&place.archive()).unwrap();
    let mut beside = Envelope::new(opened.envelope().payload().to_vec()).unwrap();
    beside
        .add(key().sign(PayloadType::Statement, beside.payload()))
        .unwrap();
    beside
        .add(second.sign(PayloadType::Statement, beside.payload()))
        .unwrap();
    opened.attach(&beside).unwrap();
    let keys = vec![key().public(), second.public()];
    opened
        .verify(&Trust::new(keys, Some(TWO)).unwrap())
        .unwrap();
    let other = Envelope::new(format!("{PAYLOAD_TYPE} of another").into_bytes()).unwrap();
    assert!(matches!(
        opened.attach(&other),
        Err(OpenError::OtherPayload)
    ));
}

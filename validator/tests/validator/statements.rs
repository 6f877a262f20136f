//! Statements that require a trusted key to sign, and that `solution pack` never creates.

use archive::CONTENTS_OFFSET;
use schemas::{Contents, ContentsEntry, Envelope, PayloadType, Statement};

use crate::archives::{Archive, key};
use crate::source::{Source, sha256};

/// A name, an archive, and the expected finding ids in order.
pub(crate) type Case = (&'static str, fn() -> Archive, &'static [&'static str]);

pub(crate) const CASES: &[Case] = &[
    (
        "something else is signed",
        || resign(b"{}".to_vec()),
        &["signature.statement"],
    ),
    (
        "duplicate key in the statement",
        || {
            let text = String::from_utf8(good().envelope().payload().to_vec()).unwrap();
            resign(
                text.replacen("\"layout\":1", "\"layout\":1,\"layout\":1", 1)
                    .into_bytes(),
            )
        },
        &["signature.statement"],
    ),
    (
        "unknown layout",
        || restate(|statement| statement.predicate.layout = 2),
        &["container.layout"],
    ),
    (
        "unknown capability",
        || {
            restate(|statement| {
                statement.predicate.requires = vec!["charts".parse().unwrap()];
            })
        },
        &["container.layout"],
    ),
    (
        "other volume names",
        || restate(|statement| statement.predicate.volume.id.push('X')),
        &["container.list"],
    ),
    (
        "undeclared directory",
        || {
            let mut source = Source::good();
            source.put("extra/page.html", "x");
            source.optional = vec!["extra".to_owned()];
            let archive = Archive::signed(&source);
            let statement = Statement::from_slice(archive.envelope().payload()).unwrap();
            sign(
                archive,
                Statement {
                    predicate: schemas::Predicate {
                        optional: vec![],
                        ..statement.predicate
                    },
                    ..statement
                }
                .to_bytes(),
            )
        },
        &["container.undeclared"],
    ),
    (
        "file in the place of a directory",
        || {
            relist(|list| {
                list.retain(|entry| !entry.path.as_str().starts_with("operator/"));
                list[0].path = "operator".parse().unwrap();
            })
        },
        &["container.undeclared"],
    ),
    (
        "list without manifest",
        || relist(|list| list.retain(|entry| entry.path.as_str() != "manifest.yaml")),
        &["manifest.missing"],
    ),
    (
        "names that differ in case",
        || {
            relist(|list| {
                let mut entry = list[0].clone();
                entry.path = "operator/deploy/ROLE.yaml".parse().unwrap();
                list.push(entry);
            })
        },
        &["container.list"],
    ),
    (
        "sizes that differ for one content",
        || {
            relist(|list| {
                let entry = list
                    .iter_mut()
                    .find(|entry| entry.path.as_str().starts_with("blobs/"))
                    .unwrap();
                entry.size += 1;
            })
        },
        &["container.list"],
    ),
    (
        "file that is not on the medium",
        || {
            relist(|list| {
                let mut entry = list[0].clone();
                entry.path = "operator/deploy/crds/more_crd.yaml".parse().unwrap();
                list.push(entry);
            })
        },
        &["container.metadata"; 4],
    ),
];

fn good() -> Archive {
    Archive::signed(&Source::good())
}

/// Replaces the payload of the good archive and signs it with the trusted key.
fn resign(payload: Vec<u8>) -> Archive {
    sign(good(), payload)
}

fn sign(archive: Archive, payload: Vec<u8>) -> Archive {
    let signature = key().sign(PayloadType::Statement, &payload);
    let mut envelope = Envelope::new(payload).unwrap();
    envelope.add(signature).unwrap();
    archive.put_envelope(&envelope)
}

fn restate(change: impl FnOnce(&mut Statement)) -> Archive {
    let archive = good();
    let mut statement = Statement::from_slice(archive.envelope().payload()).unwrap();
    change(&mut statement);
    sign(archive, statement.to_bytes())
}

/// Replaces the list of the good archive, and signs a statement about the new list.
fn relist(change: impl FnOnce(&mut Vec<ContentsEntry>)) -> Archive {
    let archive = good();
    let mut statement = Statement::from_slice(archive.envelope().payload()).unwrap();
    let offset = usize::try_from(CONTENTS_OFFSET).unwrap();
    let size = usize::try_from(statement.predicate.contents_size).unwrap();
    let bytes = &archive.bytes()[offset..offset + size];
    let mut entries = Contents::from_slice(bytes).unwrap().entries().to_vec();
    change(&mut entries);
    let list = Contents::new(entries).unwrap();
    let contents = list.to_bytes();
    statement.predicate.contents = sha256(&contents);
    statement.predicate.contents_size = contents.len() as u64;
    statement.sha256sums = sha256(&list.to_sha256sums(&statement.predicate.contents));
    sign(archive.put(offset, &contents), statement.to_bytes())
}

//! The data order of layout 1: [`plan`] lays out the image from the signed list alone. Writer and reader both use it,
//! so that they compute the same image (docs/reference/format.md).

use std::cmp::Reverse;
use std::sync::Arc;

use iso9660::{ContentId, ImagePlan, Input, InputFile, Layout, PlanError, Timestamp, Volume};
use schemas::{Contents, ContentsEntry, Digest, StatementTime, VolumeNames, limits};

use crate::layout::{CONTENTS, MANIFEST, SHA256SUMS, STATEMENT, is_blob};

/// The size and digest of an archive's own file, one that is not in the list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnlistedFile {
    pub(crate) size: u64,
    pub(crate) digest: Digest,
}

/// Lays out the image: the statement and CONTENTS first, then SHA256SUMS, manifest.yaml, other files that are not blobs
/// sorted by path, and the blobs by descending size, with ties sorted by digest.
pub(crate) fn plan(
    layout: Layout,
    volume: &VolumeNames,
    time: StatementTime,
    list: &Contents,
    [contents, sums]: [UnlistedFile; 2],
) -> Result<ImagePlan, PlanError> {
    let seconds = u64::try_from(time.unix()).expect("times of statements begin at 1980");
    let volume = Volume {
        id: volume.id.clone(),
        set_id: volume.set_id.clone(),
        time: Timestamp::from_unix_seconds(seconds)
            .expect("statements and images have the same range of times"),
    };
    // The statement has no content id: it changes with every signature, so no other file may share its extent.
    let statement = InputFile {
        path: STATEMENT.into(),
        size: limits::ENVELOPE_SIZE as u64,
        content: None,
    };
    let own = |path: &str, own: UnlistedFile| file(path.into(), own.size, &own.digest);
    let mut body = vec![own(SHA256SUMS, sums)];
    body.extend(sorted(list).map(|entry| file(entry.path.shared(), entry.size, &entry.digest)));
    let head = vec![statement, own(CONTENTS, contents)];
    iso9660::plan(layout, Input { volume, head, body })
}

fn sorted(list: &Contents) -> impl Iterator<Item = &ContentsEntry> {
    let (mut blobs, mut files): (Vec<_>, Vec<_>) = list
        .entries()
        .iter()
        .partition(|entry| is_blob(entry.path.as_str()));
    // The list is sorted by path and both sorts are stable, so equal keys stay sorted by path.
    files.sort_by_key(|entry| entry.path.as_str() != MANIFEST);
    blobs.sort_by_key(|entry| (Reverse(entry.size), entry.digest));
    files.into_iter().chain(blobs)
}

fn file(path: Arc<str>, size: u64, digest: &Digest) -> InputFile {
    InputFile {
        path,
        size,
        content: Some(ContentId(*digest.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_come_last_and_the_largest_first() {
        let entry = |path: &str, size, byte| ContentsEntry {
            path: path.parse().unwrap(),
            size,
            digest: Digest::new([byte; 32]),
        };
        let hex = |byte: &str| byte.repeat(32);
        let list = Contents::new(vec![
            entry("README.txt", 3, 1),
            entry("zzz", 3, 2),
            entry("manifest.yaml", 3, 3),
            entry(&format!("blobs/sha256/{}", hex("04")), 10, 4),
            entry(&format!("blobs/sha256/{}", hex("05")), 20, 5),
            entry(&format!("blobs/sha256/{}", hex("03")), 10, 3),
            entry(&format!("images/a/1/{}", hex("05")), 20, 5),
            entry(&format!("images/a/1/{}", hex("02")), 10, 2),
            entry("images/a/1/version", 1, 9),
        ])
        .unwrap();
        let order: Vec<&str> = sorted(&list).map(|entry| entry.path.as_str()).collect();
        assert_eq!(
            order,
            [
                "manifest.yaml",
                "README.txt",
                "images/a/1/version",
                "zzz",
                &format!("blobs/sha256/{}", hex("05")),
                &format!("images/a/1/{}", hex("05")),
                &format!("images/a/1/{}", hex("02")),
                &format!("blobs/sha256/{}", hex("03")),
                &format!("blobs/sha256/{}", hex("04")),
            ]
        );
    }
}

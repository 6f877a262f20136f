//! The archive of a chart's directory. The same files give the same bytes: sorted, with one mode and no times, by a pinned
//! encoder.

use std::collections::BTreeMap;

use crate::archive::is_plain;
use crate::error::{ArchiveProblem, ChartError, ChartProblem};
use crate::ignore::IgnoreRules;
use crate::metadata::ChartMetadata;

/// The effort of the encoder, and so a part of what decides the bytes.
const GZIP_LEVEL: u8 = 6;

/// The archive of the files of a chart's directory, by their paths below it. What `.helmignore` names is left out.
pub fn package(files: &BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>, ChartError> {
    let metadata = files.get("Chart.yaml").ok_or(ChartProblem::NoMetadata)?;
    let name = ChartMetadata::read(metadata)?.value.name;
    let ignored = IgnoreRules::new(files.get(".helmignore").map_or(&[][..], Vec::as_slice))?;
    let mut tar = Vec::new();
    for (path, bytes) in files {
        if !ignored.has(path) {
            append(&mut tar, &format!("{name}/{path}"), bytes)?;
        }
    }
    tar.resize(tar.len() + 1024, 0);
    Ok(gzip(&tar))
}

fn append(tar: &mut Vec<u8>, path: &str, bytes: &[u8]) -> Result<(), ChartProblem> {
    let refuse = || ArchiveProblem::Path(path.to_owned());
    let (prefix, name) = if is_plain(path) { split(path) } else { None }.ok_or_else(refuse)?;
    let mut header = [0; 512];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{:011o}\0", bytes.len()).as_bytes());
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    put(345, prefix.as_bytes());
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    tar.extend_from_slice(&header);
    tar.extend_from_slice(bytes);
    tar.resize(tar.len().next_multiple_of(512), 0);
    Ok(())
}

/// A path as a header holds it, without extensions: at most 155 bytes, a slash, and at most 100.
fn split(path: &str) -> Option<(&str, &str)> {
    if path.len() <= 100 {
        return Some(("", path));
    }
    let fits = |at: usize| at <= 155 && path.len() - at - 1 <= 100;
    let mut slashes = path.match_indices('/').map(|(at, _)| at);
    let at = slashes.find(|at| fits(*at))?;
    Some((&path[..at], &path[at + 1..]))
}

/// One member without name and time.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut member = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    member.extend(miniz_oxide::deflate::compress_to_vec(bytes, GZIP_LEVEL));
    member.extend(crc32fast::hash(bytes).to_le_bytes());
    // The field holds the size modulo 2^32 (RFC 1952, 2.3.1).
    let size = bytes.len() as u64 % (1 << 32);
    member.extend(u32::try_from(size).unwrap_or_default().to_le_bytes());
    member
}

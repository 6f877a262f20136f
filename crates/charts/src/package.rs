//! Packaging of a chart's directory into an archive. The same files give the same bytes: entries are sorted, have one
//! mode and no times, and the version of the encoder is pinned.

use std::collections::BTreeMap;

use crate::archive::is_plain;
use crate::error::{ArchiveProblem, ChartError, ChartProblem};
use crate::ignore::IgnoreRules;
use crate::metadata::ChartMetadata;

/// The compression level, which influences the resulting bytes.
const GZIP_LEVEL: u8 = 6;

/// Packages the files of a chart's directory, given by their relative paths. Files that `.helmignore` lists are left
/// out.
///
/// # Errors
///
/// Fails if `Chart.yaml` is missing or invalid, or if a path cannot be represented without extensions.
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
    // Two blocks of zeros are the end mark of a tar.
    tar.resize(tar.len() + 1024, 0);
    Ok(gzip(&tar))
}

fn append(tar: &mut Vec<u8>, path: &str, bytes: &[u8]) -> Result<(), ChartProblem> {
    let refuse = || ArchiveProblem::Path(path.to_owned());
    let (prefix, name) = if is_plain(path) { split(path) } else { None }.ok_or_else(refuse)?;
    let mut header = [0; 512];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    // The fields of a ustar header: name, mode, owner, group, size, time, checksum (spaces while it is computed), type,
    // magic, prefix.
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

/// Splits a path into the prefix (at most 155 bytes) and name (at most 100 bytes) of a header without extensions.
fn split(path: &str) -> Option<(&str, &str)> {
    if path.len() <= 100 {
        return Some(("", path));
    }
    let fits = |at: usize| at <= 155 && path.len() - at - 1 <= 100;
    let mut slashes = path.match_indices('/').map(|(at, _)| at);
    let at = slashes.find(|at| fits(*at))?;
    Some((&path[..at], &path[at + 1..]))
}

/// Compresses data into one gzip member without name and time.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    // Magic, deflate, no flags, no time, unknown operating system (RFC 1952, 2.3).
    let mut member = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    member.extend(miniz_oxide::deflate::compress_to_vec(bytes, GZIP_LEVEL));
    member.extend(crc32fast::hash(bytes).to_le_bytes());
    // The field contains the size modulo 2^32 (RFC 1952, 2.3.1).
    let size = bytes.len() as u64 % (1 << 32);
    member.extend(u32::try_from(size).unwrap_or_default().to_le_bytes());
    member
}

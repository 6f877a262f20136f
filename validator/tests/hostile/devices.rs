//! Archives on block devices. A device such as a USB stick is larger than the image written to it, so the end of the
//! device is not the end of the archive. Creating loop devices needs root.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "the variants use the rest")]
mod image;
#[path = "../validator/source.rs"]
#[expect(dead_code, reason = "the tests of findings use the rest")]
mod source;
#[expect(dead_code, reason = "the variants use the rest")]
mod subject;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use validator::{ArchiveVerdict, Report};

use crate::image::Image;
use crate::subject::{SECTOR, options, report};

/// A block device backed by a file; it is detached when the value is dropped.
struct Device {
    path: PathBuf,
    _directory: TempDir,
}

impl Device {
    fn with(bytes: &[u8]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("device");
        fs::write(&file, bytes).unwrap();
        let arguments = ["--find", "--show", "--read-only"];
        let path = losetup(&arguments.map(Path::new), &file);
        Self {
            path: PathBuf::from(path.trim()),
            _directory: directory,
        }
    }

    fn report(&self) -> Report {
        report(&self.path, &options())
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        losetup(&[Path::new("--detach")], &self.path);
    }
}

fn losetup(arguments: &[&Path], file: &Path) -> String {
    let output = Command::new("/sbin/losetup")
        .args(arguments)
        .arg(file)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "losetup: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The rest of a device may contain a second session or an older archive. It is never read, and the report gives its
/// size.
#[test]
fn what_lies_behind_the_archive_on_a_device_is_never_read() {
    let image = Image::good();
    let mut bytes = image.good.clone();
    bytes.extend(&image.good);
    bytes.extend([0xFF; SECTOR]);
    let report = Device::with(&bytes).report();
    assert_eq!(report.verdict(), ArchiveVerdict::Accepted, "{report:#?}");
    let behind = (bytes.len() - image.good.len()) as u64;
    assert_eq!(report.summary().bytes_behind, behind);
    assert_eq!(report.summary().size, Some(image.good.len() as u64));
}

#[test]
fn a_device_that_is_too_small_is_refused() {
    let image = Image::good();
    let bytes = &image.good[..image.good.len() - SECTOR];
    let report = Device::with(bytes).report();
    assert_eq!(report.verdict(), ArchiveVerdict::Refused);
    let finding = &report.findings()[0];
    assert_eq!(finding.id, "container.truncated");
    assert_eq!(finding.place, format!("byte {}", bytes.len()));
}

/// The bytes between the files of an archive on a device are compared as usual.
#[test]
fn a_forgery_on_a_device_is_refused() {
    let mut bytes = Image::good().good;
    bytes[0] = 0xFA;
    bytes.extend([0; SECTOR]);
    let report = Device::with(&bytes).report();
    assert_eq!(report.verdict(), ArchiveVerdict::Refused);
    assert_eq!(report.findings()[0].place, "byte 0");
}

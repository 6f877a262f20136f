//! `solution archive mount` with this machine's kernel and FUSE, and `solution archive extract` to a full disk. Needs
//! root and /dev/fuse.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::{Answer, Desk};
use crate::stages;

/// A running program that serves a mount.
pub(crate) struct Serving {
    child: Child,
    pub(crate) directory: PathBuf,
}

impl Serving {
    /// Mounts an archive.
    pub(crate) fn start(desk: &Desk, archive: &str) -> Self {
        let directory = desk.path("mnt");
        fs::create_dir(&directory).unwrap();
        let mut command = desk.command();
        command.args(["mount", archive, "mnt"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        lines.read_line(&mut line).unwrap();
        let serving = Self { child, directory };
        assert!(
            line.starts_with("mounted     mnt"),
            "{line}: {}",
            serving.end()
        );
        serving
    }

    /// Waits until the program ends successfully, and returns its output.
    fn end(mut self) -> String {
        let mut said = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut said).unwrap();
        let ended = self.child.wait().unwrap();
        assert!(ended.success(), "{ended}: {said}");
        let left = fs::read_dir(&self.directory).unwrap().count();
        assert_eq!(left, 0, "it is still mounted");
        said
    }

    pub(crate) fn interrupt(self) -> String {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::INT).unwrap();
        self.end()
    }
}

#[test]
fn an_archive_is_read_as_a_folder() {
    let desk = Desk::with_archive();
    let serving = Serving::start(&desk, "example.iso");
    let listed = stages::list(&desk.path("example.iso"));
    let mount = &serving.directory;
    let files = listed.files();
    for entry in files.root().files() {
        let path = mount.join(entry.path.as_str());
        let listed = listed.read(entry.path.as_str(), 1 << 30).unwrap();
        assert!(fs::read(&path).unwrap() == listed, "{}", entry.path);
        let found = fs::metadata(&path).unwrap();
        let same = files.root().files().iter();
        let names = same.filter(|other| other.digest == entry.digest).count();
        assert_eq!(
            (found.mode(), found.nlink()),
            (0o100_444, names as u64),
            "{}",
            entry.path
        );
    }
    let mut find = Command::new("find");
    let found = Answer::from_command(find.args([".", "-type", "f"]).current_dir(mount)).success();
    assert_eq!(found.lines().count(), files.root().files().len(), "{found}");
    let mut sums = Command::new("sha256sum");
    Answer::from_command(
        sums.args(["-c", "--quiet", "SHA256SUMS"])
            .current_dir(mount),
    )
    .success();
    let written = fs::write(mount.join("new"), "text").unwrap_err();
    assert_eq!(written.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
    let said = serving.interrupt();
    assert!(said.starts_with("not verified: "), "{said}");
}

#[test]
fn a_file_that_is_not_what_was_signed_cannot_be_opened() {
    let desk = Desk::with_archive();
    let path = desk.path("example.iso");
    let listed = stages::list(&path);
    let role = "operator/deploy/role.yaml";
    let offset = listed.plan().extent_of(role).unwrap().offset;
    let file = File::options().read(true).write(true).open(&path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    let serving = Serving::start(&desk, "example.iso");
    let mounted = serving.directory.join(role);
    // The content at the first open counts.
    file.write_all_at(&[byte[0] ^ 1], offset).unwrap();
    for _ in 0..2 {
        let refused = File::open(&mounted).unwrap_err();
        assert_eq!(
            refused.raw_os_error(),
            Some(rustix::io::Errno::IO.raw_os_error())
        );
    }
    fs::read(serving.directory.join("manifest.yaml")).unwrap();
    // A medium with a read error may be readable later.
    file.write_all_at(&byte, offset).unwrap();
    assert!(fs::read(&mounted).unwrap() == listed.read(role, 1 << 20).unwrap());

    let mut umount = Command::new("umount");
    Answer::from_command(umount.arg(&serving.directory)).success();
    let said = serving.end();
    let refused = format!("error: cannot read `{role}`: file `{role}` is not what was signed");
    assert_eq!(said.matches(&refused).count(), 2, "{said}");
}

#[test]
fn a_directory_with_open_files_is_given_back_too() {
    let desk = Desk::with_archive();
    let serving = Serving::start(&desk, "example.iso");
    let open = File::open(serving.directory.join("manifest.yaml")).unwrap();
    let Serving {
        mut child,
        directory,
    } = serving;
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    // The signal ends it, because a file is still open.
    assert!(!child.wait().unwrap().success());
    assert_eq!(fs::read_dir(directory).unwrap().count(), 0);
    drop(open);
}

/// A file system in memory with a limited size.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(desk: &Desk, options: &str) -> Self {
        let path = desk.path("small");
        fs::create_dir_all(&path).unwrap();
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(&path);
        Answer::from_command(&mut mount).success();
        Self(path)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let ended = Command::new("umount").arg("-l").arg(&self.0).status();
        assert!(ended.unwrap().success());
    }
}

#[test]
fn a_full_disk_is_said_and_more_room_is_enough() {
    let desk = Desk::with_archive();
    let _disk = SmallDisk::mount(&desk, "size=16k");
    let extract = [
        "extract",
        "example.iso",
        "--to",
        "small",
        "--output",
        "json",
    ];
    let full = desk.solution(&extract);
    assert_eq!(full.code, 3, "{full:?}");
    let text = full.json().to_string();
    assert!(
        text.contains("bytes free, but") && text.contains("free space"),
        "{text}"
    );
    assert_eq!(fs::read_dir(desk.path("small")).unwrap().count(), 0);
    // The lack of inodes is only detected while the files are written.
    let remount = |options: &str| {
        let mut mount = Command::new("mount");
        Answer::from_command(mount.args(["-o", options]).arg(desk.path("small"))).success();
    };
    remount("remount,size=64m,nr_inodes=8");
    let full = desk.solution(&extract);
    assert_eq!(full.code, 3, "{full:?}");
    assert!(full.json().to_string().contains("free space"), "{full:?}");
    remount("remount,size=64m,nr_inodes=4k");
    desk.solution(&extract).success();
}

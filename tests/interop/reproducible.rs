//! The same source gives the same bytes, for any user, place, time and number of processors.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::common::{Answer, Desk};
use crate::tools::{ARCHIVE, PackedArchive};

const NOBODY: u32 = 65_534;
const PACK: [&str; 6] = [
    "pack",
    "source",
    "-o",
    "again.iso",
    "--key",
    "publisher.key",
];

/// Returns the program's command, started by another program: `wrapper… solution arguments…`.
fn wrapped(desk: &Desk, wrapper: &[&str], arguments: &[&str]) -> Command {
    let mut command = Command::new(wrapper[0]);
    command
        .args(&wrapper[1..])
        .arg(env!("CARGO_BIN_EXE_solution"))
        .args(arguments)
        .current_dir(desk.path(""))
        .env_clear();
    command
}

#[track_caller]
fn assert_same(packed: &PackedArchive, desk: &Desk, name: &str, way: &str) {
    assert!(
        packed.desk.read(ARCHIVE) == desk.read(name),
        "the bytes differ {way}"
    );
    fs::remove_file(desk.path(name)).unwrap();
}

/// Copies the source with irrelevant changes: the order in which its files are created (which is the order of reading a
/// directory on many file systems), their modes and times.
fn copy_changed(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    let entries = fs::read_dir(from).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for (number, path) in paths.iter().rev().enumerate() {
        let copy = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_changed(path, &copy);
            continue;
        }
        fs::copy(path, &copy).unwrap();
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 + number as u64);
        let file = fs::File::open(&copy).unwrap();
        file.set_modified(modified).unwrap();
        let mode = if number % 2 == 0 { 0o700 } else { 0o444 };
        fs::set_permissions(&copy, fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn whatever_the_surroundings_are() {
    for packed in PackedArchive::all() {
        let desk = &packed.desk;
        let ways: [&[&str]; 8] = [
            &["env", "TZ=Pacific/Kiritimati", "LC_ALL=C"],
            &[
                "env",
                "TZ=America/St_Johns",
                "LANG=tr_TR.UTF-8",
                "LC_ALL=tr_TR.UTF-8",
            ],
            &["env", "SOURCE_DATE_EPOCH=315532800"],
            &[
                "env",
                "HOME=/nowhere",
                "USER=somebody",
                "TERM=xterm",
                "COLUMNS=20",
            ],
            &["sh", "-c", "umask 077; exec \"$@\"", "sh"],
            &["sh", "-c", "umask 000; exec \"$@\"", "sh"],
            &["taskset", "--cpu-list", "0"],
            &["nice", "-n", "19"],
        ];
        for way in ways {
            Answer::from_command(&mut wrapped(desk, way, &PACK)).success();
            assert_same(&packed, desk, "again.iso", &format!("with {way:?}"));
        }
    }
}

#[test]
fn wherever_the_source_and_the_archive_are() {
    for packed in PackedArchive::all() {
        let other = Desk::new();
        fs::create_dir_all(other.path("a much/longer way/ünïcode")).unwrap();
        let source = other.path("a much/longer way/ünïcode/to it");
        copy_changed(&packed.desk.path("source"), &source);
        fs::copy(packed.desk.path("publisher.key"), other.path("key")).unwrap();
        let key = other.path("key");
        let key = key.to_str().unwrap();
        let mut inside = other.command();
        inside.current_dir(&source);
        let out = other.path("again.iso");
        inside.args(["pack", "-o", out.to_str().unwrap(), "--key", key]);
        Answer::from_command(&mut inside).success();
        assert_same(&packed, &other, "again.iso", "inside a copied source");
        let absolute = [
            "pack",
            source.to_str().unwrap(),
            "-o",
            "x.iso",
            "--key",
            key,
        ];
        other.solution(&absolute).success();
        assert_same(&packed, &other, "x.iso", "with an absolute path");
    }
}

/// Root runs the program as the user nobody. Any other user runs it as the root of a user namespace.
#[test]
fn whoever_packs() {
    let packed = PackedArchive::broad();
    let desk = Desk::new();
    copy_changed(&packed.desk.path("source"), &desk.path("source"));
    fs::copy(
        packed.desk.path("publisher.key"),
        desk.path("publisher.key"),
    )
    .unwrap();
    // The user nobody may have no access to the build directory.
    desk.copy_program("program");
    let wrapper: &[&str] = if fs::metadata(desk.path("")).unwrap().uid() == 0 {
        give_to_nobody(&desk.path(""));
        &[
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "./program",
        ]
    } else {
        &["unshare", "--user", "--map-root-user", "./program"]
    };
    let mut command = Command::new(wrapper[0]);
    command
        .args(&wrapper[1..])
        .args(PACK)
        .current_dir(desk.path(""))
        .env_clear();
    Answer::from_command(&mut command).success();
    assert_same(&packed, &desk, "again.iso", "by another user");
}

fn give_to_nobody(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give_to_nobody(&entry.unwrap().path());
        }
    }
}

/// The time is the only variable in the image: two archives with the same time are equal, and those with two times
/// differ.
#[test]
fn but_for_the_time_that_was_asked_for() {
    let packed = PackedArchive::example();
    let at = |epoch: &str| {
        let epoch = format!("SOURCE_DATE_EPOCH={epoch}");
        let mut command = wrapped(&packed.desk, &["env", &epoch], &PACK);
        Answer::from_command(command.arg("--force")).success();
        packed.desk.read("again.iso")
    };
    let (first, again, later) = (at("1795181701"), at("1795181701"), at("1795181702"));
    assert!(first == again, "the bytes differ at one time");
    assert!(
        first != later && first != packed.desk.read(ARCHIVE),
        "the time is not in the image"
    );
}

/// Keys are sorted by their ids, in any order of the flags.
#[test]
fn in_whatever_order_the_keys_are_given() {
    let packed = PackedArchive::example();
    let desk = &packed.desk;
    desk.solution(&["keygen", "second"]).success();
    let keys = ["publisher.key", "second.key"];
    for (out, [a, b]) in [("ab.iso", keys), ("ba.iso", [keys[1], keys[0]])] {
        desk.solution(&["pack", "source", "-o", out, "--key", a, "--key", b])
            .success();
    }
    assert!(
        desk.read("ab.iso") == desk.read("ba.iso"),
        "the bytes differ"
    );
    desk.solution(&["sign", ARCHIVE, "--key", "second.key"])
        .success();
    assert!(
        desk.read("ab.iso") == desk.read(ARCHIVE),
        "signing later gives other bytes"
    );
}

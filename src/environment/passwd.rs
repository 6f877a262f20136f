//! The user database, for who has no `HOME`: `/etc/passwd` as `passwd(5)` describes it.
//!
//! It is read here, since the program is linked statically: the C library's `getpwuid` would load whatever
//! `/etc/nsswitch.conf` names, of whatever version this machine has. Users who stand in a directory service only have no
//! home here, and must set the variable.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

const FILE: &str = "/etc/passwd";
/// Bytes of it that are read: a hundred thousand users have some seven million.
const SIZE: u64 = 16 * 1024 * 1024;

/// The home directory of a user, if the database names one.
pub(super) fn home(user: u32) -> Option<PathBuf> {
    read(Path::new(FILE))
        .ok()
        .and_then(|text| find(&text, user))
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let read = File::open(path)?.take(SIZE + 1).read_to_end(&mut text)?;
    if read as u64 > SIZE {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}

/// The first line of a user counts, as it does for everybody.
fn find(text: &[u8], user: u32) -> Option<PathBuf> {
    let mut lines = text.split(|byte| *byte == b'\n').filter_map(fields);
    let [_, _, _, _, _, home, _] = lines.find(|fields| is(fields, user))?;
    let home = Path::new(OsStr::from_bytes(home));
    home.is_absolute().then(|| home.to_owned())
}

fn fields(line: &[u8]) -> Option<[&[u8]; 7]> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
    fields.try_into().ok()
}

fn is(fields: &[&[u8]; 7], user: u32) -> bool {
    let number = std::str::from_utf8(fields[2]).ok();
    number.and_then(|number| number.parse().ok()) == Some(user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_a_user_names_his_home() {
        let text = b"root:x:0:0:root:/root:/bin/bash
broken:x:7
+::::::
svc:x:998:998:S\xe9rvice:/srv/h\xf4me:/usr/sbin/nologin
other:x:998:998::/elsewhere:
relative:x:5:5::home:/bin/sh
none:x:6:6:::/bin/sh
last:x:1000:1000::/home/last:/bin/sh";
        let home = |user| find(text, user);
        assert_eq!(home(0), Some(PathBuf::from("/root")));
        let bytes = OsStr::from_bytes(b"/srv/h\xf4me");
        assert_eq!(home(998), Some(PathBuf::from(bytes)));
        assert_eq!(home(1000), Some(PathBuf::from("/home/last")));
        for user in [5, 6, 7, 1, 1001] {
            assert_eq!(home(user), None, "{user}");
        }
    }

    #[test]
    fn a_database_without_end_names_nobody() {
        assert!(read(Path::new("/dev/zero")).is_err());
    }
}

//! The programs that an archive includes: `helm`, at most once for each kind of processor (docs/format-programs.md).

use std::fmt;

use schemas::ArchivePath;

use crate::feature::PROGRAMS;

/// A kind of processor that an archive can have a program for, by the name that Go gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Architecture {
    /// `x86_64`.
    Amd64,
    /// `aarch64`.
    Arm64,
}

/// Bytes of an executable that say what it is: its ELF header as far as `e_machine`.
pub const ELF_HEADER: usize = 20;

impl Architecture {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Amd64, Self::Arm64];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// That of this program, and so of the machine that runs it; none if archives have no programs for it.
    #[must_use]
    pub fn here() -> Option<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Self::Amd64),
            "aarch64" => Some(Self::Arm64),
            _ => None,
        }
    }

    /// That of an executable for Linux, as the beginning of its file says (ELF-64, System V ABI 4.1); none if it is
    /// something else.
    #[must_use]
    pub fn of_executable(file: &[u8]) -> Option<Self> {
        /// The magic number; 64 bits, little-endian, in this version of ELF.
        const IDENT: &[u8] = b"\x7fELF\x02\x01\x01";
        let header: &[u8; ELF_HEADER] = file.first_chunk()?;
        let half = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        // What linkers write for Linux: no ABI of its own, or that of GNU.
        let of_linux = matches!(header[7], 0 | 3);
        // At a fixed address, or at any.
        let runs = matches!(half(16), 2 | 3);
        if !header.starts_with(IDENT) || !of_linux || !runs {
            return None;
        }
        match half(18) {
            62 => Some(Self::Amd64),
            183 => Some(Self::Arm64),
            _ => None,
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// `bin/helm-linux-<architecture>`.
///
/// # Panics
///
/// Never: the names are inside the grammar of paths.
#[must_use]
pub fn helm_path(architecture: Architecture) -> ArchivePath {
    let path = format!("{PROGRAMS}/helm-linux-{architecture}").parse();
    path.expect("the format's own paths are inside the grammar")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(change: impl FnOnce(&mut Vec<u8>)) -> Option<Architecture> {
        let mut bytes = b"\x7fELF\x02\x01\x01\x00".to_vec();
        bytes.extend([0; 8]);
        bytes.extend([2, 0, 62, 0, 1]);
        change(&mut bytes);
        Architecture::of_executable(&bytes)
    }

    #[test]
    fn executables_for_linux_say_their_processor() {
        let (amd64, arm64) = (Some(Architecture::Amd64), Some(Architecture::Arm64));
        assert_eq!(header(|_| ()), amd64);
        assert_eq!(header(|it| it[18] = 183), arm64);
        // One that can lie anywhere, and one of the GNU ABI.
        assert_eq!(header(|it| it[16] = 3), amd64);
        assert_eq!(header(|it| it[7] = 3), amd64);
        let own = std::fs::read("/proc/self/exe").unwrap();
        assert_eq!(Architecture::of_executable(&own), Architecture::here());
    }

    #[test]
    fn everything_else_is_none() {
        type Change = fn(&mut Vec<u8>);
        let changes: [(&str, Change); 9] = [
            ("the magic number", |it| it[0] = 0),
            ("32 bits", |it| it[4] = 1),
            ("big-endian", |it| it[5] = 2),
            ("the version of ELF", |it| it[6] = 2),
            ("FreeBSD", |it| it[7] = 9),
            ("an object file", |it| it[16] = 1),
            ("a core dump", |it| it[16] = 4),
            ("another processor", |it| it[18] = 40),
            ("cut off", |it| it.truncate(ELF_HEADER - 1)),
        ];
        for (what, change) in changes {
            assert_eq!(header(change), None, "{what}");
        }
        assert_eq!(
            Architecture::of_executable(b"#!/bin/sh\nexec helm \"$@\"\n"),
            None
        );
    }
}

//! Named changes to an archive that includes programs.

use crate::mistakes::Case;
use crate::source::Source;

const AMD64: &str = "bin/helm-linux-amd64";

/// The beginning of an executable for Linux, by the number of its processor.
fn executable(machine: u8) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01\x00".to_vec();
    bytes.extend([0; 8]);
    bytes.extend([2, 0, machine, 0, 1, 0, 0, 0]);
    bytes
}

fn include(s: &mut Source, path: &str, bytes: Vec<u8>) {
    s.requires = vec![archive::Feature::Programs.capability()];
    s.put(path, bytes);
}

pub(crate) const CASES: &[Case] = &[
    (
        "programs for both processors",
        |s| {
            include(s, AMD64, executable(62));
            include(s, "bin/helm-linux-arm64", executable(183));
        },
        &[],
    ),
    (
        "names that format 1 gives no meaning",
        |s| {
            s.put("bin/anything", "text");
            s.optional.push("bin".to_owned());
        },
        &[],
    ),
    (
        "required in vain",
        |s| s.requires = vec![archive::Feature::Programs.capability()],
        &["programs.capability"],
    ),
    (
        "another program",
        |s| include(s, "bin/kubectl-linux-amd64", executable(62)),
        &["programs.unexpected"],
    ),
    (
        "a program in a directory",
        |s| include(s, "bin/helm/helm-linux-amd64", executable(62)),
        &["programs.unexpected"],
    ),
    (
        "a script",
        |s| include(s, AMD64, b"#!/bin/sh\nexec helm\n".to_vec()),
        &["programs.executable"],
    ),
    (
        "a program for another processor",
        |s| include(s, AMD64, executable(183)),
        &["programs.executable"],
    ),
];

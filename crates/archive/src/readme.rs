//! `README.txt`, for the person who mounts an archive without knowing this project. A function of name, version and
//! programs only, so that it says nothing that differs between two builds.

use std::fmt::Write as _;

use schemas::{Digest, ImagePlace, PAYLOAD_TYPE, SolutionId};

use crate::layout::image_blob_path;
use crate::program::{Architecture, program_name};

/// A program that an archive includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncludedProgram {
    /// The place of its image.
    pub place: ImagePlace,
    /// The processor that it is for.
    pub architecture: Architecture,
    /// SHA-256 of it.
    pub digest: Digest,
}

/// The bytes of `README.txt`. Readers never compare them: later versions of the tools may find better words.
#[must_use]
pub fn readme(id: &SolutionId, programs: &[IncludedProgram]) -> Vec<u8> {
    let (name, version) = (id.name(), id.version());
    let length = PAYLOAD_TYPE.len();
    let programs = taking(programs);
    format!(
        r#"{name} {version}

This is a Solution archive: container images, and the operator and manifest that
run them on Kubernetes, for sites without internet. Everything here is read-only
and meant to be used in place; nothing has to be unpacked.

Whom to trust
  Take the publisher's public key, and these instructions, from somewhere else
  than this medium: a letter, a web page, a telephone call. Whoever can alter the
  medium can alter a key or an instruction that lies on it.

Check and import, with the program `solution`
  solution validate IMAGE.iso --key publisher.pub
  solution import IMAGE.iso --key publisher.pub --registry HOST[/PREFIX]

Check without that program: OpenSSL 3, in a directory where files can be made,
with the archive mounted at /mnt and the publisher's key in publisher.pub
  cut -d '"' -f 4 /mnt/statement.dsse.json | base64 -d > payload
  (printf 'DSSEv1 {length} {PAYLOAD_TYPE} %d ' "$(wc -c < payload)"; cat payload) > signed
  grep -o '"sig":"[^"]*"' /mnt/statement.dsse.json | cut -d '"' -f 4 | head -n 1 | base64 -d > signature
  openssl pkeyutl -verify -pubin -inkey publisher.pub -rawin -in signed -sigfile signature
  sed 's/.*"name":"SHA256SUMS","digest":{{"sha256":"\([0-9a-f]*\)".*/\1  SHA256SUMS\n/' payload > sums
  (cd /mnt && sha256sum -c) < sums
  (cd /mnt && sha256sum -c --quiet SHA256SUMS)
With several signatures, take each line in place of the first (`head -n 1`).
sha256sum does not notice files that are not listed; `solution validate` does.
The archive id, which the publisher can tell you, is what `sha256sum payload` prints.
{programs}
What is where
  manifest.yaml          what the Solution is and what it consists of
  images/NAME/TAG/       each image: skopeo copy dir:/mnt/images/NAME/TAG ...
  index.json, blobs/     the same images: skopeo copy oci:/mnt:NAME:TAG ...
                         (older skopeo finds images of Docker's types in images/ only)
  operator/              custom resource definitions and roles, if there is an operator
  CONTENTS, SHA256SUMS   every file with its SHA-256
  statement.dsse.json    what the publisher signed
"#
    )
    .into_bytes()
}

/// The lines by which each program is taken from the medium.
fn taking(programs: &[IncludedProgram]) -> String {
    if programs.is_empty() {
        return String::new();
    }
    let mut text = "
Programs on this medium
  A program cannot vouch for itself, nor for the medium that it came on: check the
  medium first, as above, without it. Then take the one for your machine
  (`uname -m`: x86_64 is amd64, aarch64 is arm64). The name of each file is its
  SHA-256, which `sha256sum` has to print again for the copy.
"
    .to_owned();
    for program in programs {
        let IncludedProgram {
            place,
            architecture,
            digest,
        } = program;
        let name = program_name(&place.name).unwrap_or_default();
        let path = image_blob_path(place, digest);
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "  {name} {}, for {architecture}:
    cp /mnt/{path} {name}
    sha256sum {name}
    chmod 755 {name}",
            place.tag
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_taken_by_the_lines_that_stand_there() {
        let id = "shop-1.0.0".parse().unwrap();
        let without = String::from_utf8(readme(&id, &[])).unwrap();
        assert!(!without.contains("Programs"), "{without}");
        let program = |name: &str, architecture, byte| IncludedProgram {
            place: format!("programs/{name}:v4.3").parse().unwrap(),
            architecture,
            digest: Digest::new([byte; 32]),
        };
        let programs = [
            program("helm", Architecture::Amd64, 0x5a),
            program("solution", Architecture::Arm64, 0x5b),
        ];
        let text = String::from_utf8(readme(&id, &programs)).unwrap();
        let lines = format!(
            "  helm v4.3, for amd64:
    cp /mnt/images/programs/helm/v4.3/{} helm
    sha256sum helm
    chmod 755 helm
  solution v4.3, for arm64:
    cp /mnt/images/programs/solution/v4.3/{} solution
    sha256sum solution
    chmod 755 solution

What is where",
            "5a".repeat(32),
            "5b".repeat(32)
        );
        assert!(text.contains(&lines), "{text}");
    }
}

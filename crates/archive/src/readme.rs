//! `README.txt`, the instructions for a person who mounts an archive without knowing this project. [`readme`] derives
//! it from name, version, programs and documentation only, so that it is the same in every build of a Solution.

use std::fmt::Write as _;

use schemas::{Digest, ImagePlace, PAYLOAD_TYPE, SolutionId};

use crate::layout::image_blob_path;
use crate::program::{Architecture, program_name};

/// A program that an archive includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncludedProgram {
    /// The name and tag of its image.
    pub place: ImagePlace,
    /// The processor that it is for.
    pub architecture: Architecture,
    /// Its SHA-256.
    pub digest: Digest,
}

/// The documentation of `solution` that an archive includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncludedDocumentation {
    /// The place of its image.
    pub place: ImagePlace,
    /// SHA-256 of the page.
    pub digest: Digest,
}

/// Returns the bytes of `README.txt`. Readers never compare them, so later versions of the tools may change the text.
#[must_use]
pub fn readme(
    id: &SolutionId,
    programs: &[IncludedProgram],
    documentation: Option<&IncludedDocumentation>,
) -> Vec<u8> {
    let (name, version) = (id.name(), id.version());
    let length = PAYLOAD_TYPE.len();
    let programs = taking(programs);
    let documentation = documentation.map(reading).unwrap_or_default();
    format!(
        r#"{name} {version}

This is a Solution archive: container images, and the manifests that run them on
Kubernetes, for sites without internet. All files are read-only and are used in
place: do not unpack the archive.

Trust
  Get the publisher's public key and these instructions through a separate channel,
  such as a letter, a web page or a telephone call. A person who can alter this
  archive can also alter keys and instructions in it.

Validate and import the archive with the program `solution`
  solution validate IMAGE.iso --key publisher.pub
  solution import IMAGE.iso --key publisher.pub --registry HOST[/PREFIX]

Verify the archive without that program. You need OpenSSL 3, a writable directory,
the archive mounted at /mnt, and the publisher's key in publisher.pub
  cut -d '"' -f 4 /mnt/statement.dsse.json | base64 -d > payload
  (printf 'DSSEv1 {length} {PAYLOAD_TYPE} %d ' "$(wc -c < payload)"; cat payload) > signed
  grep -o '"sig":"[^"]*"' /mnt/statement.dsse.json | cut -d '"' -f 4 | head -n 1 | base64 -d > signature
  openssl pkeyutl -verify -pubin -inkey publisher.pub -rawin -in signed -sigfile signature
  sed 's/.*"name":"SHA256SUMS","digest":{{"sha256":"\([0-9a-f]*\)".*/\1  SHA256SUMS\n/' payload > sums
  (cd /mnt && sha256sum -c) < sums
  (cd /mnt && sha256sum -c --quiet SHA256SUMS)
If there are multiple signatures, use each line instead of the first (`head -n 1`).
sha256sum does not detect files that are not listed; `solution validate` does.
`sha256sum payload` prints the archive id, which you can compare with the publisher's.
{programs}{documentation}
Contents
  manifest.yaml          name, version and contents of the Solution
  images/NAME/TAG/       each image: skopeo copy dir:/mnt/images/NAME/TAG ...
  index.json, blobs/     the same images: skopeo copy oci:/mnt:NAME:TAG ...
                         (older versions of skopeo find Docker images in images/ only)
  operator/              custom resource definitions and roles of the operator
  manifests/             sets of manifests
  charts/                Helm charts and their values
  CONTENTS, SHA256SUMS   every file with its SHA-256
  statement.dsse.json    the signed statement of the publisher
"#
    )
    .into_bytes()
}

/// Returns the command that copies the documentation from the mounted archive.
fn reading(documentation: &IncludedDocumentation) -> String {
    let IncludedDocumentation { place, digest } = documentation;
    format!(
        "
Documentation of `solution` {}, one HTML page
    cp /mnt/{} solution.html
",
        place.tag,
        image_blob_path(place, digest)
    )
}

/// Returns the commands that copy each program from the mounted archive.
fn taking(programs: &[IncludedProgram]) -> String {
    if programs.is_empty() {
        return String::new();
    }
    let mut text = "
Programs in this archive
  A program cannot prove its own origin: verify the archive first, as above, without
  it. Then copy the program for your machine (`uname -m`: x86_64 is amd64, aarch64 is
  arm64). The name of each file is its SHA-256: `sha256sum` must print the same for
  the copy.
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
        // Writing to a string cannot fail.
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
        let without = String::from_utf8(readme(&id, &[], None)).unwrap();
        assert!(!without.contains("Programs"), "{without}");
        assert!(!without.contains("Documentation"), "{without}");
        let program = |name: &str, architecture, byte| IncludedProgram {
            place: format!("programs/{name}:v4.3").parse().unwrap(),
            architecture,
            digest: Digest::new([byte; 32]),
        };
        let programs = [
            program("helm", Architecture::Amd64, 0x5a),
            program("solution", Architecture::Arm64, 0x5b),
        ];
        let text = String::from_utf8(readme(&id, &programs, None)).unwrap();
        let lines = format!(
            "  helm v4.3, for amd64:
    cp /mnt/images/programs/helm/v4.3/{} helm
    sha256sum helm
    chmod 755 helm
  solution v4.3, for arm64:
    cp /mnt/images/programs/solution/v4.3/{} solution
    sha256sum solution
    chmod 755 solution

Contents",
            "5a".repeat(32),
            "5b".repeat(32)
        );
        assert!(text.contains(&lines), "{text}");
    }

    #[test]
    fn the_documentation_is_copied_by_the_line_that_names_it() {
        let id = "shop-1.0.0".parse().unwrap();
        let documentation = IncludedDocumentation {
            place: "solution-docs:1.0.0".parse().unwrap(),
            digest: Digest::new([0x5a; 32]),
        };
        let text = String::from_utf8(readme(&id, &[], Some(&documentation))).unwrap();
        let line = format!(
            "    cp /mnt/images/solution-docs/1.0.0/{} solution.html\n\nContents",
            "5a".repeat(32)
        );
        assert!(text.contains(&line), "{text}");
    }
}

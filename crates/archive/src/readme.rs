//! `README.txt`, for the person who mounts an archive without knowing this project. A function of name and version
//! only, so that it says nothing that differs between two builds.

use schemas::{PAYLOAD_TYPE, SolutionId};

/// The bytes of `README.txt`. Readers never compare them: later versions of the tools may find better words.
#[must_use]
pub fn readme(id: &SolutionId) -> Vec<u8> {
    let (name, version) = (id.name(), id.version());
    let length = PAYLOAD_TYPE.len();
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
  solution validate IMAGE.iso --key publisher.pem
  solution import IMAGE.iso --key publisher.pem --registry HOST[/PREFIX]

Check without that program: OpenSSL 3, in a directory where files can be made,
with the archive mounted at /mnt and the publisher's key in publisher.pem
  cut -d '"' -f 4 /mnt/statement.dsse.json | base64 -d > payload
  (printf 'DSSEv1 {length} {PAYLOAD_TYPE} %d ' "$(wc -c < payload)"; cat payload) > signed
  grep -o '"sig":"[^"]*"' /mnt/statement.dsse.json | cut -d '"' -f 4 | head -n 1 | base64 -d > signature
  openssl pkeyutl -verify -pubin -inkey publisher.pem -rawin -in signed -sigfile signature
  sed 's/.*"name":"SHA256SUMS","digest":{{"sha256":"\([0-9a-f]*\)".*/\1  SHA256SUMS\n/' payload > sums
  (cd /mnt && sha256sum -c) < sums
  (cd /mnt && sha256sum -c --quiet SHA256SUMS)
With several signatures, take each line in place of the first (`head -n 1`).
sha256sum does not notice files that are not listed; `solution validate` does.
The archive id, which the publisher can tell you, is what `sha256sum payload` prints.

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

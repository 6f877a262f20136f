//! Changes to an archive after it was created. Each case changes the bytes of the good archive once.

/// A name, a change of the good archive's bytes, and the expected finding ids in order.
pub(crate) type Case = (&'static str, fn(&mut Vec<u8>), &'static [&'static str]);

/// The size of a sector in bytes.
const SECTOR: usize = 2048;
/// The offset of the envelope.
const ENVELOPE: usize = 32 * SECTOR;
/// The offset of `CONTENTS`.
const CONTENTS: usize = 64 * SECTOR;

pub(crate) const CASES: &[Case] = &[
    ("nothing", |_| {}, &[]),
    ("empty", Vec::clear, &["container.not-iso"]),
    ("no ISO", |image| image.fill(b'x'), &["container.not-iso"]),
    (
        "no envelope",
        |image| image[ENVELOPE..CONTENTS].fill(0),
        &["container.foreign"],
    ),
    (
        "cut in the middle",
        |image| image.truncate(image.len() / 2),
        &["container.truncated"],
    ),
    (
        "last sector lost",
        |image| image.truncate(image.len() - SECTOR),
        &["container.truncated"],
    ),
    (
        "something appended",
        |image| image.extend([0; SECTOR]),
        &["container.too-large"],
    ),
    (
        "system area used",
        |image| image[0] = 1,
        &["container.metadata"],
    ),
    (
        "volume renamed",
        |image| image[16 * SECTOR + 40] = b'X',
        &["container.metadata"],
    ),
    (
        "bytes in the tail",
        |image| *image.last_mut().unwrap() = 1,
        &["container.metadata"],
    ),
    (
        "envelope respelled",
        |image| image[CONTENTS - 1] = b' ',
        &["signature.envelope"],
    ),
    (
        "statement altered",
        |image| swap(image, ENVELOPE, b"\"payload\":\"e", b"\"payload\":\"f"),
        &["signature.invalid"],
    ),
    (
        "signature altered",
        |image| alter_signature(image),
        &["signature.invalid"],
    ),
    (
        "list altered",
        |image| flip(image, CONTENTS),
        &["integrity.list"],
    ),
    (
        "sums altered",
        |image| flip_text(image, b"  CONTENTS\n"),
        &["integrity.damaged"],
    ),
    (
        "layer altered",
        |image| flip_text(image, b"layer for arm64"),
        &["integrity.damaged"],
    ),
    (
        "manifest altered",
        |image| flip_text(image, b"kind: Solution"),
        &["integrity.damaged"],
    ),
    (
        "definition altered",
        |image| flip_text(image, b"kind: CustomResourceDefinition"),
        &["integrity.damaged"],
    ),
    (
        "image manifest altered",
        |image| {
            flip_text(
                image,
                b"\"manifests\":[{\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\"",
            );
        },
        &["integrity.damaged"],
    ),
    (
        "two files altered",
        |image| {
            flip_text(image, b"layer for arm64");
            flip_text(image, b"layer for amd64");
        },
        &["integrity.damaged"; 2],
    ),
];

fn flip(image: &mut [u8], at: usize) {
    image[at] ^= 1;
}

fn position(image: &[u8], from: usize, text: &[u8]) -> usize {
    let found = image[from..]
        .windows(text.len())
        .position(|window| window == text);
    from + found.expect("the archive has the text")
}

fn flip_text(image: &mut [u8], text: &[u8]) {
    let at = position(image, CONTENTS, text);
    flip(image, at + 1);
}

fn swap(image: &mut [u8], from: usize, text: &[u8], other: &[u8]) {
    let at = position(image, from, text);
    image[at..at + text.len()].copy_from_slice(other);
}

/// Changes a base64 digit in the middle of the signature.
fn alter_signature(image: &mut [u8]) {
    let at = position(image, ENVELOPE, b"\"sig\":\"") + 30;
    image[at] = if image[at] == b'A' { b'B' } else { b'A' };
}

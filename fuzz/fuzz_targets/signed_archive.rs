//! Changes to a signed archive: the archive is accepted only if nothing but the list of signatures changed.
#![no_main]

use std::fs;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use solution_fuzz::{Base, Choices, Scratch, Texts, report, write};
use validator::ArchiveVerdict;

struct Place {
    scratch: Scratch,
    base: Base,
}

fn place() -> &'static Place {
    static PLACE: OnceLock<Place> = OnceLock::new();
    PLACE.get_or_init(|| {
        let scratch = Scratch::new();
        write(&scratch.path, &Texts::good());
        let bytes = fs::read(&scratch.path).expect("it was written");
        let base = Base::new(bytes);
        Place { scratch, base }
    })
}

/// The range of the envelope.
const ENVELOPE: std::ops::Range<usize> = 65_536..131_072;

fuzz_target!(|bytes: &[u8]| {
    let Place { scratch, base } = place();
    let image = base.patched(&mut Choices::new(bytes));
    fs::write(&scratch.path, &image).expect("the disk has room");
    if report(&scratch.path).verdict() != ArchiveVerdict::Accepted {
        return;
    }
    assert_eq!(image.len(), base.bytes.len());
    assert_eq!(image[..ENVELOPE.start], base.bytes[..ENVELOPE.start]);
    assert_eq!(image[ENVELOPE.end..], base.bytes[ENVELOPE.end..]);
    let list = base.bytes[ENVELOPE].iter().position(|byte| *byte == b'[');
    let head = ENVELOPE.start..ENVELOPE.start + list.expect("an envelope has a list");
    assert_eq!(image[head.clone()], base.bytes[head]);
});

//! Generation of archive variants. Each variant only depends on its number, so that a failure can be reproduced.

#![expect(
    clippy::ptr_arg,
    clippy::unused_self,
    reason = "all ways to vary an archive have one signature"
)]

use schemas::{Digest, Envelope, EnvelopeSignature, KeyId};

use crate::subject::{ENVELOPE, SECTOR, Subject};

/// An arbitrary fixed seed. Another one results in other variants.
pub(crate) const SEED: u64 = 0x0501;

/// `SplitMix64`, a small generator with the same results everywhere.
pub(crate) struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        std::iter::repeat_with(|| self.byte()).take(len).collect()
    }

    /// Returns a length: usually short, sometimes several sectors.
    fn len(&mut self) -> usize {
        let most = 1 << self.below(13);
        1 + self.below(most)
    }
}

/// The archives that are modified and mixed with each other.
pub(crate) struct Variants {
    good: Subject,
    sibling: Subject,
}

/// The name of a kind of variants, and the function that creates them.
type Kind = (&'static str, fn(&Variants, &mut Vec<u8>, &mut Random));

/// The kinds of variants. Repeated entries are chosen more often.
const KINDS: &[Kind] = &[
    ("flipped bits", Variants::flip),
    ("flipped bits", Variants::flip),
    ("flipped bits", Variants::flip),
    ("flipped bits anywhere", Variants::flip_anywhere),
    ("extreme bytes", Variants::extreme),
    ("another number in both byte orders", Variants::number),
    ("a copied range", Variants::copy),
    ("two ranges swapped", Variants::swap),
    ("two sectors swapped", Variants::swap_sectors),
    ("a sector of zeros", Variants::zero_sector),
    ("bytes inserted", Variants::insert),
    ("bytes deleted", Variants::delete),
    ("a range moved", Variants::shift),
    ("cut off", Variants::truncate),
    ("extended", Variants::extend),
    ("a range of a sibling", Variants::splice),
    ("parts of a sibling", Variants::splice_parts),
    ("the envelope's text", Variants::envelope_text),
    ("the list of signatures", Variants::signatures),
];

impl Variants {
    pub(crate) fn of(good: Subject, sibling: Subject) -> Self {
        assert_eq!(good.bytes.len(), sibling.bytes.len());
        Self { good, sibling }
    }

    pub(crate) fn good(&self) -> &[u8] {
        &self.good.bytes
    }

    /// Returns true if a variant equals one of the two archives.
    pub(crate) fn is_signed_as_it_is(&self, bytes: &[u8]) -> bool {
        bytes == self.good.bytes || bytes == self.sibling.bytes
    }

    /// Returns a variant and the name of its kind.
    pub(crate) fn make(&self, number: u64) -> (Vec<u8>, &'static str) {
        let mut random = Random(SEED ^ number.wrapping_mul(0xD134_2543_DE82_EF95));
        let (name, vary) = random.pick(KINDS);
        let mut bytes = self.good.bytes.clone();
        vary(self, &mut bytes, &mut random);
        (bytes, name)
    }

    /// Returns an offset: usually of a significant byte, otherwise of the start of a region or of any byte.
    fn place(&self, random: &mut Random) -> usize {
        match random.below(8) {
            0 => random.below(self.good.bytes.len()),
            1 => random.pick(&self.good.edges),
            _ => random.pick(&self.good.said),
        }
    }

    fn range(&self, random: &mut Random) -> std::ops::Range<usize> {
        let start = self.place(random);
        start..(start + random.len()).min(self.good.bytes.len())
    }

    fn flip(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        for _ in 0..=random.below(3) {
            bytes[self.place(random)] ^= 1 << random.below(8);
        }
    }

    fn flip_anywhere(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let at = random.below(bytes.len());
        bytes[at] ^= 1 << random.below(8);
    }

    fn extreme(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        for _ in 0..=random.below(4) {
            bytes[self.place(random)] = random.pick(&[0x00, 0x01, 0x20, 0x7F, 0x80, 0xFF]);
        }
    }

    fn number(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let number = u32::try_from(random.next() >> 32).unwrap() >> random.below(32);
        let at = self.place(random).min(bytes.len() - 8);
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        bytes[at + 4..at + 8].copy_from_slice(&number.to_be_bytes());
    }

    fn copy(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let from = self.range(random);
        let to = self.place(random).min(bytes.len() - from.len());
        bytes.copy_within(from, to);
    }

    fn swap(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let [a, b] = [self.place(random), self.place(random)];
        swap_ranges(bytes, a.min(b), a.max(b), random.len());
    }

    fn swap_sectors(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let [a, b] = [self.place(random), self.place(random)].map(|at| at / SECTOR * SECTOR);
        swap_ranges(bytes, a.min(b), a.max(b), SECTOR);
    }

    fn zero_sector(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let at = self.place(random) / SECTOR * SECTOR;
        bytes[at..at + SECTOR].fill(0);
    }

    fn insert(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let (at, len) = (self.place(random), random.len());
        bytes.splice(at..at, random.bytes(len));
    }

    fn delete(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        bytes.drain(self.range(random));
    }

    /// Deletes bytes at one offset and inserts them at another, so that the size does not change.
    fn shift(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let moved: Vec<u8> = bytes.drain(self.range(random)).collect();
        let at = self.place(random).min(bytes.len());
        bytes.splice(at..at, moved);
    }

    fn truncate(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        bytes.truncate(self.place(random));
    }

    fn extend(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let more = match random.below(3) {
            0 => vec![0; SECTOR * (1 + random.below(16))],
            1 => {
                let len = 1 + random.below(SECTOR);
                random.bytes(len)
            }
            _ => bytes[self.range(random)].to_vec(),
        };
        bytes.extend(more);
    }

    fn splice(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let range = self.range(random);
        bytes[range.clone()].copy_from_slice(&self.sibling.bytes[range]);
    }

    /// Takes each part (statement, list, checksums, data) from this archive or from the other one.
    fn splice_parts(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let chosen = random.next();
        let mut edges = self.good.edges.clone();
        edges.push(bytes.len());
        edges.sort_unstable();
        for (number, pair) in edges.windows(2).enumerate() {
            if chosen >> (number % 61) & 1 == 1 {
                bytes[pair[0]..pair[1]].copy_from_slice(&self.sibling.bytes[pair[0]..pair[1]]);
            }
        }
    }

    /// Changes white space, quotes, digits and brackets in the envelope, and adjusts its padding.
    fn envelope_text(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let mut text = crate::subject::envelope_text(bytes).as_bytes().to_vec();
        let at = random.below(text.len());
        let end = (at + random.len()).min(text.len());
        match random.below(5) {
            0 => text.insert(at, random.pick(b" \t\r\n,:\"\\{}[]A=/+_-")),
            1 => text[at] = random.pick(b" AZaz09+/=_-\"\\{}[],:\n"),
            2 => drop(text.drain(at..end)),
            3 => {
                let again = text[at..end].to_vec();
                text.splice(at..at, again);
            }
            _ => {
                let escaped = format!("\\u{:04x}", text[at]).into_bytes();
                text.splice(at..=at, escaped);
            }
        }
        text.resize(ENVELOPE.len() - 1, b' ');
        text.push(random.pick(b"\n\n\n\n\n\n\n \t\0"));
        bytes[ENVELOPE].copy_from_slice(&text);
    }

    /// Replaces the signatures of an envelope and keeps its canonical form. Anyone may add signatures, but the trusted
    /// ones must remain.
    fn signatures(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let envelope = Envelope::from_slice(&bytes[ENVELOPE]).unwrap();
        let mut other = Envelope::new(envelope.payload().to_vec()).unwrap();
        if random.below(4) > 0 {
            for signature in envelope.signatures() {
                other.add(signature).unwrap();
            }
        }
        for _ in 0..random.below(4) {
            let signature = EnvelopeSignature {
                key_id: KeyId::new(Digest::new(random.bytes(32).try_into().unwrap())),
                bytes: random.bytes(64),
            };
            other.add(signature).unwrap();
        }
        bytes[ENVELOPE].copy_from_slice(&other.to_bytes());
    }
}

/// Swaps the bytes at two offsets, up to the length at which they would overlap.
fn swap_ranges(bytes: &mut [u8], first: usize, second: usize, len: usize) {
    let len = len.min(second - first).min(bytes.len() - second);
    let (head, tail) = bytes.split_at_mut(second);
    head[first..first + len].swap_with_slice(&mut tail[..len]);
}

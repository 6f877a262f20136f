//! The fuzzer's bytes as a stream of small decisions. At the end of the bytes, every further decision is zero.

/// The remaining bytes of the fuzzer.
#[derive(Debug)]
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    /// Starts at the first byte.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns whether no bytes remain.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the next byte.
    pub fn byte(&mut self) -> u8 {
        match self.0 {
            [] => 0,
            [first, rest @ ..] => {
                self.0 = rest;
                *first
            }
        }
    }

    /// Returns a number of four bytes.
    pub fn number(&mut self) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// Returns a number below `end`, which must not be zero.
    pub fn below(&mut self, end: usize) -> usize {
        let number = u32::from_le_bytes([self.byte(), self.byte(), self.byte(), 0]);
        usize::try_from(number).map_or(0, |number| number % end)
    }

    /// Returns up to `most` of the next bytes.
    pub fn bytes(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

//! The progress of a push in bytes ([`SentBytes`]), computed from its events.

use std::collections::HashMap;

use progress::Progress;
use schemas::Digest;

use crate::events::{BlobArrival, Event};

/// The bytes of each blob that this push has sent. Bytes from an earlier import do not count, because they would make
/// this push look faster than it is. A restarted blob never moves the bar back.
#[derive(Debug, Default)]
pub struct SentBytes {
    planned: u64,
    blobs: HashMap<Digest, BlobProgress>,
}

#[derive(Debug, Default)]
struct BlobProgress {
    /// The bytes that the registry already had.
    before: u64,
    /// The end of the bytes that were sent.
    position: u64,
}

impl SentBytes {
    /// Creates the progress of a push of this many bytes.
    #[must_use]
    pub fn of(planned: u64) -> Self {
        Self {
            planned,
            ..Self::default()
        }
    }

    /// Takes one event of the push.
    pub fn take(&mut self, event: &Event) {
        let (digest, position) = match event {
            Event::BlobSent {
                digest, position, ..
            } => (digest, *position),
            Event::BlobInPlace {
                digest,
                size,
                arrival: BlobArrival::Uploaded | BlobArrival::Resumed { .. },
                ..
            } => (digest, *size),
            Event::BlobResumed { digest, from, .. } => {
                let blob = self.blobs.entry(*digest).or_default();
                if blob.position == 0 {
                    blob.before = *from;
                }
                (digest, *from)
            }
            _ => return,
        };
        let blob = self.blobs.entry(*digest).or_default();
        blob.position = blob.position.max(position);
    }

    /// Returns the bytes that were sent, and the total.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let before: u64 = self.blobs.values().map(|blob| blob.before).sum();
        let reached: u64 = self.blobs.values().map(|blob| blob.position).sum();
        Progress {
            done: reached - before,
            total: self.planned.saturating_sub(before),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_is_no_work_and_nothing_goes_back() {
        let digest = |number| Digest::new([number; 32]);
        let sent = |number, position| Event::BlobSent {
            digest: digest(number),
            position,
        };
        let resumed = Event::BlobResumed {
            digest: digest(1),
            repository: "app".parse().unwrap(),
            from: 60,
            size: 100,
        };
        let mut pushing = SentBytes::of(150);
        let mut shown = Vec::new();
        for event in [
            sent(2, 10),
            resumed,
            sent(1, 70),
            // The upload was restarted, so its bytes are sent again.
            sent(1, 20),
            sent(2, 50),
            sent(1, 100),
        ] {
            pushing.take(&event);
            let Progress { done, total } = pushing.progress();
            shown.push((done, total));
        }
        let expected = [(10, 150), (10, 90), (20, 90), (20, 90), (60, 90), (90, 90)];
        assert_eq!(shown, expected);
    }
}

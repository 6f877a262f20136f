//! How many bytes a push has sent, of all that it has to.

use std::collections::HashMap;

use registry::{Arrival, Event};
use schemas::Digest;
use watch::Progress;

/// How far each blob has come, of those bytes that this push has to send: what the registry has of an earlier import is no
/// work, and would make this one look faster than it is. A blob that begins again never takes the bar back.
#[derive(Default)]
pub(in crate::commands) struct Sent {
    planned: u64,
    blobs: HashMap<Digest, OfBlob>,
}

#[derive(Default)]
struct OfBlob {
    /// What the registry had of it.
    before: u64,
    /// The end of what was sent.
    position: u64,
}

impl Sent {
    pub(in crate::commands) fn of(planned: u64) -> Self {
        Self {
            planned,
            ..Self::default()
        }
    }

    /// Takes one event of the push.
    pub(in crate::commands) fn take(&mut self, event: &Event) {
        let (digest, position) = match event {
            Event::BlobSent {
                digest, position, ..
            } => (digest, *position),
            Event::BlobInPlace {
                digest,
                size,
                arrival: Arrival::Uploaded | Arrival::Resumed { .. },
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

    /// Bytes sent so far, of all that are to be.
    pub(in crate::commands) fn progress(&self) -> Progress {
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
        let mut pushing = Sent::of(150);
        let mut shown = Vec::new();
        for event in [
            sent(2, 10),
            resumed,
            sent(1, 70),
            // Begun again, and sent once more.
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

//! The push for one cluster among several, told every now and then.

use registry::Event;
use schemas::ClusterName;

use crate::commands::pushing::Sent;
use crate::events::push::{Push, PushTelling};
use crate::interrupt::{self, Finishing, Work};
use crate::render;

/// Percent between two lines about a push.
const STEP: u64 = 10;

/// A push that goes on.
pub(super) struct MemberPush {
    sent: Sent,
    /// The steps that were told.
    told: u64,
    telling: Option<PushTelling>,
    _finishing: Finishing,
}

impl MemberPush {
    /// Begins one for a cluster.
    pub(super) fn new(push: &Push<'_>, cluster: &ClusterName) -> Self {
        Self {
            sent: Sent::of(push.bytes),
            told: 0,
            telling: PushTelling::begin(push, Some(cluster)),
            _finishing: interrupt::finishing(Work::Push),
        }
    }

    /// Takes one event. Returns how far it is, if that is worth a line.
    pub(super) fn take(&mut self, event: &Event) -> Option<String> {
        self.sent.take(event);
        let progress = self.sent.progress();
        if let Some(telling) = &mut self.telling {
            telling.take(event, progress);
        }
        let percent = progress.done.saturating_mul(100) / progress.total.max(1);
        if percent / STEP <= self.told {
            return None;
        }
        self.told = percent / STEP;
        let (percent, total) = (self.told * STEP, render::bytes(progress.total));
        Some(format!("pushing: {percent} % of {total}"))
    }

    /// Ends it, with everything in place or not.
    pub(super) fn end(self, complete: bool) {
        if let Some(telling) = self.telling {
            telling.end(complete, self.sent.progress());
        }
    }
}

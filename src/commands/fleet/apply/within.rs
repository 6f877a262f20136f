//! A wave is changed within its budget, and ends well only if no more clusters have failed than may.

use std::collections::BTreeMap;

use anyhow::anyhow;
use schemas::FleetWave;

use super::changed::Changed;
use super::roll::{Budget, roll};
use crate::args::Output;
use crate::failure::Failure;
use crate::render;

/// How a wave has ended.
pub(super) struct WaveEnd {
    /// What came of the clusters that were begun, by their places in the wave.
    pub(super) changed: BTreeMap<usize, Changed>,
    /// Why no further wave may be begun, if none may.
    pub(super) stopped: Option<Failure>,
}

/// Changes so many clusters of a wave, as long as it may go on.
pub(super) async fn within_budget(
    wave: &FleetWave,
    clusters: usize,
    change: impl AsyncFn(usize) -> Changed,
    check_goes_on: impl Fn() -> Result<(), Failure>,
    output: Output,
) -> WaveEnd {
    if output == Output::Human {
        let count = render::count(clusters, "cluster");
        render::note!("wave {}: {count}", wave.name);
    }
    let budget = Budget {
        parallel: wave.parallel,
        failures: wave.max_failures,
    };
    let may_begin = || check_goes_on().is_ok();
    let has_failed = |it: &Changed| !it.is_done();
    let changed = roll(0..clusters, budget, change, may_begin, has_failed).await;
    let failures = changed.values().filter(|it| has_failed(it)).count();
    let stopped = if failures > wave.max_failures {
        let (name, may) = (&wave.name, wave.max_failures);
        let failed = render::count(failures, "cluster");
        let stopped = anyhow!("{failed} of wave {name} failed, but only {may} may fail");
        let hint = "fix the cause, then run the same command again to complete the rest";
        Some(Failure::unknown(stopped).hint(hint))
    } else if changed.len() < clusters {
        let paused = || {
            let paused = anyhow!("the fleet was paused in the meantime");
            Failure::unknown(paused).hint("run the same command again")
        };
        Some(check_goes_on().err().unwrap_or_else(paused))
    } else {
        None
    };
    WaveEnd { changed, stopped }
}

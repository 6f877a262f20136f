//! What packing does, shown while it does.

use packager::Event;

use crate::{progress, render};

/// Shows one event.
pub(super) fn show(bar: &progress::Bar, event: Event) {
    match event {
        Event::Sources(event) => show_source(bar, event),
        Event::Writing(progress) => bar.show("write", progress),
        Event::Unused(path) => bar.suspend(|| {
            render::note!(
                "warning: `{}` is not used: solution.yaml has no operator",
                path.display()
            );
        }),
        Event::Untidy(error) => bar.suspend(|| {
            render::note!("warning: the cache holds more than it should: {error}");
        }),
    }
}

fn show_source(bar: &progress::Bar, event: sources::Event) {
    use sources::Event;
    match event {
        Event::Collecting { place, number, of } => {
            bar.set_message(format!("image {number}/{of} {place}"));
        }
        Event::Preparing(progress) => bar.show("prepare", progress),
        Event::Downloading(progress) => bar.show("download", progress),
        Event::Retrying { reason, wait } => bar.suspend(|| {
            render::note!(
                "note: {reason}; trying again in {} s",
                wait.as_secs_f32().ceil()
            );
        }),
        Event::Damaged(digest) => bar.suspend(|| {
            render::note!(
                "note: the cache's copy of {digest} was damaged; it was removed, and packing starts over"
            );
        }),
    }
}

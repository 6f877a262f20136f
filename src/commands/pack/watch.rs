//! What packing does, shown while it does.

use packager::Event;
use sources::Event as Sources;

use crate::progress::Bar;
use crate::render;

/// Shows one event.
pub(crate) fn show(bar: &Bar, event: Event) {
    let say = |text: String| bar.suspend(|| render::note(text));
    match event {
        Event::Sources(Sources::Collecting { place, number, of }) => {
            bar.set_message(format!("image {number}/{of} {place}"));
        }
        Event::Sources(Sources::Preparing(progress)) => bar.show("prepare", progress),
        Event::Sources(Sources::Downloading(progress)) => bar.show("download", progress),
        Event::Writing(progress) => bar.show("write", progress),
        Event::Sources(Sources::Retrying { reason, wait }) => {
            let seconds = wait.as_secs_f32().ceil();
            say(format!("note: {reason}; trying again in {seconds} s"));
        }
        Event::Sources(Sources::Damaged(digest)) => say(format!(
            "note: the cache's copy of {digest} was damaged; it was removed, and packing starts over"
        )),
        Event::Unused(path) => say(format!(
            "warning: `{}` is not used: solution.yaml has no operator",
            path.display()
        )),
        Event::Untidy(error) => say(format!(
            "warning: the cache holds more than it should: {error}"
        )),
    }
}

//! Progress of long work: a bar on a terminal, nothing elsewhere, so that logs stay readable. What is waited for is told
//! everywhere, since nobody else would.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use schemas::printable;
use watch::{Progress, Watch};

use crate::args::Output;
use crate::{events, interrupt, render};

/// Between two pictures of a spinner.
const TICK: Duration = Duration::from_millis(120);

/// A bar of bytes. Draws on standard error, and only when that is a terminal and a person reads.
#[derive(Debug)]
pub(crate) struct Bar(ProgressBar);

/// Shows how many bytes of a work are done.
pub(crate) fn bytes(output: Output, what: &str, total: u64) -> Bar {
    let style = ProgressStyle::with_template(
        "{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta}",
    )
    .expect("the template is a constant");
    let bar = Bar(ProgressBar::with_draw_target(Some(total), target(output)).with_style(style));
    bar.set_message(what);
    bar
}

/// Does work that blocks, under a bar that `show` brings up to date, until it is done or the program is asked to end.
pub(crate) fn watched<E, T>(
    output: Output,
    what: &str,
    show: impl Fn(&Bar, E) + Sync,
    work: impl FnOnce(&Watch<'_, E>) -> T,
) -> T {
    let bar = bytes(output, what, 0);
    let done = work(&Watch {
        tell: &|event| show(&bar, event),
        cancel: interrupt::cancel(),
    });
    bar.finish_and_clear();
    done
}

impl Bar {
    /// Says what is being done, of which others may have named a part.
    pub(crate) fn set_message(&self, what: impl AsRef<str>) {
        self.0.set_message(printable(what.as_ref()).into_owned());
    }

    /// Shows how far something is.
    pub(crate) fn show(&self, what: &str, Progress { done, total }: Progress) {
        self.set_message(what);
        self.0.set_length(total.max(done));
        self.0.set_position(done);
    }

    /// Takes the bar away while something else is shown.
    pub(crate) fn suspend(&self, show: impl FnOnce()) {
        self.0.suspend(show);
    }

    /// Says that something failed for now, and when it is tried again.
    pub(crate) fn retrying(&self, reason: &str, wait: Duration) {
        let seconds = wait.as_secs_f32().ceil();
        self.suspend(|| render::note!("note: {reason}; trying again in {seconds} s"));
    }

    /// Takes the bar away for good.
    pub(crate) fn finish_and_clear(&self) {
        self.0.finish_and_clear();
    }
}

/// What is waited for, on standard error: beside a spinner where a person reads at a terminal, elsewhere in a line
/// whenever it changes.
#[derive(Debug)]
pub(crate) struct Waiting {
    output: Output,
    among: Option<Among>,
    shown: Mutex<ShownText>,
}

/// The place of a line among those of other works that go on at the same time.
#[derive(Debug)]
struct Among {
    lines: MultiProgress,
    /// The work, in front of each of its texts.
    name: String,
}

/// One line for each of several works.
pub(crate) fn several(output: Output) -> MultiProgress {
    MultiProgress::with_draw_target(target(output))
}

#[derive(Debug, Default)]
struct ShownText {
    text: String,
    spinner: Option<ProgressBar>,
}

impl Waiting {
    /// Nothing yet.
    pub(crate) fn new(output: Output) -> Self {
        Self {
            output,
            among: None,
            shown: Mutex::default(),
        }
    }

    /// The same of one work among several.
    pub(crate) fn among(lines: &MultiProgress, name: &str, output: Output) -> Self {
        let among = Among {
            lines: lines.clone(),
            name: format!("{name}: "),
        };
        Self {
            output,
            among: Some(among),
            shown: Mutex::default(),
        }
    }

    /// Says something that stays, beside what is waited for.
    pub(crate) fn note(&self, text: &str) {
        match &self.among {
            None => render::note(text),
            Some(Among { lines, name }) => lines.suspend(|| render::note!("{name}{text}")),
        }
    }

    /// Tells what is waited for now. Returns whether that is another thing than before.
    pub(crate) fn tell(&self, text: &str) -> bool {
        let name = self.among.as_ref().map_or("", |it| it.name.as_str());
        let text = printable(&format!("{name}{text}")).into_owned();
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.text == text {
            return false;
        }
        shown.text.clone_from(&text);
        let spinner = shown.spinner.get_or_insert_with(|| self.spinner());
        if spinner.is_hidden() {
            render::note(text);
        } else {
            spinner.set_message(text);
        }
        true
    }

    fn spinner(&self) -> ProgressBar {
        let spinner = match &self.among {
            None => ProgressBar::with_draw_target(None, target(self.output)),
            Some(Among { lines, .. }) => lines.add(ProgressBar::new_spinner()),
        };
        let style = ProgressStyle::with_template("{spinner} {wide_msg}");
        let spinner = spinner.with_style(style.expect("the template is a constant"));
        if !spinner.is_hidden() {
            spinner.enable_steady_tick(TICK);
        }
        spinner
    }

    /// Takes the spinner away: it is waited for no more, or something else is to be said.
    pub(crate) fn clear(&self) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.text.clear();
        if let Some(spinner) = shown.spinner.take() {
            spinner.finish_and_clear();
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Standard error where a person reads, and no program does.
fn target(output: Output) -> ProgressDrawTarget {
    match output {
        Output::Human if !events::on_standard_error() => ProgressDrawTarget::stderr(),
        Output::Human | Output::Json => ProgressDrawTarget::hidden(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_state_is_told_once_until_something_else_is() {
        let waiting = Waiting::new(Output::Json);
        let news = ["a", "a", "b", "a"].map(|it| waiting.tell(it));
        assert_eq!(news, [true, false, true, true]);
        waiting.clear();
        assert!(waiting.tell("a"));
    }

    #[test]
    fn what_others_named_is_printable() {
        let bar = bytes(Output::Json, "pack", 1);
        bar.set_message("image a\n\u{1b}[2J\u{202e}");
        assert_eq!(bar.0.message(), r"image a\n\u{1b}[2J\u{202e}");
    }
}

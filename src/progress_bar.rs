//! The progress of long-running work: a bar on a terminal, and no output elsewhere, so that logs stay readable. Waits
//! are reported elsewhere too, because otherwise the user could not see why the program does not continue.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use progress::{Progress, Watch};
use schemas::printable;

use crate::args::Output;
use crate::{events, interrupt, render};

/// The interval between two frames of a spinner.
const TICK: Duration = Duration::from_millis(120);

/// The progress of some work, which may have multiple phases. It is drawn on standard error, if that is a terminal and
/// a person reads.
#[derive(Debug)]
pub(crate) struct ProgressDisplay {
    bar: ProgressBar,
    shape: Mutex<Shape>,
}

/// The form of a progress bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// The number of finished bytes is unknown.
    Spinner,
    /// The total number of bytes is unknown.
    Counter,
    /// Both numbers of bytes are known.
    Bar,
}

/// Returns a bar for a known number of bytes.
pub(crate) fn bytes(output: Output, what: &str, total: u64) -> ProgressDisplay {
    ProgressDisplay::of_bytes(target(output), what, total)
}

/// Returns a spinner, for work without a known progress.
pub(crate) fn spinner(output: Output, what: &str) -> ProgressDisplay {
    ProgressDisplay::new(target(output), what)
}

/// Runs blocking work with a bar that `show` updates, until it is done or the program is asked to end.
pub(crate) fn watched<E, T>(
    output: Output,
    what: &str,
    show: impl Fn(&ProgressDisplay, E) + Sync,
    work: impl FnOnce(&Watch<'_, E>) -> T,
) -> T {
    let bar = spinner(output, what);
    let done = work(&Watch {
        tell: &|event| show(&bar, event),
        cancel: interrupt::cancel(),
    });
    bar.finish_and_clear();
    done
}

impl Shape {
    fn of(Progress { done, total }: Progress) -> Self {
        match (done, total) {
            (0, 0) => Self::Spinner,
            (_, 0) => Self::Counter,
            _ => Self::Bar,
        }
    }

    fn style(self) -> ProgressStyle {
        let template = match self {
            Self::Spinner => "{spinner} {wide_msg}",
            Self::Counter => "{spinner} {msg} {decimal_bytes} {decimal_bytes_per_sec}",
            Self::Bar => {
                "{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta}"
            }
        };
        ProgressStyle::with_template(template).expect("the template is a constant")
    }
}

impl ProgressDisplay {
    fn new(target: ProgressDrawTarget, what: &str) -> Self {
        let shape = Shape::Spinner;
        let bar = ProgressBar::with_draw_target(None, target)
            .with_style(shape.style())
            .with_message(printable(what).into_owned());
        if !bar.is_hidden() {
            bar.enable_steady_tick(TICK);
        }
        let shape = Mutex::new(shape);
        Self { bar, shape }
    }

    /// Returns a bar for work of a known size. It is hidden if there is nothing to do.
    fn of_bytes(target: ProgressDrawTarget, what: &str, total: u64) -> Self {
        let nothing = ProgressDrawTarget::hidden;
        let bar = Self::new(if total == 0 { nothing() } else { target }, what);
        bar.show(what, Progress { done: 0, total });
        bar
    }

    /// Shows the current step, without a number of bytes. Its text may come from another program.
    pub(crate) fn set_message(&self, what: impl AsRef<str>) {
        self.show(what.as_ref(), Progress { done: 0, total: 0 });
    }

    /// Shows the current step and its progress.
    pub(crate) fn show(&self, what: &str, progress: Progress) {
        let what = printable(what);
        let new = Shape::of(progress);
        let mut shape = self.shape.lock().unwrap_or_else(PoisonError::into_inner);
        if self.bar.message() != what || *shape != new {
            // Each of these calls draws. Without a length, an intermediate frame never shows a full bar.
            self.bar.unset_length();
            self.bar.reset();
            self.bar.set_message(what.into_owned());
            self.bar.set_style(new.style());
            *shape = new;
        }
        self.bar.set_position(progress.done);
        if new == Shape::Bar {
            self.bar.set_length(progress.total.max(progress.done));
        }
    }

    /// Hides the bar while other output is printed.
    pub(crate) fn suspend(&self, show: impl FnOnce()) {
        self.bar.suspend(show);
    }

    /// Reports a temporary failure, and the time until the retry.
    pub(crate) fn retrying(&self, reason: &str, wait: Duration) {
        let seconds = wait.as_secs_f32().ceil();
        self.suspend(|| render::note!("note: {reason}; trying again in {seconds} s"));
    }

    /// Removes the bar.
    pub(crate) fn finish_and_clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// The current wait, on standard error: next to a spinner on a terminal, elsewhere as one line for each change.
#[derive(Debug)]
pub(crate) struct Waiting {
    output: Output,
    among: Option<WaitingCluster>,
    shown: Mutex<ShownText>,
}

/// The line of one piece of work among those that run concurrently.
#[derive(Debug)]
struct WaitingCluster {
    lines: MultiProgress,
    /// The prefix of each text.
    name: String,
}

/// Returns a display with one line for each piece of work.
pub(crate) fn several(output: Output) -> MultiProgress {
    MultiProgress::with_draw_target(target(output))
}

#[derive(Debug, Default)]
struct ShownText {
    text: String,
    spinner: Option<ProgressBar>,
}

impl Waiting {
    /// Creates the display of a wait.
    pub(crate) fn new(output: Output) -> Self {
        Self {
            output,
            among: None,
            shown: Mutex::default(),
        }
    }

    /// Creates the display for one of multiple clusters.
    pub(crate) fn among(lines: &MultiProgress, name: &str, output: Output) -> Self {
        let among = WaitingCluster {
            lines: lines.clone(),
            name: format!("{name}: "),
        };
        Self {
            output,
            among: Some(among),
            shown: Mutex::default(),
        }
    }

    /// Prints a permanent line next to the current wait.
    pub(crate) fn note(&self, text: &str) {
        match &self.among {
            None => render::note(text),
            Some(WaitingCluster { lines, name }) => lines.suspend(|| render::note!("{name}{text}")),
        }
    }

    /// Shows the current wait. Returns true if it differs from the previous one.
    pub(crate) fn tell(&self, text: &str) -> bool {
        let name = self
            .among
            .as_ref()
            .map_or("", |cluster| cluster.name.as_str());
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
            Some(WaitingCluster { lines, .. }) => lines.add(ProgressBar::new_spinner()),
        };
        let style = ProgressStyle::with_template("{spinner} {wide_msg}");
        let spinner = spinner.with_style(style.expect("the template is a constant"));
        if !spinner.is_hidden() {
            spinner.enable_steady_tick(TICK);
        }
        spinner
    }

    /// Removes the spinner, because the wait has ended or other output follows.
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

/// Returns the target for drawing: standard error if a person reads it, and no program does.
fn target(output: Output) -> ProgressDrawTarget {
    match output {
        Output::Human if !events::on_standard_error() => ProgressDrawTarget::stderr(),
        Output::Human | Output::Json => ProgressDrawTarget::hidden(),
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use indicatif::TermLike;

    use super::*;

    #[test]
    fn the_same_state_is_told_once_until_something_else_is() {
        let waiting = Waiting::new(Output::Json);
        let news = ["a", "a", "b", "a"].map(|text| waiting.tell(text));
        assert_eq!(news, [true, false, true, true]);
        waiting.clear();
        assert!(waiting.tell("a"));
    }

    /// A terminal that records each drawn line.
    #[derive(Clone, Debug, Default)]
    struct Screen(Arc<Mutex<Vec<String>>>);

    impl Screen {
        fn target(&self) -> ProgressDrawTarget {
            ProgressDrawTarget::term_like(Box::new(self.clone()))
        }

        /// Returns the lines that were drawn since the last call.
        fn take(&self) -> Vec<String> {
            std::mem::take(&mut *self.0.lock().unwrap())
        }
    }

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            80
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            if !text.trim().is_empty() {
                self.0.lock().unwrap().push(text.to_owned());
            }
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_bar_never_starts_full() {
        let screen = Screen::default();
        let bar = ProgressDisplay::new(screen.target(), "pack");
        let show = |what: &str, done, total| bar.show(what, Progress { done, total });
        // Returns the last line. Fails if an earlier line shows a full bar, or more progress than the last one.
        let last = |may_be_full: bool| {
            bar.bar.force_draw();
            let drawn = screen.take();
            for line in &drawn {
                let is_full = line.contains('\u{2588}') && !line.contains('\u{2591}');
                assert!(may_be_full || !is_full, "{drawn:#?}");
            }
            drawn.last().unwrap().trim_end().to_owned()
        };
        assert!(last(false).ends_with(" pack"));
        bar.set_message("image 1/2 web:1");
        assert!(last(false).ends_with(" image 1/2 web:1"));
        show("download", 7, 0);
        let line = last(false);
        assert!(
            line.contains(" download 7 B ") && !line.contains("7 B/"),
            "{line}"
        );
        show("download", 5, 10);
        assert!(last(false).contains(" 5 B/10 B "));
        show("download", 10, 10);
        assert!(last(true).contains(" 10 B/10 B "));
        show("write", 0, 20);
        let line = last(false);
        assert!(
            line.starts_with("write ") && line.contains(" 0 B/20 B "),
            "{line}"
        );
        show("write", 20, 20);
        last(true);
        bar.set_message("SBOM 1/2 web:1");
        assert!(last(false).ends_with(" SBOM 1/2 web:1"));
        bar.finish_and_clear();
    }

    #[test]
    fn work_with_nothing_to_do_has_no_bar() {
        let screen = Screen::default();
        let bar = ProgressDisplay::of_bytes(screen.target(), "push", 0);
        bar.show("push", Progress { done: 0, total: 0 });
        assert_eq!(screen.take(), [""; 0]);
        ProgressDisplay::of_bytes(screen.target(), "push", 1);
        assert!(screen.take().last().unwrap().contains(" 0 B/1 B "));
    }

    #[test]
    fn what_others_named_is_printable() {
        let bar = bytes(Output::Json, "pack", 1);
        bar.set_message("image a\n\u{1b}[2J\u{202e}");
        assert_eq!(bar.bar.message(), r"image a\n\u{1b}[2J\u{202e}");
    }
}

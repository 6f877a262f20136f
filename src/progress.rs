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

/// The progress of a work, which may have several phases. Draws on standard error, and only when that is a terminal and
/// a person reads.
#[derive(Debug)]
pub(crate) struct Bar {
    bar: ProgressBar,
    shape: Mutex<Shape>,
}

/// How a phase of a work is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// How many bytes are done is not known.
    Spinner,
    /// How many bytes there are is not known.
    Counter,
    /// How many bytes are done of how many is known.
    Bar,
}

/// Shows how many bytes of a work are done.
pub(crate) fn bytes(output: Output, what: &str, total: u64) -> Bar {
    Bar::of_bytes(target(output), what, total)
}

/// Shows that a work goes on of which nothing is known yet.
pub(crate) fn spinner(output: Output, what: &str) -> Bar {
    Bar::new(target(output), what)
}

/// Does work that blocks, under a bar that `show` brings up to date, until it is done or the program is asked to end.
pub(crate) fn watched<E, T>(
    output: Output,
    what: &str,
    show: impl Fn(&Bar, E) + Sync,
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

impl Bar {
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

    /// A bar of a work whose size is known. Nothing is drawn where there is nothing to do.
    fn of_bytes(target: ProgressDrawTarget, what: &str, total: u64) -> Self {
        let nothing = ProgressDrawTarget::hidden;
        let bar = Self::new(if total == 0 { nothing() } else { target }, what);
        bar.show(what, Progress { done: 0, total });
        bar
    }

    /// Says what is being done, of which others may have named a part, if no bytes of it are counted.
    pub(crate) fn set_message(&self, what: impl AsRef<str>) {
        self.show(what.as_ref(), Progress { done: 0, total: 0 });
    }

    /// Shows how far something is.
    pub(crate) fn show(&self, what: &str, progress: Progress) {
        let what = printable(what);
        let new = Shape::of(progress);
        let mut shape = self.shape.lock().unwrap_or_else(PoisonError::into_inner);
        if self.bar.message() != what || *shape != new {
            // Each of these draws. Without a length, nothing that is drawn in between is a full bar.
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

    /// Takes the bar away while something else is shown.
    pub(crate) fn suspend(&self, show: impl FnOnce()) {
        self.bar.suspend(show);
    }

    /// Says that something failed for now, and when it is tried again.
    pub(crate) fn retrying(&self, reason: &str, wait: Duration) {
        let seconds = wait.as_secs_f32().ceil();
        self.suspend(|| render::note!("note: {reason}; trying again in {seconds} s"));
    }

    /// Takes the bar away for good.
    pub(crate) fn finish_and_clear(&self) {
        self.bar.finish_and_clear();
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
    use std::io;
    use std::sync::Arc;

    use indicatif::TermLike;

    use super::*;

    #[test]
    fn the_same_state_is_told_once_until_something_else_is() {
        let waiting = Waiting::new(Output::Json);
        let news = ["a", "a", "b", "a"].map(|it| waiting.tell(it));
        assert_eq!(news, [true, false, true, true]);
        waiting.clear();
        assert!(waiting.tell("a"));
    }

    /// A terminal that remembers each line that was drawn.
    #[derive(Clone, Debug, Default)]
    struct Screen(Arc<Mutex<Vec<String>>>);

    impl Screen {
        fn target(&self) -> ProgressDrawTarget {
            ProgressDrawTarget::term_like(Box::new(self.clone()))
        }

        /// Returns what was drawn since the last call.
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
        let bar = Bar::new(screen.target(), "pack");
        let show = |what: &str, done, total| bar.show(what, Progress { done, total });
        // Returns the last line, after no line was that of a bar which is full, or more of it than that.
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
        let bar = Bar::of_bytes(screen.target(), "push", 0);
        bar.show("push", Progress { done: 0, total: 0 });
        assert_eq!(screen.take(), [""; 0]);
        Bar::of_bytes(screen.target(), "push", 1);
        assert!(screen.take().last().unwrap().contains(" 0 B/1 B "));
    }

    #[test]
    fn what_others_named_is_printable() {
        let bar = bytes(Output::Json, "pack", 1);
        bar.set_message("image a\n\u{1b}[2J\u{202e}");
        assert_eq!(bar.bar.message(), r"image a\n\u{1b}[2J\u{202e}");
    }
}

//! Progress of long work: a bar on a terminal, nothing elsewhere, so that logs stay readable.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use schemas::printable;

use crate::args::Output;

/// A bar of bytes. Draws on standard error, and only when that is a terminal and a person reads.
#[derive(Clone, Debug)]
pub(crate) struct Bar(ProgressBar);

/// Shows how many bytes of a work are done.
pub(crate) fn bytes(output: Output, what: &str, total: u64) -> Bar {
    let target = match output {
        Output::Human => ProgressDrawTarget::stderr(),
        Output::Json => ProgressDrawTarget::hidden(),
    };
    let style = ProgressStyle::with_template(
        "{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta}",
    )
    .expect("the template is a constant");
    let bar = Bar(ProgressBar::with_draw_target(Some(total), target).with_style(style));
    bar.set_message(what);
    bar
}

impl Bar {
    /// Says what is being done, of which others may have named a part.
    pub(crate) fn set_message(&self, what: impl AsRef<str>) {
        self.0.set_message(printable(what.as_ref()).into_owned());
    }

    /// The number of bytes in all.
    pub(crate) fn set_length(&self, total: u64) {
        self.0.set_length(total);
    }

    /// The number of bytes that are done.
    pub(crate) fn set_position(&self, done: u64) {
        self.0.set_position(done);
    }

    /// Takes the bar away while something else is shown.
    pub(crate) fn suspend(&self, show: impl FnOnce()) {
        self.0.suspend(show);
    }

    /// Takes the bar away for good.
    pub(crate) fn finish_and_clear(&self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_named_is_printable() {
        let bar = bytes(Output::Json, "pack", 1);
        bar.set_message("image a\n\u{1b}[2J\u{202e}");
        assert_eq!(bar.0.message(), r"image a\n\u{1b}[2J\u{202e}");
    }
}

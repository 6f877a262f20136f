//! Progress of long work: a bar on a terminal, nothing elsewhere, so that logs stay readable.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::Output;

/// A bar of bytes. Draws on standard error, and only when that is a terminal and a person reads.
pub(crate) fn bytes(output: Output, what: &str, total: u64) -> ProgressBar {
    let target = match output {
        Output::Human => ProgressDrawTarget::stderr(),
        Output::Json => ProgressDrawTarget::hidden(),
    };
    let style = ProgressStyle::with_template(
        "{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta}",
    )
    .expect("the template is a constant");
    ProgressBar::with_draw_target(Some(total), target)
        .with_style(style)
        .with_message(what.to_owned())
}

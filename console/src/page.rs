//! The frame of every page, and the elements that pages share.

use maud::{DOCTYPE, Markup, Render, html};
use schemas::StatementTime;

use crate::assets::{SCRIPT_PATH, STYLE_PATH};
use crate::problem::Problem;
use crate::texts;

/// The section that a page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Environments,
    Solutions,
    Runs,
    History,
    Session,
    /// A page that is shown without a session, or a problem.
    Outside,
}

const NAVIGATION: [(Section, &str, &str); 5] = [
    (Section::Environments, "/environments", texts::ENVIRONMENTS),
    (Section::Solutions, "/solutions", texts::SOLUTIONS),
    (Section::Runs, "/runs", texts::RUNS),
    (Section::History, "/history", texts::HISTORY),
    (Section::Session, "/session", texts::SESSION),
];

/// Returns a whole page.
pub(crate) fn page(section: Section, title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · " (texts::PRODUCT) }
                link rel="stylesheet" href=(*STYLE_PATH);
                script type="module" src=(*SCRIPT_PATH) {}
            }
            body {
                a.skip href="#content" { (texts::SKIP) }
                header {
                    a.product href="/" { (texts::PRODUCT) }
                    nav aria-label=(texts::NAVIGATION) {
                        ul {
                            @for (of, path, name) in NAVIGATION {
                                li { a href=(path) aria-current=[(of == section).then_some("page")] { (name) } }
                            }
                        }
                    }
                }
                main #content tabindex="-1" {
                    h1 { (title) }
                    (body)
                }
            }
        }
    }
}

/// Returns the page of a problem.
pub(crate) fn problem(problem: &Problem) -> Markup {
    page(Section::Outside, texts::PROBLEM, &problem_text(problem))
}

/// Returns a problem with its causes and next steps.
pub(crate) fn problem_text(problem: &Problem) -> Markup {
    html! {
        div.alert role="alert" {
            p { strong { (problem.message) } }
            (lines(texts::CAUSES, &problem.causes))
            (lines(texts::NEXT_STEPS, &problem.hints))
            @if let Some(path) = &problem.log_in { p.actions { a.button href=(path) { (texts::LOG_IN) } } }
        }
    }
}

/// Returns a heading and a list; nothing if the list is empty.
pub(crate) fn lines<T: Render>(title: &str, lines: &[T]) -> Markup {
    html! {
        @if !lines.is_empty() {
            h2 { (title) }
            ul { @for line in lines { li { (line) } } }
        }
    }
}

/// Returns a list of terms and their values.
pub(crate) fn facts<const N: usize>(facts: [(&str, Markup); N]) -> Markup {
    html! {
        dl { @for (term, value) in facts { div { dt { (term) } dd { (value) } } } }
    }
}

/// Returns a table that scrolls within its own box on narrow screens.
pub(crate) fn table<const N: usize>(
    caption: &str,
    titles: [&str; N],
    rows: &[[Markup; N]],
) -> Markup {
    html! {
        div.scroll role="region" aria-label=(caption) tabindex="0" {
            table {
                caption { (caption) }
                thead { tr { @for title in titles { th scope="col" { (title) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (column, cell) in row.iter().enumerate() {
                                @if column == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The kind of a state, which decides its color. The state itself is always also a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    Neutral,
}

/// Returns a state with its color.
pub(crate) fn state(tone: Tone, text: &str) -> Markup {
    let class = match tone {
        Tone::Good => "state good",
        Tone::Bad => "state bad",
        Tone::Neutral => "state",
    };
    html! { span class=(class) { (text) } }
}

/// Returns a text as it is.
pub(crate) fn text(text: impl std::fmt::Display) -> Markup {
    let text = text.to_string();
    html! { (text) }
}

/// Returns a machine-readable name, such as that of an object.
pub(crate) fn code(text: impl std::fmt::Display) -> Markup {
    let text = text.to_string();
    html! { code { (text) } }
}

/// Returns a point in time, in UTC.
pub(crate) fn time(at: StatementTime) -> Markup {
    let at = at.to_string();
    let shown = at.replace('T', " ").replace('Z', " UTC");
    html! { time datetime=(at) { (shown) } }
}

/// Returns the names of objects as a list.
pub(crate) fn objects(names: &[String]) -> Markup {
    html! { ul { @for name in names { li { (code(name)) } } } }
}

/// Returns a link.
pub(crate) fn link(path: &str, text: impl std::fmt::Display) -> Markup {
    let text = text.to_string();
    html! { a href=(path) { (text) } }
}

/// Formats a number of bytes with the units of disks (powers of 1000).
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "kB", "MB", "GB", "TB"];
    let (mut unit, mut scaled, mut rest) = (0, count, 0);
    while scaled >= 1000 && unit + 1 < UNITS.len() {
        (rest, scaled, unit) = (scaled % 1000, scaled / 1000, unit + 1);
    }
    match unit {
        0 => format!("{scaled} bytes"),
        _ => format!("{scaled}.{} {}", rest / 100, UNITS[unit]),
    }
}

//! The marks of planned changes, and the line that counts them.

use std::fmt;

use crate::render::{self, Colour};

/// The columns in front of the object of a mark.
pub(super) const INDENT: &str = "      ";

/// A planned change of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    Create,
    Change,
    /// The object is deleted and created again.
    Replace,
    Remove,
}

impl Mark {
    /// The mark of an action in a plan; none if the object is kept.
    pub(super) fn of(action: &str) -> Option<Self> {
        match action {
            "create" => Some(Self::Create),
            "change" => Some(Self::Change),
            "replace" => Some(Self::Replace),
            "remove" => Some(Self::Remove),
            _ => None,
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Self::Create => "+",
            Self::Change => "~",
            Self::Replace => "-/+",
            Self::Remove => "-",
        }
    }

    /// Returns the line of an object.
    pub(super) fn line(self, object: impl fmt::Display) -> String {
        format!("{:>5} {object}", self.sign())
    }
}

/// Shows lines of a plan, each in the colour of its mark, and wrapped at the width of a terminal.
pub(super) fn show(lines: impl IntoIterator<Item = String>) {
    let width = render::width();
    for line in lines {
        let colour = colour(&line);
        for line in wrapped(&line, width) {
            render::coloured(&line, colour);
        }
    }
}

/// Returns the colour of a line of a plan.
fn colour(line: &str) -> Option<Colour> {
    let is_marked = line.starts_with(' ');
    match line.split_whitespace().next()? {
        "+" if is_marked => Some(Colour::Green),
        "~" | "!" | "+!" if is_marked => Some(Colour::Yellow),
        "-" | "-/+" if is_marked => Some(Colour::Red),
        _ => None,
    }
}

/// The column in which the texts of labelled lines begin.
const TEXT: usize = 10;

/// Returns a line in as many lines as a terminal of this width takes; as it is where there is no terminal.
fn wrapped(line: &str, width: Option<usize>) -> Vec<String> {
    let width = width.filter(|width| *width > 2 * TEXT);
    let Some(width) = width.filter(|width| line.chars().count() > *width) else {
        return vec![line.to_owned()];
    };
    let indent = match line.len() - line.trim_start().len() {
        0 => TEXT + 2,
        margin => margin + 4,
    };
    let mut lines = vec![String::new()];
    for word in line.split_inclusive(' ') {
        let last = lines.last_mut().expect("there is a line");
        let is_full = last.chars().count() + word.trim_end().chars().count() > width;
        if is_full && !last.trim().is_empty() {
            lines.push(format!("{:indent$}{word}", ""));
        } else {
            last.push_str(word);
        }
    }
    let lines = lines.iter();
    lines.map(|line| line.trim_end().to_owned()).collect()
}

/// The numbers of planned changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    create: usize,
    change: usize,
    replace: usize,
    remove: usize,
}

impl FromIterator<Mark> for Totals {
    fn from_iter<I: IntoIterator<Item = Mark>>(marks: I) -> Self {
        let mut totals = Self::default();
        for mark in marks {
            *match mark {
                Mark::Create => &mut totals.create,
                Mark::Change => &mut totals.change,
                Mark::Replace => &mut totals.replace,
                Mark::Remove => &mut totals.remove,
            } += 1;
        }
        totals
    }
}

impl Totals {
    /// The numbers of a plan that only removes.
    pub(super) fn removing(remove: usize) -> Self {
        Self {
            remove,
            ..Self::default()
        }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            create,
            change,
            replace,
            remove,
        } = self;
        write!(f, "{create} to create, {change} to change, ")?;
        if *replace > 0 {
            write!(f, "{replace} to replace, ")?;
        }
        write!(f, "{remove} to remove")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(actions: &[&str]) -> String {
        let marks = actions.iter().filter_map(|action| Mark::of(action));
        marks.collect::<Totals>().to_string()
    }

    #[test]
    fn a_plan_ends_with_the_number_of_objects_of_each_mark() {
        let actions = ["create", "keep", "change", "create", "remove"];
        let line = "2 to create, 1 to change, 1 to remove";
        assert_eq!(totals(&actions), line);
        assert_eq!(totals(&[]), "0 to create, 0 to change, 0 to remove");
        let replacing = "0 to create, 0 to change, 1 to replace, 0 to remove";
        assert_eq!(totals(&["replace", "keep version 2.0.0 of"]), replacing);
    }

    #[test]
    fn the_mark_of_a_line_decides_its_colour() {
        let of = |mark: Mark| colour(&mark.line("ConfigMap prod/a"));
        assert_eq!(of(Mark::Create), Some(Colour::Green));
        assert_eq!(of(Mark::Change), Some(Colour::Yellow));
        assert_eq!(of(Mark::Replace), Some(Colour::Red));
        assert_eq!(of(Mark::Remove), Some(Colour::Red));
        assert_eq!(colour("      ! takes over .data"), Some(Colour::Yellow));
        assert_eq!(colour("    +! may read all Secrets"), Some(Colour::Yellow));
        for plain in ["", "- is no mark at the margin", "      keep ConfigMap b"] {
            assert_eq!(colour(plain), None, "{plain}");
        }
    }

    #[test]
    fn a_line_is_wrapped_at_words_and_each_word_stays() {
        let line = "note      some words of a note that is longer than the terminal is wide";
        assert_eq!(wrapped(line, None), [line]);
        assert_eq!(wrapped(line, Some(200)), [line]);
        let lines = wrapped(line, Some(40));
        let expected = [
            "note      some words of a note that is",
            "            longer than the terminal is",
            "            wide",
        ];
        assert_eq!(lines, expected);
        let marked = Mark::Create.line("ConfigMap prod/one, prod/two");
        let expected = ["    + ConfigMap prod/one,", "        prod/two"];
        assert_eq!(wrapped(&marked, Some(26)), expected);
        let long = format!("note      {}", "x".repeat(100));
        assert!(wrapped(&long, Some(40)).concat().contains(&"x".repeat(100)));
    }
}

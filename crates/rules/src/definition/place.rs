//! Positions within a definition, and the faults that are found there.

use std::fmt;

use crate::Problem;
use crate::limits::{DEFINITION_FAULTS, POINTER};

/// A position within a document. It is formatted only for a fault, so that traversing a valid document allocates
/// nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    above: Option<&'a Self>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Field(&'a str),
    Key(&'a str),
    Index(usize),
}

impl<'a> Place<'a> {
    pub(super) const fn root(field: &'a str) -> Self {
        let step = Step::Field(field);
        Self { above: None, step }
    }

    pub(super) const fn field(&'a self, field: &'a str) -> Self {
        self.below(Step::Field(field))
    }

    pub(super) const fn key(&'a self, key: &'a str) -> Self {
        self.below(Step::Key(key))
    }

    pub(super) const fn index(&'a self, index: usize) -> Self {
        self.below(Step::Index(index))
    }

    const fn below(&'a self, step: Step<'a>) -> Self {
        let above = Some(self);
        Self { above, step }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(above) = self.above {
            above.fmt(f)?;
        }
        match self.step {
            Step::Field(field) if self.above.is_some() => write!(f, ".{field}"),
            Step::Field(field) => f.write_str(field),
            Step::Key(key) => write!(f, "[{key}]"),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// The share of a message's characters for the description of the fault. The position takes the rest.
const WORDS: usize = 100;

fn cut(mut text: String, characters: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(characters) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// The faults of one kind in a definition. Only the first [`DEFINITION_FAULTS`] are kept, and the others are counted.
#[derive(Debug)]
pub(super) struct Faults {
    kind: fn(String) -> Problem,
    list: Vec<Problem>,
    untold: usize,
}

impl Faults {
    pub(super) const fn new(kind: fn(String) -> Problem) -> Self {
        Self {
            kind,
            list: Vec::new(),
            untold: 0,
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn add(&mut self, place: &Place<'_>, words: impl fmt::Display) {
        if self.list.len() == DEFINITION_FAULTS {
            self.untold += 1;
            return;
        }
        // A key, or a text in the description, may be as long as the file.
        let place = cut(place.to_string(), POINTER - WORDS);
        let words = cut(words.to_string(), WORDS);
        self.list.push((self.kind)(format!("{place}: {words}")));
    }

    pub(super) fn into_problems(mut self) -> Vec<Problem> {
        if self.untold > 0 {
            let words = format!("and {} more of the same kind", self.untold);
            self.list.push((self.kind)(words));
        }
        self.list
    }
}

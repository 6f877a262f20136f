//! Paths of fields within a definition, and the problems that are found there. Both the length of a message and the
//! number of messages are limited, because definitions come from other publishers.

use std::fmt;

use crate::finding::problem::Problem;
use crate::limits::{DEFINITION_FAULTS, POINTER};

/// The path of a field within a document. It is formatted only for a problem, so that traversing a valid document
/// allocates nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldPath<'a> {
    parent: Option<&'a Self>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Field(&'a str),
    Key(&'a str),
    Index(usize),
}

impl<'a> FieldPath<'a> {
    pub(super) const fn root(field: &'a str) -> Self {
        let step = Step::Field(field);
        Self { parent: None, step }
    }

    pub(super) const fn field(&'a self, field: &'a str) -> Self {
        self.child(Step::Field(field))
    }

    pub(super) const fn key(&'a self, key: &'a str) -> Self {
        self.child(Step::Key(key))
    }

    pub(super) const fn index(&'a self, index: usize) -> Self {
        self.child(Step::Index(index))
    }

    const fn child(&'a self, step: Step<'a>) -> Self {
        let parent = Some(self);
        Self { parent, step }
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Field(field) if self.parent.is_some() => write!(f, ".{field}"),
            Step::Field(field) => f.write_str(field),
            Step::Key(key) => write!(f, "[{key}]"),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// The share of a message's characters for the description of the problem. The path takes the rest.
const WORDS: usize = 100;

fn cut(mut text: String, characters: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(characters) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// The problems of one kind in a definition. Only the first [`DEFINITION_FAULTS`] are kept, and the remaining ones are
/// counted.
#[derive(Debug)]
pub(super) struct ProblemList {
    kind: fn(String) -> Problem,
    list: Vec<Problem>,
    omitted: usize,
}

impl ProblemList {
    pub(super) const fn new(kind: fn(String) -> Problem) -> Self {
        Self {
            kind,
            list: Vec::new(),
            omitted: 0,
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn add(&mut self, path: &FieldPath<'_>, words: impl fmt::Display) {
        if self.list.len() == DEFINITION_FAULTS {
            self.omitted += 1;
            return;
        }
        // A key, or a text in the description, may be as long as the file.
        let path = cut(path.to_string(), POINTER - WORDS);
        let words = cut(words.to_string(), WORDS);
        self.list.push((self.kind)(format!("{path}: {words}")));
    }

    pub(super) fn into_problems(mut self) -> Vec<Problem> {
        if self.omitted > 0 {
            let words = format!("and {} more of the same kind", self.omitted);
            self.list.push((self.kind)(words));
        }
        self.list
    }
}

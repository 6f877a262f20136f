//! Notes for a person about a draft: what was chosen, what to decide, what was left out.

use schemars::JsonSchema;
use serde::Serialize;

/// How much a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Weight")]
pub enum NoteWeight {
    /// What was chosen, and why.
    Chosen,
    /// Without a decision the operator will probably not work.
    Decide,
    /// Not in the draft.
    Lost,
}

/// One thing to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Note {
    /// How much it matters.
    pub weight: NoteWeight,
    /// What it is about.
    pub about: String,
    /// What is the case, why, and what to do.
    pub text: String,
}

impl Note {
    pub(crate) fn new(
        weight: NoteWeight,
        about: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self {
            weight,
            about: about.into(),
            text: text.into(),
        }
    }
}

/// Names for a message, as `` `a`, `b` and 3 more ``.
pub(crate) fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(manifests::shown).collect();
    schemas::listed(&names)
}

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

/// Returns the note on images that programs may start without any object naming them. `programs` are the images of those
/// that may create pods, if it is known which may.
pub(crate) fn started<'a>(programs: impl IntoIterator<Item = &'a str>) -> Note {
    let programs: Vec<&str> = programs.into_iter().collect();
    let who = if programs.is_empty() {
        "A program that may create pods".to_owned()
    } else {
        format!("{} may create pods. Such a program", names(programs))
    };
    let text = format!(
        "{who} can start images that are compiled into it, and no object names these. Look them up in its documentation, and add them to `spec.images`. Packing reports the references that it finds in such programs"
    );
    Note::new(NoteWeight::Decide, "images that programs start", text)
}

/// Names for a message, as `` `a`, `b` and 3 more ``.
pub(crate) fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(manifests::shown).collect();
    schemas::listed(&names)
}

//! Notes for the user about a draft: choices that were made, open decisions, and parts that were left out.

use schemars::JsonSchema;
use serde::Serialize;

/// The kind of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Weight")]
pub enum NoteWeight {
    /// A choice that was made, with the reason.
    Chosen,
    /// A decision for you: without it the operator will probably not work.
    Decide,
    /// Something that the draft does not contain.
    Lost,
}

/// A note on a draft.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Note {
    /// The kind of the note.
    pub weight: NoteWeight,
    /// The subject of the note.
    pub about: String,
    /// The fact, its reason and the next step.
    pub text: String,
    /// Whether packing settles it: packing adds the images and reports what is wrong with the values.
    #[serde(skip)]
    pub is_settled_by_packing: bool,
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
            is_settled_by_packing: false,
        }
    }

    /// Returns the first sentence of the text, without its full stop if more text follows.
    #[must_use]
    pub fn summary(&self) -> &str {
        let end = self.text.find(". ").unwrap_or(self.text.len());
        &self.text[..end]
    }
}

/// Returns the note about images that programs may start although no object names them. `programs` are the images of
/// the programs that may create pods, if they are known.
pub(crate) fn started<'a>(programs: impl IntoIterator<Item = &'a str>) -> Note {
    let programs: Vec<&str> = programs.into_iter().collect();
    let who = if programs.is_empty() {
        "A program that may create pods".to_owned()
    } else {
        format!("{} may create pods. Such a program", names(programs))
    };
    let text = format!(
        "{who} can start images that are compiled into it and that no object names. Find them in its documentation and add them to `spec.images`. Packing reports the references that it finds in such programs"
    );
    Note::new(NoteWeight::Decide, "images that programs start", text)
}

/// Returns names for a message, as `` `a`, `b` and 3 more ``.
pub(crate) fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(manifests::display_text).collect();
    schemas::list_quoted(&names)
}

//! The text of `solution.yaml` for trees that refer to Helm charts, and the notes that such trees have. [`text`] writes
//! the file for one chart and for the releases of a helmfile.

use std::fmt::Write as _;

use manifests::display_text;
use schemas::{SolutionSource, SourceChart};

use crate::ReleaseError;
use crate::notes::{self, Note, NoteWeight};
use crate::write::{self, EDITOR, push, quoted};

/// Returns the notes that apply to every tree with charts.
pub(crate) fn notes() -> Vec<Note> {
    let note = |about, text| Note {
        is_settled_by_packing: true,
        ..Note::new(NoteWeight::Decide, about, text)
    };
    vec![
        note(
            "images",
            "`spec.images` is still empty. Run `solution pack --add-images` to add the images that the charts name",
        ),
        notes::started([]),
        note(
            "values",
            "an import replaces the references to packaged images in the rendered manifests, so values need no placeholders for images. If `solution pack` reports `manifests.image-parts`, a field has only a part of a reference, which an import does not replace: set it with placeholders in values, such as `repository: $(image.repository:NAME)` and `tag: $(image.tag:NAME)`",
        ),
    ]
}

/// Returns the text of the file. `given` is the flag with which the user named the source, and `called` the name of the
/// source.
pub(crate) fn text(
    source: &SolutionSource,
    given: &str,
    called: &str,
) -> Result<Vec<u8>, ReleaseError> {
    let mut text = format!(
        "{EDITOR}# Created by `solution init {given}` from `{}`.\n",
        display_text(called)
    );
    write::head(source, &mut text);
    push!(
        text,
        "  # Optional. The versions of Kubernetes that sites have: the charts are rendered for each.
  # kubernetes: ['1.36']

  # Every image that the charts run. `solution pack --add-images` adds the images that they name.
  images: []

  charts:"
    );
    for chart in &source.spec.charts {
        push_chart(chart, &mut text);
    }
    write::checked(source, text)
}

fn push_chart(chart: &SourceChart, text: &mut String) {
    let list = |texts: Vec<String>| texts.join(", ");
    push!(text, "    - name: {}", quoted(chart.name.as_str()));
    push!(text, "      source: {}", quoted(&chart.source.to_string()));
    let values = chart
        .values
        .iter()
        .map(|path| quoted(&path.to_string_lossy()));
    if chart.values.is_empty() {
        push!(text, "      # values: [values.yaml]");
    } else {
        push!(text, "      values: [{}]", list(values.collect()));
    }
    if let Some(namespace) = &chart.namespace {
        push!(text, "      namespace: {}", quoted(namespace.as_str()));
    }
    if !chart.needs.is_empty() {
        let needs = chart.needs.iter().map(|name| quoted(name.as_str()));
        push!(text, "      needs: [{}]", list(needs.collect()));
    }
    if let Some(timeout) = &chart.timeout {
        push!(text, "      timeout: {}", quoted(timeout.as_str()));
    }
}

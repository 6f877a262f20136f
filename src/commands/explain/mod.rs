//! `solution explain`: the meaning of an id or of a field of a document.

mod catalogue;
mod fields;
pub(super) mod manual;

use anyhow::anyhow;
use clap::Args;
use schemars::JsonSchema;
use schemas::nearest;
use serde::Serialize;

use self::fields::ExplainedField;
use super::give;
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::render;

/// Letters that a mistyped id may differ in.
const TYPING_ERRORS: usize = 4;

/// Explain a finding, a blocker, a capability, or a field of a document
#[derive(Args, Debug)]
#[command(after_help = "\
`solution schema` lists the documents. A field is named by its path, without indexes of lists.

Examples:
  solution explain images.empty
  solution explain crd-too-new
  solution explain charts-1.0.0
  solution explain site
  solution explain site.spec.workloads
  solution explain solution-source.spec.images -o json")]
pub(crate) struct Arguments {
    /// An id of a finding, blocker or capability, or DOCUMENT[.FIELD...]
    #[arg(value_name = "ID|FIELD")]
    id: String,
}

/// The kind of a thing that is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum ExplainedKind {
    /// A finding of `validate`, `pack` or `import`.
    Finding,
    /// A reason why a plan cannot be applied.
    Blocker,
    /// A capability that an archive requires of its readers.
    Capability,
    /// A document, or a field of one.
    Field,
}

/// The explanation of an id or a field.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Explanation {
    /// The id, or the path of the field.
    id: String,
    /// The kind of the thing.
    kind: ExplainedKind,
    /// The severity of a finding, or the type of a field.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    /// The meaning.
    text: String,
    /// The fix for a finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
    /// The fields of a blocker in JSON, or those below a field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<ExplainedField>,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let id = arguments.id.as_str();
    let ids = catalogue::all();
    let found = ids.iter().find(|known| known.id == id);
    let explanation = match found {
        Some(found) => found,
        None => &fields::explain(id).map_err(|near| unknown(id, near, &ids))?,
    };
    Ok(give(output, explanation, show))
}

/// Says that nothing is called so, and what is called alike.
fn unknown(id: &str, near: Option<String>, ids: &[Explanation]) -> Failure {
    let names = ids.iter().map(|known| known.id.as_str());
    let near = near.or_else(|| nearest(id, names, TYPING_ERRORS).map(str::to_owned));
    let failure = Failure::no(anyhow!("cannot explain `{id}`: unknown id or field"));
    match near {
        Some(near) => failure.hint(format!("did you mean `solution explain {near}`?")),
        None => failure.hint("`solution schema` lists the documents with their fields"),
    }
}

fn show(explanation: &Explanation) {
    let Explanation {
        id,
        kind,
        class,
        text,
        fix,
        fields,
    } = explanation;
    let title = match kind {
        ExplainedKind::Finding => "finding",
        ExplainedKind::Blocker => "blocker",
        ExplainedKind::Capability => "capability",
        ExplainedKind::Field => "field",
    };
    let class = class.as_ref().map(|class| format!("  ({class})"));
    render::line!("{title:<11} {id}{}", class.unwrap_or_default());
    render::line!("meaning     {text}");
    if let Some(fix) = fix {
        render::line!("fix         {fix}");
    }
    if !fields.is_empty() {
        render::line("fields");
        let rows = fields.iter().map(|field| {
            [
                format!("  {}", field.name),
                field.class.clone(),
                field.text.clone(),
            ]
        });
        render::columns(&rows.collect::<Vec<_>>())
            .iter()
            .for_each(render::line);
    }
}

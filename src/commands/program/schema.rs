//! `solution schema`: the JSON Schemas of the documents that people write, for editors and other tools.

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::Output;
use crate::commands::give;
use crate::commands::look::cat;
use crate::failure::{Failure, Outcome};
use crate::render;

/// Print the JSON Schema of a document
#[derive(Args, Debug)]
#[command(after_help = "\
Files from `solution init`, `site init` and `fleet init` begin with `# yaml-language-server: $schema=FILE`. \
Editors then find the schema next to the document without a network.

Examples:
  solution schema
  solution schema solution-source > shop/solution-source.schema.json
  solution schema site > site.schema.json")]
pub(crate) struct Arguments {
    /// The name of the document [default: list all documents]
    #[arg(value_enum, value_name = "NAME")]
    document: Option<SchemaDocument>,
}

/// A document that has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SchemaDocument {
    /// solution.yaml, the source of an archive
    SolutionSource,
    /// site.yaml, the site configuration
    Site,
    /// fleet.yaml, the fleet file
    Fleet,
    /// The Solutions that a site imports and activates
    SolutionsConfiguration,
    /// A trust policy
    TrustPolicy,
    /// A findings policy
    FindingsPolicy,
    /// manifest.yaml in an archive
    Solution,
    /// operator.yaml, the configuration that an import gives to an operator
    OperatorConfig,
}

/// The documents that have a schema.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Schemas {
    /// Their names.
    schemas: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let Some(document) = arguments.document else {
        return Ok(list(output));
    };
    if output == Output::Json {
        let hint = "omit `--output json`";
        return Err(Failure::usage("a schema is always JSON").hint(hint));
    }
    cat::write(document.text().as_bytes()).map(|_| Outcome::Yes)
}

fn list(output: Output) -> Outcome {
    let values = SchemaDocument::value_variants().iter();
    let values: Vec<_> = values.filter_map(ValueEnum::to_possible_value).collect();
    give(output, &Schemas { schemas: names() }, |_| {
        for value in &values {
            let help = value.get_help().map(ToString::to_string);
            render::line!("{:<24}{}", value.get_name(), help.unwrap_or_default());
        }
    })
}

/// The names of the documents.
pub(in crate::commands) fn names() -> Vec<String> {
    let values = SchemaDocument::value_variants().iter();
    let values = values.filter_map(ValueEnum::to_possible_value);
    values.map(|value| value.get_name().to_owned()).collect()
}

/// The JSON Schema of the document of this name.
pub(in crate::commands) fn text(name: &str) -> Option<&'static str> {
    let document = SchemaDocument::from_str(name, false);
    document.ok().map(SchemaDocument::text)
}

impl SchemaDocument {
    fn text(self) -> &'static str {
        match self {
            Self::SolutionSource => include_str!("../../../schemas/solution-source.schema.json"),
            Self::Site => include_str!("../../../schemas/site.schema.json"),
            Self::Fleet => include_str!("../../../schemas/fleet.schema.json"),
            Self::SolutionsConfiguration => {
                include_str!("../../../schemas/solutions-configuration.schema.json")
            }
            Self::FindingsPolicy => include_str!("../../../schemas/findings-policy.schema.json"),
            Self::TrustPolicy => include_str!("../../../schemas/trust-policy.schema.json"),
            Self::Solution => include_str!("../../../schemas/solution.schema.json"),
            Self::OperatorConfig => include_str!("../../../schemas/operator-config.schema.json"),
        }
    }
}

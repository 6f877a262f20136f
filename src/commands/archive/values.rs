//! `solution archive values`: drafts a site configuration with everything that a site can choose in an archive. Every
//! choice is commented out, so the draft has no effect until a site edits it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use charts::{Chart, ChartError};
use clap::Args;
use schemars::JsonSchema;
use schemas::{
    ChartName, ChartVersion, Parameter, ParameterName, ParameterType, ReleaseName, SiteValues,
    SolutionId, SolutionName, SolutionSpec, ValuePointer, Version, merge_values, yaml,
};
use serde::Serialize;
use serde_json::{Map, Value};
use validator::{AcceptedArchive, PackagedChart};

use super::SignerArguments;
use super::contents::ArchiveContents;
use crate::args::{Output, ReadArguments, RegistryArguments};
use crate::commands::give;
use crate::commands::imported_version::read_imported_version;
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

/// Print the configurable values as a site configuration
#[derive(Args, Debug)]
#[command(after_help = "\
All values are comments: uncomment the ones to change, and give the file to `solution site set`. The \
descriptions of chart values are from the publisher.

A word without dots and slashes is the name of an imported Solution, whose archive is read from its registry; \
anything else is a file.

Examples:
  solution archive values app.iso > site.yaml
  solution archive values app 1.0.0
  solution archive values app.iso --output json | jq '.releases[].values'")]
pub(crate) struct Arguments {
    /// The archive (a file or a block device), or the name of an imported Solution
    #[arg(value_name = "ARCHIVE|NAME")]
    what: PathBuf,

    /// The version of the imported Solution [default: the newest imported version]
    version: Option<Version>,

    #[command(flatten)]
    signers: SignerArguments,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    cluster: ReadArguments,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let name = arguments.what.to_str().and_then(|word| word.parse().ok());
    match (name, &arguments.version) {
        (Some(name), _) => Ok(match imported(&name, arguments, output)? {
            Some(choices) => give(output, &choices, show),
            None => Outcome::No,
        }),
        (None, None) => {
            let choices = choices(&arguments.what, &arguments.signers)?;
            Ok(give(output, &choices, |choices| {
                show(choices);
                arguments.signers.note();
            }))
        }
        (None, Some(_)) => {
            let shown = arguments.what.display();
            let message = format!("`{shown}` is not the name of a Solution");
            Err(Failure::usage(message))
        }
    }
}

/// Reads the available choices from the archive in the site's registry. None if the archive is not accepted, which the
/// program has reported.
fn imported(
    name: &SolutionName,
    arguments: &Arguments,
    output: Output,
) -> Result<Option<SiteChoices>, Failure> {
    cluster::read(&arguments.cluster, async |cluster| {
        let version = arguments.version.as_ref();
        let kept = read_imported_version(cluster, name, version, &arguments.reach, output).await?;
        let choices = kept.map(|kept| of_accepted(&kept.archive.accepted));
        choices.transpose()
    })
}

fn show(choices: &SiteChoices) {
    lines(choices).iter().for_each(render::line);
}

/// The settings of a version. The signatures of a file are not verified.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SiteChoices {
    /// The name of the Solution.
    solution: SolutionName,
    /// The version of the Solution.
    version: Version,
    /// The parameters.
    parameters: BTreeMap<ParameterName, Parameter>,
    /// The releases of its charts.
    releases: Vec<ReleaseValues>,
}

/// The values of a release.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReleaseValues {
    /// The name of the release.
    name: ReleaseName,
    /// The name of its chart.
    chart: ChartName,
    /// The version of its chart.
    version: ChartVersion,
    /// Its values where a site says nothing: the publisher's, with placeholders, over the chart's own.
    values: Map<String, Value>,
    /// The values that its publisher means a site to choose.
    #[serde(skip_serializing_if = "schemas::is_default")]
    site_values: SiteValues,
    /// The publisher's alone.
    #[serde(skip)]
    published: Map<String, Value>,
    /// The chart's own values as text, with comments.
    #[serde(skip)]
    text: String,
}

/// Reads the available choices.
fn choices(path: &Path, signers: &SignerArguments) -> Result<SiteChoices, Failure> {
    let archive = ArchiveContents::open(path, signers)?;
    site_choices(&archive.id, &archive.spec, &archive.charts()?)
}

/// Reads the available choices from an accepted archive.
fn of_accepted(accepted: &AcceptedArchive) -> Result<SiteChoices, Failure> {
    let id = &accepted.statement().predicate.id;
    site_choices(id, &accepted.manifest().spec, accepted.charts())
}

fn site_choices(
    id: &SolutionId,
    spec: &SolutionSpec,
    charts: &[PackagedChart],
) -> Result<SiteChoices, Failure> {
    let releases = charts.iter().map(|chart| {
        let wrong =
            |error: ChartError| Failure::no(anyhow!(error).context("cannot read the chart"));
        release(chart).map_err(wrong)
    });
    Ok(SiteChoices {
        solution: id.name().clone(),
        version: spec.version.clone(),
        parameters: spec.parameters.clone(),
        releases: releases.collect::<Result<_, _>>()?,
    })
}

/// Returns the values of a release.
fn release(carried: &PackagedChart) -> Result<ReleaseValues, ChartError> {
    let release = &carried.release;
    let chart = Chart::read(&carried.archive)?;
    let mut values = chart.default_values();
    merge_values(&mut values, &carried.values);
    Ok(ReleaseValues {
        name: release.name.clone(),
        chart: release.chart.clone(),
        version: release.version.clone(),
        values,
        site_values: release.site_values.clone(),
        published: carried.values.clone(),
        text: chart.values_text().to_owned(),
    })
}

/// Returns the lines of the file. The commented lines are the defaults: without the first `# ` of each, the file has
/// the same effect.
fn lines(choices: &SiteChoices) -> Vec<String> {
    let SiteChoices {
        solution,
        version,
        parameters,
        releases,
    } = choices;
    let mut lines = vec![
        format!("# Settings of {solution} {version}: remove the leading `# ` from those to set."),
        format!("apiVersion: {}", schemas::API_VERSION),
        "kind: Site".to_owned(),
        "spec:".to_owned(),
    ];
    if !parameters.is_empty() {
        lines.extend(behind(["parameters:".to_owned(), format!("  {solution}:")]));
        for (name, parameter) in parameters {
            lines.extend(behind(indented(4, of_parameter(name, parameter))));
        }
    }
    if !releases.is_empty() {
        lines.extend(behind(["charts:".to_owned(), format!("  {solution}:")]));
        for release in releases {
            lines.extend(behind(indented(4, of_release(release))));
        }
    }
    lines.push("  workloads: []".to_owned());
    lines
}

/// Returns the lines of a release: the publisher's values in a comment, and the chart's own values unchanged.
fn of_release(release: &ReleaseValues) -> Vec<String> {
    let (name, chart, version) = (&release.name, &release.chart, &release.version);
    let mut lines = vec![format!("# {chart} {version}"), format!("{name}:")];
    lines.push("  values:".to_owned());
    let mut below = Vec::new();
    if !release.published.is_empty() {
        below.push("# The publisher's values, which override the chart's own:".to_owned());
        below.extend(in_yaml(&release.published).map(|line| format!("#   {line}")));
    }
    for (words, pointers) in [
        ("Sites are expected to set", &release.site_values.allow),
        ("Sites should not set", &release.site_values.deny),
    ] {
        if !pointers.is_empty() {
            let pointers: Vec<&str> = pointers.iter().map(ValuePointer::as_str).collect();
            below.push(format!("# {words}: {}", pointers.join(", ")));
        }
    }
    let own = release.text.lines().map(str::trim_end);
    // A values file is a single document, so `---` can only be its beginning.
    below.extend(own.filter(|line| *line != "---").map(str::to_owned));
    if release.text.lines().all(is_silent) {
        // Otherwise, `values` would be null.
        below.push("{}".to_owned());
    }
    lines.extend(indented(4, below));
    lines
}

/// Returns true if a line of YAML has no content.
fn is_silent(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#') || line == "---"
}

fn in_yaml(values: &Map<String, Value>) -> impl Iterator<Item = String> {
    let text = yaml::to_string(values);
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.into_iter()
}

fn indented(by: usize, lines: Vec<String>) -> impl Iterator<Item = String> {
    let indent = " ".repeat(by);
    let line = move |line: String| {
        let blank = line.is_empty();
        if blank {
            line
        } else {
            format!("{indent}{line}")
        }
    };
    lines.into_iter().map(line)
}

/// Returns lines of `spec` as comments.
fn behind(lines: impl IntoIterator<Item = String>) -> impl Iterator<Item = String> {
    let line = |line: String| format!("  # {line}").trim_end().to_owned();
    lines.into_iter().map(line)
}

/// Returns the lines of a parameter: its description, its allowed values, and a value.
fn of_parameter(name: &ParameterName, parameter: &Parameter) -> Vec<String> {
    let description = parameter.description.as_deref().unwrap_or_default();
    let mut lines: Vec<String> = description
        .lines()
        .map(|line| format!("# {line}"))
        .collect();
    lines.push(format!("# {}", kind(parameter)));
    if parameter.sensitive {
        lines.push(format!(
            "# {name}: only with `--values`, because other users can read this file"
        ));
        return lines;
    }
    let default = parameter.default.as_ref().or(parameter.values.first());
    let value = default.cloned().unwrap_or_else(|| example(parameter));
    lines.push(format!("{name}: {value}"));
    lines
}

/// Describes the allowed values of a parameter.
fn kind(parameter: &Parameter) -> String {
    let Parameter {
        kind,
        default,
        values,
        format,
        pattern,
        minimum,
        maximum,
        generate,
        ..
    } = parameter;
    let mut words = vec![match kind {
        ParameterType::String => "a string".to_owned(),
        ParameterType::Integer => "an integer".to_owned(),
        ParameterType::Number => "a number".to_owned(),
        ParameterType::Boolean => "true or false".to_owned(),
        ParameterType::Array => "an array".to_owned(),
        ParameterType::Object => "an object".to_owned(),
    }];
    words.extend(format.map(|format| format.words().to_owned()));
    if !values.is_empty() {
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        words.push(format!("one of {}", values.join(", ")));
    }
    words.extend(
        pattern
            .as_ref()
            .map(|pattern| format!("matching {pattern}")),
    );
    words.extend(
        minimum
            .as_ref()
            .map(|minimum| format!("at least {minimum}")),
    );
    words.extend(maximum.as_ref().map(|maximum| format!("at most {maximum}")));
    words.push(match (default, generate) {
        (Some(_), _) => "with a default".to_owned(),
        (None, Some(_)) => "generated where none is given".to_owned(),
        (None, None) => "required".to_owned(),
    });
    words.join(", ")
}

/// Returns a value of the parameter's type, for a parameter without a default or example.
fn example(parameter: &Parameter) -> Value {
    let number = || parameter.minimum.clone().unwrap_or_else(|| 0.into());
    match parameter.kind {
        ParameterType::String => Value::from(""),
        ParameterType::Integer | ParameterType::Number => Value::from(number()),
        ParameterType::Boolean => Value::from(false),
        ParameterType::Array => Value::Array(Vec::new()),
        ParameterType::Object => Value::Object(Map::new()),
    }
}

#[cfg(test)]
mod tests {
    use schemas::Site;
    use serde_json::json;

    use super::*;

    fn choices(text: &str) -> SiteChoices {
        let parameters = json!({
            "host": { "type": "string", "description": "The name\nof the shop", "pattern": "^[a-z]+$" },
            "size": { "type": "integer", "default": 3, "minimum": 1, "maximum": 9 },
            "token": { "type": "string", "sensitive": true },
        });
        let published = json!({ "image": "$(image:server)" });
        SiteChoices {
            solution: "shop".parse().unwrap(),
            version: "1.0.0".parse().unwrap(),
            parameters: serde_json::from_value(parameters).unwrap(),
            releases: vec![ReleaseValues {
                name: "db".parse().unwrap(),
                chart: "postgres".parse().unwrap(),
                version: "2.0.0".parse().unwrap(),
                values: Map::new(),
                site_values: serde_json::from_value(json!({ "deny": ["/image"] })).unwrap(),
                published: serde_json::from_value(published).unwrap(),
                text: text.to_owned(),
            }],
        }
    }

    /// Returns the site configuration in which all of it is chosen.
    fn chosen(lines: &[String]) -> Site {
        let chosen = lines.iter().map(|line| match line.strip_prefix("  #") {
            Some(line) => format!(" {line}\n"),
            None => format!("{line}\n"),
        });
        Site::from_slice(chosen.collect::<String>().as_bytes()).unwrap()
    }

    #[test]
    fn it_chooses_nothing_until_somebody_does_and_then_what_there_is() {
        let text = "---\n# How large it is.\nsize: 1Gi\n\nnested:\n  # Why.\n  list: [a]\ntext: |\n  one\n\n  two\n";
        let lines = lines(&choices(text));
        let site = Site::from_slice(lines.join("\n").as_bytes()).unwrap();
        assert!(site.spec.charts.is_empty() && site.spec.parameters.is_empty());
        let site = json!(chosen(&lines).spec);
        let values = json!({ "size": "1Gi", "nested": { "list": ["a"] }, "text": "one\n\ntwo\n" });
        assert_eq!(site["charts"]["shop"]["db"]["values"], values);
        let parameters = json!({ "host": "", "size": 3 });
        assert_eq!(site["parameters"]["shop"], parameters);
        let all = lines.join("\n");
        for words in [
            "# of the shop",
            "# a string, matching ^[a-z]+$, required",
            "# an integer, at least 1, at most 9, with a default",
            "# token: only with `--values`",
            "#   image: '$(image:server)'",
            "# Sites should not set: /image",
            "# How large it is.",
        ] {
            assert!(all.contains(words), "{words}: {all}");
        }
    }

    #[test]
    fn a_chart_without_values_has_none_to_choose() {
        for text in ["", "# Nothing.\n"] {
            let site = json!(chosen(&lines(&choices(text))).spec);
            assert_eq!(site["charts"]["shop"]["db"], json!({}), "{text}");
        }
    }
}

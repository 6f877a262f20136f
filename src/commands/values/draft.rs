//! The site's file in which everything that there is to choose stands behind a `#`.

use schemas::{ValuePointer, yaml};
use serde_json::{Map, Value};

use super::parameter::of_parameter;
use super::read::{ReleaseValues, SiteChoices};

/// The lines of the file. With every first `# ` taken away it says what holds without it.
pub(super) fn lines(choices: &SiteChoices) -> Vec<String> {
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

/// A release: the publisher's values in a comment, and the chart's own as they are written.
fn of_release(release: &ReleaseValues) -> Vec<String> {
    let (name, chart, version) = (&release.name, &release.chart, &release.version);
    let mut lines = vec![format!("# {chart} {version}"), format!("{name}:")];
    lines.push("  values:".to_owned());
    let mut below = Vec::new();
    if !release.published.is_empty() {
        below.push("# The publisher's values, which override the chart's own:".to_owned());
        below.extend(in_yaml(&release.published).map(|it| format!("#   {it}")));
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
    // Values are one document, so that this can only be its beginning.
    below.extend(own.filter(|it| *it != "---").map(str::to_owned));
    if release.text.lines().all(is_silent) {
        // Else nothing would stand below `values`.
        below.push("{}".to_owned());
    }
    lines.extend(indented(4, below));
    lines
}

/// Whether a line of YAML says nothing.
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

/// Lines of `spec`, each behind a `#`.
fn behind(lines: impl IntoIterator<Item = String>) -> impl Iterator<Item = String> {
    let line = |line: String| format!("  # {line}").trim_end().to_owned();
    lines.into_iter().map(line)
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

    /// The file in which all of it is chosen.
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

//! The same of an archive with a Helm chart: each case begins with a good one.

use crate::mistakes::Case;
use crate::source::{Source, edit_bytes};

const TGZ: &str = "charts/web/chart.tgz";
const VALUES: &str = "charts/web/values.yaml";
const CHART: &str = "apiVersion: v2\nname: web\nversion: 1.2.3\n";

/// A chart of these files, in place of the good one; its artifact stays that of the good one.
fn replace(s: &mut Source, chart: &str, files: &[(&str, &str)]) {
    s.chart(&[]);
    s.put(TGZ, Source::package(chart, files));
}

/// What no encoder makes less of than half.
fn noise() -> String {
    let mut number = 1_u64;
    let mut text = String::new();
    for _ in 0..120_000 {
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        text += &number.to_string();
    }
    text
}

pub(crate) const CASES: &[Case] = &[
    ("good", |s| s.chart(&[]), &[]),
    (
        "the name of a set",
        |s| {
            s.carry();
            s.chart(&[]);
        },
        &["charts.release"],
    ),
    (
        "not required",
        |s| {
            s.chart(&[]);
            s.requires.clear();
            s.optional.push("charts".to_owned());
        },
        &["charts.capability"],
    ),
    (
        "required in vain",
        |s| s.require_charts(),
        &["charts.capability"],
    ),
    (
        "unknown field of a chart",
        |s| {
            s.chart(&[]);
            s.edit("manifest.yaml", "needs: []", "hooks: []");
        },
        &["manifest.yaml", "practice.nested-name"],
    ),
    (
        "needs itself",
        |s| {
            s.chart(&[]);
            s.edit("manifest.yaml", "needs: []", "needs: [web]");
        },
        &["charts.release"],
    ),
    (
        "another file",
        |s| {
            s.chart(&[]);
            s.put("charts/web/chart.tgz.prov", "x");
            s.put("charts/other/values.yaml", "{}");
        },
        &["charts.unexpected", "charts.unexpected"],
    ),
    (
        "no chart",
        |s| {
            s.chart(&[]);
            s.remove(TGZ);
        },
        &["charts.missing"],
    ),
    (
        "no values",
        |s| {
            s.chart(&[]);
            s.remove(VALUES);
        },
        &["charts.missing"],
    ),
    (
        "bytes behind the chart",
        |s| {
            s.chart(&[]);
            let mut bytes = s.files[TGZ].clone();
            bytes.push(0);
            s.put(TGZ, bytes);
        },
        &["charts.archive"],
    ),
    (
        "a library",
        |s| replace(s, &format!("{CHART}type: library\n"), &[]),
        &["charts.metadata"],
    ),
    (
        "another version",
        |s| replace(s, "{apiVersion: v2, name: web, version: 1.2.4}", &[]),
        &["charts.identity"],
    ),
    (
        "a dependency elsewhere",
        |s| replace(s, &format!("{CHART}dependencies: [{{name: db}}]\n"), &[]),
        &["charts.dependency"],
    ),
    (
        "a schema elsewhere",
        |s| {
            let schema = r#"{"$ref": "https://r.test/a.json"}"#;
            replace(s, CHART, &[("values.schema.json", schema)]);
        },
        &["charts.schema"],
    ),
    (
        "a schema that is none",
        |s| {
            let schema = r#"{"type": "text"}"#;
            replace(s, CHART, &[("values.schema.json", schema)]);
        },
        &["charts.schema"],
    ),
    (
        "values of the chart are a list",
        |s| replace(s, CHART, &[("values.yaml", "[a]")]),
        &["charts.values"],
    ),
    (
        "values are a list",
        |s| {
            s.chart(&[]);
            s.put(VALUES, "[a]");
        },
        &["charts.values"],
    ),
    (
        "a key twice",
        |s| {
            s.chart(&[]);
            s.put(VALUES, "a: 1\na: 2\n");
        },
        &["charts.values"],
    ),
    (
        "an image that there is not",
        |s| {
            s.chart(&[]);
            s.edit(VALUES, "$(image.tag:server)", "$(image.tag:other)");
        },
        &["charts.placeholder"],
    ),
    (
        "another chart of the same version than the registry offers",
        |s| replace(s, CHART, &[("templates/a.yaml", "x")]),
        &["charts.artifact"],
    ),
    (
        "an artifact without its annotations",
        |s| {
            s.chart(&[]);
            let root = &mut s.images.last_mut().unwrap().root;
            edit_bytes(
                root,
                "opencontainers.image.title",
                "opencontainers.image.name",
            );
        },
        &["charts.artifact"],
    ),
    (
        "more than a Secret holds",
        |s| s.chart(&[("templates/a.yaml", &noise())]),
        &["charts.release-size"],
    ),
];

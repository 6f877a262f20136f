//! The CI jobs of docs/how-to/publish/ci.md: each parses in its system, and its commands do what the page describes.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::{Answer, Desk, programs};
use crate::review::desk_with_warning;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/how-to/publish/ci.md");

/// A file on the page.
struct Shown {
    path: String,
    text: String,
}

/// Returns the files of the page: blocks whose first line is a comment with a path.
fn files() -> Vec<Shown> {
    let page = fs::read_to_string(PAGE).unwrap();
    let blocks = page.split("\n```").skip(1).step_by(2);
    let files = blocks.filter_map(|block| {
        let (language, text) = block.split_once('\n')?;
        let path = match language {
            "yaml" => text.strip_prefix("# ")?,
            "groovy" => text.strip_prefix("// ")?,
            _ => return None,
        };
        Some(Shown {
            path: path.lines().next()?.to_owned(),
            text: text.to_owned(),
        })
    });
    files.collect()
}

/// Returns the scripts of a job: YAML texts that call the program, or the shell steps of Jenkins.
fn scripts(file: &Shown) -> Vec<String> {
    if file.path == "Jenkinsfile" {
        let steps = file.text.split("sh '").skip(1);
        return steps
            .map(|step| step.split('\'').next().unwrap().to_owned())
            .collect();
    }
    let mut scripts = Vec::new();
    let mut open: Vec<Value> = schemas::yaml::documents(file.text.as_bytes()).unwrap();
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if text.lines().any(|line| line.starts_with("solution ")) => {
                scripts.push(text);
            }
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.into_values()),
            _ => {}
        }
    }
    scripts
}

/// Runs a script as a job does.
fn run(desk: &Desk, script: &str) -> Answer {
    let mut shell = Command::new("sh");
    shell.args(["-ec", script]).current_dir(desk.path("."));
    shell.env_clear().env("HOME", desk.path("."));
    let path = format!("{}:/usr/bin:/bin", programs().display());
    Answer::from_command(shell.env("PATH", path))
}

/// Returns whether a report has the format of its name.
fn has_named_format(desk: &Desk, report: &str) -> bool {
    let text = String::from_utf8(desk.read(report)).unwrap();
    match Path::new(report).extension().unwrap().to_str().unwrap() {
        "sarif" => serde_json::from_str::<Value>(&text).unwrap()["version"] == "2.1.0",
        "xml" => text.starts_with("<?xml ") && text.trim_end().ends_with("</testsuites>"),
        other => panic!("{other}"),
    }
}

#[test]
fn every_job_leaves_its_report_whatever_the_answer_is() {
    let desk = desk_with_warning("shop");
    let files = files();
    let (policy, jobs) = files.split_last().unwrap();
    let expected = [
        (".github/workflows/solution.yaml", "all.sarif"),
        (".gitlab-ci.yml", "junit.xml"),
        ("solution-check.yaml", "solution.sarif"),
        ("Jenkinsfile", "junit.xml"),
    ];
    let paths: Vec<&str> = jobs.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, expected.map(|(path, _)| path));
    assert_eq!(policy.path, "shop/solution.policy.yaml");
    let refusing = policy
        .text
        .replace("practice.latest:", "practice.display-name:");
    for (text, code) in [(&policy.text, 0), (&refusing, 1)] {
        desk.write(&policy.path, text);
        for (job, (path, report)) in jobs.iter().zip(expected) {
            let [script] = &scripts(job)[..] else {
                panic!("{path} has one script");
            };
            // Tekton's next task reads it from the workspace.
            let is_handed_on = job.text.matches(report).count() > 1;
            assert!(is_handed_on || path == "solution-check.yaml", "{path}");
            let answer = run(&desk, script);
            assert_eq!(answer.code, code, "{path}: {answer:?}");
            assert!(has_named_format(&desk, report), "{path}");
            fs::remove_file(desk.path(report)).unwrap();
        }
    }
}

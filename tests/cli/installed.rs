//! Files that packages install with the program: completions, manual pages, and the name of the kubectl plugin.

use std::process::Command;

use crate::common::{Answer, Desk};
use crate::help::verbs;

/// Sets up the completion as a shell does, and asks it about its arguments.
const COMPLETE: &str = r#"
source bin/share/bash-completion/completions/solution && complete -p solution
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_solution "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// Runs a program with the desk's programs first in `PATH`.
fn run(desk: &Desk, program: &str, arguments: &[&str]) -> Answer {
    let path = format!("{}:/usr/bin:/bin", desk.path("bin").display());
    let mut command = Command::new(program);
    command.env_clear().env("PATH", path).args(arguments);
    Answer::from_command(command.current_dir(desk.path("")))
}

#[test]
fn bash_completes_verbs_options_and_values() {
    let desk = Desk::installed();
    for (words, candidates) in [
        (&["solution", "un"][..], "undeploy\nunimport\n"),
        (&["solution", "environment", "cr"], "create\n"),
        (&["solution", "pack", "--compr"], "--compression\n"),
        (
            &["solution", "status", "--output", ""],
            "table\njson\nyaml\nmetrics\n",
        ),
        (&["solution", "completion", "k"], "kubectl\n"),
        (&["solution", "validate", "--key", "bi"], "bin\n"),
    ] {
        let arguments = [&["-c", COMPLETE, "bash"], words].concat();
        let answer = run(&desk, "bash", &arguments);
        assert_eq!(answer.stderr, "", "{answer:?}");
        let text = answer.success();
        let (set_up, text) = text.split_once('\n').unwrap();
        assert!(set_up.contains(" -F _solution "), "{set_up}");
        assert_eq!(text, candidates, "{words:?}");
    }
}

#[test]
fn kubectl_is_told_the_candidates_and_leaves_files_to_the_shell() {
    let desk = Desk::installed();
    for (words, candidates) in [
        (&["un"][..], "undeploy\nunimport\n:0\n"),
        (&["environment", "cr"], "create\n:0\n"),
        (
            &["status", "--output", ""],
            "table\njson\nyaml\nmetrics\n:0\n",
        ),
        (&["validate", "--key", "bi"], ":0\n"),
        (&["archive", "cat", "bi"], ":0\n"),
    ] {
        let answer = run(&desk, "kubectl_complete-solution", words);
        assert_eq!(answer.stderr, "", "{answer:?}");
        assert_eq!(answer.success(), candidates, "{words:?}");
    }
}

#[test]
fn a_script_has_no_json_form() {
    let desk = Desk::new();
    let answer = desk.solution(&["completion", "bash", "--output", "json"]);
    assert_eq!(answer.code, 2, "{answer:?}");
    assert_eq!(answer.json()["error"], "cannot write a script as JSON");
}

#[test]
fn as_a_plugin_it_says_what_was_typed() {
    let desk = Desk::installed();
    let plugin = |words: &[&str]| run(&desk, "kubectl-solution", words);
    let mut all = verbs(&desk, &[]);
    all.push(Vec::new());
    for verb in all {
        let words: Vec<&str> = verb.iter().map(String::as_str).collect();
        let help = plugin(&[&words[..], &["--help"]].concat()).success();
        let usage = ["Usage: kubectl solution", &words.join(" ")].join(" ");
        assert!(help.contains(usage.trim_end()), "{help}");
        // Examples and other mentions of commands use the name too, even if it is split across lines.
        let said: Vec<&str> = help.split_whitespace().collect();
        let bare = |word: &str| word.trim_start_matches(['`', '(']).to_owned();
        for pair in said.windows(2).filter(|pair| bare(pair[1]) == "solution") {
            assert_eq!(bare(pair[0]), "kubectl", "{help}");
        }
    }
    let text = plugin(&["pack", "--kay", "a.key"]).failure(2);
    assert!(
        text.contains("hint: usage: kubectl solution pack "),
        "{text}"
    );
    let version = concat!("solution ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(plugin(&["--version"]).success(), version);
}

#[test]
fn each_verb_has_its_manual_page() {
    let desk = Desk::new();
    let verbs = verbs(&desk, &[]);
    let mut expected: Vec<String> = verbs
        .iter()
        .map(|verb| format!("share/pages/solution-{}.1", verb.join("-")))
        .collect();
    let others = [
        "solution.1",
        "solution-findings.7",
        "solution-site.5",
        "solution-fleet.5",
    ];
    expected.extend(others.map(|page| format!("share/pages/{page}")));
    expected.sort();
    let answer = desk.solution(&["man", "share/pages", "--output", "json"]);
    assert_eq!(
        answer.json(),
        serde_json::json!({"schemaVersion": "1", "files": expected})
    );
    let pages: Vec<Vec<u8>> = expected.iter().map(|page| desk.read(page)).collect();
    for (name, page) in expected.iter().zip(&pages) {
        let page = String::from_utf8(page.clone()).unwrap();
        let ends =
            [".SH EXAMPLES", ".SH SUBCOMMANDS", ".SH \"SEE ALSO\""].map(|end| page.contains(end));
        assert!(ends.contains(&true), "{name}: {page}");
    }
    // Pages of an earlier version are replaced, with the same bytes every time.
    desk.write("share/pages/solution-pack.1", "old");
    let text = desk.solution(&["man", "share/pages"]).success();
    assert_eq!(
        text,
        format!("{} manual pages in share/pages\n", pages.len())
    );
    let again: Vec<Vec<u8>> = expected.iter().map(|page| desk.read(page)).collect();
    assert!(pages == again, "pages differ from one run to the next");
}

#[test]
fn a_page_that_cannot_be_written_is_named() {
    let desk = Desk::new();
    desk.write("man1", "");
    let text = desk.solution(&["man", "man1"]).failure(3);
    assert!(text.starts_with("error: cannot create `man1`"), "{text}");
}

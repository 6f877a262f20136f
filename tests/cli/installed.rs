//! What is installed beside the program: completions.

use std::process::Command;

use crate::common::{Answer, Desk};

/// Sets the completion up as a shell does, and asks it about the words that it is given.
const COMPLETE: &str = r#"
source bin/share/bash-completion/completions/solution && complete -p solution
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_solution "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// Runs a program that finds the desk's before all others.
fn run(desk: &Desk, program: &str, arguments: &[&str]) -> Answer {
    let path = format!("{}:/usr/bin:/bin", desk.path("bin").display());
    let mut command = Command::new(program);
    command.env_clear().env("PATH", path).args(arguments);
    Answer::of(command.current_dir(desk.path("")))
}

#[test]
fn bash_completes_verbs_options_and_values() {
    let desk = Desk::installed();
    for (words, candidates) in [
        (&["solution", "un"][..], "unimport\nundeploy\n"),
        (&["solution", "environment", "cr"], "create\n"),
        (&["solution", "pack", "--compr"], "--compression\n"),
        (&["solution", "status", "--output", ""], "human\njson\n"),
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
fn a_script_has_no_json_form() {
    let desk = Desk::new();
    let answer = desk.solution(&["completion", "bash", "--output", "json"]);
    assert_eq!(answer.code, 2, "{answer:?}");
    assert_eq!(answer.json()["error"], "a script has no JSON form");
}

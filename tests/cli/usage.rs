//! Wrong command lines are reported like every other failure, also as JSON.

use crate::common::Desk;

#[test]
fn a_program_gets_a_wrong_command_line_as_json() {
    let desk = Desk::new();
    for (arguments, words) in [
        (
            &["frobnicate", "--output", "json"][..],
            "`solution frobnicate` does not exist",
        ),
        (
            &["--output=json", "pack"],
            "required arguments were not provided: --key <KEY>",
        ),
        (
            &["--output", "json", "pack", "--kay", "x"],
            "unexpected argument '--kay'",
        ),
        (
            &[
                "init",
                "a",
                "--from",
                "b",
                "--version",
                "1",
                "--output",
                "json",
            ],
            "invalid value '1'",
        ),
        (&["trust", "--output", "json"], "requires a subcommand"),
        (&["--output", "json"], "requires a subcommand"),
        (&["--output", "json", "trust"], "no command is given"),
    ] {
        let answer = desk.solution(arguments);
        assert_eq!((answer.code, answer.stderr.as_str()), (2, ""), "{answer:?}");
        let json = answer.json();
        let fields: Vec<&String> = json.as_object().unwrap().keys().collect();
        let expected = ["answer", "causes", "error", "hints", "schemaVersion"];
        assert_eq!(fields, expected, "{json:#}");
        assert_eq!(json["answer"], "usage");
        assert!(json["error"].as_str().unwrap().contains(words), "{json:#}");
        let hints = json["hints"].as_array().unwrap();
        assert!(
            hints.last().unwrap().as_str().unwrap().contains("--help"),
            "{json:#}"
        );
    }
}

#[test]
fn help_is_text_whoever_asks() {
    let desk = Desk::new();
    for (arguments, words) in [
        (&["--help", "--output", "json"][..], "Usage: solution"),
        (
            &["--output", "json", "pack", "--help"],
            "Usage: solution pack",
        ),
        (&["--version", "--output", "json"], "solution 1."),
    ] {
        let text = desk.solution(arguments).success();
        assert!(text.contains(words), "{text}");
    }
    // Without a command, the program prints its help.
    for (arguments, list) in [(&[][..], "Publish:"), (&["trust"], "Commands:")] {
        let text = desk.solution(arguments).failure(2);
        assert!(
            text.contains("Usage: solution") && text.contains(list),
            "{text}"
        );
    }
}

#[test]
fn what_is_about_a_release_needs_one() {
    let desk = Desk::new();
    for (option, value) in [
        ("--version", "1.0.0"),
        ("--name", "shop"),
        ("--as", "manifests"),
    ] {
        let text = desk.solution(&["init", "app", option, value]).failure(2);
        assert!(
            text.starts_with(&format!("error: `{option}` requires a release")),
            "{text}"
        );
        assert!(
            text.contains("hint: name the release with `--from`"),
            "{text}"
        );
        assert_eq!(desk.names(), [""; 0], "something was written");
    }
    let help = desk.solution(&["init", "--help"]).success();
    let (_, with) = help.split_once("Only with --from:").unwrap();
    assert!(with.contains("--version <VERSION>"), "{help}");
}

#[test]
fn a_packed_file_that_is_no_chart_is_no_release() {
    let desk = Desk::new();
    desk.write("shop-1.0.0.tgz", b"\x1f\x8b\x08\0\0\0\0\0");
    let text = desk
        .solution(&["init", "--from", "shop-1.0.0.tgz"])
        .failure(1);
    let words = "cannot package the chart `shop-1.0.0.tgz`";
    assert!(text.contains(words), "{text}");
}

#[test]
fn what_is_about_an_operator_needs_an_environment_to_run_it_in() {
    let desk = Desk::new();
    for flag in [
        "--namespace=shop",
        "--no-pull-proof",
        "--no-pull-secret",
        "--create-environment",
        "--accept=0",
    ] {
        let import = ["import", "a.iso", "--registry", "r.test", flag];
        let answer = desk.solution(&import);
        let words = "required arguments were not provided";
        assert_eq!(answer.code, 2, "{answer:?}");
        assert!(answer.stderr.contains(words), "{flag}: {answer:?}");
    }
}

#[test]
fn a_registry_is_not_repaired_from_what_it_keeps_itself() {
    let desk = Desk::new();
    let verify = ["registry", "verify", "shop", "1.0.0", "--repair"];
    let answer = desk.solution(&[&verify[..], &["--registry", "r.test"]].concat());
    assert_eq!(answer.code, 2, "{answer:?}");
    let way = "run `solution registry verify ARCHIVE --repair` with the file";
    assert!(answer.stderr.contains(way), "{answer:?}");
    assert!(!answer.stderr.contains("usage:"), "{answer:?}");
}

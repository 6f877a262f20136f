//! Default values of flags, from variables and configuration files.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use crate::common::{Answer, Desk};

/// Writes the user's configuration file.
fn configure(desk: &Desk, text: &str) {
    fs::create_dir_all(desk.path(".config/solution")).unwrap();
    desk.write(".config/solution/config.yaml", text);
}

/// Runs a command with variables.
fn run(desk: &Desk, words: &[&str], variables: &[(&str, &str)]) -> Answer {
    let mut command = desk.command();
    Answer::from_command(command.args(words).envs(variables.iter().copied()))
}

#[test]
fn a_key_comes_from_the_flag_else_the_variable_else_the_file() {
    let desk = Desk::with_archive();
    desk.solution(&["keygen", "other"]).success();
    let validate = ["validate", "example.iso"];
    run(&desk, &validate, &[]).failure(2);
    configure(&desk, "key: publisher.pub\n");
    run(&desk, &validate, &[]).success();
    let variable = [("SOLUTION_KEY", "other.pub")];
    run(&desk, &validate, &variable).failure(1);
    let flag = [&validate[..], &["--key", "publisher.pub"]].concat();
    run(&desk, &flag, &variable).success();
    // A default value conflicts with no flag.
    let skip = [&validate[..], &["--skip-signature"]].concat();
    run(&desk, &skip, &variable).success();
    // A default does not apply to commands for which the flag has another meaning.
    let keys = ["trust", "add", "acme"];
    run(&desk, &keys, &variable).failure(2);
}

#[test]
fn the_configuration_is_shown_with_the_source_of_each_value() {
    let desk = Desk::new();
    configure(
        &desk,
        "registry: file.test\ncaFile: [a.pem, b.pem]\ntimeout: 60\n",
    );
    let variable = [("SOLUTION_REGISTRY", "variable.test")];
    let shown = run(&desk, &["config", "view", "-o", "json"], &variable).json();
    let of = |name: &str| {
        let mut settings = shown["settings"].as_array().unwrap().iter();
        settings
            .find(|setting| setting["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(of("registry")["values"][0], "variable.test");
    assert_eq!(of("registry")["source"], "SOLUTION_REGISTRY");
    assert_eq!(of("caFile")["values"][1], "b.pem");
    let file = desk.path(".config/solution/config.yaml");
    assert_eq!(of("timeout")["source"], file.to_str().unwrap());
    assert!(of("environment")["source"].is_null());
    let table = run(&desk, &["config", "view"], &variable).success();
    assert!(table.starts_with("SETTING"), "{table}");
}

#[test]
fn a_configuration_with_a_mistake_ends_every_command_but_help() {
    let desk = Desk::new();
    for (text, words) in [
        (
            "regsitry: a.test\n",
            &["unknown setting `regsitry`", "`registry`"][..],
        ),
        ("registry: [\n", &["cannot use the configuration"]),
        ("registry: {a: b}\n", &["cannot use the configuration"]),
        ("key: []\n", &["no value for `key`"]),
    ] {
        configure(&desk, text);
        let refused = run(&desk, &["config", "view"], &[]).failure(2);
        for word in words {
            assert!(refused.contains(word), "{text}: {refused}");
        }
        run(&desk, &["--help"], &[]).success();
    }
    configure(&desk, "registry: a.test\n");
    let file = desk.path(".config/solution/config.yaml");
    fs::set_permissions(file, Permissions::from_mode(0o666)).unwrap();
    let refused = run(&desk, &["config", "view"], &[]).failure(2);
    assert!(refused.contains("config.yaml"), "{refused}");
}

#[test]
fn a_threshold_is_for_the_keys_of_the_configuration_too() {
    let desk = Desk::with_archive();
    desk.solution(&["keygen", "other"]).success();
    let validate = ["validate", "example.iso", "--threshold", "1"];
    let refused = run(&desk, &validate, &[]).failure(2);
    assert!(refused.contains("cannot use `--threshold`"), "{refused}");
    configure(&desk, "key: [publisher.pub, other.pub]\n");
    run(&desk, &validate, &[]).success();
    let two = ["validate", "example.iso", "--threshold", "2"];
    run(&desk, &two, &[]).failure(1);
}

#[test]
fn without_a_terminal_setup_names_the_files_and_an_import_names_setup() {
    let desk = Desk::with_archive();
    let file = desk.path(".config/solution/config.yaml");
    let refused = run(&desk, &["setup"], &[]).failure(2);
    for words in [
        "there is no terminal",
        file.to_str().unwrap(),
        "`solution registry login`",
        "`solution trust add`",
    ] {
        assert!(refused.contains(words), "{words}: {refused}");
    }
    let refused = run(&desk, &["import", "example.iso", "-e", "demo"], &[]).failure(2);
    assert!(refused.contains("with `solution setup`"), "{refused}");
    // A check without settings reports the missing ones.
    let checked = run(&desk, &["setup", "--check"], &[]);
    assert_eq!(checked.code, 1, "{checked:?}");
    assert!(
        checked.stdout.contains("no registry is configured"),
        "{checked:?}"
    );
}

//! `init --from` of a helmfile: trees with its releases, which `pack` accepts without changes. A script replaces
//! Helmfile. It prints the recorded output of Helmfile 1.7.4 with Helm 4.3 for `fixtures/helmfiles/shop`: `helmfile
//! build --file=shop/helmfile.yaml.gotmpl --no-color=true --environment=prod`, without and with `--embed-values=true`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::charts_init::repository;
use crate::common::{Answer, Desk};

/// The script that replaces Helmfile. It records its arguments and environment.
const HELMFILE: &str = r#"#!/bin/sh
cd "$(dirname "$0")"
echo "$@" >> said
echo "$STORE_TOKEN" > token
case "$*" in *--embed-values=true*) file=embedded.yaml ;; *) file=named.yaml ;; esac
sed "s|@DIRECTORY@|$PWD|" "$file"
"#;

/// Returns a desk with the helmfile of the fixtures, the script that replaces Helmfile, and the recorded output.
fn desk() -> Desk {
    let desk = Desk::with_key();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/helmfiles");
    let shop = fixtures.join("shop").display().to_string();
    desk.run("cp", &["-r", &shop, "shop"]).success();
    desk.write_script("helmfile", HELMFILE);
    // A local repository serves the chart.
    let chart = "apiVersion: v2\nname: web-shop\nversion: v1.2.3+b\n";
    desk.write("remote/Chart.yaml", chart);
    desk.write("remote/templates/a.yaml", "a: b\n");
    desk.solution(&["init", "--chart", "remote", "copied"])
        .success();
    let url = repository(desk.read("copied/charts/web-shop-v1.2.3+b.tgz"));
    for output in ["named", "embedded"] {
        let printed = fs::read_to_string(fixtures.join(format!("shop-{output}.yaml"))).unwrap();
        let printed = printed
            .replace("https://charts.test/stable/", &url)
            .replace(
                "stable/search\n    version: 4.5.6",
                "stable/web-shop\n    version: v1.2.3+b",
            );
        desk.write(&format!("{output}.yaml"), printed);
    }
    desk
}

fn init(desk: &Desk, arguments: &[&str]) -> Answer {
    let mut command = desk.command();
    command.env("HELMFILE", desk.path("helmfile"));
    command
        .env("STORE_TOKEN", "mine")
        .env("PATH", "/usr/bin:/bin");
    let from = ["init", "--from", "shop/helmfile.yaml.gotmpl"];
    Answer::from_command(command.args([&from[..], arguments].concat()))
}

/// Sets one output for all runs of Helmfile.
fn set_output(desk: &Desk, state: &str) {
    for output in ["named.yaml", "embedded.yaml"] {
        let source = "---\n#  Source: @DIRECTORY@/shop/helmfile.yaml.gotmpl\n\n";
        desk.write(output, format!("{source}{state}"));
    }
}

fn pack(desk: &Desk, directory: &str) -> Answer {
    let packed = ["pack", directory, "-o", "out.iso", "--key", "publisher.key"];
    desk.solution(&[&packed[..], &["--force", "--no-render"]].concat())
}

#[test]
fn the_releases_of_a_helmfile_become_a_tree_that_can_be_packed() {
    let desk = desk();
    let choice = [
        "--helmfile-environment",
        "prod",
        "--helmfile-selector",
        "part=shop",
        "--helmfile-selector=name=db",
    ];
    let made = init(&desk, &[&["tree"][..], &choice].concat());
    for words in [
        "tree 0.1.0: 3 releases",
        "left out: old: `installed: false`",
        "left out: cache: `condition: cache.enabled` is false",
        "next: read tree/NOTES.md and tree/solution.yaml, list the images with `solution pack tree --add-images`",
    ] {
        assert!(made.stderr.contains(words), "{made:?}");
    }
    assert_eq!(
        made.success(),
        "tree/NOTES.md
tree/charts/db-1.2.3.tgz
tree/charts/web-1.2.3.tgz
tree/solution.yaml
tree/values/db-1.yaml
tree/values/front-1.yaml
tree/values/front-2.yaml
tree/values/front-3.yaml
"
    );
    let said = String::from_utf8(desk.read("said")).unwrap();
    let asked = "build --file=shop/helmfile.yaml.gotmpl --no-color=true";
    let choice = "--environment=prod --selector=part=shop --selector=name=db";
    let runs = format!("{asked} {choice}\n{asked} --embed-values=true {choice}\n");
    assert_eq!(said, runs);
    // Its directories for charts and values are those of the user.
    assert_eq!(desk.read("token"), b"mine\n");
    pack(&desk, "tree").success();
    let shown = desk.solution(&["inspect", "out.iso"]).success();
    let charts = "chart       db  db 1.2.3
  namespace back
  timeout   60s
chart       front  web 1.2.3
  namespace web
  needs     db
  timeout   600s
chart       search  web-shop v1.2.3+b
  namespace web
  needs     front
  timeout   600s
";
    assert!(shown.contains(charts), "{shown}");
    let values = ["cat", "out.iso", "charts/front/values.yaml"];
    let values = desk.solution(&values).success();
    for line in ["environment: 'prod'\n", "image: 'a'\n", "replicas: 3\n"] {
        assert!(values.contains(line), "{values}");
    }
}

#[test]
fn without_a_directory_the_solution_is_called_as_that_of_the_helmfile() {
    let desk = desk();
    desk.write("outside.yaml", "image: c\n");
    symlink("../../outside.yaml", desk.path("shop/values/link.yaml")).unwrap();
    let state = |values: &str| {
        format!("releases: [{{name: web, chart: ./charts/web, values: [{values}]}}]\n")
    };
    set_output(&desk, &state("{image: c}"));
    let source = "---\n#  Source: @DIRECTORY@/shop/helmfile.yaml.gotmpl\n\n";
    desk.write("named.yaml", source.to_owned() + &state("values/link.yaml"));
    let mut command = desk.command();
    command
        .env("HELMFILE", desk.path("helmfile"))
        .env("PATH", "/usr/bin:/bin");
    command.current_dir(desk.path("shop"));
    let init = [
        "init",
        "--from",
        "helmfile.yaml.gotmpl",
        "--version",
        "2.0.0",
    ];
    let made =
        Answer::from_command(command.args([&init[..], &["--output", "json"]].concat())).json();
    assert_eq!(made["solution"], "shop");
    assert_eq!(made["version"], "2.0.0");
    assert_eq!(made["releases"][0]["source"], "file:charts/web-1.2.3.tgz");
    let notes = made["notes"].as_array().unwrap();
    let told = notes
        .iter()
        .find(|note| note["about"] == "values/web-1.yaml");
    let told = told.unwrap()["text"].as_str().unwrap();
    let words = "/shop/values/link.yaml`, which is outside the helmfile's directory";
    assert!(told.contains(words), "{told}");
    assert_eq!(desk.read("shop/shop/values/web-1.yaml"), b"image: 'c'\n");
}

#[test]
fn what_cannot_be_taken_over_makes_no_tree_and_says_what_to_do() {
    let desk = desk();
    let one = |more: &str| format!("releases: [{{name: web, chart: ./charts/web{more}}}]\n");
    let two = |more: &str| {
        format!(
            "{}  - {{name: db, chart: ./db/chart{more}}}\n",
            one("").replace('[', "\n  - ").replace(']', "")
        )
    };
    let repository = "repositories: [{name: a, url: 'http://u:p@a.test'}]\n";
    let of_repository =
        |version: &str| one("").replace("./charts/web", &format!("a/web, version: {version}"));
    for (state, words, hint) in [
        (
            one(", hooks: [{events: [presync]}]"),
            "release `web` has unsupported fields: `hooks`",
            "hint: write these settings as `values`",
        ),
        (
            one(", condition: web.enabled"),
            "has `condition: web.enabled`",
            "hint: write `installed: true` or `installed: false` instead",
        ),
        (
            of_repository("1.0.0"),
            "has `chart: a/web`",
            "hint: list its repository with its `url`",
        ),
        (
            repository.to_owned() + &of_repository("1.0.0"),
            "with a login in its `url`",
            "hint: remove it from there",
        ),
        (
            repository.replace("u:p@", "") + &of_repository("1.x"),
            "has `version: 1.x`",
            "hint: write the tested version",
        ),
        (one(", values: [values/none.yaml]"), "values/none.yaml`", ""),
        (
            one(", values: ['https://r.test/a.yaml']"),
            "which is not a local file",
            "hint: download each file",
        ),
        (
            one("").replace("charts/web", "charts/none"),
            "/shop/./charts/none`",
            "",
        ),
        (
            one(", needs: [db]"),
            "needs `db`, which is not listed",
            "hint: add the release, select it too",
        ),
        (
            two("").replace("name: db", "name: web"),
            "has the same name as another release",
            "hint: give each its own name",
        ),
    ] {
        set_output(&desk, &state);
        let said = init(&desk, &["x"]).failure(1);
        assert!(
            said.contains(words) && said.contains(hint),
            "{state}: {said}"
        );
        assert!(!desk.path("x").exists());
    }
}

#[test]
fn secrets_are_refused_before_helmfile_asks_for_them() {
    let desk = desk();
    desk.write("shop/values/store.yaml", "a: ref+vault://a/b\n");
    for (field, words) in [
        (
            "values: [values/store.yaml]",
            "/shop/values/store.yaml` takes values from a secret store",
        ),
        (
            "secrets: [a.yaml]",
            "release `web` takes values from a secret store, or has `secrets`",
        ),
    ] {
        let state = format!("releases: [{{name: web, chart: ./charts/web, {field}}}]\n");
        set_output(&desk, &state);
        let said = init(&desk, &["x"]).failure(1);
        assert!(said.contains(words), "{said}");
        assert!(said.contains("hint: remove these values"), "{said}");
        let runs = String::from_utf8(desk.read("said")).unwrap();
        assert!(!runs.contains("--embed-values"), "{runs}");
        assert!(!desk.path("x").exists());
    }
}

#[test]
fn without_helmfile_no_helmfile_is_read() {
    let desk = desk();
    let from = ["init", "--from", "shop/helmfile.yaml.gotmpl", "x"];
    let said = desk.solution(&from).failure(1);
    assert!(
        said.contains(
            "cannot read the helmfile: the program `helmfile` was not found\nhint: install Helmfile"
        ),
        "{said}"
    );
    let named = [&from[..], &["--helmfile", "./none"]].concat();
    let said = desk.solution(&named).failure(1);
    assert!(
        said.contains("program `./none` not found\nhint: install Helmfile"),
        "{said}"
    );
    let failing = "#!/bin/sh\necho 'in shop: no such template' >&2\nexit 2\n";
    desk.write("helmfile", failing);
    let said = init(&desk, &["x"]).failure(1);
    assert!(
        said.contains("error: helmfile build: in shop: no such template\nhint: reproduce the error with `helmfile build`"),
        "{said}"
    );
    assert!(!desk.path("x").exists());
}

#[test]
fn what_is_about_manifests_or_about_a_helmfile_is_refused_with_the_other() {
    let desk = desk();
    for option in ["--update", "--as=manifests"] {
        let said = init(&desk, &["x", option]).failure(2);
        assert!(said.contains("it applies to manifests"), "{said}");
    }
    desk.write("release.yaml", "kind: X\nmetadata: {name: a}\n");
    for option in [
        "--helmfile=helmfile",
        "--helmfile-environment=prod",
        "--helmfile-selector=a=b",
    ] {
        let said = desk.solution(&["init", "--from", "release.yaml", option]);
        let said = said.failure(2);
        assert!(
            said.contains("with manifests: it applies to a helmfile"),
            "{said}"
        );
    }
}

#[test]
fn manifests_in_a_file_of_that_name_are_manifests() {
    let desk = Desk::new();
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {app.kubernetes.io/version: 1.0.0}}\n";
    let pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: 'r.test/a:1.0.0'}]}\n";
    desk.write("helmfile-operator.yaml", [object, pod].concat());
    let made = desk.solution(&["init", "--from", "helmfile-operator.yaml", "tree"]);
    let made = made.success();
    assert!(
        made.contains("tree/manifests/helmfile-operator.yaml"),
        "{made}"
    );
}

#[test]
fn what_is_read_is_bounded() {
    let desk = desk();
    // The file has the maximum size of a values file and an empty document.
    let mut large = vec![b' '; 4 << 20];
    large[0] = b'#';
    desk.write("shop/large.yaml", &large);
    let values = vec!["large.yaml"; 33].join(", ");
    set_output(
        &desk,
        &format!("releases: [{{name: web, chart: ./charts/web, values: [{values}]}}]\n"),
    );
    let said = init(&desk, &["x"]).failure(1);
    let words = "/shop/large.yaml`: the copied files would exceed 128 MiB";
    assert!(
        said.contains(words) && said.contains("hint: create multiple"),
        "{said}"
    );
    // The limit applies to Helmfile's output too.
    desk.write("helmfile", "#!/bin/sh\nyes a\n");
    let said = init(&desk, &["x"]).failure(1);
    assert!(
        said.contains("helmfile build wrote more than 33554432 bytes"),
        "{said}"
    );
    assert!(!desk.path("x").exists());
}

//! `init --from` of a helmfile: trees that carry its releases, and are packed as they are.

use std::os::unix::fs::symlink;

use crate::charts_init::repository;
use crate::common::{Answer, Desk};

/// A desk with two charts and a helmfile beside them.
fn desk(helmfile: &str) -> Desk {
    let desk = Desk::with_key();
    for name in ["web", "db"] {
        let chart = format!("apiVersion: v2\nname: {name}\nversion: 1.2.3\n");
        desk.write(&format!("shop/charts/{name}/Chart.yaml"), chart);
        let template = format!("shop/charts/{name}/templates/a.yaml");
        desk.write(&template, "{{ .Values.image }}");
    }
    desk.write("shop/values/web.yaml", "image: a\nsize: 1\n");
    desk.write("shop/helmfile.yaml", helmfile);
    desk
}

const SHOP: &str = "
helmDefaults: {wait: true, timeout: 600}
releases:
  - name: front
    namespace: web
    chart: ./charts/web
    values: [values/web.yaml, {image: b}]
    needs: [back/db]
    labels: {tier: front}
  - {name: db, namespace: back, chart: ./charts/db}
  - {name: old, chart: none/old, installed: false}
";

fn pack(desk: &Desk, directory: &str) -> Answer {
    let packed = ["pack", directory, "-o", "out.iso", "--key", "publisher.key"];
    desk.solution(&[&packed[..], &["--force", "--no-render"]].concat())
}

#[test]
fn the_releases_of_a_helmfile_become_a_tree_that_can_be_packed() {
    let desk = desk(SHOP);
    let made = desk.solution(&["init", "--from", "shop/helmfile.yaml", "tree"]);
    for words in [
        "tree 0.1.0: 2 releases",
        "left out: old: `installed: false`",
        "left out: labels: by them Helmfile chooses",
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
tree/values/front-1.yaml
tree/values/front-2.yaml
"
    );
    pack(&desk, "tree").success();
    let shown = desk.solution(&["inspect", "out.iso"]).success();
    let charts = "chart       front  web 1.2.3
  namespace web
  needs     db
  timeout   600s
chart       db  db 1.2.3
  namespace back
  timeout   600s
";
    assert!(shown.contains(charts), "{shown}");
    let values = ["cat", "out.iso", "charts/front/values.yaml"];
    let values = desk.solution(&values).success();
    assert_eq!(values, "image: 'b'\nsize: 1\n");
}

#[test]
fn without_a_directory_the_solution_is_called_as_that_of_the_helmfile() {
    let desk = desk(SHOP);
    desk.write("secret.yaml", "image: c\n");
    let helmfile = "releases: [{name: web, chart: ./charts/web, values: [values/link.yaml]}]";
    desk.write("shop/helmfile-one.yaml", helmfile);
    symlink("../../secret.yaml", desk.path("shop/values/link.yaml")).unwrap();
    let mut command = desk.command();
    command.current_dir(desk.path("shop"));
    let init = ["init", "--from", "helmfile-one.yaml", "--version", "2.0.0"];
    let json = ["--output", "json"];
    let made = Answer::of(command.args([&init[..], &json].concat())).json();
    assert_eq!(made["solution"], "shop");
    assert_eq!(made["version"], "2.0.0");
    assert_eq!(made["releases"][0]["source"], "file:charts/web-1.2.3.tgz");
    let notes = made["notes"].as_array().unwrap();
    let told = notes
        .iter()
        .find(|note| note["about"] == "values/web-1.yaml");
    let told = told.unwrap()["text"].as_str().unwrap();
    let words = "is a copy of `values/link.yaml`, outside of the helmfile's directory";
    assert!(told.contains(words), "{told}");
    assert_eq!(desk.read("shop/shop/values/web-1.yaml"), b"image: c\n");
}

#[test]
fn a_chart_of_a_listed_repository_is_named_and_packed_from_there() {
    let desk = desk(SHOP);
    desk.write(
        "shop/charts/web/Chart.yaml",
        "apiVersion: v2\nname: web-shop\nversion: v1.2.3+b\n",
    );
    desk.solution(&["init", "--chart", "shop/charts/web", "copied"])
        .success();
    let url = repository(desk.read("copied/charts/web-shop-v1.2.3+b.tgz"));
    let helmfile = |version: &str| {
        format!(
            "repositories: [{{name: local, url: '{url}'}}]\nreleases: [{{name: web, chart: local/web-shop, version: {version}}}]\n"
        )
    };
    desk.write("helmfile.yml", helmfile("v1.2.3+b"));
    let made = desk.solution(&["init", "--from", "helmfile.yml", "tree"]);
    assert_eq!(made.success(), "tree/NOTES.md\ntree/solution.yaml\n");
    let text = String::from_utf8(desk.read("tree/solution.yaml")).unwrap();
    let source = format!("source: \"{url}#web-shop@v1.2.3+b\"");
    assert!(text.contains(&source), "{text}");
    pack(&desk, "tree").success();
    desk.write("helmfile.yml", helmfile("v1.2.4"));
    let said = desk.solution(&["init", "--from", "helmfile.yml", "x"]);
    let said = said.failure(1);
    let words = "does not list the chart `web-shop` in version v1.2.4";
    assert!(said.contains(words), "{said}");
    assert!(!desk.path("x").exists());
}

#[test]
fn what_cannot_be_taken_over_makes_no_tree_and_says_what_to_do() {
    let desk = desk(SHOP);
    let one = |more: &str| format!("releases: [{{name: web, chart: ./charts/web{more}}}]\n");
    for (helmfile, words, hint) in [
        (
            one(", hooks: [{events: [presync]}]"),
            "`helmfile.yaml`, release `web` has what is not taken over: `hooks`",
            "hint: write what these set as `values`",
        ),
        (
            one(", values: ['{{ .Values }}']"),
            "has a template in `values`",
            "hint: `helmfile build --embed-values > helmfile-built.yaml`",
        ),
        (
            one(", condition: web.enabled"),
            "has `condition: web.enabled`",
            "hint: write `installed: true` or `installed: false` instead",
        ),
        (
            "releases: [{name: web, chart: a/web, version: 1.x}]".to_owned(),
            "takes its chart from `a`, which is not among `repositories`",
            "hint: list it with its `url`",
        ),
        (
            "releases: [{name: web, chart: 'oci://r.test/web', version: 1.x}]".to_owned(),
            "has `version: 1.x`, which is not one whole version",
            "hint: write the version that was tested",
        ),
        (one(", values: [values/none.yaml]"), "values/none.yaml`", ""),
        (
            one(", values: [charts/web/templates/a.yaml]"),
            "a.yaml` cannot be the values of a chart",
            "",
        ),
        (
            "releases: [{name: web, chart: ./charts/none}]".to_owned(),
            "cannot read `shop/charts/none`",
            "",
        ),
        (
            one(", needs: [db]"),
            "needs `db`, which is not listed",
            "hint: add the release",
        ),
    ] {
        desk.write("shop/helmfile.yaml", &helmfile);
        let said = desk.solution(&["init", "--from", "shop/helmfile.yaml", "x"]);
        let said = said.failure(1);
        assert!(
            said.contains(words) && said.contains(hint),
            "{helmfile}: {said}"
        );
    }
    desk.write("shop/helmfile.yaml.gotmpl", "releases: []");
    let init = ["init", "--from", "shop/helmfile.yaml.gotmpl", "x"];
    let said = desk.solution(&init).failure(1);
    let words = "`helmfile.yaml.gotmpl` is a template, which only Helmfile expands";
    assert!(said.contains(words), "{said}");
    desk.write("shop/helmfile.yaml", SHOP);
    for option in [
        &["--as", "operator"][..],
        &["--update"],
        &["--as=manifests"],
    ] {
        let init = ["init", "--from", "shop/helmfile.yaml", "x"];
        let said = desk.solution(&[&init[..], option].concat()).failure(2);
        assert!(said.contains("is about manifests"), "{said}");
    }
    assert!(!desk.path("x").exists());
}

#[test]
fn manifests_in_a_file_of_that_name_are_manifests() {
    let desk = desk(SHOP);
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
fn what_is_copied_is_bounded() {
    let desk = desk(SHOP);
    // As large as a file of values may be, and nothing to parse.
    let mut large = vec![b' '; 4 << 20];
    large[0] = b'#';
    desk.write("shop/large.yaml", &large);
    let helmfile = |times| {
        let values = vec!["large.yaml"; times].join(", ");
        format!("releases: [{{name: web, chart: ./charts/web, values: [{values}]}}]\n")
    };
    desk.write("shop/helmfile.yaml", helmfile(33));
    let said = desk.solution(&["init", "--from", "shop/helmfile.yaml", "x"]);
    let said = said.failure(1);
    let words = "with `shop/large.yaml`, more than 128 MiB would be copied";
    assert!(
        said.contains(words) && said.contains("hint: make several"),
        "{said}"
    );
    assert!(!desk.path("x").exists());
}

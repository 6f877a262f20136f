//! Tests of helmfiles: the parts that are converted, and the errors with their places. The outputs are those of
//! Helmfile 1.7.4 with Helm 4.3, recorded for `fixtures/helmfiles/shop` by `helmfile build
//! --file=shop/helmfile.yaml.gotmpl --no-color=true --environment=prod`, without and with `--embed-values=true`.
//! `@DIRECTORY@` stands for its directory. Other outputs are written in the same form.

use std::path::{Path, PathBuf};

use schemas::ChartSource;

use super::*;
use crate::helmfile::ListedChart;

const NAMED: &str = include_str!("../../../../fixtures/helmfiles/shop-named.yaml");
const EMBEDDED: &str = include_str!("../../../../fixtures/helmfiles/shop-embedded.yaml");

fn read(state: &str) -> Result<HelmfileReleases, HelmfileError> {
    let printed = format!("---\n#  Source: /shop/helmfile.yaml\n\n{state}");
    HelmfileReleases::read(printed.as_bytes(), "default")
}

/// A valid release with more fields.
fn web(more: &str) -> String {
    format!("releases: [{{name: web, chart: ./web{more}}}]\n")
}

fn refused(text: &str) -> String {
    let error = read(text).unwrap_err();
    let source = error.source().map(|source| format!(": {source}"));
    format!("{error}{}", source.unwrap_or_default())
}

const REPOSITORIES: &str = "
helmDefaults: {plainHttp: true}
repositories:
  - {name: stable, url: 'https://charts.test/stable/', username: reader, password: x}
  - {name: org, url: registry.test/charts/, oci: true}
  - {name: other, url: 'oci://registry.test/other', oci: true}
";

#[test]
fn charts_are_taken_from_where_helmfile_takes_them() {
    for (fields, expected) in [
        (
            "chart: stable/web, version: v1.2.3+b",
            "https://charts.test/stable/#web@v1.2.3+b",
        ),
        (
            "chart: org/web, version: 1.2.3",
            "oci://registry.test/charts/web:1.2.3",
        ),
        (
            "chart: org/deeper/web, version: 1.2.3",
            "oci://registry.test/charts/deeper/web:1.2.3",
        ),
        (
            "chart: other/web, version: 1.2.3",
            "oci://registry.test/other/web:1.2.3",
        ),
        (
            "chart: 'oci://r.test:5000/web', version: 1.2.3",
            "oci://r.test:5000/web:1.2.3",
        ),
        ("chart: ./charts/web", "/shop/./charts/web None"),
        (
            "chart: ../web, version: 2.0.0",
            "/shop/../web Some(\"2.0.0\")",
        ),
        ("chart: web-1.0.0.tgz", "/shop/web-1.0.0.tgz None"),
        ("chart: /srv/web, chartPath: srv", "/srv/web None"),
    ] {
        let text = format!("{REPOSITORIES}releases: [{{name: a, {fields}}}]");
        let helmfile = read(&text).unwrap();
        let chart = match &helmfile.releases[0].chart {
            ListedChart::Elsewhere(source) => source.to_string(),
            ListedChart::Local(path, version) => format!("{} {version:?}", path.display()),
        };
        assert_eq!(chart, expected, "{fields}");
    }
}

#[test]
fn charts_that_are_not_named_exactly_are_refused() {
    for (fields, words) in [
        (
            "chart: stable/web",
            "has `version: `, which is not an exact version",
        ),
        (
            "chart: stable/web, version: ^1.2.0",
            "has `version: ^1.2.0`",
        ),
        ("chart: stable/web, version: '1.2'", "not an exact version"),
        (
            "chart: none/web, version: 1.2.3",
            "has `chart: none/web`, which is not a path, a chart of one of `repositories`",
        ),
        ("chart: web, version: 1.2.3", "has `chart: web`"),
        (
            "chart: 'git::https://r.test/x.git@web?ref=1', version: 1.2.3",
            "has `chart: git::https://r.test/x.git@web?ref=1`",
        ),
        ("version: 1.2.3", "missing field `chart`"),
        (
            "chart: stable/Web, version: 1.2.3",
            "has a `chart` that is not valid in a Solution: `Web` is not a valid name of a chart",
        ),
        (
            "chart: 'oci://r.test/web:1.2.3', version: 1.2.3",
            "has a `chart` that is not valid in a Solution",
        ),
    ] {
        let text = format!("{REPOSITORIES}releases: [{{name: web, {fields}}}]");
        let said = refused(&text);
        let begin = "`/shop/helmfile.yaml`";
        assert!(
            said.starts_with(begin) && said.contains(words),
            "{fields}: {said}"
        );
    }
    let login = "repositories: [{name: a, url: 'https://u:p@a.test'}]\nreleases: [{name: web, chart: a/web, version: 1.0.0}]";
    assert!(refused(login).contains("with a login in its `url`"));
}

#[test]
fn what_is_not_taken_over_is_named_with_its_place() {
    for (text, words) in [
        (
            web(", set: [{name: a, value: b}], jsonPatches: [], hooks: [{command: x}]"),
            "`/shop/helmfile.yaml`, release `web` has unsupported fields: `hooks`, `set`",
        ),
        (
            format!("hooks: [{{command: x}}]\n{}", web("")),
            "`/shop/helmfile.yaml` has unsupported fields: `hooks`",
        ),
        (
            format!(
                "helmDefaults: {{force: true, verify: false, waitRetries: 0}}\n{}",
                web("")
            ),
            "`/shop/helmfile.yaml` has unsupported fields: `force`",
        ),
        (
            web(", values: ['env/*.yaml']"),
            "takes values from \"env/*.yaml\", which is not a local file",
        ),
        (
            web(", values: ['https://r.test/a.yaml']"),
            "which is not a local file",
        ),
        (web(", values: [1]"), "takes values from 1, which"),
        (
            web(", condition: web.enabled"),
            "has `condition: web.enabled`, which no value sets",
        ),
        (
            web(", needs: [db]"),
            "release `web` needs `db`, which is not listed",
        ),
        (
            web(", needs: [a/]"),
            "has a `needs` that is not valid in a Solution",
        ),
        (
            web(", timeout: 100000"),
            "has a `timeout` that is not valid in a Solution",
        ),
        (
            web(", namespace: a_b"),
            "has a `namespace` that is not valid in a Solution",
        ),
        (
            web(", installed: 1"),
            "does not have the expected form: invalid type",
        ),
        (
            "releases: [{name: Web, chart: ./a}]".to_owned(),
            "release `Web` has a `name` that is not valid in a Solution: `Web` is not a valid name of a release",
        ),
        (
            "releases: [{name: web, chart: ./a}, {name: web, chart: ./b}]".to_owned(),
            "release `web` has the same name as another release",
        ),
        ("releases: []".to_owned(), "lists no release to install"),
        (
            "releases: [".to_owned(),
            "`/shop/helmfile.yaml` is not valid YAML: ",
        ),
    ] {
        let said = refused(&text);
        assert!(said.contains(words), "{text}: {said}");
    }
    let nothing = HelmfileReleases::read(b"", "default")
        .unwrap_err()
        .to_string();
    assert!(nothing.contains("lists no release"), "{nothing}");
}

#[test]
fn secrets_never_come_into_a_tree() {
    for text in [
        web(", secrets: [secrets.yaml]"),
        web(", values: [{password: 'ref+vault://a/b#c'}]"),
        format!("renderedvalues: {{a: 'ref+awsssm://a'}}\n{}", web("")),
        format!(
            "environments: {{default: {{secrets: [a.yaml]}}}}\n{}",
            web("")
        ),
    ] {
        let said = refused(&text);
        assert!(said.contains("from a secret store"), "{text}: {said}");
    }
    // Secrets of another environment are not used.
    read(&format!(
        "environments: {{prod: {{secrets: [a.yaml]}}}}\n{}",
        web("")
    ))
    .unwrap();
    // These texts only look like references.
    read(&web(", values: [{a: {b: 'href+a'}}, xref+b.yaml]")).unwrap();
}

#[test]
fn as_many_releases_are_read_as_are_carried() {
    let releases = |count: usize| {
        let one = |number| format!("{{name: r{number}, chart: ./web}}");
        let all: Vec<String> = (0..count).map(one).collect();
        format!("releases: [{}]", all.join(", "))
    };
    assert_eq!(read(&releases(32)).unwrap().releases.len(), 32);
    let said = refused(&releases(33));
    assert!(
        said.contains("lists 33 releases to install; a Solution has at most 32 charts"),
        "{said}"
    );
}

#[test]
fn helmfiles_are_told_by_name_and_by_having_no_kind() {
    for (name, is_one) in [
        ("helmfile.yaml", true),
        ("helmfile.yml", true),
        ("helmfile-prod.yaml", true),
        ("helmfile.yaml.gotmpl", true),
        ("web.yaml.gotmpl", true),
        ("my-helmfile.yaml", false),
        ("release.yaml", false),
        ("helmfile", false),
    ] {
        assert_eq!(HelmfileReleases::is_named(name), is_one, "{name}");
    }
    assert!(HelmfileReleases::is_in(b"releases:\n  - kind: x\n"));
    assert!(!HelmfileReleases::is_in(
        b"apiVersion: v1\nkind: ConfigMap\n"
    ));
}

/// A reader whose charts have the names of their directories, and whose Helmfile prints this output.
struct Fake {
    named: String,
    embedded: String,
    read: Vec<String>,
}

impl Fake {
    fn new(named: &str, embedded: &str) -> Self {
        let [named, embedded] = [named, embedded].map(str::to_owned);
        Self {
            named,
            embedded,
            read: Vec::new(),
        }
    }

    fn says(&mut self, what: String, name: &str) -> ChartRead {
        self.read.push(what);
        ChartRead {
            name: name.parse().unwrap(),
            version: "1.2.3".parse().unwrap(),
        }
    }
}

impl HelmfileReader for Fake {
    type Error = ReleaseError;

    fn named(&mut self) -> Result<HelmfileReleases, ReleaseError> {
        Ok(HelmfileReleases::read(self.named.as_bytes(), "prod")?)
    }

    fn embedded(&mut self) -> Result<HelmfileReleases, ReleaseError> {
        self.read.push("embedded".to_owned());
        Ok(HelmfileReleases::read(self.embedded.as_bytes(), "prod")?)
    }

    fn local_chart(&mut self, path: &Path) -> Result<(ChartRead, CopiedFile), ReleaseError> {
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = path.to_str().unwrap().as_bytes().to_vec();
        let outside = path.to_str().unwrap().contains("/../");
        let says = self.says(path.display().to_string(), name);
        Ok((says, CopiedFile { bytes, outside }))
    }

    fn chart(&mut self, source: &ChartSource) -> Result<ChartRead, ReleaseError> {
        Ok(self.says(source.to_string(), "search"))
    }

    fn file(&mut self, path: &Path) -> Result<CopiedFile, ReleaseError> {
        let path = path.to_str().unwrap();
        self.read.push(path.to_owned());
        let text = match path {
            "/shop/secret.yaml" => "a: secretref+vault://a/b",
            "/shop/asks.yaml" => "a: {{ fetchSecretValue .Values.a }}",
            // This file has a reference in a release that was not selected, so the output does not have it.
            "/shop/helmfile.yaml" => "releases: [{values: [{a: ref+vault://a/b}]}]",
            _ => "a: 1",
        };
        Ok(CopiedFile {
            bytes: text.into(),
            outside: path.contains("/../"),
        })
    }
}

fn tree_of(fake: &mut Fake, options: &InitOptions) -> Result<SourceTree, ReleaseError> {
    carry_helmfile("helmfile.yaml.gotmpl", "shop", options, fake)
}

/// Returns the text of NOTES.md, up to the first full stop of each note.
fn told(tree: &SourceTree) -> Vec<String> {
    let notes = String::from_utf8(tree.files["NOTES.md"].clone()).unwrap();
    let lines = notes.lines();
    let lines = lines.filter(|line| line.starts_with("- ") || line.starts_with("##"));
    lines
        .map(|line| line.split(". ").next().unwrap().to_owned())
        .collect()
}

#[test]
fn a_tree_has_each_release_with_its_values() {
    let tree = tree_of(&mut Fake::new(NAMED, EMBEDDED), &InitOptions::default()).unwrap();
    assert_eq!(tree.id.to_string(), "shop-0.1.0");
    let text = String::from_utf8(tree.files["solution.yaml"].clone()).unwrap();
    let (_, charts) = text.split_once("  charts:\n").unwrap();
    assert_eq!(
        charts,
        r#"    - name: "db"
      source: "file:charts/chart-1.2.3.tgz"
      values: ["values/db-1.yaml"]
      namespace: "back"
      timeout: "60s"
    - name: "front"
      source: "file:charts/web-1.2.3.tgz"
      values: ["values/front-1.yaml", "values/front-2.yaml", "values/front-3.yaml"]
      namespace: "web"
      needs: ["db"]
      timeout: "600s"
    - name: "search"
      source: "https://charts.test/stable/#search@4.5.6"
      # values: [values.yaml]
      namespace: "web"
      needs: ["front"]
      timeout: "600s"
"#
    );
    let of = |path: &str| String::from_utf8(tree.files[path].clone()).unwrap();
    assert_eq!(of("values/front-1.yaml"), "image: 'a'\nsize: 1\n");
    assert_eq!(
        of("values/front-2.yaml"),
        "environment: 'prod'\nrule: '{{ $labels.instance }} is down'\n"
    );
    assert_eq!(of("values/front-3.yaml"), "replicas: 3\n");
    assert_eq!(of("charts/web-1.2.3.tgz"), "@DIRECTORY@/shop/./charts/web");
    assert_eq!(tree.files.len(), 8);
    assert_eq!(
        told(&tree),
        [
            "## Decide before packing",
            "- [ ] **images**: `spec.images` is still empty",
            "- [ ] **images that programs start**: A program that may create pods can start images that are compiled into it and that no object names",
            "- [ ] **values**: an import replaces the references to packaged images in the rendered manifests, so values need no placeholders for images",
            "- [ ] **secrets**: Helmfile inserted values from environment variables, files and commands; check values/ for secrets before you distribute the archive",
            "- [ ] **version**: a helmfile has no version; set `spec.version`, which is 0.1.0 now",
            "- [ ] **search**: needs `cache`, which is left out: install it at the site first",
            "## Left out",
            "- **db**: `wait: false`: an import waits until a release is ready before it installs the releases that need it",
            "- **front**: `createNamespace: false`: an import creates the namespace if it does not exist",
            "- **search**: `createNamespace: false`: an import creates the namespace if it does not exist",
            "- **cache**: `condition: cache.enabled` is false",
            "- **old**: `installed: false`",
        ]
    );
    let options = InitOptions {
        name: Some("other".parse().unwrap()),
        version: Some("2.0.0".parse().unwrap()),
    };
    let tree = tree_of(&mut Fake::new(NAMED, EMBEDDED), &options).unwrap();
    assert_eq!(tree.id.to_string(), "other-2.0.0");
    assert!(tree.notes.iter().all(|note| note.about != "version"));
}

/// Every file is checked for secrets before Helmfile embeds values and before anything is downloaded.
#[test]
fn files_are_read_before_stores_and_charts() {
    let mut fake = Fake::new(NAMED, EMBEDDED);
    tree_of(&mut fake, &InitOptions::default()).unwrap();
    assert_eq!(
        fake.read,
        [
            "@DIRECTORY@/shop/db/helmfile.yaml",
            "@DIRECTORY@/shop/helmfile.yaml.gotmpl",
            "@DIRECTORY@/shop/values/web.yaml",
            "@DIRECTORY@/shop/values/note.yaml.gotmpl",
            "embedded",
            "@DIRECTORY@/shop/db/./chart",
            "@DIRECTORY@/shop/./charts/web",
            "https://charts.test/stable/#search@4.5.6"
        ]
    );
}

fn printed(state: &str) -> String {
    format!("---\n#  Source: /shop/helmfile.yaml\n\n{state}")
}

#[test]
fn what_comes_from_elsewhere_and_what_imports_do_themselves_is_told() {
    let state = |values: &str| {
        printed(&format!(
            "helmDefaults: {{atomic: true, wait: true, timeout: 0, force: false}}\nreleases: [{{name: web, chart: ../web, version: 1.0.0, values: [{values}], valuesPathPrefix: env/, historyMax: 5, labels: {{a: b}}}}]\n"
        ))
    };
    let mut fake = Fake::new(&state("../../b.yaml"), &state("{a: 1}"));
    let tree = tree_of(&mut fake, &InitOptions::default()).unwrap();
    assert_eq!(
        told(&tree)[6..],
        [
            "- [ ] **values/web-1.yaml**: is a copy of `/shop/env/../../b.yaml`, which is outside the helmfile's directory; check that you may distribute it",
            "- [ ] **charts/web-1.2.3.tgz**: is a copy of `/shop/../web`, which is outside the helmfile's directory; check that you may distribute it",
            "## Chosen",
            "- **web**: `version: 1.0.0` is ignored: the chart has version 1.2.3",
            "## Left out",
            "- **web**: `atomic`, `historyMax`: an import decides how a release is upgraded and rolled back",
        ]
    );
    let [chart] = &tree.source.spec.charts[..] else {
        panic!("one release is listed");
    };
    assert_eq!(chart.timeout, None);
}

#[test]
fn releases_that_fit_no_solution_are_refused() {
    for (text, words) in [
        (web(", needs: [web]"), "the chart `web` needs itself"),
        (
            web(", namespace: metalk8s-solutions"),
            "the chart `web` uses the namespace `metalk8s-solutions`",
        ),
        (
            "releases: [{name: a, chart: ./a/web}, {name: b, chart: ./b/web}]".to_owned(),
            "two releases have different charts that would both become `charts/web-1.2.3.tgz`",
        ),
        (
            web(", values: [secret.yaml]"),
            "`/shop/secret.yaml` takes values from a secret store",
        ),
        (
            web(", values: [asks.yaml]"),
            "`/shop/asks.yaml` takes values from a secret store",
        ),
    ] {
        let mut fake = Fake::new(&printed(&text), &printed(&text));
        let error = tree_of(&mut fake, &InitOptions::default()).unwrap_err();
        let source = error.source().map(ToString::to_string);
        let said = format!("{error}: {}", source.unwrap_or_default());
        assert!(said.contains(words), "{said}");
        if words.contains("store") {
            // Helmfile would have called the store.
            assert!(
                !fake.read.contains(&"embedded".to_owned()),
                "{:?}",
                fake.read
            );
        }
    }
    // Two releases of the same chart share one file.
    let same = printed("releases: [{name: a, chart: ./web}, {name: b, chart: ./web}]");
    let tree = tree_of(&mut Fake::new(&same, &same), &InitOptions::default()).unwrap();
    let files: Vec<PathBuf> = tree.files.keys().map(PathBuf::from).collect();
    let expected = ["NOTES.md", "charts/web-1.2.3.tgz", "solution.yaml"];
    assert_eq!(files, expected.map(PathBuf::from));
}

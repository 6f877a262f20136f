//! Helmfiles: what is taken over, and what is refused with its place.

use std::path::{Path, PathBuf};

use schemas::ChartSource;

use super::*;

fn read(text: &str) -> Result<Helmfile, HelmfileError> {
    Helmfile::read("helmfile.yaml", text.as_bytes())
}

/// A release that can be carried, with more fields.
fn web(more: &str) -> String {
    format!("releases: [{{name: web, chart: ./web{more}}}]\n")
}

fn refused(text: &str) -> String {
    let error = read(text).unwrap_err();
    let source = error.source().map(|it| format!(": {it}"));
    format!("{error}{}", source.unwrap_or_default())
}

/// Where charts are taken from, by the names of releases.
fn charts(helmfile: &Helmfile) -> Vec<(String, String)> {
    let chart = |release: &ListedRelease| match &release.chart {
        ListedChart::Elsewhere(source) => source.to_string(),
        ListedChart::Local { path, version } => format!("{} {version:?}", path.display()),
    };
    let releases = helmfile.releases.iter();
    releases
        .map(|it| (it.name.to_string(), chart(it)))
        .collect()
}

const REPOSITORIES: &str = "
repositories:
  - {name: stable, url: 'https://charts.test/stable/'}
  - {name: org, url: registry.test/charts/, oci: true}
  - {name: other, url: 'oci://registry.test/other', oci: true}
";

#[test]
fn charts_are_taken_from_where_helmfile_takes_them() {
    let text = format!(
        "{REPOSITORIES}
templates:
  default: &default
    namespace: '{{{{ .Release.Name }}}}'
    version: 1.2.3
releases:
  - {{name: a, chart: stable/web, version: v1.2.3+b}}
  - {{name: b, chart: org/web, version: 1.2.3}}
  - {{name: c, chart: org/deeper/web, version: 1.2.3}}
  - {{name: d, chart: other/web, version: 1.2.3}}
  - {{name: e, chart: 'oci://r.test:5000/web', version: 1.2.3}}
  - {{name: f, chart: ./charts/web}}
  - {{name: g, chart: ../web, version: 2.0.0}}
  - {{name: h, chart: web-1.0.0.tgz, version: ~}}
  - {{name: i, chart: /srv/web}}
  - <<: *default
    name: j
    namespace: apps
    chart: stable/web
"
    );
    let expected = [
        ("a", "https://charts.test/stable/#web@v1.2.3+b"),
        ("b", "oci://registry.test/charts/web:1.2.3"),
        ("c", "oci://registry.test/charts/deeper/web:1.2.3"),
        ("d", "oci://registry.test/other/web:1.2.3"),
        ("e", "oci://r.test:5000/web:1.2.3"),
        ("f", "./charts/web None"),
        ("g", "../web Some(\"2.0.0\")"),
        ("h", "web-1.0.0.tgz None"),
        ("i", "/srv/web None"),
        ("j", "https://charts.test/stable/#web@1.2.3"),
    ];
    let expected = expected.map(|(name, chart)| (name.to_owned(), chart.to_owned()));
    assert_eq!(charts(&read(&text).unwrap()), expected);
}

#[test]
fn charts_that_are_not_named_exactly_are_refused() {
    for (fields, words) in [
        ("chart: stable/web", "has no `version`"),
        ("chart: stable/web, version: ''", "has no `version`"),
        (
            "chart: stable/web, version: ^1.2.0",
            "has `version: ^1.2.0`, which is not one whole version",
        ),
        ("chart: stable/web, version: '1.2'", "not one whole version"),
        (
            "chart: stable/web, version: 1.2",
            "has a `version` that is not a text (in quotes)",
        ),
        (
            "chart: none/web, version: 1.2.3",
            "takes its chart from `none`, which is not among `repositories`",
        ),
        ("chart: web, version: 1.2.3", "has `chart: web`, which is"),
        (
            "chart: 'git::https://r.test/x.git@web?ref=1', version: 1.2.3",
            "has `chart: git::https://r.test/x.git@web?ref=1`, which is neither",
        ),
        ("version: 1.2.3", "has no `chart`"),
        (
            "chart: stable/Web, version: 1.2.3",
            "has a `chart` that a Solution cannot have: `Web` is not a valid name of a chart",
        ),
        (
            "chart: 'oci://r.test/web:1.2.3', version: 1.2.3",
            "has a `chart` that a Solution cannot have",
        ),
    ] {
        let text = format!("{REPOSITORIES}releases: [{{name: web, {fields}}}]");
        let said = refused(&text);
        let begin = "`helmfile.yaml`, release `web` ";
        assert!(
            said.starts_with(begin) && said.contains(words),
            "{fields}: {said}"
        );
    }
}

#[test]
fn what_is_not_taken_over_is_named_with_its_place() {
    for (text, words) in [
        (
            web(", set: [{name: a, value: b}], hooks: [], secrets: [s.yaml]"),
            "`helmfile.yaml`, release `web` has what is not taken over: `hooks`, `secrets`, `set`",
        ),
        (
            format!("helmfiles: [a.yaml]\n{}", web("")),
            "`helmfile.yaml` has what is not taken over: `helmfiles`",
        ),
        (
            format!("bases: [a.yaml]\n{}", web("")),
            "`helmfile.yaml` has what is not taken over: `bases`",
        ),
        (
            format!(
                "helmDefaults: {{wait: true, atomic: true, force: false}}\n{}",
                web("")
            ),
            "`helmfile.yaml`, `helmDefaults` has what is not taken over: `atomic`",
        ),
        (
            format!(
                "repositories: [{{name: a, url: 'https://a.test', password: x}}]\n{}",
                web("")
            ),
            "`helmfile.yaml`, repository 1 has what is not taken over: `password`",
        ),
        (
            format!(
                "repositories: [{{name: a, url: 'https://u:p@a.test'}}]\n{}",
                web("")
            ),
            "`helmfile.yaml`, repository 1 has a login in its `url`",
        ),
        (
            format!(
                "{REPOSITORIES}  - {{name: org, url: 'https://a.test'}}\n{}",
                web("")
            ),
            "`helmfile.yaml`, repository 4 is not the only one of its name",
        ),
    ] {
        let said = refused(&text);
        assert!(said.contains(words), "{text}: {said}");
    }
}

#[test]
fn what_is_no_helmfile_is_refused() {
    for (text, words) in [
        (
            "releases: [{chart: ./web}]".to_owned(),
            "`helmfile.yaml`, release 1 has no `name`",
        ),
        (
            "releases: [web]".to_owned(),
            "`helmfile.yaml`, release 1 is not a mapping",
        ),
        (
            "releases: {web: 1}".to_owned(),
            "`helmfile.yaml` has a `releases` that is not a list",
        ),
        (
            "releases: []".to_owned(),
            "`helmfile.yaml` lists no release that is to be installed",
        ),
        (
            String::new(),
            "`helmfile.yaml` lists no release that is to be installed",
        ),
        ("[a]".to_owned(), "`helmfile.yaml` is not a mapping"),
        (
            format!("environments: {{default: {{}}}}\n---\n{}", web("")),
            "`helmfile.yaml` has 2 documents; one is read",
        ),
        (
            "releases: [".to_owned(),
            "`helmfile.yaml` is not usable YAML: ",
        ),
    ] {
        let said = refused(&text);
        assert!(said.contains(words), "{text}: {said}");
    }
}

#[test]
fn fields_that_no_release_of_a_solution_has_are_refused() {
    for (text, words) in [
        (
            format!(
                "{}  - {{name: web, chart: ./b}}",
                "releases:\n  - {name: web, chart: ./a}\n"
            ),
            "`helmfile.yaml`, release `web` is not the only one of its name",
        ),
        (
            "releases: [{name: Web, chart: ./a}]".to_owned(),
            "release `Web` has a `name` that a Solution cannot have: `Web` is not a valid name of a release",
        ),
        (
            web(", namespace: a_b"),
            "has a `namespace` that a Solution cannot have",
        ),
        (
            web(", installed: 1"),
            "has a `installed` that is not true or false",
        ),
        (
            web(", timeout: 10m"),
            "has a `timeout` that is not a whole number",
        ),
        (
            web(", timeout: 100000"),
            "has a `timeout` that a Solution cannot have",
        ),
        (
            web(", needs: [db]"),
            "release `web` needs `db`, which is not listed",
        ),
        (
            web(", needs: [[db]]"),
            "has a `needs` that is not a list of releases",
        ),
        (
            web(", needs: [a/]"),
            "has a `needs` that a Solution cannot have",
        ),
    ] {
        let said = refused(&text);
        assert!(said.contains(words), "{text}: {said}");
    }
}

#[test]
fn nothing_is_expanded() {
    for (text, words) in [
        (
            "releases:\n  # {{ as it was }}\n{{ range .Values.all }}\n  - name: web\n{{ end }}\n"
                .to_owned(),
            "`helmfile.yaml` has a template on line 3, which only Helmfile expands",
        ),
        (
            web(", version: {{ .Values.version }}"),
            "`helmfile.yaml` has a template on line 1",
        ),
        (
            web(", namespace: '{{ .Environment.Name }}'"),
            "release `web` has a template in `namespace`",
        ),
        (
            web(", values: [{a: [{b: '{{ exec \"id\" (list) }}'}]}]"),
            "release `web` has a template in `values`",
        ),
        (
            web(", values: [{'{{ a }}': b}]"),
            "has a template in `values`",
        ),
        (
            web(", installed: '{{ .Values.web }}'"),
            "has a template in `installed`",
        ),
        (
            format!(
                "repositories: [{{name: a, url: '{{{{ env \"URL\" }}}}'}}]\n{}",
                web("")
            ),
            "repository 1 has a template in `url`",
        ),
        (
            web(", values: [a.yaml.gotmpl]"),
            "takes values from `a.yaml.gotmpl`, a template",
        ),
        (
            web(", values: ['env/*.yaml']"),
            "takes values from `env/*.yaml`, which is not one file",
        ),
        (
            web(", values: ['https://r.test/a.yaml']"),
            "which is not one file of this disk",
        ),
        (
            web(", values: [1]"),
            "has a `values` that is not a list of files and mappings",
        ),
        (
            web(", values: [{password: 'ref+vault://a/b#c'}]"),
            "release `web` has values that refer to a store of secrets",
        ),
        (
            web(", condition: web.enabled"),
            "has `condition: web.enabled`, which depends on values of Helmfile's environments",
        ),
    ] {
        let said = refused(&text);
        assert!(said.contains(words), "{text}: {said}");
    }
    let template = Helmfile::read("helmfile.yaml.gotmpl", b"releases: []").unwrap_err();
    assert_eq!(
        template.to_string(),
        "`helmfile.yaml.gotmpl` is a template, which only Helmfile expands"
    );
    // Braces that are no template, and what only looks like a reference.
    read(&web(", values: [{a: {b: {c: 'href+a'}}}, xref+b.yaml]")).unwrap();
}

/// What `helmfile build` writes of itself.
const BUILT: &str = "---
#  Source: helmfile.yaml

filepath: helmfile.yaml
helmBinary: helm
kustomizeBinary: kustomize
environments: {default: {values: [env.yaml]}}
templates: {}
renderedvalues: {web: {enabled: true}, db: {enabled: false}, a: {b: {}}}
helmDefaults: {verify: false, wait: false, timeout: 0, atomic: false}
";

#[test]
fn the_output_of_build_has_decided_everything() {
    let text = format!(
        "{BUILT}releases:
  - {{name: web, chart: ./web, condition: web.enabled, needs: [db], values: [{{rule: 'up {{{{ $labels.a }}}}'}}]}}
  - {{name: db, chart: ./db, condition: db.enabled, hooks: []}}
  - {{name: x, chart: ./x, condition: a.b.enabled}}
"
    );
    let helmfile = read(&text).unwrap();
    assert_eq!(
        charts(&helmfile),
        [("web".to_owned(), "./web None".to_owned())]
    );
    assert!(helmfile.releases[0].needs.is_empty());
    let [ListedValues::Inline(values)] = &helmfile.releases[0].values[..] else {
        panic!("one mapping is given");
    };
    assert_eq!(values["rule"], "up {{ $labels.a }}");
    let notes: Vec<String> = helmfile
        .notes
        .iter()
        .map(|note| format!("{}: {}", note.about, note.text))
        .collect();
    assert_eq!(
        notes,
        [
            "web: `wait: false`: whatever needs a release comes when that is ready",
            "db: `condition: db.enabled` does not hold",
            "x: `condition: a.b.enabled` does not hold",
            "web: needs `db`, which is left out: it must be there before",
        ]
    );
    for condition in ["c.enabled", "web.on", "enabled", "web.enabled.enabled"] {
        let text = format!("{BUILT}{}", web(&format!(", condition: {condition}")));
        let said = refused(&text);
        assert!(
            said.contains(&format!("`condition: {condition}`")),
            "{said}"
        );
    }
    let text = format!("{BUILT}{}", web(", namespace: '{{ a }}'"));
    assert!(refused(&text).contains("has a template in `namespace`"));
}

#[test]
fn lists_are_bounded() {
    let list = |field: &str, one: &str, count: usize| {
        let all = vec![one; count].join(", ");
        format!("{field}: [{all}]")
    };
    let releases = |count: usize| {
        let one = |number| format!("{{name: r{number}, chart: ./web}}");
        let all: Vec<String> = (0..count).map(one).collect();
        format!("releases: [{}]", all.join(", "))
    };
    assert_eq!(read(&releases(32)).unwrap().releases.len(), 32);
    let values = |count| web(&format!(", {}", list("values", "a.yaml", count)));
    assert_eq!(read(&values(64)).unwrap().releases[0].values.len(), 64);
    for (text, words) in [
        (
            releases(33),
            "lists 33 releases that are to be installed; a Solution has at most 32",
        ),
        (releases(257), "has more than 256 entries in `releases`"),
        (values(65), "has more than 64 entries in `values`"),
        (
            web(&format!(", {}", list("needs", "web", 257))),
            "has more than 256 entries in `needs`",
        ),
        (
            format!("{}\n{}", list("repositories", "a", 257), web("")),
            "has more than 256 entries in `repositories`",
        ),
    ] {
        let said = refused(&text);
        assert!(said.contains(words), "{said}");
    }
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
        assert_eq!(Helmfile::is_named(name), is_one, "{name}");
    }
    assert!(Helmfile::is_in(b"releases:\n  - kind: x\n"));
    assert!(!Helmfile::is_in(b"apiVersion: v1\nkind: ConfigMap\n"));
}

/// A disk on which each chart is called as its directory is, and each file is a mapping.
#[derive(Default)]
struct Fake {
    read: Vec<String>,
}

impl Fake {
    fn says(&mut self, what: String, name: &str) -> ChartRead {
        self.read.push(what);
        ChartRead {
            name: name.parse().unwrap(),
            version: "1.2.3".parse().unwrap(),
        }
    }
}

impl Reads for Fake {
    type Error = ReleaseError;

    fn local_chart(&mut self, path: &Path) -> Result<(ChartRead, Copied), ReleaseError> {
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = path.to_str().unwrap().as_bytes().to_vec();
        let outside = path.starts_with("..");
        let says = self.says(path.display().to_string(), name);
        Ok((says, Copied { bytes, outside }))
    }

    fn chart(&mut self, source: &ChartSource) -> Result<ChartRead, ReleaseError> {
        Ok(self.says(source.to_string(), "web"))
    }

    fn values(&mut self, path: &Path) -> Result<Copied, ReleaseError> {
        self.read.push(path.display().to_string());
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = match name {
            "secret" => "a: secretref+vault://a/b",
            _ => "a: 1",
        };
        Ok(Copied {
            bytes: text.into(),
            outside: path.starts_with(".."),
        })
    }
}

fn tree_of(text: &str, wishes: &Wishes) -> Result<SourceTree, ReleaseError> {
    crate::carry_helmfile(&read(text)?, "shop", wishes, &mut Fake::default())
}

const SHOP: &str = "
commonLabels: {a: b}
helmDefaults: {timeout: 600, createNamespace: false}
releases:
  - name: web
    namespace: front
    chart: ./charts/web
    version: 1.0.0
    values:
      - a.yaml
      - image: {tag: 'on'}
        replicas: 2
      - ../b.yaml
    needs: [back/db, minikube/back/cache, db]
    wait: true
    createNamespace: true
    labels: {tier: front}
  - {name: db, chart: ../db, timeout: 0}
  - {name: cache, chart: 'oci://r.test/web', version: 1.2.3, needs: [gone]}
  - {name: gone, installed: false, set: []}
";

#[test]
fn a_tree_has_each_release_with_its_values() {
    let tree = tree_of(SHOP, &Wishes::default()).unwrap();
    assert_eq!(tree.id.to_string(), "shop-0.1.0");
    let text = String::from_utf8(tree.files["solution.yaml"].clone()).unwrap();
    let (_, charts) = text.split_once("  charts:\n").unwrap();
    assert_eq!(
        charts,
        r#"    - name: "web"
      source: "file:charts/web-1.2.3.tgz"
      values: ["values/web-1.yaml", "values/web-2.yaml", "values/web-3.yaml"]
      namespace: "front"
      needs: ["db", "cache"]
      timeout: "600s"
    - name: "db"
      source: "file:charts/db-1.2.3.tgz"
      # values: [values.yaml]
    - name: "cache"
      source: "oci://r.test/web:1.2.3"
      # values: [values.yaml]
      timeout: "600s"
"#
    );
    let of = |path: &str| String::from_utf8(tree.files[path].clone()).unwrap();
    assert_eq!(of("charts/db-1.2.3.tgz"), "../db");
    assert_eq!(of("values/web-1.yaml"), "a: 1");
    assert_eq!(
        of("values/web-2.yaml"),
        "image:\n  tag: 'on'\nreplicas: 2\n"
    );
    assert_eq!(tree.files.len(), 7);
    let notes = of("NOTES.md");
    let told: Vec<&str> = notes
        .lines()
        .filter(|line| line.starts_with("- ") || line.starts_with("##"))
        .map(|line| line.split(". ").next().unwrap())
        .collect();
    assert_eq!(
        told,
        [
            "## To decide before packing",
            "- [ ] **images**: `spec.images` lists none yet",
            "- [ ] **values**: a chart pulls from its own registries unless its values say otherwise",
            "- [ ] **version**: a helmfile has none; `spec.version` is 0.1.0",
            "- [ ] **cache**: needs `gone`, which is left out: it must be there before",
            "- [ ] **values/web-3.yaml**: is a copy of `../b.yaml`, outside of the helmfile's directory; look whether it may be handed over",
            "- [ ] **charts/db-1.2.3.tgz**: is a copy of `../db`, outside of the helmfile's directory; look whether it may be handed over",
            "## Chosen",
            "- **web**: `version: 1.0.0` counts for nothing: the chart is 1.2.3",
            "## Left out",
            "- **db**: `createNamespace: false`: its namespace is made if it is not there",
            "- **cache**: `createNamespace: false`: its namespace is made if it is not there",
            "- **gone**: `installed: false`",
            "- **labels**: by them Helmfile chooses among releases; a Solution has all of them",
        ]
    );
    let wishes = Wishes {
        name: Some("other".parse().unwrap()),
        version: Some("2.0.0".parse().unwrap()),
        deployment: None,
    };
    let tree = tree_of(SHOP, &wishes).unwrap();
    assert_eq!(tree.id.to_string(), "other-2.0.0");
    assert!(tree.notes.iter().all(|note| note.about != "version"));
}

#[test]
fn files_are_read_before_anything_is_downloaded() {
    let mut fake = Fake::default();
    let helmfile = read(SHOP).unwrap();
    crate::carry_helmfile(&helmfile, "shop", &Wishes::default(), &mut fake).unwrap();
    let read = [
        "a.yaml",
        "../b.yaml",
        "./charts/web",
        "../db",
        "oci://r.test/web:1.2.3",
    ];
    assert_eq!(fake.read, read);
}

#[test]
fn releases_that_fit_no_solution_are_refused() {
    for (text, words) in [
        (web(", needs: [web]"), "the chart `web` needs itself"),
        (
            web(", namespace: metalk8s-solutions"),
            "the chart `web` has the namespace `metalk8s-solutions`",
        ),
        (
            "releases: [{name: a, chart: ./a/web}, {name: b, chart: ./b/web}]".to_owned(),
            "two releases have charts that would both be `charts/web-1.2.3.tgz`, and differ",
        ),
        (
            web(", values: [secret.yaml]"),
            "`helmfile.yaml`, release `web` has values that refer to a store of secrets",
        ),
    ] {
        let error = tree_of(&text, &Wishes::default()).unwrap_err();
        let source = error.source().map(ToString::to_string);
        let said = format!("{error}: {}", source.unwrap_or_default());
        assert!(said.contains(words), "{said}");
    }
    // The same chart twice is one file.
    let same = "releases: [{name: a, chart: ./web}, {name: b, chart: ./web}]";
    let tree = tree_of(same, &Wishes::default()).unwrap();
    let files: Vec<PathBuf> = tree.files.keys().map(PathBuf::from).collect();
    let expected = ["NOTES.md", "charts/web-1.2.3.tgz", "solution.yaml"];
    assert_eq!(files, expected.map(PathBuf::from));
}

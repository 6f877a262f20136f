//! Tests with charts that are built byte by byte, valid and hostile ones.

use std::collections::BTreeMap;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use schemas::merge_values;
use serde_json::json;

use crate::{Chart, limits, package, read_values};

const CHART: &str = "apiVersion: v2\nname: web\nversion: 1.2.3+build.5\n";

/// Returns a header with its content. `size` is the declared size.
fn entry(kind: u8, name: &str, size: usize, bytes: &[u8]) -> Vec<u8> {
    let mut header = [0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar\x0000");
    seal(&mut header);
    let mut entry = header.to_vec();
    entry.extend_from_slice(bytes);
    entry.resize(entry.len().next_multiple_of(512), 0);
    entry
}

fn seal(header: &mut [u8]) {
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

fn file(name: &str, text: &str) -> Vec<u8> {
    entry(b'0', name, text.len(), text.as_bytes())
}

/// Returns an extension with one record.
fn extended(kind: u8, key: &str, value: &str) -> Vec<u8> {
    let rest = format!(" {key}={value}\n");
    let digits = (1..=4).find(|digits| (digits + rest.len()).to_string().len() == *digits);
    let record = format!("{}{rest}", digits.unwrap() + rest.len());
    entry(kind, "x", record.len(), record.as_bytes())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

fn tar(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut tar = entries.concat();
    tar.resize(tar.len() + 1024, 0);
    tar
}

fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
    gzip(&tar(entries))
}

fn with(more: &[Vec<u8>]) -> Vec<u8> {
    archive(&[&[file("web/Chart.yaml", CHART)], more].concat())
}

/// Returns a chart with these files below its directory.
fn of(files: &[(&str, &str)]) -> Vec<u8> {
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| file(&format!("web/{path}"), text))
        .collect();
    archive(&files)
}

fn refused(archive: &[u8]) -> String {
    Chart::read(archive).unwrap_err().to_string()
}

#[test]
fn a_chart_is_read_with_the_charts_in_it() {
    let inner = of(&[("Chart.yaml", "{apiVersion: v1, name: web, version: 0.1.0}")]);
    let text = format!(
        "{CHART}appVersion: 1.10\nkubeVersion: '>=1.28'\ndependencies:\n- {{name: web, repository: ''}}\n- {{name: db, version: 1.x, repository: ''}}\n"
    );
    let entries = [
        extended(b'g', "comment", "0123"),
        entry(b'5', "web/", 0, b""),
        file("web/Chart.yaml", &format!("\u{feff}{text}")),
        file("web/values.yaml", "# nothing\n"),
        file(
            "web/values.schema.json",
            r##"{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a", "definitions": {"a": true}}"##,
        ),
        file("web/crds/a.yaml", "{}"),
        file("web/crds/README.md", "# none"),
        file("web/templates/crds/a.yaml", "{}"),
        entry(b'0', "web/charts/web.tgz", inner.len(), &inner),
        file(
            "web/charts/db/Chart.yaml",
            "{apiVersion: v2, name: db, version: 1.0.0, type: library}",
        ),
        file("web/charts/db/crds/b.yaml", "{}"),
        file("web/charts/.ignored", "x"),
        extended(b'x', "path", &format!("web/{}/a", "d".repeat(120))),
        file("short", "x"),
    ];
    let chart = Chart::read(&archive(&entries)).unwrap();
    assert_eq!(chart.name.as_str(), "web");
    assert_eq!(chart.version.tag().as_str(), "1.2.3_build.5");
    assert_eq!(chart.metadata.app_version, "1.1");
    assert_eq!(chart.definitions, 2);
}

#[test]
fn definitions_are_found_where_helm_takes_them() {
    let nested = of(&[
        ("Chart.yaml", CHART),
        ("crds/deep/b.YML", "b"),
        ("charts/db/Chart.yaml", &CHART.replace("web", "db")),
        ("charts/db/crds/c.json", "c"),
    ]);
    let entries = [
        file("web/Chart.yaml", CHART),
        entry(b'0', "web/charts/web-1.tgz", nested.len(), &nested),
        // Helm does not read these directories as charts, and the file not as a CustomResourceDefinition.
        file("web/charts/_db/crds/a.yaml", "x"),
        file("web/charts/.db/crds/a.yaml", "x"),
        file("web/crds/notes.txt", "x"),
        file("web/crds/a.yaml", "\u{feff}a"),
    ];
    let chart = Chart::read(&archive(&entries)).unwrap();
    let found = chart.definition_files();
    let found: Vec<_> = found.map(|file| (file.path, file.bytes)).collect();
    let expected: [(&str, &[u8]); 3] = [
        ("crds/a.yaml", b"a"),
        ("charts/web-1.tgz/crds/deep/b.YML", b"b"),
        ("charts/web-1.tgz/charts/db/crds/c.json", b"c"),
    ];
    assert_eq!(found, expected);
    assert_eq!(chart.definitions, 3);
}

#[track_caller]
fn all_refused<const N: usize>(cases: [(Vec<u8>, &str); N]) {
    for (archive, words) in cases {
        let said = refused(&archive);
        assert!(said.starts_with(words), "{said}\n{words}");
    }
}

#[test]
fn archives_that_readers_unpack_differently_are_refused() {
    let good = with(&[]);
    assert!(Chart::read(&good).is_ok());
    let cut = tar(&[file("web/Chart.yaml", CHART)]);
    let more = [cut.clone(), b"x".repeat(512)].concat();
    let mut sum = file("web/a", "x");
    sum[0] = b'x';
    let mut base256 = entry(b'0', "web/a", 1, b"x");
    base256[124] = 0x80;
    seal(&mut base256[..512]);
    let huge = entry(b'0', "web/a", 1 << 30, b"");
    let behind = "has bytes after its first gzip member";
    let header = "has a damaged tar header at byte 1024";
    let end = "ends before its end mark";
    all_refused([
        (b"PK".to_vec(), "is not a whole gzip file"),
        (good[..good.len() - 4].to_vec(), "is not a whole gzip file"),
        ([good.clone(), good.clone()].concat(), behind),
        ([good.clone(), vec![0]].concat(), behind),
        (gzip(&cut[..cut.len() - 512]), end),
        (gzip(&cut[..600]), end),
        (gzip(&more), "has bytes after its end mark"),
        (with(&[sum]), header),
        (with(&[base256]), header),
        (with(&[huge]), end),
        (with(&[extended(b'x', "path", "web/b")]), end),
        (archive(&[]), "has no Chart.yaml"),
    ]);
}

#[test]
fn entries_are_plain_files_below_one_directory() {
    let kind = "contains `web/a`, which is neither a file nor a directory";
    let path = "which is not a plain path below one directory";
    for link in *b"123467" {
        assert_eq!(refused(&with(&[entry(link, "web/a", 0, b"")])), kind);
    }
    for name in [
        "../a",
        "/web/a",
        "other/a",
        "web\\a",
        "web/c:/a",
        "web/./a",
        "web//a",
        "web/a/",
        "a",
        "web/\u{202e}a",
    ] {
        let said = refused(&with(&[file(name, "x")]));
        assert_eq!(said, format!("contains `{name}`, {path}"));
    }
    for name in ["web/../b".to_owned(), "a".repeat(limits::PATH + 1)] {
        let said = refused(&with(&[extended(b'x', "path", &name), file("web/a", "x")]));
        assert_eq!(said, format!("contains `{name}`, {path}"));
    }
    for (kind, key) in [
        (b'x', "size"),
        (b'x', "GNU.sparse.major"),
        (b'x', "linkpath"),
        (b'g', "path"),
    ] {
        let said = refused(&with(&[extended(kind, key, "9"), file("web/a", "x")]));
        let words =
            format!("extends the header of a file with `{key}`, which tools interpret differently");
        assert_eq!(said, words);
    }
    let both = "contains `web/a` as a file and as a directory";
    let other = "has its files below `other/`, not below `web/`";
    let (a, below) = (file("web/a", "x"), file("web/a/b", "x"));
    all_refused([
        (
            with(&[file("web/Chart.yaml", CHART)]),
            "contains `web/Chart.yaml` twice",
        ),
        (with(&[a.clone(), below.clone()]), both),
        (with(&[below, a]), both),
        (archive(&[file("other/Chart.yaml", CHART)]), other),
    ]);
}

#[test]
fn bombs_are_refused_before_they_are_unpacked() {
    let big = vec![0; usize::try_from(limits::UNPACKED).unwrap() + 1];
    assert_eq!(refused(&gzip(&big)), "unpacks to more than 33554432 bytes");
    // Each nested archive is within the limit, but their total is not.
    let quarter = vec![b'x'; 4 << 20];
    let quarters = (0..3).map(|at| entry(b'0', &format!("web/{at}"), quarter.len(), &quarter));
    let inner: Vec<Vec<u8>> = quarters.collect();
    let inner = with(&inner);
    let inner = |at| entry(b'0', &format!("web/charts/{at}.tgz"), inner.len(), &inner);
    assert!(Chart::read(&with(&[inner(0), inner(1)])).is_ok());
    assert_eq!(
        refused(&with(&[inner(0), inner(1), inner(2)])),
        "in the chart `2.tgz`: unpacks to more than 33554432 bytes"
    );
    let one = limits::FILE_SIZE + 1;
    let one = vec![0; usize::try_from(one).unwrap()];
    let large = with(&[entry(b'0', "web/a", one.len(), &one)]);
    assert_eq!(
        refused(&large),
        "contains `web/a`, which has 5242881 bytes; Helm reads at most 5242880"
    );
    let many: Vec<Vec<u8>> = (0..limits::ENTRIES)
        .map(|at| file(&format!("web/{at}"), ""))
        .collect();
    assert_eq!(refused(&with(&many)), "has more than 20000 entries");
    let mut nested = with(&[]);
    for _ in 0..=limits::DEPTH {
        nested = with(&[entry(b'0', "web/charts/web.tgz", nested.len(), &nested)]);
    }
    let words = refused(&nested);
    assert!(
        words.ends_with("has charts that are nested more than 8 levels deep"),
        "{words}"
    );
}

#[test]
fn what_a_chart_says_is_judged() {
    let said = |text: &str| refused(&of(&[("Chart.yaml", text)]));
    for (text, words) in [
        ("a: [", ""),
        (
            "{name: web, version: 1.0.0}",
            "apiVersion is ``, not v1 or v2",
        ),
        (
            "{apiVersion: v3, name: web, version: 1.0.0}",
            "apiVersion is `v3`",
        ),
        (
            "{apiVersion: v2, name: web}",
            "`` is not a valid version of a chart",
        ),
        (
            "{apiVersion: v2, name: web, version: 1.0}",
            "`1` is not a valid version of a chart",
        ),
        (
            "{apiVersion: v2, name: a/b, version: 1.0.0}",
            "`a/b` is not a valid name of a chart",
        ),
    ] {
        let said = said(text);
        assert!(said.starts_with(&format!("Chart.yaml: {words}")), "{said}");
    }
    let more = |text: &str| said(&format!("{CHART}{text}\n"));
    for (text, words) in [
        ("type: library", "Chart.yaml: type is `library`"),
        ("type: other", "Chart.yaml: type is `other`"),
        (
            "Version: 2.0.0",
            "Chart.yaml has the field `Version`, which some tools read as a different field",
        ),
        (
            "dependencies: [{name: db}]",
            "charts/ does not have the dependency `db`",
        ),
        ("sources: text", "Chart.yaml: invalid type"),
    ] {
        let said = more(text);
        assert!(said.starts_with(words), "{said}");
    }
}

#[test]
fn the_files_of_a_chart_are_judged() {
    const V1: &str = "{apiVersion: v1, name: web, version: 1.0.0}";
    for (chart, path, text, words) in [
        (
            CHART,
            "requirements.yaml",
            "{}",
            "requirements.yaml is only read with `apiVersion: v1`",
        ),
        (
            V1,
            "requirements.yaml",
            "dependencies: [{name: db}]",
            "charts/ does not have the dependency `db`",
        ),
        (
            V1,
            "requirements.yaml",
            "name: other",
            "requirements.yaml has the field `name`",
        ),
        (CHART, "values.yaml", "[a]", "values.yaml is not a mapping"),
        (
            CHART,
            "values.yaml",
            "a: 1\n---\nb: 2",
            "values.yaml is not a mapping",
        ),
        (
            CHART,
            "charts/db/values.yaml",
            "",
            "in the chart `db`: has no Chart.yaml",
        ),
        (
            CHART,
            "charts/a.tgz/Chart.yaml",
            CHART,
            "in the chart `a.tgz`: contains `charts/a.tgz/`",
        ),
        (
            CHART,
            "charts/a.tgz",
            "x",
            "in the chart `a.tgz`: is not a whole gzip file",
        ),
    ] {
        let said = refused(&of(&[("Chart.yaml", chart), (path, text)]));
        assert!(said.starts_with(words), "{said}");
    }
}

#[test]
fn schemas_are_such_that_helm_can_use_them() {
    let schema = |text: &str| of(&[("Chart.yaml", CHART), ("values.schema.json", text)]);
    for (text, words) in [
        ("{", "cannot be read"),
        ("[]", "is not a valid schema"),
        (r#"{"type": "text"}"#, "is not a valid schema: /type: "),
        (
            r#"{"properties": []}"#,
            "is not a valid schema: /properties: ",
        ),
        (r##"{"$ref": "#/none"}"##, "is not a valid schema: "),
        (r#"{"pattern": "(a"}"#, "is not a valid schema: "),
        // A pattern that Helm's engine does not support, and one whose compiled size exceeds the limit.
        (r#"{"pattern": "(?=a)b"}"#, "is not a valid schema: "),
        (
            r#"{"pattern": "((a{99}){99}){99}"}"#,
            "is not a valid schema: ",
        ),
    ] {
        let said = refused(&schema(text));
        assert!(
            said.starts_with(&format!("values.schema.json {words}")),
            "{said}"
        );
    }
    let latest = r#"{"$schema": "http://json-schema.org/schema#", "type": "object"}"#;
    assert!(Chart::read(&schema(latest)).is_ok());
    let said = refused(&schema(&latest.replace("object", "text")));
    assert!(said.contains("is not a valid schema: /type: "), "{said}");
    let own = r##"{"properties": {"$ref": {"$ref": "#/a"}}, "a": {}}"##;
    assert!(Chart::read(&schema(own)).is_ok());
    let patterns = |count: usize| {
        let patterns: Vec<String> = (0..count)
            .map(|number| format!(r#""a{number}": true"#))
            .collect();
        format!(r#"{{"patternProperties": {{{}}}}}"#, patterns.join(", "))
    };
    assert!(Chart::read(&schema(&patterns(limits::PATTERNS))).is_ok());
    let said = refused(&schema(&patterns(limits::PATTERNS + 1)));
    assert_eq!(
        said,
        "values.schema.json has 257 patterns; at most 256 are read"
    );
    let both = |one: &str, other: &str| {
        let patterns = json!({"pattern": one, "items": {"pattern": other}});
        schema(&patterns.to_string())
    };
    let long = |length: usize| format!("[{}]", "a".repeat(length - 2));
    assert!(Chart::read(&both(&long(limits::PATTERNS_TEXT - 1), "b")).is_ok());
    let said = refused(&both(&long(limits::PATTERNS_TEXT), "b"));
    assert!(said.contains("65537 bytes of patterns"), "{said}");
    let classes = |count: usize| r"\pL|".repeat(count) + "a";
    let half = limits::PATTERNS_WEIGHT / 2;
    let said = refused(&both(&classes(half), &classes(half + 1)));
    assert!(said.contains("257 Unicode classes"), "{said}");
    // Each of many patterns has a smaller share of the limit.
    let letters = r"^\p{L}[\p{L}\p{N}]*$";
    assert!(Chart::read(&both(letters, "b")).is_ok());
    let mut many = patterns(limits::PATTERNS - 1);
    many.insert_str(1, &format!(r#""pattern": {}, "#, json!(letters)));
    assert!(refused(&schema(&many)).contains("is not a valid schema"));
    let said = refused(&schema(&format!("{{{}}}", " ".repeat(limits::SCHEMA))));
    assert!(
        said.ends_with("has 1048578 bytes; at most 1048576 are read"),
        "{said}"
    );
}

/// Helm would fetch these references, and must be told not to validate values.
#[test]
fn what_a_schema_refers_to_elsewhere_is_left_out_and_reported() {
    let schema = |text: &str| of(&[("Chart.yaml", CHART), ("values.schema.json", text)]);
    for (text, reference) in [
        (
            r#"{"properties": {"a": {"$ref": "https://r.test/a.json"}}}"#,
            "https://r.test/a.json",
        ),
        (r#"{"$ref": "other.json"}"#, "other.json"),
        (r#"{"$ref": "file:///etc/passwd"}"#, "file:///etc/passwd"),
        (r#"{"$dynamicRef": "https://r.test/a"}"#, "https://r.test/a"),
        (
            r#"{"$schema": "https://r.test/draft"}"#,
            "https://r.test/draft",
        ),
        (
            r##"{"$ref": "#/a", "$ref": "https://r.test/last"}"##,
            "https://r.test/last",
        ),
        (
            r#"{"$schema": "https://r.test/d", "$ref": "b", "$dynamicRef": "c"}"#,
            "b",
        ),
    ] {
        let chart = Chart::read(&schema(text)).unwrap();
        assert_eq!(chart.remote_schema.as_deref(), Some(reference), "{text}");
        assert!(chart.as_helm);
    }
    let around = of(&[
        ("Chart.yaml", CHART),
        (
            "charts/inner/Chart.yaml",
            "{apiVersion: v2, name: inner, version: 1.0.0}",
        ),
        (
            "charts/inner/values.schema.json",
            r#"{"$ref": "https://r.test/a.json"}"#,
        ),
    ]);
    assert!(Chart::read(&around).unwrap().remote_schema.is_some());
    let none = Chart::read(&schema(r##"{"$ref": "#/a", "a": {}}"##)).unwrap();
    assert_eq!((none.remote_schema, none.as_helm), (None, false));
}

/// neuvector 2.11.0 has a schema with equal keys.
#[test]
fn files_that_only_helm_reads_are_read_as_helm_reads_them() {
    for files in [
        [(
            "values.schema.json",
            r#"{"type": "text", "type": "object"}"#,
        )],
        [(
            "values.schema.json",
            r#"{"properties": {"a": {"multipleOf": 0.5}}}"#,
        )],
        [("values.yaml", "a: 1\na: 2\n")],
        [("values.yaml", "a:\n  b: \"one\n  two\"\n")],
        [("crds/a.yaml", "kind: A\nkind: B\n")],
    ] {
        let chart = Chart::read(&of(&[("Chart.yaml", CHART), files[0]])).unwrap();
        assert!(chart.as_helm, "{files:?}");
    }
    let twice = format!("{CHART}description: a\ndescription: b\n");
    let files = [
        ("Chart.yaml", twice.as_str()),
        ("values.yaml", "a: 1\na: 2\n"),
    ];
    let chart = Chart::read(&of(&files)).unwrap();
    assert_eq!(chart.metadata.description, "b");
    assert_eq!(chart.default_values()["a"], 2);
    let ambiguous = of(&[
        ("Chart.yaml", CHART),
        ("values.yaml", "a: 1\na: 2\n1: a\n'1': b\n"),
    ]);
    assert!(refused(&ambiguous).contains("YAML parsers read differently at line 4"));
}

/// Without the limits, these schemas would take long to compile, or overflow the stack.
#[test]
fn schemas_that_name_their_own_parts_again_and_again_are_read() {
    let chain = |count: usize| {
        let parts = (0..count).map(|at| format!(r##""{at}": {{"$ref": "#/$defs/{}"}}"##, at + 1));
        let parts: Vec<String> = parts.collect();
        let schema = format!(
            r##"{{"$ref": "#/$defs/0", "$defs": {{{}, "{count}": {{}}}}}}"##,
            parts.join(", ")
        );
        of(&[("Chart.yaml", CHART), ("values.schema.json", &schema)])
    };
    assert!(Chart::read(&chain(limits::SCHEMA_REFERENCES - 1)).is_ok());
    let words = "values.schema.json has 4097 references; at most 4096 are read";
    assert_eq!(refused(&chain(limits::SCHEMA_REFERENCES)), words);
    let circle = [
        ("Chart.yaml", CHART),
        ("values.schema.json", r##"{"$ref": "#"}"##),
    ];
    assert!(Chart::read(&of(&circle)).is_ok());
}

/// The bytes are those of `helm push` in Helm 4, except for the time.
#[test]
fn the_artifact_is_that_of_helm() {
    let text = "
apiVersion: v2
name: web
version: 1.2.3+build.5
appVersion: 2.0
description: |
  Serves <pages> &
  more.
home: https://web.test
sources: [https://web.test/source, https://web.test/other]
keywords: [a, b]
maintainers:
- {name: Ann, email: ann@web.test}
- {name: Bob, url: https://bob.test}
annotations: {category: web, org.opencontainers.image.title: other}
kubeVersion: '>=1.28.0-0'
type: application
";
    let archive = of(&[("Chart.yaml", text)]);
    let artifact = Chart::read(&archive).unwrap().artifact(&archive);
    assert_eq!(
        String::from_utf8(artifact.config.clone()).unwrap(),
        r#"{"name":"web","home":"https://web.test","sources":["https://web.test/source","https://web.test/other"],"version":"1.2.3+build.5","description":"Serves \u003cpages\u003e \u0026 more. ","keywords":["a","b"],"maintainers":[{"name":"Ann","email":"ann@web.test"},{"name":"Bob","url":"https://bob.test"}],"apiVersion":"v2","appVersion":"2","annotations":{"category":"web","org.opencontainers.image.title":"other"},"kubeVersion":"\u003e=1.28.0-0","type":"application"}"#
    );
    let manifest: serde_json::Value = serde_json::from_slice(&artifact.manifest).unwrap();
    assert_eq!(manifest["config"]["mediaType"], crate::CONFIG);
    assert_eq!(manifest["config"]["size"], artifact.config.len());
    assert_eq!(manifest["layers"][0]["mediaType"], crate::CONTENT);
    assert_eq!(manifest["layers"][0]["size"], archive.len());
    assert_eq!(
        manifest["annotations"],
        json!({
            "category": "web",
            "org.opencontainers.image.authors": "Ann (ann@web.test), Bob",
            "org.opencontainers.image.description": "Serves <pages> & more. ",
            "org.opencontainers.image.source": "https://web.test/source",
            "org.opencontainers.image.title": "web",
            "org.opencontainers.image.url": "https://web.test",
            "org.opencontainers.image.version": "1.2.3+build.5",
        })
    );
}

#[test]
fn a_directory_becomes_one_archive_whatever_lies_beside_it() {
    let files = |more: &[(&str, &str)]| {
        let own = [
            ("Chart.yaml", CHART),
            (
                ".helmignore",
                "# notes\n*.bak\n/private\nsecrets/\nci/*.yaml\n",
            ),
            ("templates/a.yaml", "a"),
            ("ci/keep/a.yaml", "a"),
        ];
        let own = own.iter().chain(more);
        let own = own.map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
        own.collect::<BTreeMap<_, _>>()
    };
    let archive = package(&files(&[])).unwrap();
    let beside = [
        ("a.bak", "x"),
        ("templates/b.bak", "x"),
        ("private", "x"),
        ("secrets/a", "x"),
        ("deep/secrets/a", "x"),
        ("ci/a.yaml", "x"),
        ("templates/.hidden", "x"),
    ];
    assert_eq!(package(&files(&beside)).unwrap(), archive);
    for kept in [("deep/private", "x"), ("abak", "x"), ("secrets", "x")] {
        assert_ne!(package(&files(&[kept])).unwrap(), archive, "{kept:?}");
    }
    assert_eq!(Chart::read(&archive).unwrap().name.as_str(), "web");
    let long = format!("{}/{}", "a".repeat(120), "b".repeat(90));
    let deep = package(&files(&[(&long, "x")])).unwrap();
    assert!(Chart::read(&deep).is_ok());
    for (path, text, words) in [
        (".helmignore", "!a", ".helmignore has `!a`"),
        (".helmignore", "**/a", ".helmignore has `**/a`"),
        (
            "a\\b",
            "x",
            "contains `web/a\\b`, which is not a plain path",
        ),
        (&"a".repeat(120), "x", "contains `web/aaa"),
    ] {
        let said = package(&files(&[(path, text)])).unwrap_err().to_string();
        assert!(said.starts_with(words), "{said}");
    }
}

#[test]
fn values_are_merged_as_helm_does() {
    let read = |text: &str| read_values(text.as_bytes()).unwrap();
    let mut values = read("a: {b: 1, c: 2}\nd: [1]\ne: {f: 1}\ng: 1\n");
    merge_values(
        &mut values,
        &read("a: {b: null, x: 3}\nd: [2]\ne: 5\ng: {h: on}\n"),
    );
    merge_values(&mut values, &read(""));
    let merged = json!({
        "a": {"b": null, "c": 2, "x": 3}, "d": [2], "e": 5, "g": {"h": true},
    });
    assert_eq!(serde_json::Value::from(values), merged);
    for text in ["[a]", "text", "a: 1\n---\nb: 1", "a: 1\na: 2"] {
        assert!(read_values(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn a_value_that_a_chart_names_nowhere_is_told_with_the_one_that_may_be_meant() {
    let values =
        "replicas: 1\n# storageClass: fast\ningress: {enabled: false, annotations: {}}\nlist: []\n";
    let schema = r#"{"properties": {"size": {"type": "string"}}}"#;
    let chart = Chart::read(&of(&[
        ("Chart.yaml", CHART),
        ("values.yaml", values),
        ("values.schema.json", schema),
    ]));
    let given =
        "replcas: 2\nreplicas: 3\nstorageClass: slow\nsize: 1Gi\nglobal: {x: 1}\nlist: [{a: 1}]
ingress: {enable: true, annotations: {any: x}}\nother: {a: 1, b: 2}\npublished: 2\n";
    let read = |text: &str| read_values(text.as_bytes()).unwrap();
    let told = chart.unwrap().unnamed(&read("published: 1"), &read(given));
    let told: Vec<String> = told
        .iter()
        .map(|value| format!("{} {} {:?}", value.path, value.key, value.near))
        .collect();
    let expected = [
        "ingress.enable enable Some(\"enabled\")",
        "other.a other None",
        "replcas replcas Some(\"replicas\")",
    ];
    assert_eq!(told, expected);
    let bare = Chart::read(&of(&[("Chart.yaml", CHART)])).unwrap();
    assert_eq!(bare.unnamed(&read(""), &read("any: 1")), []);
}

#[test]
fn a_value_is_compared_by_its_whole_place_and_not_by_its_last_key() {
    let values = "image: {tag: '1', repository: a}
worker:
  replicas: 1
  # resources:
  #   limits: {}
  env:
    A: b
## @param worker.debug Whether it says more
db: {enabled: true, size: 1}
";
    let schema = r#"{"properties": {
        "worker": {"properties": {"env": {"additionalProperties": true}}},
        "db": {"properties": {"size": {}}, "additionalProperties": false}
    }}"#;
    let chart = format!("{CHART}dependencies: [{{name: cache, condition: cache.enabled}}]\n");
    let read = |text: &str| read_values(text.as_bytes()).unwrap();
    let chart = Chart::read(&of(&[
        ("Chart.yaml", chart.as_str()),
        ("values.yaml", values),
        ("values.schema.json", schema),
        ("templates/a.yaml", "x: {{ .Values.extra.hosts }}"),
        (
            "charts/cache/Chart.yaml",
            "apiVersion: v2\nname: cache\nversion: 1.0.0\n",
        ),
    ]))
    .unwrap();
    let told = |given: &str| {
        let told = chart.unnamed(&read(""), &read(given));
        let told = told.iter().map(|value| {
            let near = value.near.as_deref().unwrap_or("-");
            format!("{} {} {near}", value.path, value.key)
        });
        told.collect::<Vec<_>>().join(", ")
    };
    // Keys that the chart has at other places.
    assert_eq!(told("tag: '2'"), "tag tag image.tag");
    assert_eq!(told("replicas: 2"), "replicas replicas worker.replicas");
    assert_eq!(told("db: {tag: x}"), "db.tag tag image.tag");
    assert_eq!(told("db: {limits: x}"), "db.limits limits -");
    // Places that a comment, the schema, a template or a condition names.
    for named in [
        "worker: {resources: {limits: {}}}",
        "worker: {debug: true}",
        "worker: {env: {C: d}}",
        "extra: {hosts: [a]}",
        "cache: {enabled: true}",
        "tags: {any: true}",
    ] {
        assert_eq!(told(named), "", "{named}");
    }
    let twice = told("other: {ports: 1, names: 2}");
    assert_eq!(twice, "other.names other -");
}

#[test]
fn what_helm_stores_of_a_release_is_known_beforehand() {
    // The text consists of numbers that compress to no less than a third.
    let mut number = 1_u64;
    let mut random = |count: usize| {
        let mut text = String::new();
        for _ in 0..count {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            text += &number.to_string();
        }
        text
    };
    let (large, small) = (random(200_000), random(1000));
    let none = serde_json::Map::new();
    let size = |files: &[(&str, &str)]| {
        let files = [&[("Chart.yaml", CHART)], files].concat();
        Chart::read(&of(&files)).unwrap().stored_size(&none)
    };
    assert!(size(&[("templates/a", &large)]) > limits::RELEASE);
    assert!(size(&[("crds/a", &large)]) > limits::RELEASE);
    let least = size(&[]);
    assert!(least < 1000);
    assert!(size(&[("templates/a", &small)]) > least + 8000);
    // Subcharts are only in the archive of a chart.
    let inner = [
        ("charts/db/Chart.yaml", CHART),
        ("charts/db/templates/a", &large),
    ];
    assert_eq!(size(&inner), least);
    // The rendered manifest is stored too.
    let chart = Chart::read(&of(&[("Chart.yaml", CHART)])).unwrap();
    assert!(chart.release_size(&none, &small) > least + 8000);
    assert!(chart.release_size(&none, &large) > limits::RELEASE);
}

#[test]
fn default_values_are_those_of_the_charts_in_it_too() {
    let inner = "apiVersion: v2\nname: db\nversion: 1.0.0\n";
    let chart = format!("{CHART}dependencies: [{{name: db, alias: store}}]\n");
    let files = [
        ("Chart.yaml", chart.as_str()),
        ("values.yaml", "a: 1\nstore: {image: {tag: '2'}}\n"),
        ("charts/db/Chart.yaml", inner),
        (
            "charts/db/values.yaml",
            "image: {repository: db, tag: '1'}\n",
        ),
    ];
    let values = Chart::read(&of(&files)).unwrap().default_values();
    let expected = json!({"a": 1, "store": {"image": {"repository": "db", "tag": "2"}}});
    assert_eq!(serde_json::Value::from(values), expected);
}

//! Tests with the real programs, which `scripts/install-tools` builds.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::iter;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use helm::{
    ChartRendering, ClusterAccess, Helm, HelmError, HelmRun, PostRenderer, Release, Upgrade, limits,
};
use progress::Cancel;

/// Returns the path of an installed program, by its name in `tests/interop/program`.
fn program(name: &str) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/interop/program");
    let output = Command::new(script).args([name, "--path"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().into()
}

/// Packages a chart with this template.
fn chart(template: &str) -> Vec<u8> {
    let metadata = "apiVersion: v2\nname: web\nversion: 1.0.0\n";
    let files = [("Chart.yaml", metadata), ("templates/a.yaml", template)];
    let files = files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
    charts::package(&BTreeMap::from(files)).unwrap()
}

fn render(template: &str, values: &str, cancel: Cancel<'_>) -> Result<String, HelmError> {
    render_as("shop", template, values, cancel)
}

/// Returns a Helm whose system calls for sockets, and those of its child processes, are recorded in this file.
fn traced(directory: &Path, log: &Path) -> Helm {
    let traced = directory.join("helm");
    // Another process writes the program: while this process has it open for writing, also in a forked child, it cannot
    // be executed.
    let write = r#"printf '#!/bin/sh\nexec "%s" -f -A -e trace=socket,connect -o "%s" "%s" "$@"\n' \
        "$(command -v strace)" "$2" "$3" >"$1" && chmod 755 "$1""#;
    let mut shell = Command::new("sh");
    shell.args(["-c", write, "sh"]).arg(&traced).arg(log);
    assert!(shell.arg(program("helm")).status().unwrap().success());
    Helm::from_path(&traced).unwrap()
}

#[test]
fn values_that_a_schema_refuses_are_told_from_other_failures() {
    let helm = Helm::from_path(&program("helm")).unwrap();
    let schema = r#"{"required": ["host"], "properties": {"size": {"type": "integer"}}}"#;
    let files = [
        ("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
        (
            "templates/a.yaml",
            "{{ if .Values.bad }}{{ fail \"no\" }}{{ end }}",
        ),
        ("values.schema.json", schema),
    ];
    let files = files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
    let chart = charts::package(&BTreeMap::from(files)).unwrap();
    let refused = |values: &str| {
        let rendering = ChartRendering {
            release: &"shop".parse().unwrap(),
            namespace: &"prod".parse().unwrap(),
            chart: &chart,
            skip_schema: false,
            values: values.as_bytes(),
            kubernetes: None,
            api_versions: &[],
            definitions: false,
            revision: 1,
        };
        let rendered = helm.template(&rendering, Cancel::never());
        rendered.map_err(|error| error.refused_values().map(str::to_owned))
    };
    let both = "web: - at '': missing property 'host' - at '/size': got string, want integer";
    assert_eq!(refused("size: a").unwrap_err().as_deref(), Some(both));
    assert_eq!(refused("{host: a, bad: true}").unwrap_err(), None);
    assert!(refused("host: a").is_ok());
}

#[test]
fn a_rendering_opens_no_socket() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("sockets");
    let helm = traced(directory.path(), &log);
    let render = |schema: &str, skip_schema: bool| {
        let files = [
            ("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
            ("templates/a.yaml", "a: {{ .Values.a }}\n"),
            ("values.schema.json", schema),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
        let rendering = ChartRendering {
            release: &"shop".parse().unwrap(),
            namespace: &"there".parse().unwrap(),
            chart: &charts::package(&BTreeMap::from(files)).unwrap(),
            skip_schema,
            values: b"a: 1",
            kubernetes: Some("1.31.0"),
            api_versions: &[],
            definitions: true,
            revision: 1,
        };
        let rendered = helm.template(&rendering, Cancel::never());
        (rendered, fs::read_to_string(&log).unwrap())
    };
    // Helm fetches the reference in the second schema, unless it skips the validation of values.
    let elsewhere = r#"{"$ref": "http://127.0.0.1:9/schema.json"}"#;
    for (schema, skip_schema) in [("{}", false), (elsewhere, true)] {
        let (rendered, calls) = render(schema, skip_schema);
        rendered.unwrap();
        assert!(!calls.contains("socket("), "{calls}");
    }
    let (refused, calls) = render(elsewhere, false);
    refused.unwrap_err();
    assert!(calls.contains("htons(9)"), "{calls}");
}

fn render_as(
    release: &str,
    template: &str,
    values: &str,
    cancel: Cancel<'_>,
) -> Result<String, HelmError> {
    let helm = Helm::from_path(&program("helm")).unwrap();
    let rendering = ChartRendering {
        release: &release.parse().unwrap(),
        namespace: &"there".parse().unwrap(),
        chart: &chart(template),
        skip_schema: false,
        values: values.as_bytes(),
        kubernetes: Some("1.31.0"),
        api_versions: &["example.test/v1/Thing".to_owned()],
        definitions: true,
        revision: 1,
    };
    let said = helm.template(&rendering, cancel)?;
    Ok(String::from_utf8(said).unwrap())
}

#[test]
fn helm_4_is_taken_and_helm_3_is_not() {
    let version = Helm::from_path(&program("helm"))
        .unwrap()
        .version()
        .to_owned();
    assert!(version.starts_with("v4."), "{version}");
    let error = Helm::from_path(&program("helm3")).unwrap_err();
    assert!(matches!(&error, HelmError::NotHelm4 { said, .. } if said.starts_with("v3.")));
}

#[test]
fn a_chart_is_rendered_as_it_is_told() {
    let template = "a: {{ .Values.a }}-{{ .Release.Name }}-{{ .Release.Namespace }}\n\
        b: {{ .Capabilities.KubeVersion.Version }}\n\
        c: {{ .Capabilities.APIVersions.Has \"example.test/v1/Thing\" }}\n";
    let said = render(template, "a: {b: 1}", Cancel::never()).unwrap();
    let said = said.split_once("templates/a.yaml\n").unwrap().1;
    assert_eq!(said, "a: map[b:1]-shop-there\nb: v1.31.0\nc: true\n");
    let error = render("{{ fail \"no such thing\" }}", "{}", Cancel::never()).unwrap_err();
    let said = error.to_string();
    assert!(
        said.starts_with("helm template: ") && said.ends_with("no such thing"),
        "{said}"
    );
    assert!(matches!(error, HelmError::Failed { .. }));
}

#[test]
fn nothing_of_the_users_is_seen() {
    let helm = Helm::from_path(&program("helm")).unwrap();
    let home = helm.home().unwrap();
    let run = HelmRun::new(&home, "env");
    let said = helm.run(&run, Cancel::never()).unwrap();
    let said = String::from_utf8(said).unwrap();
    let root = home.path("").display().to_string();
    let homes = said.lines().filter(|line| line.contains(&root)).count();
    assert!(homes >= 6, "{said}");
    let places = said.lines().filter(|line| line.contains("=\"/"));
    let mut others = places.filter(|line| !line.contains(&root));
    assert!(others.all(|line| line.starts_with("HELM_BIN=")), "{said}");
}

/// Returns the directory in `/proc` of the process with this argument.
fn process(argument: &str) -> Option<PathBuf> {
    let has = |process: &PathBuf| {
        // A process that ended meanwhile has no command line.
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|part| part == argument.as_bytes())
    };
    let processes = fs::read_dir("/proc").unwrap();
    processes.map(|entry| entry.unwrap().path()).find(has)
}

#[test]
fn a_template_without_end_is_ended() {
    const RELEASE: &str = "without-end";
    // The template runs long because of nested loops: a long list would reach the memory limit first.
    let without_end = "{{ define \"more\" }}{{ range until 100000 }}{{ template \"most\" }}{{ end }}{{ end }}\
        {{ define \"most\" }}{{ range until 100000 }}{{ template \"least\" }}{{ end }}{{ end }}\
        {{ define \"least\" }}{{ range until 100000 }}{{ end }}{{ end }}{{ template \"more\" }}";
    let ends = AtomicBool::new(false);
    let started = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            let helm = iter::repeat_with(|| process(RELEASE));
            let in_time = |_: &Option<PathBuf>| started.elapsed() < limits::RENDERING;
            let helm = helm.take_while(in_time).flatten().next();
            let seen = helm.map(|helm| fs::read_to_string(helm.join("environ")).unwrap());
            ends.store(true, Ordering::Relaxed);
            let seen = seen.expect("helm runs");
            assert!(seen.contains("HELM_PLUGINS="), "{seen}");
            assert!(!seen.contains("CARGO_MANIFEST_DIR="), "{seen}");
        });
        let error = render_as(RELEASE, without_end, "{}", Cancel::from_flag(&ends)).unwrap_err();
        assert!(matches!(error, HelmError::Cancelled(_)), "{error:?}");
    });
    assert!(started.elapsed() < limits::RENDERING, "{started:?}");
    assert_eq!(process(RELEASE), None, "helm goes on");

    let helm = Helm::from_path(&program("helm")).unwrap();
    let home = helm.home().unwrap();
    let chart = home.write("chart.tgz", &chart(without_end)).unwrap();
    let mut run = HelmRun::new(&home, "template");
    run.time = Duration::from_secs(1);
    run.arguments([chart.into()]);
    let error = helm.run(&run, Cancel::never()).unwrap_err();
    assert_eq!(error.to_string(), "helm template did not end within 1 s");
}

#[test]
fn a_template_that_writes_or_wants_too_much_is_refused() {
    let much = "kind: A\n{{ range until 4000 }}\nk{{ . }}: {{ repeat 10000 \"a\" }}\n{{ end }}";
    let error = render(much, "{}", Cancel::never()).unwrap_err();
    assert!(matches!(error, HelmError::TooMuch { .. }), "{error:?}");
    let all = "{{ $all := repeat 1000000 \"a\" }}{{ range until 64 }}{{ $all = print $all $all }}{{ end }}";
    let error = render(all, "{}", Cancel::never()).unwrap_err();
    let out_of_memory = |error: HelmError| {
        let said = error.to_string();
        let words = "out of memory: its limit is 1024 MiB";
        assert!(said.contains(words), "{said}");
    };
    out_of_memory(error);
    // The memory limit also covers many small texts, and is stricter than a limit of the address space would be.
    let texts = "{{ $all := dict }}{{ range $i := until 1800 }}\
        {{ $_ := set $all (toString $i) (repeat 1000000 \"a\") }}{{ end }}kind: A";
    out_of_memory(render(texts, "{}", Cancel::never()).unwrap_err());
}

/// Packages a chart with a hook and a test, whose object shows the values and the release that it is rendered with.
fn chart_with_hooks() -> Vec<u8> {
    let files = [
        ("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
        ("values.yaml", "a: built in\n"),
        (
            "templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: object}\n\
            data: {a: {{ .Values.a | quote }}, upgrade: \"{{ .Release.IsUpgrade }}\", revision: \"{{ .Release.Revision }}\"}\n",
        ),
        (
            "templates/b.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: hook, annotations: {helm.sh/hook: pre-install}}\n",
        ),
        (
            "templates/c.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: test, annotations: {helm.sh/hook: test}}\n",
        ),
    ];
    let files = files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
    charts::package(&BTreeMap::from(files)).unwrap()
}

#[test]
fn a_chart_is_told_that_its_release_is_there() {
    let helm = Helm::from_path(&program("helm")).unwrap();
    for upgrade in [false, true] {
        let rendering = ChartRendering {
            release: &"shop".parse().unwrap(),
            namespace: &"there".parse().unwrap(),
            chart: &chart_with_hooks(),
            skip_schema: false,
            values: b"{}",
            kubernetes: None,
            api_versions: &[],
            definitions: true,
            revision: if upgrade { 2 } else { 1 },
        };
        let said = helm.template(&rendering, Cancel::never()).unwrap();
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains(&format!("upgrade: \"{upgrade}\"")), "{said}");
    }
}

/// A post-renderer whose path and arguments contain characters that Helm could interpret. It records its input and
/// arguments, and renames the objects.
struct Awkward {
    directory: tempfile::TempDir,
    program: PathBuf,
}

impl Awkward {
    const ARGUMENTS: [&str; 5] = [
        "$HOME ${HOME}",
        "",
        "it's \"quoted\" \\ #",
        "- a: b",
        "%41,x\ny",
    ];

    fn new(last: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let below = directory.path().join("with spaces $HOME '\"\\");
        fs::create_dir(&below).unwrap();
        let program = below.join("it ${PATH}");
        let script = format!(
            "#!/bin/sh\ncd \"${{0%/*}}/..\" || exit 1\n\
            printf '%s|' \"$@\" > arguments\ntee sent | sed 's/name: \\(object\\|hook\\|test\\)/name: other-\\1/'\n{last}\n"
        );
        // Another process writes the program: while this process has it open for writing, also in a forked child, it
        // cannot be executed.
        let write = r#"printf '%s' "$2" > "$1" && chmod 755 "$1""#;
        let mut shell = Command::new("sh");
        shell.args(["-c", write, "sh"]).arg(&program).arg(script);
        assert!(shell.status().unwrap().success());
        Self { directory, program }
    }

    fn renderer(&self) -> PostRenderer<'_> {
        PostRenderer {
            program: &self.program,
            arguments: Self::ARGUMENTS.map(Into::into).into(),
        }
    }

    fn kept(&self, name: &str) -> String {
        fs::read_to_string(self.directory.path().join(name)).unwrap()
    }
}

#[test]
fn what_is_rendered_passes_through_a_program() {
    let awkward = Awkward::new("");
    let helm = Helm::from_path(&program("helm")).unwrap();
    let home = helm.home().unwrap();
    let chart = home.write("chart.tgz", &chart_with_hooks()).unwrap();
    let mut run = HelmRun::new(&home, "template");
    run.arguments([chart.into()]);
    awkward.renderer().join(&mut run).unwrap();
    let said = helm.run(&run, Cancel::never()).unwrap();
    let said = String::from_utf8(said).unwrap();
    let sent = awkward.kept("sent");
    for name in ["object", "hook", "test"] {
        assert!(sent.contains(&format!("name: {name}")), "{sent}");
        assert!(said.contains(&format!("name: other-{name}")), "{said}");
    }
    let arguments = Awkward::ARGUMENTS
        .map(|argument| format!("{argument}|"))
        .concat();
    assert_eq!(awkward.kept("arguments"), arguments);
}

#[test]
fn helm_fails_where_the_program_does() {
    let awkward = Awkward::new("exit 3");
    let helm = Helm::from_path(&program("helm")).unwrap();
    let home = helm.home().unwrap();
    let chart = home.write("chart.tgz", &chart_with_hooks()).unwrap();
    let mut run = HelmRun::new(&home, "template");
    run.arguments([chart.into()]);
    awkward.renderer().join(&mut run).unwrap();
    let error = helm.run(&run, Cancel::never()).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("exited with error"), "{said}");
}

/// Answers as an API server for requests of its version and its kinds. It serves no kinds and forbids everything else.
fn answer(stream: &TcpStream) {
    let mut lines = BufReader::new(stream).lines();
    let Some(Ok(request)) = lines.next() else {
        return;
    };
    // The rest of the request's head must be read; otherwise, the answer may be lost.
    while lines
        .next()
        .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
    {}
    let (status, body) = match request.split([' ', '?']).nth(1) {
        Some("/version") => (
            "200 OK",
            r#"{"major":"1","minor":"33","gitVersion":"v1.33.0"}"#,
        ),
        Some("/api") => ("200 OK", r#"{"kind":"APIVersions","versions":[]}"#),
        Some("/apis") => (
            "200 OK",
            r#"{"kind":"APIGroupList","apiVersion":"v1","groups":[]}"#,
        ),
        _ => (
            "403 Forbidden",
            r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}"#,
        ),
    };
    let length = body.len();
    let head = "Content-Type: application/json\r\nConnection: close";
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
}

/// Returns an access that lets Helm store these releases in memory instead of in a cluster.
fn in_memory(directory: &Path, releases: &str) -> ClusterAccess {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    // The thread ends with the test process.
    thread::spawn(move || {
        for stream in listener.incoming() {
            answer(&stream.unwrap());
        }
    });
    let data = directory.join("releases.yaml");
    fs::write(&data, releases).unwrap();
    let config = directory.join("kubeconfig");
    let text = format!(
        "{{apiVersion: v1, kind: Config, clusters: [{{name: c, cluster: {{server: \"http://{address}\"}}}}], \
        contexts: [{{name: near, context: {{cluster: c}}}}]}}"
    );
    fs::write(&config, text).unwrap();
    let environment = [
        ("HELM_DRIVER", "memory".into()),
        ("HELM_MEMORY_DRIVER_DATA", data.into_os_string()),
        ("KUBECONFIG", config.into_os_string()),
    ];
    ClusterAccess {
        environment: environment.map(|(name, value)| (name.into(), value)).into(),
        context: Some("near".to_owned()),
    }
}

const INSTALLED: &str = "[{name: shop, namespace: there, version: 1, info: {status: deployed}, \
    chart: {metadata: {name: web, version: 1.0.0, apiVersion: v2}}, config: {a: of the last one}, \
    manifest: \"apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: object}\\n\"}]";

#[test]
fn a_release_is_installed_and_upgraded_through_a_program_by_nothing_but_what_is_given() {
    let helm = Helm::from_path(&program("helm")).unwrap();
    for (releases, upgrade) in [("[]", false), (INSTALLED, true)] {
        let awkward = Awkward::new("");
        let access = in_memory(awkward.directory.path(), releases);
        let upgraded = Upgrade {
            release: Release {
                name: &"shop".parse().unwrap(),
                namespace: &"there".parse().unwrap(),
            },
            chart: &chart_with_hooks(),
            skip_schema: false,
            values: b"{}",
            timeout: Duration::from_mins(1),
            renderer: Some(awkward.renderer()),
            take_ownership: true,
            force_conflicts: true,
            label: ("test/of", "shop"),
            description: "by a test",
        };
        helm.upgrade(&upgraded, &access, Cancel::never()).unwrap();
        let sent = awkward.kept("sent");
        let told = format!("a: \"built in\", upgrade: \"{upgrade}\"");
        for part in [&told, "name: object", "name: hook", "name: test"] {
            assert!(sent.contains(part), "{part}: {sent}");
        }
    }
}

/// The server forbids all requests except for its version and its kinds, so the test fails if Helm sends others.
#[test]
fn a_change_is_shown_in_the_revision_that_comes_and_no_release_is_looked_at() {
    let helm = Helm::from_path(&program("helm")).unwrap();
    for (revision, upgrade) in [(1, false), (2, true), (7, true)] {
        let directory = tempfile::tempdir().unwrap();
        let access = in_memory(directory.path(), INSTALLED);
        let rendering = ChartRendering {
            release: &"shop".parse().unwrap(),
            namespace: &"there".parse().unwrap(),
            chart: &chart_with_hooks(),
            skip_schema: false,
            values: b"{a: given}",
            kubernetes: None,
            api_versions: &[],
            definitions: false,
            revision,
        };
        let shown = helm.preview(&rendering, &access, Cancel::never()).unwrap();
        let shown = String::from_utf8(shown).unwrap();
        let told = format!("a: \"given\", upgrade: \"{upgrade}\", revision: \"{revision}\"");
        for part in [&told, "name: object", "name: hook", "name: test"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
}

#[test]
fn a_release_is_rolled_back_and_uninstalled_and_only_none_is_no_failure() {
    let helm = Helm::from_path(&program("helm")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let access = in_memory(directory.path(), INSTALLED);
    let (timeout, cancel) = (Duration::from_mins(1), Cancel::never());
    let namespace = "there".parse().unwrap();
    let [shop, none] = ["shop", "none"].map(|name| name.parse().unwrap());
    let release = |name| Release {
        name,
        namespace: &namespace,
    };
    let rollback =
        |name, revision| helm.rollback(release(name), revision, timeout, &access, cancel);
    rollback(&shop, 1).unwrap();
    let error = rollback(&shop, 2).unwrap_err();
    assert_eq!(error.to_string(), "helm rollback: release has no 2 version");
    for name in [&shop, &none] {
        let uninstall = helm.uninstall(release(name), timeout, &access, cancel);
        uninstall.unwrap();
    }
    let mut refused = access.clone();
    refused
        .environment
        .retain(|(name, _)| !name.to_string_lossy().starts_with("HELM_"));
    let error = helm.uninstall(release(&shop), timeout, &refused, cancel);
    let said = error.unwrap_err().to_string();
    assert!(
        said.contains("query: failed to query with labels"),
        "{said}"
    );
}

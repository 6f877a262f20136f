//! The real programs, which `scripts/install-tools` builds.
#![cfg(feature = "interop")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use helm::{Helm, HelmError, Rendering, Run, limits};
use watch::Cancel;

/// A program that is there, by its name in `tests/interop/program`.
fn program(name: &str) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/interop/program");
    let output = Command::new(script).args([name, "--path"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().into()
}

/// A chart with this template.
fn chart(template: &str) -> Vec<u8> {
    let metadata = "apiVersion: v2\nname: web\nversion: 1.0.0\n";
    let files = [("Chart.yaml", metadata), ("templates/a.yaml", template)];
    let files = files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
    charts::package(&BTreeMap::from(files)).unwrap()
}

fn render(template: &str, values: &str, cancel: Cancel<'_>) -> Result<String, HelmError> {
    render_as("shop", template, values, cancel)
}

fn render_as(
    release: &str,
    template: &str,
    values: &str,
    cancel: Cancel<'_>,
) -> Result<String, HelmError> {
    let helm = Helm::at(&program("helm")).unwrap();
    let rendering = Rendering {
        release: &release.parse().unwrap(),
        namespace: &"there".parse().unwrap(),
        chart: &chart(template),
        values: values.as_bytes(),
        kubernetes: Some("1.31.0"),
        api_versions: &["example.test/v1/Thing".to_owned()],
        definitions: true,
    };
    let said = helm.template(&rendering, cancel)?;
    Ok(String::from_utf8(said).unwrap())
}

#[test]
fn helm_4_is_taken_and_helm_3_is_not() {
    let version = Helm::at(&program("helm")).unwrap().version().to_owned();
    assert!(version.starts_with("v4."), "{version}");
    let error = Helm::at(&program("helm3")).unwrap_err();
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
    let helm = Helm::at(&program("helm")).unwrap();
    let home = helm.home().unwrap();
    let run = Run::new(&home, "env");
    let said = helm.run(&run, Cancel::never()).unwrap();
    let said = String::from_utf8(said).unwrap();
    let root = home.path("").display().to_string();
    let homes = said.lines().filter(|line| line.contains(&root)).count();
    assert!(homes >= 6, "{said}");
    let places = said.lines().filter(|it| it.contains("=\"/"));
    let mut others = places.filter(|line| !line.contains(&root));
    assert!(others.all(|it| it.starts_with("HELM_BIN=")), "{said}");
}

/// The process that has this argument, below `/proc`.
fn process(argument: &str) -> Option<PathBuf> {
    let has = |process: &PathBuf| {
        // One that has ended in the meantime has none.
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|it| it == argument.as_bytes())
    };
    let processes = fs::read_dir("/proc").unwrap();
    processes.map(|it| it.unwrap().path()).find(has)
}

#[test]
fn a_template_without_end_is_ended() {
    const RELEASE: &str = "without-end";
    let without_end = "{{ define \"more\" }}{{ range until 1000 }}{{ template \"most\" }}{{ end }}{{ end }}\
        {{ define \"most\" }}{{ range until 100000000 }}{{ end }}{{ end }}{{ template \"more\" }}";
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
        let error = render_as(RELEASE, without_end, "{}", Cancel::when(&ends)).unwrap_err();
        assert!(matches!(error, HelmError::Cancelled(_)), "{error:?}");
    });
    assert!(started.elapsed() < limits::RENDERING, "{started:?}");
    assert_eq!(process(RELEASE), None, "helm goes on");

    let helm = Helm::at(&program("helm")).unwrap();
    let home = helm.home().unwrap();
    let chart = home.write("chart.tgz", &chart(without_end)).unwrap();
    let mut run = Run::new(&home, "template");
    run.time = Duration::from_secs(1);
    run.arguments([chart.into()]);
    let error = helm.run(&run, Cancel::never()).unwrap_err();
    assert_eq!(error.to_string(), "helm template did not end within 1 s");
}

#[test]
fn a_template_that_writes_or_wants_too_much_is_refused() {
    let much = "kind: A\n{{ range until 9000 }}\nk{{ . }}: {{ repeat 10000 \"a\" }}\n{{ end }}";
    let error = render(much, "{}", Cancel::never()).unwrap_err();
    assert!(matches!(error, HelmError::TooMuch { .. }), "{error:?}");
    let all = "{{ $all := repeat 1000000 \"a\" }}{{ range until 64 }}{{ $all = print $all $all }}{{ end }}";
    let error = render(all, "{}", Cancel::never()).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("out of memory"), "{said}");
}

//! Tests of Helm's arguments, environment and files for changing a release, with a fake Helm that records them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use helm::{ClusterAccess, Helm, HelmError, PostRenderer, Release, Upgrade, limits};
use progress::Cancel;
use tempfile::TempDir;

/// A fake Helm that records its input and the values in the directory `$TOLD`.
const SCRIPT: &str = r#"
if [ "$1" = version ]; then echo v4.3.1; exit; fi
printf '%s\n' "$@" > "$TOLD/arguments"
env > "$TOLD/environment"
for argument; do
  case $argument in
    --values=*) values=${argument#*=} && cat "$values" > "$TOLD/values" && stat -c %a "$values" > "$TOLD/mode" ;;
    *.tgz) cat "$argument" > "$TOLD/chart" ;;
  esac
done
test -z "$THEN" || eval "$THEN"
"#;

struct Fake {
    directory: TempDir,
    helm: Helm,
}

impl Fake {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("helm");
        // Another process writes the program: while this process has it open for writing, also in a forked child, it
        // cannot be executed.
        let write = r#"printf '#!/bin/sh%s' "$2" > "$1" && chmod 755 "$1""#;
        let mut shell = Command::new("sh");
        shell.args(["-c", write, "sh"]).arg(&program).arg(SCRIPT);
        assert!(shell.status().unwrap().success());
        let helm = Helm::from_path(&program).unwrap();
        Self { directory, helm }
    }

    /// Returns an access with the directory to write to, and a script that runs at the end.
    fn access(&self, then: &str) -> ClusterAccess {
        let told = self.directory.path().as_os_str().to_owned();
        let environment = [
            ("TOLD", told),
            ("THEN", then.into()),
            ("HOME", "/theirs".into()),
        ];
        ClusterAccess {
            environment: environment.map(|(name, value)| (name.into(), value)).into(),
            context: Some("-far away".to_owned()),
        }
    }

    fn told(&self, name: &str) -> String {
        fs::read_to_string(self.directory.path().join(name)).unwrap()
    }

    /// Returns the arguments, with paths relative to the private directory.
    fn arguments(&self) -> Vec<String> {
        let home = self.variable("HELM_CACHE_HOME").unwrap();
        let home = home.strip_suffix("cache").unwrap();
        let arguments = self.told("arguments").replace(home, "");
        assert!(!Path::new(home).exists(), "{home} is still there");
        arguments.lines().map(str::to_owned).collect()
    }

    fn variable(&self, name: &str) -> Option<String> {
        let environment = self.told("environment");
        let mut lines = environment.lines().filter_map(|line| line.split_once('='));
        let (_, value) = lines.find(|(variable, _)| *variable == name)?;
        Some(value.to_owned())
    }

    fn upgrade(
        &self,
        access: &ClusterAccess,
        change: impl FnOnce(&mut Upgrade<'_>),
        cancel: Cancel<'_>,
    ) -> Result<(), HelmError> {
        let mut upgrade = Upgrade {
            release: Release {
                name: &"shop".parse().unwrap(),
                namespace: &"there".parse().unwrap(),
            },
            chart: b"chart",
            skip_schema: false,
            values: b"a: 1\n",
            timeout: Duration::from_millis(90_500),
            renderer: None,
            take_ownership: false,
            force_conflicts: false,
            label: ("test/of", "shop"),
            description: "",
        };
        change(&mut upgrade);
        self.helm.upgrade(&upgrade, access, cancel)
    }
}

/// Returns the common arguments of all changes of a release.
const ALL: [&str; 4] = [
    "--namespace=there",
    "--kube-context=-far away",
    "--wait=watcher",
    "--timeout=90500ms",
];

#[test]
fn an_upgrade_is_given_the_chart_the_values_and_the_cluster() {
    let fake = Fake::new();
    let access = fake.access("");
    fake.upgrade(&access, |_| (), Cancel::never()).unwrap();
    let rest = [
        "chart.tgz",
        "--server-side=true",
        "--wait-for-jobs=true",
        "--install=true",
        "--skip-crds=true",
        "--reset-values=true",
        "--rollback-on-failure=true",
        "--hide-notes=true",
        "--values=values.yaml",
        "--labels=test/of=shop",
        "--description=",
    ];
    let expected = [["upgrade", "shop"].as_slice(), &ALL, &rest].concat();
    assert_eq!(fake.arguments(), expected);
    assert_eq!(fake.told("values"), "a: 1\n");
    assert_eq!(fake.told("mode"), "600\n");
    assert_eq!(fake.told("chart"), "chart");
    assert_eq!(fake.variable("HOME").as_deref(), Some("/theirs"));
    assert_eq!(fake.variable("CARGO_MANIFEST_DIR"), None);
}

#[test]
fn an_upgrade_takes_over_and_is_described_where_it_is_told_to() {
    let fake = Fake::new();
    let mut access = fake.access("");
    access.context = None;
    let change = |upgrade: &mut Upgrade<'_>| {
        upgrade.take_ownership = true;
        upgrade.description = "-of \"us\"";
        upgrade.renderer = Some(PostRenderer {
            program: Path::new("/a b/$HOME"),
            arguments: vec!["".into(), "$1 'x'".into()],
        });
    };
    fake.upgrade(&access, change, Cancel::never()).unwrap();
    let arguments = fake.arguments();
    let last = [
        "--description=-of \"us\"",
        "--take-ownership=true",
        "--post-renderer=renderer",
    ];
    assert_eq!(arguments[arguments.len() - 3..], last);
    assert!(
        !arguments
            .iter()
            .any(|argument| argument.starts_with("--kube-context"))
    );
    let variable = |number| fake.variable(&format!("POST_RENDERER_{number}"));
    assert_eq!(variable(0).as_deref(), Some("/a b/$HOME"));
    assert_eq!(variable(1).as_deref(), Some(""));
    assert_eq!(variable(2).as_deref(), Some("$1 'x'"));
    assert_eq!(variable(3), None);
}

#[test]
fn what_hooks_and_notes_write_is_no_failure() {
    let fake = Fake::new();
    let access = fake.access("head -c 70000000 /dev/zero");
    fake.upgrade(&access, |_| (), Cancel::never()).unwrap();
    let access = fake.access("echo Error: no such thing >&2; exit 1");
    let error = fake.upgrade(&access, |_| (), Cancel::never()).unwrap_err();
    assert_eq!(error.to_string(), "helm upgrade: no such thing");
}

#[test]
fn an_upgrade_that_is_cancelled_takes_back_what_it_began() {
    let fake = Fake::new();
    let then =
        r#"trap 'echo done > "$TOLD/back"; exit 1' TERM; : > "$TOLD/started"; while :; do :; done"#;
    let access = fake.access(then);
    let (started, ends) = (
        fake.directory.path().join("started"),
        AtomicBool::new(false),
    );
    thread::scope(|scope| {
        scope.spawn(|| {
            let begun = Instant::now();
            while !started.exists() && begun.elapsed() < Duration::from_mins(1) {
                thread::yield_now();
            }
            ends.store(true, Ordering::Relaxed);
        });
        let error = fake.upgrade(&access, |_| (), Cancel::from_flag(&ends));
        let error = error.unwrap_err();
        assert!(matches!(error, HelmError::Cancelled(_)), "{error:?}");
    });
    assert_eq!(fake.told("back"), "done\n");
}

#[test]
fn what_does_not_end_is_killed_once_that_is_urgent() {
    let fake = Fake::new();
    let then = r#"trap ': > "$TOLD/asked"' TERM; : > "$TOLD/started"; while :; do :; done"#;
    let access = fake.access(then);
    let (ends, urgent) = (AtomicBool::new(false), AtomicBool::new(false));
    let began = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            for (file, then) in [("started", &ends), ("asked", &urgent)] {
                let file = fake.directory.path().join(file);
                while !file.exists() && began.elapsed() < Duration::from_mins(1) {
                    thread::yield_now();
                }
                then.store(true, Ordering::Relaxed);
            }
        });
        let cancel = Cancel::from_flag(&ends).at_once_when(&urgent);
        let error = fake.upgrade(&access, |_| (), cancel).unwrap_err();
        assert!(matches!(error, HelmError::Killed { .. }), "{error:?}");
    });
    assert!(began.elapsed() < limits::TAKING_BACK, "it had its time");
}

#[test]
fn a_rollback_and_an_uninstallation_wait_too() {
    let fake = Fake::new();
    let access = fake.access("");
    let release = Release {
        name: &"shop".parse().unwrap(),
        namespace: &"there".parse().unwrap(),
    };
    let timeout = Duration::from_millis(90_500);
    let cancel = Cancel::never();
    let rollback = fake.helm.rollback(release, 12, timeout, &access, cancel);
    rollback.unwrap();
    let rest = ["12", "--server-side=true", "--wait-for-jobs=true"];
    let expected = [["rollback", "shop"].as_slice(), &ALL, &rest].concat();
    assert_eq!(fake.arguments(), expected);

    let uninstall = fake.helm.uninstall(release, timeout, &access, cancel);
    uninstall.unwrap();
    let expected = [["uninstall", "shop"].as_slice(), &ALL].concat();
    assert_eq!(fake.arguments(), expected);
}

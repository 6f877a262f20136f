//! Tests of signed charts, with real `GnuPG` keys and signatures by Helm itself, which are verified during packing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use packager::{ChartRenderer, Event, PackError, PackRequest, Signing, preview};
use progress::{Cancel, Watch};
use schemas::StatementTime;
use sources::{CacheOptions, Compression};
use tempfile::TempDir;

/// Returns the path of the program that `scripts/install-tools` builds.
fn helm() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/interop/program");
    let output = Command::new(script).args(["helm", "--path"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().into()
}

/// A source tree with a signed chart, and a publisher of charts with two keys.
struct Tree(TempDir);

impl Tree {
    fn new() -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        let mut private = fs::DirBuilder::new();
        private.mode(0o700).create(tree.path("gnupg")).unwrap();
        for name in ["one", "two"] {
            tree.gpg(&["--quick-gen-key", name, "ed25519", "sign", "never"]);
            let keyring = tree.gpg(&["--export", name]);
            fs::write(tree.path(&format!("{name}.gpg")), keyring).unwrap();
        }
        let secret = tree.gpg(&["--export-secret-keys"]);
        fs::write(tree.path("secret.gpg"), secret).unwrap();
        fs::create_dir_all(tree.path("web/templates")).unwrap();
        let chart = "apiVersion: v2\nname: web\nversion: 1.0.0+b\n";
        fs::write(tree.path("web/Chart.yaml"), chart).unwrap();
        let mut package = Command::new(helm());
        package.args(["package", "--sign", "--key", "one", "--keyring"]);
        package
            .args(["secret.gpg", "web"])
            .current_dir(tree.0.path());
        let packaged = package.output().unwrap();
        assert!(packaged.status.success(), "{packaged:?}");
        // The name of the file is irrelevant, because the chart contains its name.
        for ending in ["", ".prov"] {
            let made = tree.path(&format!("web-1.0.0+b.tgz{ending}"));
            fs::rename(made, tree.path(&format!("chart.tgz{ending}"))).unwrap();
        }
        tree.take("file:chart.tgz");
        tree
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs `GnuPG` with a separate home directory, and returns its output.
    fn gpg(&self, arguments: &[&str]) -> Vec<u8> {
        let mut gpg = Command::new("gpg");
        gpg.arg("--homedir").arg(self.path("gnupg"));
        gpg.args(["--batch", "--pinentry-mode", "loopback", "--passphrase", ""]);
        let output = gpg.args(arguments).output();
        let output = output.expect("gpg is missing: scripts/install-tools installs it");
        assert!(output.status.success(), "{output:?}");
        output.stdout
    }

    /// Uses this source for the chart.
    fn take(&self, source: &str) {
        self.take_all(&[("shop", source)], "");
    }

    /// Uses these names and sources for charts, with additional fields in the source tree.
    fn take_all(&self, charts: &[(&str, &str)], more: &str) {
        let chart =
            |(name, source): &(&str, &str)| format!("    - {{name: {name}, source: '{source}'}}\n");
        let charts: String = charts.iter().map(chart).collect();
        let solution = format!(
            "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {{name: demo}}
spec:
  version: 1.0.0
  images: []
  charts:
{charts}{more}"
        );
        fs::write(self.path("solution.yaml"), solution).unwrap();
    }

    /// Returns the result of packing with this keyring, and the reported signatures.
    fn check(&self, keyring: &str) -> (Result<(), PackError>, Vec<Option<String>>) {
        let request = PackRequest {
            directory: self.0.path().to_owned(),
            output: self.path("demo.iso"),
            overwrite: archive::Overwrite::Replace,
            compression: Compression::None,
            signing: Signing::Unsigned,
            time: StatementTime::DEFAULT,
            now: StatementTime::DEFAULT,
            judging: validator::FindingRules::default(),
            threads: NonZeroUsize::MIN,
            cache: CacheOptions {
                directory: self.path("cache"),
                unpack_limit: sources::UNPACK_LIMIT,
            },
            with_referrers: false,
            remote: sources::Remote::default(),
            renderer: ChartRenderer::Helm(Some(helm())),
            keyring: Some(self.path(keyring)),
            programs: Vec::new(),
            documentation: None,
            sboms: None,
            scratch: self.0.path().to_owned(),
        };
        let told = Mutex::new(Vec::new());
        let tell = |event| match event {
            Event::Verified(_, key) => told.lock().unwrap().push(key),
            Event::Rendering(_) => assert!(!told.lock().unwrap().is_empty(), "verified first"),
            _ => {}
        };
        let watch = Watch {
            tell: &tell,
            cancel: Cancel::never(),
        };
        let checked = preview(&request, &watch).map(drop);
        (checked, told.into_inner().unwrap())
    }

    /// Returns the findings of a tree without signed charts as lines `PLACE: [ID] MESSAGE`.
    fn refused(&self, keyring: &str) -> String {
        let (checked, told) = self.check(keyring);
        assert!(told.is_empty(), "{told:?}");
        said(checked)
    }
}

fn said(checked: Result<(), PackError>) -> String {
    let Err(PackError::RefusedSource(refused)) = checked else {
        panic!("{checked:?}");
    };
    let line = |finding: &validator::Finding| {
        let place = finding.source.as_ref().unwrap();
        format!("{place}: [{}] {}", finding.id, finding.message)
    };
    let lines: Vec<_> = refused.findings.iter().map(line).collect();
    lines.join("\n")
}

#[test]
fn a_chart_that_a_key_of_the_keyring_signed_is_taken() {
    let tree = Tree::new();
    let listed = tree.gpg(&["--list-keys", "--with-colons", "one"]);
    let listed = String::from_utf8(listed).unwrap();
    let expected = listed.lines().find_map(|line| line.strip_prefix("fpr:"));
    let expected = expected.unwrap().trim_matches(':').to_owned();
    // The keyring as exported, in GnuPG's own format, and in ASCII armor.
    let armored = tree.gpg(&["--export", "--armor", "one"]);
    fs::write(tree.path("one.asc"), armored).unwrap();
    for keyring in ["one.gpg", "gnupg/pubring.kbx", "one.asc"] {
        let (checked, told) = tree.check(keyring);
        checked.unwrap();
        assert_eq!(told, [Some(expected.clone())], "{keyring}");
    }
}

#[test]
fn what_no_key_of_the_keyring_signed_is_refused_by_name() {
    let tree = Tree::new();
    let words = "solution.yaml:8: [source.signature] the chart `shop` is not what a key of the keyring signed: helm verify: ";
    let other = tree.refused("two.gpg");
    assert!(other.starts_with(words), "{other}");
    // Packaging the same chart again results in another file.
    let mut package = Command::new(helm());
    let package = package.args(["package", "web"]).current_dir(tree.0.path());
    fs::write(tree.path("web/more.txt"), "more").unwrap();
    assert!(package.output().unwrap().status.success());
    fs::rename(tree.path("web-1.0.0+b.tgz"), tree.path("chart.tgz")).unwrap();
    let altered = tree.refused("one.gpg");
    assert!(
        altered.starts_with(words) && altered.contains("sum"),
        "{altered}"
    );
    fs::write(tree.path("none.gpg"), "no keyring").unwrap();
    assert!(tree.refused("none.gpg").starts_with(words));
}

#[test]
fn what_is_not_signed_is_refused_with_the_reason() {
    let tree = Tree::new();
    tree.take("dir:web");
    let words = "solution.yaml:8: [source.signature] the chart `shop` is a directory, and only a packaged chart can be signed";
    assert_eq!(tree.refused("one.gpg"), words);
    tree.take("file:chart.tgz");
    let prov = OpenOptions::new()
        .append(true)
        .open(tree.path("chart.tgz.prov"));
    prov.unwrap().write_all(&vec![b'a'; 600_000]).unwrap();
    let large = tree.refused("one.gpg");
    assert!(large.contains("at most 524288 are read"), "{large}");
    fs::remove_file(tree.path("chart.tgz.prov")).unwrap();
    let words = "solution.yaml:8: [source.signature] the chart `shop` is not signed: `file:chart.tgz` has no provenance file";
    assert_eq!(tree.refused("one.gpg"), words);
}

#[test]
fn every_chart_that_is_not_signed_is_reported_with_what_else_is_wrong() {
    let tree = Tree::new();
    let charts = [
        ("shop", "file:chart.tgz"),
        ("one", "dir:web"),
        ("two", "file:two.tgz"),
        ("three", "file:none.tgz"),
    ];
    fs::copy(tree.path("chart.tgz"), tree.path("two.tgz")).unwrap();
    tree.take_all(
        &charts,
        "  prerequisites: {solutions: [{name: demo, version: '*'}]}\n",
    );
    let (checked, told) = tree.check("one.gpg");
    assert_eq!(told.len(), 1, "{told:?}");
    let said = said(checked);
    let ids: Vec<_> = said
        .lines()
        .filter_map(|line| line.split_once(']'))
        .map(|parts| parts.0)
        .collect();
    let expected = [
        "solution.yaml:9: [source.signature",
        "solution.yaml:10: [source.signature",
        "solution.yaml:11: [source.missing",
        "solution.yaml:12: [manifest.prerequisite",
    ];
    assert_eq!(BTreeSet::from_iter(ids), BTreeSet::from(expected), "{said}");
}

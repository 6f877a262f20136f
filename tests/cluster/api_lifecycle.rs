//! The table of APIs that Kubernetes deprecates and removes, against the markers in its sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::site::variable;

const TABLE: &str = include_str!("../../crates/rules/src/api_lifecycle.txt");

/// The sources of k8s.io/api of the version that the table names, from which the cluster's own programs are built.
fn sources() -> PathBuf {
    let modules = Path::new(&variable("HOME")).join("go/pkg/mod/k8s.io");
    let mut versions = fs::read_dir(&modules).unwrap();
    let first = TABLE.split("k8s.io/api v").nth(1).unwrap();
    let prefix = format!("api@v{}.", first.split(".\n").next().unwrap());
    let version = versions.find_map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name()?.to_str()?;
        name.starts_with(&prefix).then_some(path)
    });
    version.unwrap_or_else(|| {
        panic!(
            "no {prefix}* in {}: run tests/cluster/install",
            modules.display()
        )
    })
}

fn directories(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).unwrap().map(|it| it.unwrap().path());
    entries.filter(|it| it.is_dir()).collect()
}

/// What stands between two texts.
fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    text.split_once(before)?.1.split_once(after).map(|it| it.0)
}

/// The lines of the table that a version of a group in the sources makes.
fn lines_of(version: &Path) -> Vec<String> {
    let file = version.join("zz_generated.prerelease-lifecycle.go");
    let Ok(markers) = fs::read_to_string(file) else {
        return Vec::new();
    };
    let register = fs::read_to_string(version.join("register.go")).unwrap();
    let group = between(&register, "GroupName = \"", "\"").unwrap();
    let number = version.file_name().unwrap().to_str().unwrap();
    let marker = |kind: &str, name: &str| {
        let function = format!("func (in *{kind}) APILifecycle{name}() ");
        between(&markers, &function, "\n}").map(ToOwned::to_owned)
    };
    let kinds = markers.split("func (in *").skip(1);
    let kinds: BTreeSet<&str> = kinds.filter_map(|it| Some(it.split_once(')')?.0)).collect();
    let is_list = |kind: &str| {
        kind.strip_suffix("List")
            .is_some_and(|it| kinds.contains(it))
    };
    let mut lines = Vec::new();
    for kind in kinds.iter().filter(|it| !is_list(it)) {
        let minor = |name| {
            marker(kind, name)?
                .split_once("return 1, ")
                .map(|it| it.1.to_owned())
        };
        let (Some(deprecated), Some(removed)) = (minor("Deprecated"), minor("Removed")) else {
            continue;
        };
        let replacement = marker(kind, "Replacement").map_or("-".to_owned(), |it| {
            let part = |name: &str| between(&it, &format!("{name}: \""), "\"").unwrap();
            format!("{}/{}", part("Group"), part("Version"))
        });
        lines.push(format!(
            "{group}/{number} {kind} {deprecated} {removed} {replacement}"
        ));
    }
    lines
}

#[test]
fn the_table_of_apis_is_that_of_kubernetes() {
    let groups = directories(&sources());
    let versions = groups.iter().flat_map(|it| directories(it));
    let mut expected: Vec<String> = versions.flat_map(|it| lines_of(&it)).collect();
    expected.sort();
    assert!(expected.len() > 50, "{expected:?}");
    let lines = TABLE.lines().skip_while(|it| it.starts_with('#'));
    let derived: Vec<&str> = lines.take_while(|it| !it.starts_with('#')).collect();
    assert_eq!(derived, expected);
}

//! The table of deprecated and removed Kubernetes APIs, compared with the API server's resources and warnings.

use serde_json::Value;

use crate::site::Site;

const TABLE: &str = include_str!("../../crates/rules/src/object/api_lifecycle.txt");

/// A line of the table.
struct Listed<'a> {
    api: &'a str,
    kind: &'a str,
    deprecated: u32,
    removed: u32,
}

fn listed(line: &str) -> Listed<'_> {
    let mut fields = line.split(' ');
    let mut field = || fields.next().unwrap();
    Listed {
        api: field(),
        kind: field(),
        deprecated: field().parse().unwrap(),
        removed: field().parse().unwrap(),
    }
}

/// Returns the resource of a kind, if the server serves it in this version.
fn resource(site: &Site, listed: &Listed<'_>) -> Option<String> {
    let root = if listed.api.contains('/') {
        "apis"
    } else {
        "api"
    };
    let path = format!("/{root}/{}", listed.api);
    let answer = site.kubectl("default", &["get", "--raw", &path]);
    let list: Value = (answer.code == 0).then(|| serde_json::from_str(&answer.stdout).unwrap())?;
    let mut resources = list["resources"].as_array()?.iter();
    let is_kind = |resource: &&Value| {
        let name = resource["name"].as_str().unwrap_or_default();
        resource["kind"] == listed.kind && !name.contains('/')
    };
    let resource = resources.find(is_kind)?["name"].as_str()?;
    Some(format!("{path}/{resource}?limit=1"))
}

#[test]
fn the_server_serves_and_warns_as_the_table_says() {
    let site = Site::new("lifecycle");
    let version = site
        .kubectl("default", &["get", "--raw", "/version"])
        .success();
    let version: Value = serde_json::from_str(&version).unwrap();
    let minor: u32 = version["minor"].as_str().unwrap().parse().unwrap();
    let mut removed = 0;
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let listed = listed(line);
        let Some(path) = resource(&site, &listed) else {
            removed += u32::from(listed.removed <= minor);
            continue;
        };
        assert!(listed.removed > minor, "{line}: the server still has it");
        let said = site.kubectl("default", &["get", "--raw", &path]).stderr;
        let is_deprecated = listed.deprecated <= minor;
        assert_eq!(
            said.contains("is deprecated"),
            is_deprecated,
            "{line}: {said}"
        );
    }
    assert!(removed > 50, "only {removed} APIs are removed");
}

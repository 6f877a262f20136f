//! Charts that would do more than their plan shows.

use crate::charts::{HELM, packed, site};
use crate::common::Answer;
use crate::site::Site;

/// Packs a chart of these templates.
fn pack(site: &Site, version: &str, templates: &[(&str, &str)]) -> String {
    let metadata = format!("apiVersion: v2\nname: web\nversion: {version}\n");
    site.desk.write("1.0.0/web/Chart.yaml", metadata);
    for (name, template) in templates {
        let path = format!("1.0.0/web/templates/{name}.yaml");
        site.desk.write(&path, *template);
    }
    let spec = "  charts: [{name: web, source: 'dir:web', timeout: 40s}]\n";
    packed(site, version, spec)
}

fn import(site: &Site, archive: &str, more: &[&str]) -> Answer {
    let into = ["-e", "prod", "--pull-secret", "login", "--no-pull-proof"];
    let mut command = site.import_command(archive, &[&into[..], more].concat());
    Answer::of(command.env("HELM", &*HELM))
}

/// The id of what is to be accepted.
fn id_in(refused: &str) -> &str {
    let id = refused.split("--accept ").nth(1).unwrap();
    id.split_whitespace().next().unwrap().trim_matches('`')
}

const MAP: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}";
const HOOK: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: settings, annotations: {helm.sh/hook: 'pre-install,pre-upgrade'}}
data: {by: web}
";

#[test]
fn what_has_a_hooks_name_is_shown_and_only_the_releases_own_goes() {
    let site = site("charts-hooks");
    let held = "apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: prod}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: charts-hooks-held}}
";
    let theirs = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: prod}}";
    site.apply(held).success();
    site.apply(theirs).success();
    let hooks = held.replace(
        "metadata: {",
        "metadata: {annotations: {helm.sh/hook: pre-install}, ",
    );
    let evil = pack(&site, "1.0.0", &[("a", MAP), ("b", HOOK), ("c", &hooks)]);
    let refused = import(&site, &evil, &["--adopt", "objects"]).failure(1);
    for what in [
        "PersistentVolumeClaim prod/data",
        "Namespace charts-hooks-held",
    ] {
        let words = format!("{what} exists, and a hook of the release prod/web has its name");
        assert!(refused.contains(&words), "{words}: {refused}");
    }

    // Somebody's object goes only where it is taken over, and that is accepted.
    let first = pack(&site, "1.0.1", &[("c", "")]);
    let words = "ConfigMap prod/settings already exists, and is not of the release prod/web";
    let refused = import(&site, &first, &[]).failure(1);
    assert!(refused.contains(words), "{refused}");
    let adopt = ["--adopt", "objects"];
    let refused = import(&site, &first, &adopt).failure(1);
    let accept = [&adopt[..], &["--accept", id_in(&refused)]].concat();
    let shown = import(&site, &first, &[&accept[..], &["--dry-run"]].concat()).success();
    for words in [
        "replace ConfigMap prod/settings",
        "ConfigMap prod/settings is deleted, and made anew by a hook of the release prod/web",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    import(&site, &first, &accept).success();
    let by = || site.field("prod", "configmap/settings", "{.data.by}");
    assert_eq!(by(), "web");

    // The release's own is replaced with every upgrade, also where it was left behind.
    let second = pack(
        &site,
        "1.1.0",
        &[("b", &HOOK.replace("by: web", "by: second"))],
    );
    let shown = import(&site, &second, &["--dry-run"]).success();
    assert!(shown.contains("replace ConfigMap prod/settings"), "{shown}");
    import(&site, &second, &[]).success();
    assert_eq!(by(), "second");
    let undeploy = ["undeploy", "shop", "-e", "prod"];
    Answer::of(site.command().env("HELM", &*HELM).args(undeploy)).success();
    import(&site, &first, &[]).success();
    assert_eq!(by(), "web");
}

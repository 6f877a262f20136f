//! `unimport` can delete a version's content in the registry: all of its own content, nothing else, and the record
//! last.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use fixtures::image::{Format, ImageBuilder, Index, Platform};
use fixtures::layout::OciLayout;
use serde_json::{Value, json};

use crate::common::Answer;
use crate::server::{Protection, Server};
use crate::site::{Site, variable};
use fixtures::proxy::{Action, Proxy};

fn unimport(site: &Site, more: &[&str]) -> Answer {
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let verb = [
        "unimport",
        "--yes",
        "example",
        "1.0.0",
        "--images",
        "--ca-file",
        &ca,
    ];
    site.solution(&[&verb[..], more].concat())
}

/// Imports an archive with its images in another registry.
fn import_to(site: &Site, archive: &str, registry: &str) {
    let import = ["import", archive, "--key", "publisher.pub"];
    site.solution(&[&import[..], &["--registry", registry]].concat())
        .success();
}

/// Moves a tag to another image in the registry.
fn move_tag(site: &Site, from: &str, to: &str) {
    let authority = PathBuf::from(variable("SOLUTION_TEST_REGISTRY_CA"));
    let authority = authority.parent().unwrap().to_str().unwrap();
    let [from, to] = [from, to].map(|tag| format!("docker://{}/{tag}", site.registry()));
    let copy = ["--insecure-policy", "copy", "--src-cert-dir", authority];
    let to = ["--dest-cert-dir", authority, &from, &to];
    Answer::from_command(Command::new("skopeo").args(copy).args(to)).success();
}

/// Returns whether the registry has a tag.
fn has_tag(site: &Site, tag: &str) -> bool {
    let authority = PathBuf::from(variable("SOLUTION_TEST_REGISTRY_CA"));
    let inspect = Command::new("skopeo")
        .args(["inspect", "--raw", "--cert-dir"])
        .arg(authority.parent().unwrap())
        .arg(format!("docker://{}/{tag}", site.registry()))
        .output();
    inspect.unwrap().status.success()
}

/// Returns whether each tag of a version exists: those of its images, under both names, and that of its head.
fn tags(site: &Site, version: &str) -> Vec<bool> {
    let name = format!("configmap/solution-example-{version}");
    let record = site.field("metalk8s-solutions", &name, r"{.data.content\.json}");
    let record: Value = serde_json::from_str(&record).unwrap();
    let id = record["archiveId"].as_str().unwrap();
    let id = id.strip_prefix("sha256:").unwrap_or(id);
    let tags = [
        format!("example-{version}/example-operator:{version}"),
        format!("example-{version}/example-server:{version}"),
        format!("example-{version}:archive-{id}"),
        format!("mirror/registry.example.test/example/operator:{version}"),
        format!("mirror/registry.example.test/example/server:{version}"),
    ];
    tags.iter().map(|tag| has_tag(site, tag)).collect()
}

#[test]
fn what_is_its_own_goes_and_what_was_moved_stays() {
    let site = Site::new("freeing");
    for archive in ["1.0.0.iso", "1.1.0.iso"] {
        site.import(archive, &[]).success();
    }
    assert_eq!(
        [tags(&site, "1.0.0"), tags(&site, "1.1.0")],
        [[true; 5], [true; 5]]
    );
    move_tag(
        &site,
        "example-1.1.0/example-server:1.1.0",
        "example-1.0.0/example-server:1.0.0",
    );
    let moved = site.tag("example-1.0.0/example-server", "1.0.0").unwrap();
    let operator = "mirror/registry.example.test/example/operator";
    let theirs = format!("{operator}:theirs");
    move_tag(&site, &format!("{operator}:1.0.0"), &theirs);

    let before = site.snapshot();
    let plan = unimport(&site, &["--dry-run"]).success();
    let host = variable("SOLUTION_TEST_PUSH_REGISTRY");
    for words in [
        &format!(
            "    - manifest {}/example-1.0.0/example-operator@sha256:",
            site.registry()
        ),
        "example-1.0.0/example-server:1.0.0 has changed since this version was pushed, and is kept",
        "    - ConfigMap metalk8s-solutions/solution-example-1.0.0\n",
        "garbage-collect",
    ] {
        assert!(plan.contains(words), "`{words}`: {plan}");
    }
    assert_eq!(
        (site.snapshot(), tags(&site, "1.0.0")),
        (before, vec![true; 5])
    );

    let gone = unimport(&site, &["--output", "json"]).json();
    let freed = gone["freed"].as_array().unwrap();
    assert!(
        freed
            .iter()
            .all(|name| name.as_str().unwrap().starts_with(&host)),
        "{gone:#}"
    );
    // Both images as they were pushed, one also under its other name, and the head. The other image is needed by its
    // second tag.
    assert_eq!(freed.len(), 4, "{gone:#}");
    assert!(has_tag(&site, &theirs));
    assert_eq!(
        gone["removed"],
        json!(["ConfigMap metalk8s-solutions/solution-example-1.0.0"])
    );
    assert_eq!(site.tag("example-1.0.0/example-operator", "1.0.0"), None);
    assert_eq!(
        site.tag("example-1.0.0/example-server", "1.0.0"),
        Some(moved)
    );
    assert_eq!(tags(&site, "1.1.0"), [true; 5]);
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    site.solution(&["activate", "example", "--ca-file", &ca])
        .success();
}

#[test]
fn a_version_is_forgotten_only_when_its_images_are_gone() {
    let site = Site::new("freeing-refused");
    let mut server = Server::start_without_deleting();
    let registry = format!("{}/refused", server.host());
    import_to(&site, "1.0.0.iso", &registry);
    let before = site.snapshot();
    let refused = unimport(&site, &[]);
    for words in [
        &format!("the registry still has {registry}/example-1.0.0/"),
        "the registry does not allow deleting",
        "storage.delete.enabled",
        "to keep the content, omit `--images`",
    ] {
        assert!(refused.stderr.contains(words), "`{words}`: {refused:?}");
    }
    assert_eq!((refused.code, site.snapshot()), (1, before), "{refused:?}");

    server.allow_deleting();
    // The state after an interruption: one of the tags is deleted. Its second name, both names of the other image, and
    // the head remain.
    let image = format!("docker://{registry}/example-1.0.0/example-server:1.0.0");
    let delete = ["delete", "--tls-verify=false", &image];
    Answer::from_command(Command::new("skopeo").args(delete)).success();
    let done = unimport(&site, &["--output", "json"]).json();
    assert_eq!(done["freed"].as_array().map(Vec::len), Some(4), "{done:#}");
    let status = site.solution(&["status", "--output", "json"]).json();
    assert_eq!(status["versions"], json!([]));
    server.collect_garbage();
    assert!(server.stored("blobs/sha256").is_empty());
}

const SHOP: &str = "
apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {name: shop}
spec:
  version: 1.0.0
  images: [{name: app, tag: '1', source: 'oci:layout:1'}]
";

/// zot refuses to delete a manifest that an index refers to.
#[test]
fn what_an_index_names_goes_after_it_where_the_registry_insists() {
    let site = Site::new("freeing-index");
    let image = |architecture: &str| {
        let image = ImageBuilder::new().platform(Platform::linux(architecture));
        image.file("/app", architecture, 0o755).build()
    };
    let index = Index::new(Format::Oci, vec![image("amd64"), image("arm64")]).into();
    let layout = OciLayout::create(site.desk.path("shop").join("layout")).unwrap();
    layout.add(&index, Some("1")).unwrap().finish().unwrap();
    site.desk.write("shop/solution.yaml", SHOP);
    let pack = ["pack", "shop", "-o", "shop.iso", "--key", "publisher.key"];
    site.desk.solution(&pack).success();

    let server = Server::start(&Protection::None);
    let deletions = AtomicUsize::new(0);
    let proxy = Proxy::start(server.port, move |seen| {
        let is_child = seen.method == "DELETE" && deletions.fetch_add(1, Ordering::Relaxed) < 2;
        if is_child {
            Action::Answer("405 Method Not Allowed", String::new())
        } else {
            Action::Forward
        }
    });
    let registry = format!("{}/zot", proxy.host());
    import_to(&site, "shop.iso", &registry);
    let unimport = [
        "unimport", "--yes", "shop", "1.0.0", "--images", "--output", "json",
    ];
    let done = site.solution(&unimport).json();
    // The index, both images, and the head.
    assert_eq!(done["freed"].as_array().map(Vec::len), Some(4), "{done:#}");
    assert_eq!(proxy.count("DELETE", "/manifests/"), 6);
    server.collect_garbage();
    assert!(server.stored("blobs/sha256").is_empty());
}

#[test]
fn a_registry_that_is_away_costs_nothing() {
    let site = Site::new("freeing-away");
    let server = Server::start(&Protection::None);
    let registry = format!("{}/away", server.host());
    import_to(&site, "1.0.0.iso", &registry);
    drop(server);
    let before = site.snapshot();
    let failed = unimport(&site, &[]);
    assert_eq!((failed.code, site.snapshot()), (3, before), "{failed:?}");
    site.solution(&["unimport", "--yes", "example", "1.0.0"])
        .success();
}

#[test]
fn prune_deletes_what_has_no_record_and_nothing_that_has_one() {
    let site = Site::new("freeing-prune");
    let server = Server::start(&Protection::None);
    let registry = format!("{}/pruned", server.host());
    for archive in ["1.0.0.iso", "1.1.0.iso"] {
        import_to(&site, archive, &registry);
    }
    let prune = |more: &[&str]| {
        let verb = ["registry", "prune", "--registry", &registry, "--yes"];
        site.solution(&[&verb[..], more].concat())
    };
    let before = site.snapshot();
    let refused = prune(&["example", "1.0.0"]);
    for words in [
        "example-1.0.0 is imported: ConfigMap metalk8s-solutions/solution-example-1.0.0 needs it",
        "run `solution unimport example 1.0.0 --images` once",
    ] {
        assert!(refused.stderr.contains(words), "`{words}`: {refused:?}");
    }
    assert_eq!((refused.code, site.snapshot()), (1, before), "{refused:?}");
    let none = prune(&["--all-unneeded", "--output", "json"]).json();
    assert_eq!(none["deleted"], json!([]), "{none:#}");

    site.solution(&["unimport", "--yes", "example", "1.0.0"])
        .success();
    let done = prune(&["--all-unneeded", "--output", "json"]).json();
    assert_eq!(done["deleted"], json!(["example-1.0.0"]), "{done:#}");
    let record = "ConfigMap metalk8s-solutions/solution-example-1.1.0";
    assert_eq!(done["versions"][1]["neededBy"], record, "{done:#}");
    server.collect_garbage();
    let verify = ["registry", "verify", "example", "1.1.0"];
    let from = ["--key", "publisher.pub", "--registry", &registry];
    site.solution(&[&verify[..], &from].concat()).success();

    // A cluster without any of the versions is probably the wrong one.
    site.solution(&["unimport", "--yes", "example", "1.1.0"])
        .success();
    let refused = prune(&["--all-unneeded"]);
    let words = "no record of the cluster names a version";
    assert!(refused.stderr.contains(words), "{refused:?}");
    prune(&["example", "1.1.0"]).success();
    server.collect_garbage();
    assert!(server.stored("blobs/sha256").is_empty());
}

/// Packs `shop` in a version whose only image is the same in all versions, under the same name.
fn pack_shop(site: &Site, version: &str) -> String {
    let layout = OciLayout::create(site.desk.path(version).join("layout")).unwrap();
    let same = ImageBuilder::new().file("/app", "same", 0o755).build();
    layout
        .add(&same.into(), Some("1"))
        .unwrap()
        .finish()
        .unwrap();
    let source = SHOP.replace("1.0.0", version).replace(
        "'oci:layout:1'",
        "'oci:layout:1', ref: 'quay.example/org/app:1'",
    );
    site.desk.write(&format!("{version}/solution.yaml"), source);
    let archive = format!("shop-{version}.iso");
    let pack = ["pack", version, "-o", &archive, "--key", "publisher.key"];
    site.desk.solution(&pack).success();
    archive
}

#[test]
fn what_only_the_registry_knows_keeps_its_images() {
    let site = Site::new("freeing-kept");
    let server = Server::start(&Protection::None);
    let registry = format!("{}/kept", server.host());
    let [mine, theirs] = ["1.0.0", "1.1.0"].map(|version| pack_shop(&site, version));
    import_to(&site, &mine, &registry);
    // Another cluster does the same.
    let import = ["push", &theirs, "--key", "publisher.pub"];
    site.desk
        .solution(&[&import[..], &["--registry", &registry]].concat())
        .success();
    // This head belongs to another version than its record.
    let head = |id: &str| format!("{registry}/shop-{id}");
    let list = ["list-tags", "--tls-verify=false"];
    let tags = format!("docker://{}", head("1.1.0"));
    let tags = Answer::from_command(Command::new("skopeo").args(list).arg(tags)).json();
    let tag = tags["Tags"][0].as_str().unwrap();
    let [from, to] = ["1.1.0", "1.2.0"].map(|id| format!("docker://{}:{tag}", head(id)));
    let copy = ["copy", "--src-tls-verify=false", "--dest-tls-verify=false"];
    let insecure = ["--insecure-policy"];
    Answer::from_command(
        Command::new("skopeo")
            .args(insecure)
            .args(copy)
            .args([&from, &to]),
    )
    .success();
    let unimport = [
        "unimport", "--yes", "shop", "1.0.0", "--images", "--output", "json",
    ];
    let refused = site.solution(&unimport).failure(1);
    let words = "cannot determine the content of shop-1.2.0 in the registry";
    assert!(refused.contains(words), "{refused}");
    let delete = ["delete", "--tls-verify=false", &to];
    Answer::from_command(Command::new("skopeo").args(delete)).success();

    let done = site.solution(&unimport).json();
    // Its image in its own repository, and its head: the mirror has content that the other version needs.
    assert_eq!(done["freed"].as_array().map(Vec::len), Some(2), "{done:#}");
    server.collect_garbage();
    let verify = ["registry", "verify", "shop", "1.1.0"];
    let from = ["--key", "publisher.pub", "--registry", &registry];
    site.solution(&[&verify[..], &from].concat()).success();
}

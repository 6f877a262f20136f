//! `init --from`: releases of ten kinds, packaged as they are, and the decisions that remain for the publisher.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemas::SolutionSource;
use serde_json::{Value, json};

use crate::common::{Answer, Desk};
use crate::releases::{names, release, write_images};

/// The note about images that a program with the right to create pods may start.
const STARTED: &str = "images that programs start";

/// The releases: the file, the detected name and version, and the open decisions.
const RELEASES: [(&str, &str, &[&str]); 10] = [
    ("block-store.yaml", "block-store-1.12.1", &[STARTED]),
    ("cert-keeper.yaml", "cert-keeper-1.16.1", &[]),
    (
        "git-deployer.yaml",
        "git-deployer-3.5.1",
        &[
            "Deployment `git-deployer-server`, `/spec/template/spec/containers/0/args/1`",
            "Secret `git-deployer-cache`",
            STARTED,
        ],
    ),
    ("guestbook.yaml", "guestbook-4.0.0", &[]),
    ("ingress-gate.yaml", "ingress-gate-1.15.1", &[]),
    (
        "log-sweeper.yaml",
        "log-sweeper-2.3.0",
        &["Deployment `log-sweeper`, `/spec/template/spec/containers/0/args/1`"],
    ),
    ("metrics-api.yaml", "metrics-api-0.8.1", &[]),
    (
        "metrics-operator.yaml",
        "metrics-operator-0.77.1",
        &[STARTED],
    ),
    (
        "policy-guard.yaml",
        "policy-guard-1.15.1",
        &[
            "`reg.example.test/guard/describe:v0.1`",
            "ValidatingWebhookConfiguration `policy-guard-resource`",
        ],
    ),
    (
        "stream-operator",
        "stream-operator-1.2.0",
        &[
            "CustomResourceDefinition `streams.streams.example.test`",
            STARTED,
        ],
    ),
];

/// The expected `solution.yaml` of each release; `UPDATE=1` regenerates it.
#[track_caller]
#[expect(
    clippy::disallowed_methods,
    reason = "a file is renewed only on request"
)]
fn assert_source(name: &str, text: &str) {
    let trees = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/trees");
    let path = trees.join(format!("{name}.yaml"));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(&trees).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&path).unwrap(), "{name}");
}

fn text(desk: &Desk, path: &str) -> String {
    String::from_utf8(desk.read(path)).unwrap()
}

fn note_subjects(made: &Value) -> Vec<&str> {
    let notes = made["notes"].as_array().unwrap().iter();
    notes
        .inspect(|note| assert_eq!(note["weight"], "decide"))
        .map(|note| note["about"].as_str().unwrap())
        .collect()
}

/// Returns the files of a release, by their names in it.
fn files(file: &str) -> Vec<(String, Vec<u8>)> {
    let path = release(file);
    let entries = std::fs::read_dir(&path);
    let paths = entries.map_or_else(
        |_| vec![path.into()],
        |entries| entries.map(|entry| entry.unwrap().path()).collect(),
    );
    let file = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read(&path).unwrap())
    };
    paths.into_iter().map(file).collect()
}

#[test]
fn releases_of_ten_kinds_are_carried_byte_for_byte() {
    for (file, id, decide) in RELEASES {
        let desk = Desk::new();
        let made = desk.solution(&["init", "--from", &release(file), "--output", "json"]);
        assert_eq!(made.code, 0, "{made:?}");
        let made = made.json();
        assert_eq!(note_subjects(&made), decide, "{file}");
        let name = made["solution"].as_str().unwrap();
        let version = made["version"].as_str().unwrap();
        assert_eq!(format!("{name}-{version}"), id);
        assert_source(name, &text(&desk, &format!("{name}/solution.yaml")));
        for (file, bytes) in files(file) {
            assert!(
                desk.read(&format!("{name}/manifests/{file}")) == bytes,
                "{file}"
            );
        }
        let notes = desk.path(&format!("{name}/NOTES.md")).exists();
        assert_eq!(notes, !decide.is_empty(), "{file}");
    }
}

/// Follows the notes about a Secret with data.
fn follow_the_notes(desk: &Desk, name: &str) {
    if name == "git-deployer" {
        let path = format!("{name}/solution.yaml");
        let patches = "      patches:\n        - target: {kind: Secret, name: git-deployer-cache}\n          merge: {stringData: null}\n";
        desk.write(&path, text(desk, &path) + patches);
    }
}

#[test]
fn releases_of_ten_kinds_are_packed_as_they_are() {
    for (file, id, _) in RELEASES {
        let desk = Desk::with_key();
        desk.solution(&["init", "--from", &release(file)]).success();
        let (name, _) = id.rsplit_once('-').unwrap();
        let source = write_images(&desk, name);
        follow_the_notes(&desk, name);
        let pack = ["pack", name, "-o", "example.iso", "--key", "publisher.key"];
        desk.solution(&pack).success();
        desk.report(&["--key", "publisher.pub"], 0);
        let inspect = ["inspect", "example.iso", "--output", "json"];
        let said = desk.solution(&inspect).json();
        let images = said["images"].as_array().unwrap();
        assert_eq!(images.len(), source.spec.images.len(), "{name}");
    }
}

#[test]
fn what_only_olm_understands_is_refused_with_what_to_do() {
    let desk = Desk::new();
    let bundle = release("database-operator-bundle");
    let said = desk.solution(&["init", "--from", &bundle]).failure(1);
    assert!(
        said.contains("is an OLM bundle's ClusterServiceVersion"),
        "{said}"
    );
    assert!(
        said.contains("hint: use the manifests that its project publishes"),
        "{said}"
    );
    assert_eq!(desk.names(), [""; 0], "something was written");
}

/// The `solution.yaml` of the updated tree.
const SOURCE: &str = "cert-keeper/solution.yaml";

/// Returns a desk with the tree of a release in `cert-keeper`.
fn desk_with_tree() -> Desk {
    let desk = Desk::new();
    desk.solution(&["init", "--from", &release("cert-keeper.yaml")])
        .success();
    desk
}

/// Returns the next release: another version, without the injector, and with an image that is an argument of another
/// program.
fn next_release() -> String {
    let last = std::fs::read_to_string(release("cert-keeper.yaml")).unwrap();
    let documents = last.split("---\n");
    let injector = |document: &&str| {
        document.contains("kind: Deployment") && document.contains("cert-keeper-cainjector")
    };
    let next: Vec<&str> = documents.filter(|document| !injector(document)).collect();
    let next = next.join("---\n").replace("v1.16.1", "v1.17.0");
    let more = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cert-keeper, namespace: cert-keeper}\ndata: {solver: 'quay.io/example/cert-keeper-dns:v1.17.0'}\n";
    format!("{next}---\n{more}")
}

/// The folders of programs such as git.
const PROGRAMS: &str = "/usr/bin:/bin";

/// Runs the program with these folders as `PATH`.
fn with_programs(desk: &Desk, arguments: &[&str], folders: &str) -> Answer {
    Answer::from_command(desk.command().args(arguments).env("PATH", folders))
}

const UPDATE: [&str; 5] = ["init", "--from", "next.yaml", "cert-keeper", "--update"];

fn update(desk: &Desk, more: &[&str]) -> Answer {
    with_programs(desk, &[&UPDATE[..], more].concat(), PROGRAMS)
}

/// Returns an image reference of the release.
fn image(name: &str, version: &str) -> String {
    format!("quay.io/example/cert-keeper-{name}:{version}")
}

/// Returns an image entry as `init` writes it.
fn entry(asker: &str, name: &str, version: &str) -> String {
    let image = image(name, version);
    format!(
        "    # {asker}\n    - name: \"cert-keeper-{name}\"\n      tag: \"{version}\"\n      source: \"docker://{image}\"\n      ref: \"{image}\"\n"
    )
}

/// Returns a desk with a tree that its publisher edited, the text of its `solution.yaml`, and the next release next to
/// it.
fn desk_with_edited_tree() -> (Desk, String) {
    const PATCHES: &str = "      patches:
        - target: {kind: Deployment, name: cert-keeper-webhook}
          merge: {spec: {replicas: 2}}
        - target: {kind: Deployment, name: cert-keeper-cainjector}
          merge: {spec: {replicas: 2}}
";
    let desk = desk_with_tree();
    let after = "  # Ours.\n  upgradeFrom: '>=1.16.0'\n  images:\n";
    let own = "    - {name: ours, tag: '1', source: 'oci:images/ours'}\n\n";
    let solver = "    # Deployment `cert-keeper`\n    - name: \"cert-keeper-acmesolver\"\n";
    let ours = text(&desk, SOURCE)
        .replace("  images:\n", after)
        .replace(solver, &format!("{own}{solver}"));
    let ours = ours + PATCHES;
    desk.write(SOURCE, &ours);
    desk.write("cert-keeper/images/ours/mine", "mine");
    desk.write("next.yaml", next_release());
    (desk, ours)
}

#[test]
fn a_renewed_tree_keeps_what_was_edited() {
    let (desk, ours) = desk_with_edited_tree();
    update(&desk, &[]).success();
    let injector = entry(
        "Deployment `cert-keeper-cainjector`",
        "cainjector",
        "v1.16.1",
    );
    assert!(ours.contains(&injector), "{ours}");
    let last = format!("      ref: \"{}\"\n", image("webhook", "v1.17.0"));
    let added = entry("ConfigMap `cert-keeper`", "dns", "v1.17.0");
    let expected = ours
        .replace(&format!("{injector}\n"), "")
        .replace("`cert-keeper.yaml`", "`next.yaml`")
        .replace("1.16.1", "1.17.0")
        .replace(&last, &format!("{last}\n{added}"));
    assert_eq!(text(&desk, SOURCE), expected);
    assert_eq!(
        text(&desk, "cert-keeper/manifests/next.yaml"),
        next_release()
    );
    assert_eq!(text(&desk, "cert-keeper/images/ours/mine"), "mine");
    assert_eq!(
        names(&desk, "cert-keeper"),
        [".solution-init", "images", "manifests", "solution.yaml"]
    );
    assert_eq!(names(&desk, "cert-keeper/manifests"), ["next.yaml"]);
    // The stored copy is that of the new draft: the base of the next update.
    desk.solution(&[
        "init",
        "--from",
        "next.yaml",
        "anew",
        "--name",
        "cert-keeper",
    ])
    .success();
    let copy = |tree: &str| files_below(&desk.path(&format!("{tree}/.solution-init")));
    assert!(copy("cert-keeper") == copy("anew"));
}

#[test]
fn an_update_says_what_changed_and_what_is_left_to_decide() {
    let (desk, _) = desk_with_edited_tree();
    let answer = update(&desk, &["--output", "json"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    let said = answer.json();
    assert_eq!([&said["from"], &said["version"]], ["1.16.1", "1.17.0"]);
    let in_tree = |names: &[&str]| {
        json!(
            names
                .iter()
                .map(|name| format!("cert-keeper/{name}"))
                .collect::<Vec<_>>()
        )
    };
    let written = ["manifests/next.yaml", "solution.yaml"];
    assert_eq!(said["files"], in_tree(&written));
    assert_eq!(said["removed"], in_tree(&["manifests/cert-keeper.yaml"]));
    assert_eq!(said["conflicts"], json!([]));
    assert_eq!(said["images"], 5);
    let renewed = |name| {
        format!(
            "{} is now {}",
            image(name, "v1.16.1"),
            image(name, "v1.17.0")
        )
    };
    assert_eq!(
        said["changes"]["images"],
        json!({
            "added": [image("dns", "v1.17.0")],
            "changed": (["controller", "acmesolver", "webhook"].map(renewed)),
            "removed": [image("cainjector", "v1.16.1")],
        })
    );
    let objects = &said["changes"]["objects"];
    assert_eq!(
        objects["added"],
        json!(["ConfigMap cert-keeper/cert-keeper"])
    );
    let injector = "Deployment cert-keeper/cert-keeper-cainjector";
    assert_eq!(objects["removed"], json!([injector]));
    let changed = objects["changed"].as_array().unwrap();
    assert!(changed.contains(&json!("Deployment cert-keeper/cert-keeper")));
    assert!(!changed.contains(&json!("Namespace cert-keeper")));
    let patch = "patch 2 of the set `cert-keeper`";
    assert_eq!(note_subjects(&said), [patch]);
    // Open decisions stay open when the same release is used again.
    let again = update(&desk, &["--output", "json"]).json();
    assert_eq!(note_subjects(&again), [patch]);
    assert_eq!(
        again["changes"]["images"]["changed"],
        json!([]),
        "{again:#}"
    );
}

#[test]
fn what_a_renewed_tree_says_is_for_people_too() {
    let desk = desk_with_tree();
    desk.write("next.yaml", next_release());
    let said = update(&desk, &[]);
    assert_eq!(said.code, 0, "{said:?}");
    for line in [
        "cert-keeper/manifests/next.yaml",
        "removed cert-keeper/manifests/cert-keeper.yaml",
        "object added: ConfigMap cert-keeper/cert-keeper",
        "object changed: Deployment cert-keeper/cert-keeper",
        "image removed: quay.io/example/cert-keeper-cainjector:v1.16.1",
    ] {
        assert!(
            said.stdout.lines().any(|shown| shown == line),
            "{line}: {said:?}"
        );
    }
    let told = "cert-keeper 1.17.0, was 1.16.1: 4 images";
    assert!(said.stderr.contains(told), "{said:?}");
    assert!(!desk.path("cert-keeper/NOTES.md").exists());
    let again = update(&desk, &["--output", "json"]).json();
    assert_eq!(again["files"], json!([]), "{again:#}");
}

/// Returns every file below a directory, with its bytes.
fn files_below(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(directory).unwrap().to_owned();
                all.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    all
}

/// A change to a tree, and the words of the refusal.
type Case<'a> = (&'a dyn Fn(&Desk), &'a [&'a str]);

#[test]
fn what_cannot_be_renewed_is_refused_and_left_as_it_is() {
    let not_made =
        |desk: &Desk| std::fs::remove_dir_all(desk.path("cert-keeper/.solution-init")).unwrap();
    let unreadable = |desk: &Desk| desk.write(SOURCE, "spec: [");
    let unresolved = |desk: &Desk| {
        desk.write(
            "cert-keeper/manifests/cert-keeper.yaml",
            "a: b\n<<<<<<< edited\r\n",
        );
    };
    let in_the_way = |desk: &Desk| desk.write("cert-keeper/manifests/next.yaml/x", "mine");
    let twice = |desk: &Desk| {
        desk.write("next.yaml", format!("{}---\nkind: X\nmetadata: {{name: a}}\n---\nkind: X\nmetadata: {{name: a, labels: {{a: b}}}}\n", next_release()));
    };
    let cases: [Case<'_>; 5] = [
        (
            &not_made,
            &["`cert-keeper` has no `.solution-init`, the directory with the original draft"],
        ),
        (&unreadable, &["`solution.yaml` cannot be parsed"]),
        (
            &unresolved,
            &[
                "cannot update: the last update left unresolved conflicts in `manifests/cert-keeper.yaml`",
                "until no line begins with",
            ],
        ),
        (
            &in_the_way,
            &["`cert-keeper/manifests/next.yaml` is not a regular file"],
        ),
        (&twice, &["both define X `a`"]),
    ];
    for (spoil, words) in cases {
        let desk = desk_with_tree();
        desk.write("next.yaml", next_release());
        spoil(&desk);
        let before = files_below(&desk.path("cert-keeper"));
        let said = update(&desk, &[]);
        assert_eq!(said.code, 1, "{said:?}");
        for words in words {
            assert!(said.stderr.contains(words), "`{words}`: {said:?}");
        }
        assert!(
            files_below(&desk.path("cert-keeper")) == before,
            "{words:?}"
        );
    }
}

/// Returns a desk with a tree from a directory with one release's files, and the next release in that directory.
fn desk_with_directory() -> Desk {
    let desk = Desk::new();
    let last = std::fs::read_to_string(release("cert-keeper.yaml")).unwrap();
    desk.write("next.yaml/a.yaml", last);
    desk.solution(&["init", "--from", "next.yaml", "cert-keeper"])
        .success();
    desk.write("next.yaml/a.yaml", next_release());
    desk.write(
        "next.yaml/b.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n",
    );
    desk
}

#[test]
fn what_was_edited_on_both_sides_is_merged_by_git() {
    let desk = desk_with_directory();
    let manifest = "cert-keeper/manifests/a.yaml";
    let kind = "kind: ServiceAccount\n";
    let edit = |text: String| {
        text.replacen(
            kind,
            &format!("{kind}automountServiceAccountToken: false\n"),
            1,
        )
    };
    let ours = edit(text(&desk, manifest));
    desk.write(manifest, &ours);
    // Without git, the update changes nothing.
    let before = files_below(&desk.path("cert-keeper"));
    let nothing = "/nonexistent";
    let said = with_programs(&desk, &UPDATE, nothing).failure(1);
    assert!(
        said.contains("cannot merge `manifests/a.yaml`: `git` not found; nothing was written"),
        "{said}"
    );
    assert!(said.contains("hint: install git"), "{said}");
    assert!(files_below(&desk.path("cert-keeper")) == before);
    update(&desk, &[]).success();
    assert_ne!(ours, next_release());
    assert_eq!(text(&desk, manifest), edit(next_release()));
    // Without changes to merge, git is not needed.
    with_programs(&desk, &UPDATE, nothing).success();
    assert_eq!(text(&desk, manifest), edit(next_release()));
}

#[test]
fn conflicts_stay_for_a_person_to_resolve() {
    let (desk, ours) = desk_with_edited_tree();
    let source = format!("\"docker://{}\"", image("webhook", "v1.16.1"));
    let ours = ours.replace(&source, "oci:images/webhook");
    desk.write(SOURCE, &ours);
    let manifest = "cert-keeper/manifests/cert-keeper.yaml";
    let edited = text(&desk, manifest) + "# ours\n";
    desk.write(manifest, &edited);
    let said = update(&desk, &["--output", "json"]);
    assert_eq!(said.code, 1, "{said:?}");
    // The new release has no file of this name.
    assert_eq!(said.json()["conflicts"], json!([manifest, SOURCE]));
    assert_eq!(text(&desk, manifest), edited);
    let merged = text(&desk, SOURCE);
    let theirs = image("webhook", "v1.17.0");
    let conflict = format!(
        "<<<<<<< edited
      tag: \"v1.16.1\"
      source: oci:images/webhook
      ref: \"{}\"
=======
      tag: \"v1.17.0\"
      source: \"docker://{theirs}\"
      ref: \"{theirs}\"
",
        image("webhook", "v1.16.1")
    );
    assert!(merged.contains(&conflict), "{merged}");
    assert!(merged.contains("upgradeFrom: '>=1.16.0'"), "{merged}");
    // As long as the conflicts remain, further updates are refused.
    let said = update(&desk, &[]).failure(1);
    let words = "cannot update: the last update left unresolved conflicts in `solution.yaml`";
    assert!(said.contains(words), "{said}");
    assert_eq!(text(&desk, SOURCE), merged);
    let pack = ["pack", "cert-keeper", "-o", "out.iso", "--unsigned"];
    let said = desk.solution(&pack).failure(1);
    assert!(
        said.contains("error[source.yaml]: solution.yaml:"),
        "{said}"
    );
    let (before, rest) = merged.split_once("<<<<<<< edited\n").unwrap();
    let (_, after) = rest.split_once(">>>>>>> new draft\n").unwrap();
    let both = format!(
        "      tag: \"v1.17.0\"\n      source: oci:images/webhook\n      ref: \"{theirs}\"\n"
    );
    let resolved = format!("{before}{both}{after}");
    desk.write(SOURCE, &resolved);
    let said = update(&desk, &["--output", "json"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(said.json()["files"], json!([]));
    assert_eq!(text(&desk, SOURCE), resolved);
    assert_eq!(text(&desk, manifest), edited);
}

#[test]
fn conflicts_are_told_to_people_too() {
    let desk = desk_with_tree();
    let file = |name: &str| format!("cert-keeper/manifests/{name}");
    desk.write(&file("next.yaml"), "mine\n");
    desk.write("next.yaml", next_release());
    let said = update(&desk, &[]);
    assert_eq!(said.code, 1, "{said:?}");
    let conflict = format!("conflict {}", file("next.yaml"));
    assert!(said.stdout.lines().any(|line| line == conflict), "{said:?}");
    assert!(
        said.stderr
            .contains("resolve each conflict until no line begins"),
        "{said:?}"
    );
    let merged = text(&desk, &file("next.yaml"));
    let begin = "<<<<<<< edited\nmine\n=======\n";
    assert!(merged.starts_with(begin), "{merged}");
}

#[test]
fn what_cannot_be_read_once_it_is_merged_is_a_conflict() {
    let desk = desk_with_tree();
    let name = "a".repeat(47);
    let of_release = "name: \"cert-keeper\"\n  annotations";
    let ours = text(&desk, SOURCE).replace(of_release, &format!("name: {name}\n  annotations"));
    desk.write(SOURCE, ours);
    let long = next_release().replace("v1.17.0", "v1.17.0-rc.1");
    desk.write("next.yaml", long);
    let said = update(&desk, &["--output", "json"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert_eq!(said.json()["conflicts"], json!([SOURCE]));
    let merged = text(&desk, SOURCE);
    assert!(merged.contains(&name) && merged.contains("version: \"1.17.0-rc.1\""));
}

#[test]
fn an_update_that_failed_in_the_middle_is_completed_by_the_next() {
    let [whole, broken] = [(); 2].map(|()| {
        let desk = desk_with_directory();
        let ours = text(&desk, SOURCE).replace("  images:\n", "  # Ours.\n  images:\n");
        desk.write(SOURCE, ours);
        let more = "apiVersion: v1\nkind: Service\nmetadata: {name: c}\n";
        desk.write("next.yaml/c.yaml", more);
        desk
    });
    update(&whole, &[]).success();
    let in_the_way = "cert-keeper/.solution-init/manifests/b.yaml";
    broken.write(&format!("{in_the_way}/x"), "x");
    let said = update(&broken, &[]).failure(3);
    assert!(
        said.contains(&format!("cannot write `{in_the_way}`")),
        "{said}"
    );
    // The tree is half updated and contains all edits.
    let is_there = |name: &str| {
        let path = format!("cert-keeper/manifests/{name}");
        broken.path(&path).exists()
    };
    assert_eq!(["b.yaml", "c.yaml"].map(is_there), [true, false]);
    assert!(text(&broken, SOURCE).contains("# Ours."));
    std::fs::remove_dir_all(broken.path(in_the_way)).unwrap();
    // A killed run leaves such files behind.
    broken.write("cert-keeper/.solution-init.new/manifests/b.yaml", "half");
    update(&broken, &[]).success();
    let trees = [&whole, &broken].map(|desk| files_below(&desk.path("cert-keeper")));
    assert!(
        trees[0] == trees[1],
        "{:?}",
        trees.map(|tree| tree.into_keys().collect::<Vec<_>>())
    );
}

#[test]
fn what_was_taken_out_of_a_tree_stays_out() {
    let desk = Desk::new();
    let stream = Path::new(&release("stream-operator")).to_owned();
    for entry in std::fs::read_dir(stream).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        desk.write(&format!("release/{name}"), std::fs::read(&path).unwrap());
    }
    desk.solution(&["init", "--from", "release", "stream"])
        .success();
    let config_map = "stream/manifests/050-ConfigMap.yaml";
    std::fs::remove_file(desk.path(config_map)).unwrap();
    let path = "stream/solution.yaml";
    let builder = "    # ConfigMap `stream-operator`\n    - name: \"maven-builder\"\n      tag: \"1.2.0\"\n      source: \"docker://quay.io/example/maven-builder:1.2.0\"\n      ref: \"quay.io/example/maven-builder:1.2.0\"\n";
    let builder = format!("{builder}\n");
    assert!(text(&desk, path).contains(&builder));
    let ours = text(&desk, path).replace(&builder, "");
    desk.write(
        path,
        ours.replace("version: \"1.2.0\"", "version: \"7.0.0\""),
    );
    let notes = text(&desk, "stream/NOTES.md").replace("- [ ]", "- [x]");
    desk.write("stream/NOTES.md", &notes);
    let file = "release/060-Deployment.yaml";
    desk.write(file, text(&desk, file).replace("1.2.0", "1.3.0"));
    for version in ["7.0.0", "7.1.0"] {
        let update = [
            "init", "--from", "release", "stream", "--update", "--output", "json",
        ];
        desk.write(path, text(&desk, path).replace("7.0.0", version));
        let said = with_programs(&desk, &update, PROGRAMS);
        assert_eq!(said.code, 0, "{said:?}");
        assert_eq!(said.json()["version"], version);
        assert!(!desk.path(config_map).exists());
        let source = SolutionSource::from_slice(&desk.read(path)).unwrap();
        let names: Vec<String> = source
            .spec
            .images
            .iter()
            .map(|image| image.name.to_string())
            .collect();
        assert_eq!(
            names,
            [
                "bridge",
                "stream-operator",
                "stream-1.3.0-stream-4.2.0",
                "stream-1.3.0-stream-4.3.0",
                "proxy"
            ]
        );
        assert_eq!(text(&desk, "stream/NOTES.md"), notes, "what was ticked off");
    }
}

#[test]
fn a_version_of_ones_own_is_changed_only_when_asked() {
    let desk = Desk::new();
    let file = release("cert-keeper.yaml");
    let version = ["--version", "7.0.0"];
    desk.solution(&[&["init", "--from", &file][..], &version].concat())
        .success();
    desk.write("next.yaml", next_release());
    let said = update(&desk, &["--output", "json"]).json();
    assert_eq!([&said["from"], &said["version"]], ["7.0.0", "7.0.0"]);
    assert_eq!(note_subjects(&said), ["version"]);
    let told = "is `7.0.0`, which you set, and was kept; the release changed from 1.16.1 to 1.17.0";
    assert_eq!(said["notes"][0]["text"], told);
    let asked = ["--version", "7.1.0", "--output", "json"];
    let said = update(&desk, &asked).json();
    assert_eq!([&said["from"], &said["version"]], ["7.0.0", "7.1.0"]);
    assert_eq!(note_subjects(&said), [""; 0]);
}

#[test]
fn an_update_is_for_a_tree_that_carries_a_release() {
    let desk = desk_with_tree();
    let file = release("cert-keeper.yaml");
    let from = ["init", "--from", &file, "--update"];
    let said = desk.solution(&from).failure(2);
    assert!(
        said.contains("requires the directory of a source tree"),
        "{said}"
    );
    desk.solution(&["init", "cert-keeper", "--update"])
        .failure(2);
}

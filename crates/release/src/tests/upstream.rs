//! Tests of upstream archives: the parts that are converted, the notes, and the errors. The tests of the program use
//! images that upstream's tools created.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use iso9660::{
    ContentId, Input, InputFile, Layout, Timestamp, Volume, WriteAt as _, plan, write_metadata,
};
use progress::{Cancel, Watch};

use super::*;
use crate::upstream::{UpstreamArchive, UpstreamError, is_image};

const MANIFEST: &str = "
apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: Solution
metadata: {name: shop}
spec: {version: 1.0.0}
";

/// An image with exactly these files; equal contents are stored once.
fn image(files: &[(&str, &[u8])]) -> fs::File {
    let file = |(path, bytes): &(&str, &[u8])| InputFile {
        path: (*path).into(),
        size: bytes.len() as u64,
        content: Some(ContentId(*files::digest(bytes).as_bytes())),
    };
    let input = Input {
        volume: Volume {
            id: "TEST".to_owned(),
            set_id: "test".to_owned(),
            time: Timestamp::from_unix_seconds(1_700_000_000).unwrap(),
        },
        head: Vec::new(),
        body: files.iter().map(file).collect(),
    };
    let plan = plan(Layout::V1, input).unwrap();
    let image = tempfile::tempfile().unwrap();
    image.set_len(plan.image_size()).unwrap();
    write_metadata(&plan, &image).unwrap();
    for (path, bytes) in files {
        if let Some(extent) = plan.extent_of(path) {
            image.write_all_at(bytes, extent.offset).unwrap();
        }
    }
    image
}

/// The files of an archive with this manifest, and an operator's image of one blob.
fn archive(manifest: &str, more: &[(&str, &[u8])]) -> fs::File {
    let blob = format!(
        "images/shop-operator/1.0.0/{}",
        files::digest(b"blob").hex()
    );
    let mut files: Vec<(&str, &[u8])> = vec![
        ("manifest.yaml", manifest.as_bytes()),
        ("images/shop-operator/1.0.0/manifest.json", b"{}"),
        (
            "images/shop-operator/1.0.0/version",
            b"Directory Transport Version: 1.1\n",
        ),
        (&blob, b"blob"),
        ("registry-config.inc.j2", b"location"),
    ];
    files.extend(more);
    image(&files)
}

fn try_convert(
    image: &fs::File,
    options: &InitOptions,
    to: &Path,
) -> Result<SourceTree, UpstreamError> {
    let size = image.metadata().unwrap().len();
    let archive = UpstreamArchive::read(image, size)?;
    let conversion = archive.convert("shop.iso", options)?;
    conversion.write(to, &Watch::silent(Cancel::never()))?;
    Ok(conversion.tree)
}

/// Returns the tree of an archive, and the files that are written below `to`.
#[track_caller]
fn convert(image: &fs::File, to: &Path) -> SourceTree {
    try_convert(image, &InitOptions::default(), to)
        .unwrap_or_else(|error| panic!("{error}: {:?}", error.source()))
}

/// The note about images that the operator may start without an object naming them.
const STARTED: (NoteWeight, &str) = (NoteWeight::Decide, "images that programs start");

fn notes(tree: &SourceTree) -> Vec<(NoteWeight, &str)> {
    let notes = tree.notes.iter();
    notes
        .map(|note| (note.weight, note.about.as_str()))
        .collect()
}

#[test]
fn what_the_manifest_leaves_out_is_upstreams_default() {
    let to = tempfile::tempdir().unwrap();
    let tree = convert(&archive(MANIFEST, &[]), to.path());
    assert_eq!(tree.id.to_string(), "shop-1.0.0");
    let operator = tree.source.spec.operator.as_ref().unwrap();
    assert_eq!(operator.image.place().to_string(), "shop-operator:1.0.0");
    assert_eq!((&operator.command, &operator.metrics), (&None, &None));
    // Upstream archives do not list the images that their operator starts.
    assert_eq!(notes(&tree), [STARTED]);
    let role = fs::read_to_string(to.path().join("operator/deploy/role.yaml")).unwrap();
    assert!(role.starts_with('#'), "{role}");
    let source = fs::read(to.path().join("solution.yaml")).unwrap();
    assert_eq!(SolutionSource::from_slice(&source).unwrap(), tree.source);
    assert!(to.path().join("NOTES.md").exists());
}

#[test]
fn what_the_manifest_says_is_kept() {
    let manifest = "
apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: Solution
metadata:
  name: shop
  annotations:
    solutions.metalk8s.scality.com/display-name: The Shop
    solutions.metalk8s.scality.com/development-release: true
  labels: {team: a}
spec:
  version: 1.0.0
  images: [':1.0.0', 'shop-operator:1.0.0']
  operator: {image: {tag: 1.0.0}, metrics: {enabled: true, scheme: http}}
  ui: {image: {name: shop-ui, tag: 1.0.0}}
  customApiGroups: []
";
    let to = tempfile::tempdir().unwrap();
    let tree = convert(&archive(manifest, &[]), to.path());
    let metadata = &tree.source.metadata;
    let annotation = |name: &str| {
        metadata.annotations[&format!("solutions.metalk8s.scality.com/{name}")].as_str()
    };
    assert_eq!(annotation("display-name"), "The Shop");
    assert_eq!(annotation("development-release"), "true");
    assert_eq!(metadata.labels["team"], "a");
    let operator = tree.source.spec.operator.as_ref().unwrap();
    assert!(operator.metrics.as_ref().unwrap().enabled);
    assert_eq!(
        notes(&tree),
        [
            STARTED,
            (NoteWeight::Lost, ":1.0.0"),
            (NoteWeight::Lost, "spec.ui")
        ]
    );
    assert!(to.path().join("NOTES.md").exists());
}

#[test]
fn files_that_are_one_stay_one() {
    let shared = format!("images/web/2/{}", files::digest(b"blob").hex());
    let more: &[(&str, &[u8])] = &[("images/web/2/manifest.json", b"{ }"), (&shared, b"blob")];
    let to = tempfile::tempdir().unwrap();
    let tree = convert(&archive(MANIFEST, more), to.path());
    let sources = tree.source.spec.images.iter();
    let sources: Vec<_> = sources.map(|image| image.source.to_string()).collect();
    assert_eq!(
        sources,
        ["dir:images/shop-operator/1.0.0", "dir:images/web/2"]
    );
    let other = shared.replace("web/2", "shop-operator/1.0.0");
    let inode = |path: &str| fs::metadata(to.path().join(path)).unwrap().ino();
    assert_eq!(inode(&shared), inode(&other));
    assert_eq!(fs::read(to.path().join(&shared)).unwrap(), b"blob");
}

#[test]
fn what_belongs_to_nothing_is_left_out_and_told() {
    let more: &[(&str, &[u8])] = &[
        ("bin/tool", b"1"),
        ("bin/more/tool", b"2"),
        ("images/shop-operator/1.0.0/notes.txt", b"3"),
        ("images/web/2/version", b"4"),
        ("operator/deploy/operator.yaml", b"5"),
        ("operator/deploy/crds/shops_crd.yaml", b"6"),
        ("operator/deploy/crds/shops_cr.yaml", b"7"),
        ("operator/deploy/role.yaml", b"8"),
    ];
    let to = tempfile::tempdir().unwrap();
    let tree = convert(&archive(MANIFEST, more), to.path());
    let notes = notes(&tree).into_iter().filter(|note| *note != STARTED);
    let left: Vec<&str> = notes.map(|(_, about)| about).collect();
    assert_eq!(
        left,
        [
            "bin/",
            "images/shop-operator/1.0.0/notes.txt",
            "images/web/2",
            "operator/deploy/crds/shops_cr.yaml",
            "operator/deploy/operator.yaml"
        ]
    );
    assert_eq!(tree.files["operator/deploy/crds/shops_crd.yaml"], b"6");
    assert_eq!(tree.files["operator/deploy/role.yaml"], b"8");
    assert_eq!(tree.source.spec.images.len(), 1);
}

#[test]
fn without_the_operators_image_there_is_no_operator() {
    let manifest = MANIFEST.replace("{name: shop}", "{name: store}");
    let to = tempfile::tempdir().unwrap();
    let more: &[(&str, &[u8])] = &[("operator/deploy/role.yaml", b"8")];
    let tree = convert(&archive(&manifest, more), to.path());
    assert_eq!(tree.source.spec.operator, None);
    assert_eq!(
        notes(&tree),
        [
            (NoteWeight::Chosen, "spec.operator"),
            (NoteWeight::Lost, "operator/deploy")
        ]
    );
    assert!(!to.path().join("operator").exists());
    let named = "{version: 1.0.0, operator: {image: {name: other}}}";
    let manifest = manifest.replace("{version: 1.0.0}", named);
    let to = tempfile::tempdir().unwrap();
    let tree = convert(&archive(&manifest, &[]), to.path());
    assert_eq!(notes(&tree), [(NoteWeight::Decide, "spec.operator")]);
}

#[test]
fn a_solution_under_another_name_runs_the_same_program() {
    let to = tempfile::tempdir().unwrap();
    let options = InitOptions {
        name: Some("store".parse().unwrap()),
        version: Some("2.0.0".parse().unwrap()),
    };
    let tree = try_convert(&archive(MANIFEST, &[]), &options, to.path()).unwrap();
    assert_eq!(tree.id.to_string(), "store-2.0.0");
    let operator = tree.source.spec.operator.unwrap();
    let command = ["shop-operator", "--config=/etc/config/operator.yaml"];
    assert_eq!(operator.command.unwrap(), command);
}

#[test]
fn a_damaged_blob_leaves_nothing() {
    let wrong = format!("images/shop-operator/1.0.0/{}", "a".repeat(64));
    let image = archive(MANIFEST, &[(&wrong, b"blob of another name")]);
    let above = tempfile::tempdir().unwrap();
    let to = above.path().join("tree");
    let error = try_convert(&image, &InitOptions::default(), &to).unwrap_err();
    assert!(
        matches!(&error, UpstreamError::Damaged { path, .. } if *path == wrong),
        "{error}"
    );
    assert_eq!(fs::read_dir(above.path()).unwrap().count(), 0);
}

/// Checks that a cancelled conversion leaves no tree and removes its temporary files.
#[test]
fn a_tree_is_there_when_it_is_whole() {
    let image = archive(MANIFEST, &[]);
    let size = image.metadata().unwrap().len();
    let conversion = UpstreamArchive::read(&image, size).unwrap();
    let conversion = conversion
        .convert("shop.iso", &InitOptions::default())
        .unwrap();
    let above = tempfile::tempdir().unwrap();
    let (new, empty) = (above.path().join("new"), above.path().join("empty"));
    fs::create_dir(&empty).unwrap();
    for to in [&new, &empty] {
        let interrupted = AtomicBool::new(false);
        let look = |_| {
            assert!(!to.join("solution.yaml").exists());
            interrupted.store(true, Ordering::Relaxed);
        };
        let watch = Watch {
            tell: &look,
            cancel: Cancel::from_flag(&interrupted),
        };
        let error = conversion.write(to, &watch).unwrap_err();
        assert!(matches!(error, UpstreamError::Interrupted(_)), "{error}");
        assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
        assert!(!new.exists());
        assert_eq!(fs::read_dir(above.path()).unwrap().count(), 1);
    }
    for to in [&new, &empty] {
        let written = conversion.write(to, &Watch::silent(Cancel::never()));
        assert!(written.unwrap().iter().all(|path| path.exists()));
    }
    let names = |to| {
        let entries = fs::read_dir(to).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        names.collect::<BTreeSet<_>>()
    };
    assert_eq!(names(&new), names(&empty));
    let modes = [&new, &empty].map(|to| fs::metadata(to).unwrap().mode());
    assert_eq!(modes[0], modes[1]);
}

#[test]
fn what_is_no_archive_of_upstreams_is_refused_by_what_it_is() {
    let refused = |image: &fs::File| {
        let to = tempfile::tempdir().unwrap();
        let error = try_convert(image, &InitOptions::default(), to.path()).unwrap_err();
        assert_eq!(fs::read_dir(to.path()).unwrap().count(), 0, "{error}");
        error
    };
    let product = image(&[
        ("product.txt", b"NAME=Shop\n"),
        ("ui/deployment.yaml", b"x"),
    ]);
    assert!(matches!(refused(&product), UpstreamError::Product));
    let packed = archive(MANIFEST, &[("statement.dsse.json", b"{}")]);
    assert!(matches!(refused(&packed), UpstreamError::Packed));
    let empty = image(&[("README", b"x")]);
    assert!(matches!(refused(&empty), UpstreamError::NoManifest));
    let other = archive(&MANIFEST.replace("kind: Solution", "kind: Fleet"), &[]);
    assert!(matches!(refused(&other), UpstreamError::Manifest(_)));
    let nameless = archive(&MANIFEST.replace("{name: shop}", "{}"), &[]);
    assert_eq!(
        refused(&nameless).to_string(),
        "`manifest.yaml` of the archive: has no `metadata.name`"
    );
    // Upstream's tools can write a version as a number.
    let float = archive(&MANIFEST.replace("1.0.0", "1.0"), &[]);
    let error = refused(&float);
    assert!(
        matches!(&error, UpstreamError::Release(ReleaseError::NoVersion(found)) if found.contains("1.0")),
        "{error}"
    );
    let short = archive(MANIFEST, &[]);
    short.set_len(30 * 2048).unwrap();
    let error = refused(&short);
    assert!(matches!(error, UpstreamError::CutShort(_)), "{error}");
    let large = archive(&format!("{MANIFEST}#{}", "x".repeat(1024 * 1024)), &[]);
    assert!(matches!(refused(&large), UpstreamError::Size { .. }));
}

#[test]
fn images_are_told_from_other_files() {
    assert!(is_image(&archive(MANIFEST, &[])));
    let text = tempfile::tempfile().unwrap();
    assert!(!is_image(&text));
    text.write_all_at(&vec![b'-'; 40_000], 0).unwrap();
    assert!(!is_image(&text));
}

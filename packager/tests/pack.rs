//! Tests of packing from a source directory to an archive and of reading it again, and of all errors that must prevent
//! an archive.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::error::Error;
use std::fs;
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use archive::{OpenedArchive, Overwrite};
use fixtures::example::{Programs, Release};
use fixtures::image::{Format, Image, ImageBuilder, Index, Platform};
use fixtures::layer::Layer;
use fixtures::layout::{self, OciLayout};
use packager::{
    ChartRenderer, Event, PackError, PackReport, PackRequest, SbomRequest, Signing, init, pack,
};
use progress::{Cancel, Progress, Watch};
use schemas::{Digest, StatementTime};
use signing::{SecretKey, Trust};
use sources::{CacheOptions, Compression, Event as Source, Remote};
use tempfile::TempDir;
use validator::Finding;

/// A fixed key (RFC 8410, 10.3), so that archives are the same in every run.
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
-----END PRIVATE KEY-----
";

fn key() -> SecretKey {
    SecretKey::from_pem(KEY).unwrap()
}

fn request(tree: &Path, output: &Path) -> PackRequest {
    PackRequest {
        directory: tree.to_owned(),
        output: output.to_owned(),
        overwrite: Overwrite::Replace,
        compression: Compression::None,
        signing: Signing::Keys(vec![key()]),
        time: StatementTime::DEFAULT,
        now: StatementTime::DEFAULT,
        judging: validator::FindingRules::default(),
        threads: NonZeroUsize::new(2).unwrap(),
        cache: CacheOptions {
            directory: tree.join("../cache"),
            unpack_limit: sources::UNPACK_LIMIT,
        },
        with_referrers: false,
        remote: Remote::default(),
        renderer: ChartRenderer::Nothing,
        keyring: None,
        programs: Vec::new(),
        documentation: None,
        sboms: None,
        scratch: tree.to_owned(),
    }
}

fn run(request: &PackRequest) -> Result<PackReport, PackError> {
    pack(request, &Watch::silent(Cancel::never()))
}

/// Returns the findings of a source tree, one per line, or the error.
fn said(error: &PackError) -> String {
    let PackError::RefusedSource(refused) = error else {
        return message(error);
    };
    let line = |finding: &Finding| {
        let source = finding.source.as_ref().unwrap();
        assert!(source.line.is_some(), "{source}");
        finding.message.clone()
    };
    refused
        .findings
        .iter()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns the error with its causes, like the command line shows it.
fn message(error: &(dyn Error + 'static)) -> String {
    let chain = std::iter::successors(Some(error), |&error| error.source());
    let messages: Vec<String> = chain.map(ToString::to_string).collect();
    messages.join(": ")
}

/// A source tree and an empty directory for the archive.
struct Bench {
    directory: TempDir,
}

fn base() -> Layer {
    Layer::random(1, 300_000)
}

fn image(architecture: &str) -> Image {
    ImageBuilder::new()
        .platform(Platform::linux(architecture))
        .layer(base())
        .file("/app", architecture, 0o755)
        .build()
}

impl Bench {
    /// Creates the example tree, with an additional image for two platforms in skopeo's `dir:` format. It shares a
    /// layer with a third image.
    fn new() -> Self {
        let bench = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        let tree = bench.tree();
        Programs::placeholders()
            .write_tree(Release::V1_0_0, &tree)
            .unwrap();
        let index = Index::new(Format::Docker, vec![image("amd64"), image("arm64")]);
        layout::write_dir(&tree.join("images/multi"), &index.into()).unwrap();
        let single = OciLayout::create(tree.join("images/single")).unwrap();
        let single = single.add(&image("amd64").into(), None).unwrap();
        single.finish().unwrap();
        bench.edit(
            "  operator:",
            "    - {name: org/multi, tag: '1', source: 'dir:images/multi'}
    - {name: single, tag: '1', source: 'oci:images/single', ref: 'r.test/single:1'}
  operator:",
        );
        fs::create_dir(bench.directory.path().join("out")).unwrap();
        bench
    }

    fn tree(&self) -> PathBuf {
        self.directory.path().join("tree")
    }

    fn output(&self) -> PathBuf {
        self.directory.path().join("out/example.iso")
    }

    fn edit(&self, from: &str, to: &str) {
        let path = self.tree().join("solution.yaml");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    }

    fn pack(&self) -> Result<PackReport, PackError> {
        run(&request(&self.tree(), &self.output()))
    }

    /// Returns the message of a refusal, which must not leave any file.
    fn refused(&self) -> String {
        let error = self.pack().unwrap_err();
        let left: Vec<_> = fs::read_dir(self.output().parent().unwrap())
            .unwrap()
            .collect();
        assert!(left.is_empty(), "{left:?}");
        said(&error).replace(&self.tree().display().to_string(), "TREE")
    }

    fn layer(&self) -> PathBuf {
        let hex = base().digest().replace("sha256:", "");
        self.tree().join("images/single/blobs/sha256").join(hex)
    }
}

fn read(listed: &archive::ListedArchive, path: &str) -> Vec<u8> {
    listed.read(path, 1 << 20).unwrap()
}

#[test]
fn an_archive_is_read_back() {
    let bench = Bench::new();
    let packed = bench.pack().unwrap();
    assert_eq!(packed.size, fs::metadata(bench.output()).unwrap().len());
    assert_eq!(
        (packed.images, packed.id.to_string().as_str()),
        (4, "example-1.0.0")
    );

    let trust = Trust::new(vec![key().public()], None).unwrap();
    let trusted = OpenedArchive::open(&bench.output())
        .unwrap()
        .verify(&trust)
        .unwrap();
    let listed = trusted.list().unwrap();
    let crd = read(&listed, "operator/deploy/crds/versionservers_crd.yaml");
    let source = bench
        .tree()
        .join("operator/deploy/crds/versionservers_crd.yaml");
    assert_eq!(crd, fs::read(source).unwrap());
    let manifest = schemas::Solution::from_slice(&read(&listed, "manifest.yaml")).unwrap();
    let places: Vec<String> = manifest
        .spec
        .images
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        places,
        [
            "example-operator:1.0.0",
            "example-server:1.0.0",
            "org/multi:1",
            "single:1"
        ]
    );
    let index = String::from_utf8(read(&listed, "index.json")).unwrap();
    assert!(index.contains("r.test/single:1"), "{index}");
    let manifest = read(&listed, "images/org/multi/1/manifest.json");
    assert_eq!(
        manifest,
        fs::read(bench.tree().join("images/multi/manifest.json")).unwrap()
    );
    let digest: Digest = base().digest().parse().unwrap();
    assert_eq!(listed.blob(&digest).unwrap().size(), 300_000);
}

#[test]
fn the_same_inputs_give_the_same_bytes() {
    let (one, other) = (Bench::new(), Bench::new());
    // The text order, permissions, number of threads and directory differ.
    let moved =
        "    - {name: single, tag: '1', source: 'oci:images/single', ref: 'r.test/single:1'}\n";
    other.edit(moved, "");
    other.edit("  images:\n", &format!("  images:\n{moved}"));
    for path in [
        "solution.yaml",
        "operator/deploy/role.yaml",
        "images/multi/manifest.json",
    ] {
        fs::set_permissions(other.tree().join(path), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let first = one.pack().unwrap();
    let request = PackRequest {
        threads: NonZeroUsize::new(7).unwrap(),
        ..request(&other.tree(), &other.output())
    };
    let second = run(&request).unwrap();
    assert_eq!(first.archive_id, second.archive_id);
    assert!(fs::read(one.output()).unwrap() == fs::read(other.output()).unwrap());
}

#[test]
fn another_time_is_another_archive_and_no_key_is_no_signature() {
    let bench = Bench::new();
    let first = bench.pack().unwrap();
    let unsigned = PackRequest {
        signing: Signing::Unsigned,
        ..request(&bench.tree(), &bench.output())
    };
    assert_eq!(run(&unsigned).unwrap().archive_id, first.archive_id);
    let opened = OpenedArchive::open(&bench.output()).unwrap();
    assert_eq!(opened.envelope().signatures().len(), 0);
    let later = PackRequest {
        time: StatementTime::from_unix(1_700_000_000).unwrap(),
        ..unsigned
    };
    assert_ne!(run(&later).unwrap().archive_id, first.archive_id);
}

#[test]
fn what_happens_is_told() {
    let bench = Bench::new();
    let told = Mutex::new(Vec::new());
    let tell = |event: Event| {
        let text = match event {
            Event::Unused(path) => format!("unused {}", path.display()),
            Event::Sources(Source::Collecting { place, number, of }) => {
                format!("{number}/{of} {place}")
            }
            Event::Writing(Progress { done, total }) => format!("{done} of {total}"),
            Event::Sources(Source::Preparing(Progress { done, total })) => {
                format!("{done} prepared of {total}")
            }
            Event::Sources(Source::Damaged(digest)) => format!("damaged {digest}"),
            Event::Untidy(error) => format!("untidy {error}"),
            Event::Sources(Source::Downloading(Progress { done, total })) => {
                format!("downloaded {done} of {total}")
            }
            Event::Sources(Source::Retrying { reason, .. }) => format!("again: {reason}"),
            Event::Sources(Source::Referrers { .. } | Source::OfTheWhole { .. }) => {
                panic!("nobody asked for referrers")
            }
            Event::Describing { .. } => panic!("nobody asked for SBOMs"),
            Event::NotRendered
            | Event::Verified(..)
            | Event::Rendering(_)
            | Event::Named(_)
            | Event::Chart(..) => {
                panic!("there is no chart")
            }
        };
        told.lock().unwrap().push(text);
    };
    let watch = Watch {
        tell: &tell,
        cancel: Cancel::never(),
    };
    let packed = pack(&request(&bench.tree(), &bench.output()), &watch).unwrap();
    let told = told.into_inner().unwrap();
    assert_eq!(told[0], "1/4 example-operator:1.0.0");
    assert_eq!(told[3], "4/4 single:1");
    let last = told.last().unwrap();
    let (done, total) = last.split_once(" of ").unwrap();
    assert_eq!(done, total);
    assert!(
        packed.blob_bytes > 300_000 && packed.blob_bytes < total.parse().unwrap(),
        "{last}"
    );
}

#[test]
fn a_cancelled_pack_leaves_nothing() {
    let bench = Bench::new();
    let request = request(&bench.tree(), &bench.output());
    let cancelled = AtomicBool::new(true);
    assert!(pack(&request, &Watch::silent(Cancel::from_flag(&cancelled))).is_err());
    assert_eq!(
        fs::read_dir(bench.output().parent().unwrap())
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn a_blob_with_another_content_is_noticed_while_it_is_written() {
    let bench = Bench::new();
    let mut bytes = fs::read(bench.layer()).unwrap();
    bytes[200_000] ^= 1;
    fs::write(bench.layer(), bytes).unwrap();
    // The other image contains an intact copy of the layer; only one of the files is read.
    fs::remove_dir_all(bench.tree().join("images/multi")).unwrap();
    bench.edit(
        "    - {name: org/multi, tag: '1', source: 'dir:images/multi'}\n",
        "",
    );
    let message = bench.refused();
    assert!(
        message.contains(&format!(
            "TREE/{}",
            bench.layer().strip_prefix(bench.tree()).unwrap().display()
        )),
        "{message}"
    );
    assert!(message.contains(base().digest()), "{message}");
}

#[test]
fn a_missing_blob_is_named() {
    let bench = Bench::new();
    fs::remove_file(bench.layer()).unwrap();
    let message = bench.refused();
    assert_eq!(
        message,
        format!(
            "cannot take image `single:1` from `oci:images/single`: blob {0} is missing at `TREE/images/single/blobs/sha256/{1}`; copy the image again",
            base().digest(),
            base().digest().replace("sha256:", "")
        )
    );
}

#[test]
fn a_blob_of_another_size_is_named() {
    let bench = Bench::new();
    fs::write(bench.layer(), b"short").unwrap();
    let message = bench.refused();
    assert!(message.starts_with("cannot take image `single:1` from `oci:images/single`: `TREE/images/single/blobs/sha256/"), "{message}");
    assert!(
        message.ends_with("` has 5 bytes instead of 300000; copy the image again"),
        "{message}"
    );
}

/// Replaces a text in a file.
fn replace(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn an_image_that_is_built_for_another_platform_than_it_was_chosen_for_is_not_packed() {
    let bench = Bench::new();
    let index = bench.tree().join("images/multi/manifest.json");
    replace(&index, "arm64", "s390x");
    bench.edit(
        "'dir:images/multi'",
        "'dir:images/multi', platforms: [linux/s390x]",
    );
    assert_eq!(
        bench.refused(),
        "cannot take image `org/multi:1` from `dir:images/multi`: its index lists it for `linux/s390x`, but it is built for `linux/arm64`; ask its publisher for a corrected index"
    );
}

#[test]
fn a_layer_that_is_compressed_otherwise_than_its_media_type_says_is_found() {
    let bench = Bench::new();
    let directory = bench.tree().join("images/multi");
    fs::remove_dir_all(&directory).unwrap();
    layout::write_dir(&directory, &image("amd64").into()).unwrap();
    let found = |bench: &Bench| {
        let packed = bench.pack().unwrap();
        let findings = packed.judged.findings.into_iter();
        let layers = findings.filter(|finding| finding.id == "images.layer");
        layers.map(|finding| finding.message).collect::<Vec<_>>()
    };
    assert_eq!(found(&bench), [""; 0]);
    replace(
        &directory.join("manifest.json"),
        "layer.v1.tar+gzip",
        "layer.v1.tar",
    );
    let found = found(&bench);
    let [message] = &found[..] else {
        panic!("{found:?}")
    };
    assert!(
        message.ends_with(
            "is described as `application/vnd.oci.image.layer.v1.tar`, but its bytes are compressed with gzip"
        ),
        "{message}"
    );
}

#[test]
fn an_unknown_field_is_named() {
    let bench = Bench::new();
    bench.edit("ref: 'r.test", "reff: 'r.test");
    let message = bench.refused();
    assert!(message.contains("unknown field `reff`"), "{message}");
}

#[test]
fn an_ambiguous_tag_is_asked_for() {
    let bench = Bench::new();
    let layout = OciLayout::create(bench.tree().join("images/single")).unwrap();
    let layout = layout.add(&image("amd64").into(), Some("a")).unwrap();
    let layout = layout.add(&image("arm64").into(), Some("b")).unwrap();
    layout.finish().unwrap();
    assert_eq!(
        bench.refused(),
        "cannot take image `single:1` from `oci:images/single`: `TREE/images/single/index.json` contains multiple images; write `oci:DIR:TAG` with one of: `a`, `b`"
    );
}

#[test]
fn an_image_only_solution_has_no_operator_directory() {
    let bench = Bench::new();
    let path = bench.tree().join("solution.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let (images, _) = text.split_once("  operator:\n").unwrap();
    fs::write(path, images).unwrap();
    bench.pack().unwrap();
    let listed = OpenedArchive::open(&bench.output())
        .unwrap()
        .skip_signature()
        .unwrap()
        .list()
        .unwrap();
    let contents = listed.contents().entries();
    assert!(
        !contents
            .iter()
            .any(|entry| entry.path.as_str().starts_with("operator"))
    );
    assert!(
        contents
            .iter()
            .any(|entry| entry.path.as_str() == "images/single/1/manifest.json")
    );
}

#[test]
fn what_init_writes_packs_when_one_image_is_put_in() {
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("storage");
    let output = directory.path().join("storage.iso");
    init(&tree).unwrap();
    let error = run(&request(&tree, &output)).unwrap_err();
    assert!(
        said(&error).contains("images/storage-operator"),
        "{}",
        said(&error)
    );
    let layout = OciLayout::create(tree.join("images/storage-operator")).unwrap();
    let layout = layout.add(&image("amd64").into(), Some("0.1.0")).unwrap();
    layout.finish().unwrap();
    assert_eq!(
        run(&request(&tree, &output)).unwrap().id.to_string(),
        "storage-0.1.0"
    );
}

/// A referrer of the image that the operator uses by name, in an archive that older readers refuse by name.
#[test]
fn what_refers_to_an_image_takes_no_name_from_it() {
    let bench = Bench::new();
    let policy = fixtures::artifact::policy_of(image("amd64").descriptor());
    let layout = OciLayout::create(bench.tree().join("images/signed")).unwrap();
    let layout = layout.add(&image("amd64").into(), Some("1")).unwrap();
    let layout = layout.add_document(&policy, None).unwrap();
    layout.finish().unwrap();
    bench.edit("'oci:images/single'", "'oci:images/signed:1'");
    bench.edit(
        "  operator:",
        "  operator:\n    env: [{name: SINGLE, value: '$(image:single)'}]",
    );
    let with = |with_referrers| {
        let request = PackRequest {
            with_referrers,
            ..request(&bench.tree(), &bench.output())
        };
        let packed = run(&request).unwrap();
        let opened = OpenedArchive::open(&bench.output()).unwrap();
        let listed = opened.skip_signature().unwrap().list().unwrap();
        let requires = listed.statement().predicate.requires.clone();
        let requires: Vec<String> = requires.iter().map(ToString::to_string).collect();
        (packed.images, packed.referrers, requires)
    };
    let (images, none, requires) = with(false);
    assert_eq!((none, requires.is_empty()), (0, true));
    let found = with(true);
    assert_eq!(found, (images, 1, vec!["referrers-1.0.0".to_owned()]));
}

/// Creates a script in place of syft. Its SBOMs have another namespace in each run, and it fails for one image.
fn syft(bench: &Bench, fails: &str) -> SbomRequest {
    let script = format!(
        r#"#!/bin/sh
case "$*" in
version*) echo '{{"application":"syft","version":"1.0"}}' ;;
*source-name={fails}*) echo '[0000] ERROR no such layer' >&2; exit 1 ;;
*) echo "{{\"documentNamespace\":\"$$\",\"creationInfo\":{{\"created\":\"$$\"}},\"name\":\"$3\"}}" ;;
esac
"#
    );
    let path = bench.directory.path().join("syft");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    SbomRequest {
        format: sbom::SbomFormat::Spdx,
        program: Some(path),
    }
}

/// Packs with SBOMs, and checks that syft's directory is empty afterwards.
fn with_sboms(bench: &Bench, fails: &str) -> Result<PackReport, PackError> {
    let scratch = tempfile::tempdir().unwrap();
    let packed = run(&PackRequest {
        sboms: Some(syft(bench, fails)),
        scratch: scratch.path().to_owned(),
        ..request(&bench.tree(), &bench.output())
    });
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    packed
}

#[test]
fn sboms_are_the_same_whatever_their_program_draws_by_lot() {
    let bench = Bench::new();
    let once = || {
        let packed = with_sboms(&bench, "nothing").unwrap();
        let sboms = packed.sboms.unwrap();
        assert_eq!((sboms.made, sboms.kept, sboms.skipped), (5, 0, 0));
        assert_eq!((packed.images, packed.referrers), (4, 5));
        fs::read(bench.output()).unwrap()
    };
    // The scratch directory has another name each time, which must not be in an SBOM.
    assert_eq!(once(), once());
}

#[test]
fn an_sbom_that_cannot_be_made_is_told_and_a_damaged_layer_is_to_blame_first() {
    let bench = Bench::new();
    let error = with_sboms(&bench, "org/multi").unwrap_err();
    let said = "cannot create the SBOM of image `org/multi:1`: syft failed: no such layer";
    assert_eq!(message(&error), said);
    let hex = base().digest().replace("sha256:", "");
    let damaged = bench.tree().join("images/multi").join(hex);
    let mut layer = fs::read(&damaged).unwrap();
    layer[100] ^= 1;
    fs::write(&damaged, layer).unwrap();
    let error = with_sboms(&bench, "org/multi").unwrap_err();
    assert!(
        matches!(&error, PackError::Content { path, .. } if *path == damaged),
        "{error}"
    );
    let mut request = request(&bench.tree(), &bench.output());
    request.sboms = Some(SbomRequest {
        program: None,
        ..syft(&bench, "")
    });
    assert!(matches!(run(&request), Err(PackError::NoSyft)));
}

/// Objects with a program that may create pods, and one that may not.
const STARTER: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: runner}
rules: [{apiGroups: [batch], resources: [jobs], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: runner}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: runner}
subjects: [{kind: ServiceAccount, name: runner}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: runner}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {serviceAccountName: runner, containers: [{name: a, image: 'quay.io/org/runner:1'}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: idle}
spec: {selector: {matchLabels: {c: d}}, template: {metadata: {labels: {c: d}}, spec: {containers: [{name: a, image: 'quay.io/org/idle:1'}]}}}
";

#[test]
fn references_in_programs_that_may_create_pods_are_candidates() {
    let bench = Bench::new();
    let program = |name: &str| {
        let text = "\x7fELF\x02\x01\0quay.io/org/executor:no tag\0quay.io/org/runner:v9\0ghcr.io/org/sidecar:1.2\0registry.example.com/app:v1.0 cloud-vendor/hyperkube:v1.0.7\0";
        let image = ImageBuilder::new()
            .layer(base())
            .file("/etc/readme", "quay.io/org/readme:1.2\0", 0o644)
            .file(&format!("/bin/{name}"), text, 0o755)
            .build();
        let layout = OciLayout::create(bench.tree().join(format!("images/{name}"))).unwrap();
        layout.add(&image.into(), None).unwrap().finish().unwrap();
        format!(
            "    - {{name: {name}, tag: '1', source: 'oci:images/{name}', ref: 'quay.io/org/{name}:1'}}\n"
        )
    };
    let images = [program("runner"), program("idle")].concat();
    let set = "  manifests: [{name: jobs, files: [jobs.yaml]}]\n";
    bench.edit("  operator:", &format!("{images}{set}  operator:"));
    fs::write(bench.tree().join("jobs.yaml"), STARTER).unwrap();
    let packed = run(&request(&bench.tree(), &bench.output())).unwrap();
    let found: Vec<_> = packed
        .candidates
        .iter()
        .map(|candidate| {
            (
                candidate.image.to_string(),
                candidate.file.as_str(),
                candidate.reference.as_str(),
            )
        })
        .collect();
    let candidate = |reference| ("runner:1".to_owned(), "/bin/runner", reference);
    assert_eq!(
        found,
        [
            candidate("ghcr.io/org/sidecar:1.2"),
            candidate("quay.io/org/executor")
        ]
    );
}

//! Layouts and directories created by fixtures, with one kind of damage per test.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use fixtures::image::{Artifact, Format, Image, ImageBuilder, Index, Platform};
use fixtures::layer::Layer;
use fixtures::layout::{self, OciLayout};
use progress::Watch;
use tempfile::TempDir;

use super::*;
use crate::cache::Cache;
use crate::context::Compression;
use crate::remote::{Remote, SourceNetwork};
use crate::unpacking::UnpackSession;
use crate::{Event, limits};

struct Tree {
    directory: TempDir,
    artifact: Artifact,
}

/// Collects with a separate cache.
pub(super) fn collect_on(
    base: &Path,
    image: &SourceImage,
    compression: Compression,
    threads: usize,
    session: &mut CollectSession,
) -> Result<CollectedImage, SourceError> {
    let cache = Cache::new(&base.join("cache"));
    let unpacking = UnpackSession::new(limits::UNPACK_LIMIT);
    let watch = Watch::silent(Cancel::never());
    let means = means(&cache, unpacking, &watch);
    let means = SourceContext {
        compression,
        threads: NonZeroUsize::new(threads).unwrap(),
        ..means
    };
    super::collect_one(base, image, &means, session)
}

/// Returns a context with one thread and without compression.
pub(super) fn means<'a>(
    cache: &'a Cache,
    unpacking: UnpackSession,
    watch: &'a Watch<'a, Event>,
) -> SourceContext<'a> {
    static NOWHERE: LazyLock<Remote> = LazyLock::new(Remote::default);
    SourceContext {
        cache,
        with_referrers: false,
        unpacking,
        network: SourceNetwork::new(&NOWHERE, cache, watch),
        compression: Compression::None,
        threads: NonZeroUsize::MIN,
        watch,
        postponed: None,
    }
}

pub(super) fn collect_with(
    base: &Path,
    image: &SourceImage,
    compression: Compression,
    session: &mut CollectSession,
) -> Result<CollectedImage, SourceError> {
    collect_on(base, image, compression, 2, session)
}

fn collect_one(
    base: &Path,
    image: &SourceImage,
    session: &mut CollectSession,
) -> Result<CollectedImage, SourceError> {
    collect_with(base, image, Compression::None, session)
}

pub(super) fn image(architecture: &str) -> Image {
    ImageBuilder::new()
        .platform(Platform::linux(architecture))
        .layer(Layer::random(7, 5000))
        .file("/app", architecture, 0o755)
        .build()
}

fn index() -> Artifact {
    Index::new(Format::Oci, vec![image("amd64"), image("arm64")]).into()
}

impl Tree {
    /// Writes `artifact` as the layout `layout` with the tag `1`, and as the directory `dir`.
    fn new(artifact: Artifact) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let layout = OciLayout::create(directory.path().join("layout")).unwrap();
        layout.add(&artifact, Some("1")).unwrap().finish().unwrap();
        layout::write_dir(&directory.path().join("dir"), &artifact).unwrap();
        Self {
            directory,
            artifact,
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn blob(&self, digest: &str) -> PathBuf {
        let hex = digest.strip_prefix("sha256:").unwrap();
        self.path("layout/blobs/sha256").join(hex)
    }

    fn edit(path: &Path, from: &str, to: &str) {
        let text = fs::read_to_string(path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    }

    fn collect(&self, source: &str, platforms: &[&str]) -> Result<CollectedImage, SourceError> {
        let image = SourceImage {
            platforms: platforms.iter().map(|text| text.parse().unwrap()).collect(),
            ..source_image(source)
        };
        collect_one(self.directory.path(), &image, &mut CollectSession::new())
    }

    fn refused(&self, source: &str) -> String {
        let message = self.collect(source, &[]).unwrap_err().to_string();
        message.replace(&self.directory.path().display().to_string(), "DIR")
    }
}

/// Returns the location of a blob that is on this disk.
pub(super) fn here(blob: &ImageBlob) -> &LocalBlob {
    match blob {
        ImageBlob::Local(here) => here,
        ImageBlob::Remote(wanted) => panic!("{wanted:?} is not here"),
    }
}

fn digests(collected: &CollectedImage) -> Vec<String> {
    let ImageContents { root, children, .. } = &*collected.contents;
    let documents = std::iter::once(root).chain(children);
    documents
        .map(|document| document.digest.to_string())
        .collect()
}

#[test]
fn an_index_comes_with_all_it_refers_to() {
    let tree = Tree::new(index());
    let expected: Vec<String> = std::iter::once(tree.artifact.descriptor())
        .chain(tree.artifact.images().iter().map(Image::descriptor))
        .map(|descriptor| descriptor.digest.clone())
        .collect();
    for source in ["oci:layout:1", "oci:layout", "dir:dir"] {
        let collected = tree.collect(source, &[]).unwrap();
        assert_eq!(digests(&collected), expected, "{source}");
        assert_eq!(*collected.contents.root.bytes, *tree.artifact.manifest());
        // Two configurations, two separate layers, and a shared one.
        assert_eq!(collected.contents.blobs.len(), 5, "{source}");
        for blob in &collected.contents.blobs {
            let bytes = here(blob).read().unwrap();
            assert_eq!(
                (files::digest(&bytes), bytes.len() as u64),
                (blob.digest(), blob.size())
            );
        }
    }
}

#[test]
fn one_platform_becomes_the_image() {
    let tree = Tree::new(index());
    let arm = &tree.artifact.images()[1].descriptor().digest;
    for source in ["oci:layout:1", "dir:dir"] {
        let collected = tree.collect(source, &["linux/arm64"]).unwrap();
        assert_eq!(digests(&collected), std::slice::from_ref(arm));
        assert_eq!(collected.contents.blobs.len(), 3);
        let all = tree
            .collect(source, &["linux/arm64", "linux/amd64"])
            .unwrap();
        assert_eq!(all.contents.children.len(), 2);
    }
}

#[test]
fn an_image_that_is_built_for_another_platform_than_it_was_chosen_for_is_refused() {
    let tree = Tree::new(index());
    Tree::edit(&tree.path("dir/manifest.json"), "arm64", "s390x");
    let checked = |platforms: &[&str]| {
        let images = [tree.collect("dir:dir", platforms).unwrap()];
        let blobs = blobs(&images);
        let blobs = blobs
            .iter()
            .map(|(digest, blob)| (*digest, here(blob).clone()));
        let checked = check_configurations(&images, &blobs.collect(), Cancel::never());
        checked.map_err(|failed| failed[0].error.to_string())
    };
    assert_eq!(checked(&["linux/amd64"]), Ok(()));
    let refused = checked(&["linux/s390x"]).unwrap_err();
    assert!(
        refused
            .starts_with("its index lists it for `linux/s390x`, but it is built for `linux/arm64`"),
        "{refused}"
    );
    // An archive with the index repeats the platform, so a mismatch is a finding there.
    assert_eq!(checked(&["linux/s390x", "linux/amd64"]), Ok(()));
}

#[test]
fn one_platform_can_be_taken_from_a_layout_that_lacks_the_others() {
    let tree = Tree::new(index());
    fs::remove_file(tree.blob(&tree.artifact.images()[1].descriptor().digest)).unwrap();
    assert!(tree.collect("oci:layout:1", &["linux/amd64"]).is_ok());
    let message = tree.refused("oci:layout:1");
    assert!(message.starts_with("manifest sha256:"), "{message}");
    assert!(message.ends_with("copy the image with `skopeo copy --all`, or select the available platform with `platforms`"), "{message}");
}

#[test]
fn a_single_image_tells_its_platform_by_its_configuration() {
    let tree = Tree::new(image("arm64").into());
    assert!(tree.collect("oci:layout", &["linux/arm64"]).is_ok());
    let error = tree.collect("dir:dir", &["linux/amd64"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "has no platform `linux/amd64`; it has: `linux/arm64`"
    );
}

#[test]
fn a_path_that_is_cut_at_a_colon_is_told_with_the_split() {
    let tree = Tree::new(index());
    for (source, expected) in [
        (
            "oci-archive:pause:3.10.1.tar",
            "there is no file `pause`: the first colon ends its path, and `3.10.1.tar` is read as the tag; rename it if its name has a colon",
        ),
        (
            "docker-archive:pause:3.10.1.tar",
            "there is no file `pause`: the first colon ends its path, and `3.10.1.tar` is read as the reference; rename it if its name has a colon",
        ),
        (
            "oci:pause:3.10.1",
            "there is no directory `pause`: the first colon ends its path, and `3.10.1` is read as the tag; rename it if its name has a colon",
        ),
    ] {
        assert_eq!(tree.refused(source), expected);
    }
    let missing = tree.refused("oci-archive:pause.tar");
    assert!(missing.contains("`DIR/pause.tar`"), "{missing}");
}

#[test]
fn foreign_layers_are_taken_where_they_are_and_named_where_they_are_not() {
    let tree = Tree::new(image("amd64").into());
    let layer = r#""mediaType":"application/vnd.oci.image.layer.v1.tar+gzip""#;
    let foreign = r#""mediaType":"application/vnd.oci.image.layer.nondistributable.v1.tar+gzip","urls":["https://example.test/layer"]"#;
    Tree::edit(&tree.path("dir/manifest.json"), layer, foreign);
    let collected = tree.collect("dir:dir", &[]).unwrap();
    assert!(collected.contents.foreign_layers);
    assert_eq!(collected.contents.blobs.len(), 3);
    let plain = tree.collect("oci:layout:1", &[]).unwrap();
    assert!(!plain.contents.foreign_layers);

    let first = here(&collected.contents.blobs[0]).digest;
    let layers = collected
        .contents
        .blobs
        .iter()
        .map(|blob| here(blob).clone());
    let config = collected.contents.configurations[0].digest;
    assert!(first == config || layers.clone().any(|blob| blob.digest == config));
    let manifest = fs::read_to_string(tree.path("dir/manifest.json")).unwrap();
    let is_foreign = |blob: &LocalBlob| {
        let at = manifest.find(&blob.digest.to_string()).unwrap();
        manifest[..at].ends_with(r#"["https://example.test/layer"],"digest":""#)
    };
    let foreign = layers.clone().find(is_foreign).unwrap();
    fs::remove_file(&foreign.path).unwrap();
    let message = tree.refused("dir:dir");
    let expected = format!("foreign layer {} is missing", foreign.digest);
    assert!(message.starts_with(&expected), "{message}");
}

#[test]
fn a_tag_is_needed_only_when_there_are_several_images() {
    let tree = Tree::new(image("amd64").into());
    let several = OciLayout::create(tree.path("several")).unwrap();
    let several = several.add(&tree.artifact, Some("1")).unwrap();
    let several = several.add(&tree.artifact, Some("same")).unwrap();
    several.finish().unwrap();
    assert!(tree.collect("oci:several", &[]).is_ok());

    let several = OciLayout::create(tree.path("several")).unwrap();
    let several = several.add(&tree.artifact, Some("1")).unwrap();
    several.add(&index(), Some("2")).unwrap().finish().unwrap();
    assert_eq!(
        tree.refused("oci:several"),
        "`DIR/several/index.json` contains multiple images; write `oci:DIR:TAG` with one of: `1`, `2`"
    );
    assert_eq!(
        tree.refused("oci:several:3"),
        "`DIR/several/index.json` has no image with tag `3`; it has: `1`, `2`"
    );
    Tree::edit(&tree.path("several/index.json"), r#":"2""#, r#":"1""#);
    assert!(
        tree.refused("oci:several:1")
            .contains("has tag `1` for several images")
    );
    OciLayout::create(tree.path("none"))
        .unwrap()
        .finish()
        .unwrap();
    assert_eq!(
        tree.refused("oci:none"),
        "`DIR/none/index.json` names no image"
    );
    assert_eq!(
        tree.refused("oci:none:1"),
        "`DIR/none/index.json` names no image"
    );
}

#[test]
fn what_is_no_layout_is_said_to_be_none() {
    let tree = Tree::new(image("amd64").into());
    assert_eq!(
        tree.refused("oci:dir"),
        "`DIR/dir` is not an OCI image layout: it has no file `oci-layout`"
    );
    assert_eq!(
        tree.refused("oci:absent"),
        "cannot read `DIR/absent/oci-layout`"
    );
    assert_eq!(
        tree.refused("dir:layout"),
        "cannot read `DIR/layout/version`"
    );
    fs::write(
        tree.path("layout/oci-layout"),
        r#"{"imageLayoutVersion":"2.0.0"}"#,
    )
    .unwrap();
    assert_eq!(
        tree.refused("oci:layout"),
        "`DIR/layout/oci-layout` has layout version `2.0.0`; only 1.0.0 is known"
    );
    fs::write(tree.path("dir/version"), "Version 7\n").unwrap();
    assert!(
        tree.refused("dir:dir")
            .starts_with("`DIR/dir/version` does not begin with")
    );
}

#[test]
fn documents_are_verified_when_they_are_read() {
    let tree = Tree::new(image("amd64").into());
    let path = tree.blob(&tree.artifact.descriptor().digest);
    let bytes = fs::read(&path).unwrap();

    let mut flipped = bytes.clone();
    *flipped.last_mut().unwrap() = b' ';
    fs::write(&path, &flipped).unwrap();
    let message = tree.refused("oci:layout");
    assert!(message.contains(" has digest sha256:"), "{message}");
    assert!(message.ends_with("; copy the image again"), "{message}");

    fs::write(&path, &bytes[1..]).unwrap();
    let message = tree.refused("oci:layout");
    assert!(
        message.contains(&format!(
            "has {} bytes instead of {}",
            bytes.len() - 1,
            bytes.len()
        )),
        "{message}"
    );
}

#[test]
fn a_document_must_be_what_its_descriptor_says() {
    let tree = Tree::new(image("amd64").into());
    Tree::edit(
        &tree.path("layout/index.json"),
        "vnd.oci.image.manifest.v1",
        "vnd.docker.distribution.manifest.v2",
    );
    let message = tree.refused("oci:layout");
    assert!(message.ends_with("is of type `application/vnd.oci.image.manifest.v1+json`, but what refers to it says `application/vnd.docker.distribution.manifest.v2+json`"), "{message}");
}

#[test]
fn a_document_is_compared_with_each_descriptor() {
    let tree = Tree::new(index());
    let image = tree.artifact.images()[0].descriptor();
    let child = |media_type: &str| {
        let (digest, size) = (&image.digest, image.size);
        format!(r#"{{"mediaType":"{media_type}","digest":"{digest}","size":{size}}}"#)
    };
    let other = "application/vnd.docker.distribution.manifest.v2+json";
    for (again, taken) in [(image.media_type.as_str(), true), (other, false)] {
        let children = [child(&image.media_type), child(again)].join(",");
        let text = format!(r#"{{"schemaVersion":2,"manifests":[{children}]}}"#);
        fs::write(tree.path("dir/manifest.json"), text).unwrap();
        match tree.collect("dir:dir", &[]) {
            Ok(collected) => assert!(taken && collected.contents.children.len() == 1, "{again}"),
            Err(error) => assert!(!taken && error.to_string().contains(other), "{error}"),
        }
    }
}

#[test]
fn documents_that_readers_could_understand_differently_are_refused() {
    let tree = Tree::new(image("amd64").into());
    Tree::edit(
        &tree.path("dir/manifest.json"),
        "{",
        r#"{"schemaVersion":2,"#,
    );
    let error = tree.collect("dir:dir", &[]).unwrap_err();
    let SourceError::Document(_, source) = error else {
        panic!("{error}")
    };
    let reason = std::error::Error::source(&source).unwrap().to_string();
    assert!(reason.contains("duplicate key `schemaVersion`"), "{reason}");
}

#[test]
fn blobs_must_be_there_in_their_size() {
    let tree = Tree::new(image("amd64").into());
    let layer = Layer::random(7, 5000);
    let hex = layer.digest().strip_prefix("sha256:").unwrap();
    for (source, blob) in [
        ("oci:layout", tree.blob(layer.digest())),
        ("dir:dir", tree.path("dir").join(hex)),
    ] {
        fs::write(&blob, [0; 4999]).unwrap();
        let message = tree.refused(source);
        assert!(
            message.ends_with("has 4999 bytes instead of 5000; copy the image again"),
            "{message}"
        );
        fs::remove_file(&blob).unwrap();
        let message = tree.refused(source);
        assert!(
            message.starts_with(&format!("blob sha256:{hex} is missing at `DIR/")),
            "{message}"
        );
        fs::create_dir(&blob).unwrap();
        assert!(tree.refused(source).ends_with("is not a regular file"));
    }
}

#[test]
fn an_empty_blob_has_the_digest_of_nothing() {
    let tree = Tree::new(image("amd64").into());
    let layer = Layer::random(7, 5000);
    let hex = layer.digest().strip_prefix("sha256:").unwrap();
    Tree::edit(
        &tree.path("dir/manifest.json"),
        "\"size\":5000",
        "\"size\":0",
    );
    fs::write(tree.path("dir").join(hex), []).unwrap();
    let message = tree.refused("dir:dir");
    let words = format!("`DIR/dir/{hex}` has digest sha256:e3b0c442");
    assert!(message.starts_with(&words), "{message}");
}

#[test]
fn other_digests_are_a_problem_only_where_they_are_needed() {
    let tree = Tree::new(image("amd64").into());
    let digest = &tree.artifact.descriptor().digest;
    let index = tree.path("layout/index.json");
    let other = format!(
        r#"{{"mediaType":"m","digest":"sha512:{}","size":1}},{{"mediaType""#,
        "0".repeat(128)
    );
    let text = fs::read_to_string(&index).unwrap();
    fs::write(
        &index,
        text.replacen(r#"[{"mediaType""#, &format!("[{other}"), 1),
    )
    .unwrap();
    assert_eq!(
        digests(&tree.collect("oci:layout:1", &[]).unwrap()),
        std::slice::from_ref(digest)
    );
    Tree::edit(&index, digest, "sha512:00");
    let message = tree.refused("oci:layout:1");
    assert!(
        message.ends_with("refers to content by an invalid digest"),
        "{message}"
    );
}

/// Nested indexes.
fn nested(levels: usize) -> TempDir {
    let tree = Tree::new(index());
    let mut child = tree.artifact.descriptor().clone();
    for _ in 0..levels {
        let text = format!(
            r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{{"mediaType":"{}","digest":"{}","size":{}}}]}}"#,
            child.media_type, child.digest, child.size
        );
        child.digest = files::digest(text.as_bytes()).to_string();
        child.size = text.len() as u64;
        fs::write(tree.blob(&child.digest), text).unwrap();
    }
    let text = format!(
        r#"{{"schemaVersion":2,"manifests":[{{"mediaType":"{}","digest":"{}","size":{}}}]}}"#,
        child.media_type, child.digest, child.size
    );
    fs::write(tree.path("layout/index.json"), text).unwrap();
    tree.directory
}

#[test]
fn nested_indexes_are_followed_to_a_bound() {
    for (levels, children) in [(1, Some(3)), (3, Some(5)), (4, None)] {
        let directory = nested(levels);
        let image = source_image("oci:layout");
        let collected = collect_one(directory.path(), &image, &mut CollectSession::new());
        match children {
            Some(number) => assert_eq!(collected.unwrap().contents.children.len(), number),
            None => assert!(
                collected
                    .unwrap_err()
                    .to_string()
                    .ends_with("is nested more than 4 indexes deep")
            ),
        }
    }
}

pub(super) fn source_image(source: &str) -> SourceImage {
    SourceImage {
        name: "org/app".parse().unwrap(),
        tag: "1.0".parse().unwrap(),
        source: source.parse().unwrap(),
        reference: None,
        platforms: Vec::new(),
    }
}

/// The work for many images of one layout depends on the size of the layout only.
#[test]
fn a_layout_is_opened_once_for_all_its_images() {
    let directory = tempfile::tempdir().unwrap();
    let layout = OciLayout::create(directory.path().join("layout")).unwrap();
    let (one, other) = (image("amd64").into(), index());
    let layout = layout.add(&one, Some("1")).unwrap();
    let layout = layout.add(&one, Some("2")).unwrap();
    layout.add(&other, Some("3")).unwrap().finish().unwrap();
    let mut session = CollectSession::new();
    let mut collect = |tag: u8| {
        let image = source_image(&format!("oci:layout:{tag}"));
        collect_one(directory.path(), &image, &mut session).unwrap()
    };
    let first = collect(1);
    // Files are not read again, and a document with two tags is processed once.
    for name in ["oci-layout", "index.json"] {
        fs::remove_file(directory.path().join("layout").join(name)).unwrap();
    }
    assert!(Rc::ptr_eq(&first.contents, &collect(2).contents));
    assert_eq!(collect(3).contents.children.len(), 2);
}

#[test]
fn images_with_more_contents_than_archives_have_are_not_looked_for_to_their_end() {
    let tree = Tree::new(index());
    let mut session = CollectSession::new();
    let image = source_image("oci:layout:1");
    // Three documents and five blobs each.
    let most = schemas::limits::FILES / 8;
    for _ in 0..most {
        collect_one(tree.directory.path(), &image, &mut session).unwrap();
    }
    let error = collect_one(tree.directory.path(), &image, &mut session).unwrap_err();
    assert!(matches!(error, SourceError::Contents), "{error}");
}

#[test]
fn collecting_ends_when_it_is_told_to() {
    let tree = Tree::new(index());
    let cache = Cache::new(&tree.path("cache"));
    let cancelled = AtomicBool::new(true);
    let watch = Watch::silent(Cancel::from_flag(&cancelled));
    let means = means(&cache, UnpackSession::new(0), &watch);
    for source in ["oci:layout:1", "dir:dir"] {
        let (base, image) = (tree.directory.path(), source_image(source));
        let error =
            super::collect_one(base, &image, &means, &mut CollectSession::new()).unwrap_err();
        assert!(
            matches!(error, SourceError::Interrupted(_)),
            "{source}: {error}"
        );
    }
}

#[test]
fn an_index_of_nothing_is_refused() {
    let tree = Tree::new(Index::new(Format::Oci, Vec::new()).into());
    let message = tree.refused("dir:dir");
    assert!(
        message.ends_with("lists no manifest, so there is no image to run"),
        "{message}"
    );
}

#[test]
fn all_who_refer_to_a_content_agree_on_its_size() {
    let tree = Tree::new(image("amd64").into());
    let mut session = CollectSession::new();
    let image = source_image("dir:dir");
    collect_one(tree.directory.path(), &image, &mut session).unwrap();
    let layer = Layer::random(7, 5000);
    Tree::edit(
        &tree.path("dir/manifest.json"),
        r#""size":5000"#,
        r#""size":4999"#,
    );
    fs::write(
        tree.path("dir")
            .join(layer.digest().strip_prefix("sha256:").unwrap()),
        [0; 4999],
    )
    .unwrap();
    let error = collect_one(tree.directory.path(), &image, &mut session).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "content {} is given with two different sizes",
            layer.digest()
        )
    );
}

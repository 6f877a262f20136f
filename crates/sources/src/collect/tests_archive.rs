//! Tar files with images created by fixtures, with one kind of damage per test.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use fixtures::artifact;
use fixtures::layout::OciLayout;
use fixtures::saved::{self, Names, Saved};
use flate2::read::MultiGzDecoder;
use schemas::ImageDocument;
use tempfile::TempDir;

use super::CollectedImage;
use super::session::CollectSession;
use super::tests::{collect_with, here, image, source_image};
use crate::SourceError;
use crate::blob::ImageBlob;
use crate::context::Compression;

/// More than one block of the encoders.
const LARGE: usize = 5_000_000;

pub(super) fn text(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let words = std::iter::from_fn(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        Some(format!("{:x} ", state >> 52).into_bytes())
    });
    words.flatten().take(LARGE).collect()
}

pub(super) fn two_images() -> [Saved; 2] {
    let base = saved::layer("base", &text(1));
    let of = |name: &str, tags: &[&str]| Saved {
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        layers: vec![base.clone(), saved::layer(name, name.as_bytes())],
        comment: name.to_owned(),
    };
    [
        of("one", &["r.test/one:1", "one:latest"]),
        of("two", &["r.test/two:1"]),
    ]
}

pub(super) struct Bench(pub(super) TempDir);

impl Bench {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn save(&self, name: &str, images: &[Saved], names: Names) {
        saved::docker_archive(&self.path(name), images, names).unwrap();
    }

    pub(super) fn compressed(
        &self,
        source: &str,
        compression: Compression,
    ) -> Result<CollectedImage, SourceError> {
        let image = source_image(source);
        collect_with(
            self.0.path(),
            &image,
            compression,
            &mut CollectSession::new(),
        )
    }

    pub(super) fn collect(&self, source: &str) -> Result<CollectedImage, SourceError> {
        self.compressed(source, Compression::None)
    }

    pub(super) fn refused(&self, source: &str) -> String {
        let error = self.collect(source).unwrap_err();
        let mut message = error.to_string();
        let mut next = std::error::Error::source(&error);
        while let Some(cause) = next {
            message.push_str(": ");
            message.push_str(&cause.to_string());
            next = cause.source();
        }
        message.replace(&self.0.path().display().to_string(), "DIR")
    }
}

fn bytes(blob: &ImageBlob) -> Vec<u8> {
    here(blob).read().unwrap()
}

pub(super) fn layers(collected: &CollectedImage) -> Vec<(String, Vec<u8>)> {
    let ImageDocument::Manifest(manifest) =
        ImageDocument::from_slice(&collected.contents.root.bytes).unwrap()
    else {
        panic!("not a manifest")
    };
    let of = |layer: &schemas::Descriptor| {
        let blob = collected
            .contents
            .blobs
            .iter()
            .find(|blob| blob.digest() == layer.digest)
            .unwrap();
        let content = bytes(blob);
        assert_eq!(
            (files::digest(&content), content.len() as u64),
            (layer.digest, layer.size)
        );
        (layer.media_type.clone(), content)
    };
    manifest.layers.iter().map(of).collect()
}

#[test]
fn a_saved_image_gets_one_manifest_from_both_layouts() {
    let bench = Bench::new();
    let images = two_images();
    bench.save("old.tar", &images, Names::Directories);
    bench.save("new.tar", &images, Names::Blobs);
    bench.save("single.tar", &images[1..], Names::Directories);
    let [old, new, single] = ["old.tar:r.test/two:1", "new.tar:r.test/two:1", "single.tar"]
        .map(|file| bench.collect(&format!("docker-archive:{file}")).unwrap());
    assert_eq!(old.contents.root, new.contents.root);
    assert_eq!(old.contents.root, single.contents.root);
    // A fixed value, because publishers compare digests.
    assert_eq!(
        old.contents.root.digest.to_string(),
        "sha256:a9d03bbbb38155b8e3a7756fa701cc811bb1c03b84007407fdcd54f368273e29"
    );
    for collected in [old, new, single] {
        assert_eq!(
            collected.reference.as_ref().unwrap().to_string(),
            "r.test/two:1"
        );
        let plain = "application/vnd.oci.image.layer.v1.tar".to_owned();
        let expected = images[1]
            .layers
            .iter()
            .map(|layer| (plain.clone(), layer.clone()));
        assert_eq!(layers(&collected), expected.collect::<Vec<_>>());
        let config = collected
            .contents
            .blobs
            .iter()
            .find(|blob| blob.digest() == files::digest(&images[1].config()));
        assert_eq!(bytes(config.unwrap()), images[1].config());
    }
}

/// The store of an engine, or a layout with very many images, is one file.
#[test]
fn a_tar_is_opened_once_for_all_its_images() {
    let bench = Bench::new();
    bench.save("a.tar", &two_images(), Names::Directories);
    let layout = OciLayout::create(bench.path("layout")).unwrap();
    let layout = layout.add(&image("amd64").into(), Some("1")).unwrap();
    let layout = layout.add(&image("arm64").into(), Some("2")).unwrap();
    layout.finish().unwrap();
    saved::tar_of_directory(&bench.path("b.tar"), &bench.path("layout")).unwrap();
    for (tar, one, two) in [
        (
            "a.tar",
            "docker-archive:a.tar:one",
            "docker-archive:a.tar:r.test/two:1",
        ),
        ("b.tar", "oci-archive:b.tar:1", "oci-archive:b.tar:2"),
    ] {
        let mut session = CollectSession::new();
        let mut collect = |source: &str| {
            let image = source_image(source);
            collect_with(bench.0.path(), &image, Compression::None, &mut session).unwrap()
        };
        let one = collect(one);
        // Opening the file again would fail.
        fs::remove_file(bench.path(tar)).unwrap();
        let two = collect(two);
        assert_ne!(one.contents.root, two.contents.root, "{tar}");
    }
}

#[test]
fn one_of_several_is_named_as_engines_complete_names() {
    let bench = Bench::new();
    bench.save("a.tar", &two_images(), Names::Blobs);
    for (name, reference) in [
        ("one", Some("one:latest")),
        ("docker.io/library/one:latest", Some("one:latest")),
        ("r.test/one:1", Some("r.test/one:1")),
    ] {
        let collected = bench
            .collect(&format!("docker-archive:a.tar:{name}"))
            .unwrap();
        assert_eq!(
            collected
                .reference
                .map(|reference| reference.to_string())
                .as_deref(),
            reference,
            "{name}"
        );
    }
    assert_eq!(
        bench.refused("docker-archive:a.tar"),
        "`DIR/a.tar` contains multiple images; write `docker-archive:FILE:REF` with one of: `r.test/one:1`, `one:latest`, `r.test/two:1`"
    );
    assert!(
        bench
            .refused("docker-archive:a.tar:three")
            .contains("has no image with tag `three`; it has: `r.test/one:1`")
    );
    // With two names and no selection, the name that workloads use is unknown.
    bench.save("b.tar", &two_images()[..1], Names::Blobs);
    assert_eq!(
        bench.collect("docker-archive:b.tar").unwrap().reference,
        None
    );
    let local = Saved {
        tags: vec!["localhost/app:1".to_owned()],
        ..two_images()[1].clone()
    };
    bench.save("c.tar", &[local], Names::Blobs);
    assert_eq!(
        bench.collect("docker-archive:c.tar").unwrap().reference,
        None
    );
}

#[test]
fn compressed_layers_are_the_same_whatever_the_number_of_threads() {
    let bench = Bench::new();
    let images = two_images();
    bench.save("a.tar", &images[..1], Names::Directories);
    for (compression, suffix, digest) in [
        (
            Compression::Gzip,
            "+gzip",
            "sha256:5f794fa27d3311a5755b3367db6bbc5bd72b56fee56311c1cd5e3335ea4f7a23",
        ),
        (
            Compression::Zstd,
            "+zstd",
            "sha256:f4dac4b7818ec32831b942f007d45d0d38ac2fb59be1ca868b0571d4bc6ff6a6",
        ),
    ] {
        let first = bench
            .compressed("docker-archive:a.tar", compression)
            .unwrap();
        for (number, (media_type, packed)) in layers(&first).into_iter().enumerate() {
            assert_eq!(
                media_type,
                format!("application/vnd.oci.image.layer.v1.tar{suffix}")
            );
            let mut unpacked = Vec::new();
            if compression == Compression::Gzip {
                MultiGzDecoder::new(packed.as_slice())
                    .read_to_end(&mut unpacked)
                    .unwrap();
            } else {
                zstd::Decoder::new(packed.as_slice())
                    .unwrap()
                    .read_to_end(&mut unpacked)
                    .unwrap();
            }
            assert!(unpacked == images[0].layers[number], "{number}");
            assert!(
                number != 0 || packed.len() < LARGE * 3 / 5,
                "{}",
                packed.len()
            );
        }
        // A fixed value, to detect a different encoder.
        assert_eq!(first.contents.root.digest.to_string(), digest);
        for threads in [1, 5] {
            fs::remove_dir_all(bench.path("cache")).unwrap();
            let image = source_image("docker-archive:a.tar");
            let again = super::tests::collect_on(
                bench.0.path(),
                &image,
                compression,
                threads,
                &mut CollectSession::new(),
            );
            assert_eq!(
                again.unwrap().contents.root,
                first.contents.root,
                "{threads}"
            );
        }
    }
}

#[test]
fn what_was_compressed_is_not_compressed_again() {
    let bench = Bench::new();
    let mut images = two_images();
    bench.save("a.tar", &images[..1], Names::Directories);
    let first = bench
        .compressed("docker-archive:a.tar", Compression::Zstd)
        .unwrap();
    let written = |collected: &CollectedImage| {
        let blob = collected
            .contents
            .blobs
            .iter()
            .max_by_key(|blob| blob.size())
            .unwrap();
        fs::metadata(&here(blob).path).unwrap().created().unwrap()
    };
    let at_first = written(&first);
    images[0].layers[1] = saved::layer("one", b"changed");
    bench.save("a.tar", &images[..1], Names::Directories);
    let second = bench
        .compressed("docker-archive:a.tar", Compression::Zstd)
        .unwrap();
    assert_ne!(first.contents.root, second.contents.root);
    assert_eq!(written(&second), at_first);
}

#[test]
fn a_damaged_layer_is_not_compressed() {
    let bench = Bench::new();
    bench.save("a.tar", &two_images()[..1], Names::Directories);
    let mut bytes = fs::read(bench.path("a.tar")).unwrap();
    bytes[100_000] ^= 1;
    fs::write(bench.path("a.tar"), bytes).unwrap();
    // Without compression, the damage is detected when the layer is written.
    assert!(bench.collect("docker-archive:a.tar").is_ok());
    let error = bench
        .compressed("docker-archive:a.tar", Compression::Gzip)
        .unwrap_err();
    assert!(matches!(error, SourceError::Content { .. }), "{error}");
    assert_eq!(
        fs::read_dir(bench.path("cache/contents")).unwrap().count(),
        0
    );
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn layers_that_are_compressed_already_are_kept_and_compared_with_the_configuration() {
    let bench = Bench::new();
    let image = &two_images()[0];
    let (plain, zstd) = (
        &image.layers[0],
        zstd::bulk::compress(&image.layers[1], 1).unwrap(),
    );
    let write = |first: &[u8]| {
        let mut tar = tar::Builder::new(Vec::new());
        let mut add = |name: &str, bytes: &[u8]| {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            tar.append_data(&mut header, name, bytes).unwrap();
        };
        add("config", &image.config());
        add("first", first);
        add("second", &zstd);
        add(
            "manifest.json",
            br#"[{"Config":"config","RepoTags":null,"Layers":["first","second"]}]"#,
        );
        fs::write(bench.path("a.tar"), tar.into_inner().unwrap()).unwrap();
    };
    write(&gzip(plain));
    for compression in [Compression::None, Compression::Zstd] {
        let collected = bench
            .compressed("docker-archive:a.tar", compression)
            .unwrap();
        let media = |suffix| format!("application/vnd.oci.image.layer.v1.tar+{suffix}");
        assert!(
            layers(&collected) == [(media("gzip"), gzip(plain)), (media("zstd"), zstd.clone())]
        );
    }
    let mut other = plain.clone();
    other[70_000] ^= 1;
    write(&gzip(&other));
    assert!(
        bench
            .refused("docker-archive:a.tar")
            .contains(" has digest sha256:")
    );
}

#[test]
fn a_tar_of_a_layout_is_that_layout() {
    let bench = Bench::new();
    let layout = OciLayout::create(bench.path("layout")).unwrap();
    let layout = layout.add(&image("amd64").into(), Some("1")).unwrap();
    layout
        .add(&image("arm64").into(), Some("2"))
        .unwrap()
        .finish()
        .unwrap();
    saved::tar_of_directory(&bench.path("a.tar"), &bench.path("layout")).unwrap();
    let (from_tar, from_directory) = (
        bench.collect("oci-archive:a.tar:2").unwrap(),
        bench.collect("oci:layout:2").unwrap(),
    );
    assert_eq!(from_tar.contents.root, from_directory.contents.root);
    let contents = |collected: &CollectedImage| {
        collected
            .contents
            .blobs
            .iter()
            .map(bytes)
            .collect::<Vec<_>>()
    };
    assert_eq!(contents(&from_tar), contents(&from_directory));
    assert_eq!(
        bench.refused("oci-archive:a.tar"),
        "`DIR/a.tar/index.json` contains multiple images; write `oci-archive:FILE:TAG` with one of: `1`, `2`"
    );
    assert_eq!(
        bench.refused("docker-archive:a.tar"),
        "`DIR/a.tar` has no `manifest.json`; save the image again"
    );
    bench.save("b.tar", &two_images(), Names::Directories);
    assert_eq!(
        bench.refused("oci-archive:b.tar"),
        "`DIR/b.tar` is not an OCI image layout: it has no file `oci-layout`"
    );
    let blob = here(&from_directory.contents.blobs[0]);
    fs::remove_file(&blob.path).unwrap();
    saved::tar_of_directory(&bench.path("a.tar"), &bench.path("layout")).unwrap();
    assert!(
        bench
            .refused("oci-archive:a.tar:2")
            .starts_with(&format!("blob {} is missing at `DIR/a.tar/", blob.digest))
    );
}

#[test]
fn a_reference_that_engines_noted_is_the_images() {
    let bench = Bench::new();
    let noted = |annotations: &str| {
        let layout = OciLayout::create(bench.path("layout")).unwrap();
        layout
            .add(&image("amd64").into(), Some("1"))
            .unwrap()
            .finish()
            .unwrap();
        let index = bench.path("layout/index.json");
        let text = fs::read_to_string(&index).unwrap();
        let given = r#""org.opencontainers.image.ref.name":"1""#;
        assert!(text.contains(given), "{text}");
        fs::write(&index, text.replace(given, annotations)).unwrap();
        bench
            .collect("oci:layout")
            .unwrap()
            .reference
            .map(|reference| reference.to_string())
    };
    let name = r#""org.opencontainers.image.ref.name":"#;
    assert_eq!(noted(&format!(r#"{name}"1""#)), None);
    assert_eq!(noted(&format!(r#"{name}"org/app:1""#)), None);
    assert_eq!(
        noted(&format!(r#"{name}"r.test/app:1""#)).as_deref(),
        Some("r.test/app:1")
    );
    let both = format!(r#"{name}"1","io.containerd.image.name":"r.test/app:2""#);
    assert_eq!(noted(&both).as_deref(), Some("r.test/app:2"));
}

#[test]
fn what_a_saved_image_lacks_is_named() {
    let bench = Bench::new();
    let write = |manifest: &str, config: &str| {
        let mut tar = tar::Builder::new(Vec::new());
        for (name, text) in [("manifest.json", manifest), ("config", config)] {
            let mut header = tar::Header::new_ustar();
            header.set_size(text.len() as u64);
            tar.append_data(&mut header, name, text.as_bytes()).unwrap();
        }
        fs::write(bench.path("a.tar"), tar.into_inner().unwrap()).unwrap();
        bench.refused("docker-archive:a.tar")
    };
    let empty = r#"{"rootfs":{"diff_ids":[]}}"#;
    assert_eq!(write("[]", empty), "`DIR/a.tar` names no image");
    assert!(write("{", empty).starts_with("`DIR/a.tar/manifest.json` cannot be parsed"));
    assert_eq!(
        write(r#"[{"Config":"x","Layers":[]}]"#, empty),
        "`DIR/a.tar` has no `x`; save the image again"
    );
    let item = r#"[{"Config":"config","Layers":["l"]}]"#;
    assert!(write(item, "{}").starts_with("`DIR/a.tar/config` cannot be parsed"));
    assert_eq!(
        write(item, empty),
        "`DIR/a.tar` lists 1 layers, but the image's configuration 0; save the image again"
    );
    let one = format!(
        r#"{{"rootfs":{{"diff_ids":["sha256:{}"]}}}}"#,
        "0".repeat(64)
    );
    assert_eq!(
        write(item, &one),
        "`DIR/a.tar` has no `l`; save the image again"
    );
    fs::write(
        bench.path("a.tar"),
        "no tar, but as long as a block".repeat(20),
    )
    .unwrap();
    assert!(
        bench
            .refused("docker-archive:a.tar")
            .starts_with("cannot read the contents of `DIR/a.tar`: it is not a tar file")
    );
}

/// A layout with an artifact of each kind, and an index with attestations.
fn layout(bench: &Bench) {
    let layout = OciLayout::create(bench.path("layout")).unwrap();
    let images = ["amd64", "arm64", "s390x"].map(image);
    let all = [
        (artifact::dashboards(), "dashboards"),
        (artifact::policy(), "policy"),
        (artifact::attested(&images), "attested"),
    ];
    let layout = all.iter().fold(layout, |layout, (document, tag)| {
        layout.add_document(document, Some(tag)).unwrap()
    });
    layout.finish().unwrap();
    saved::tar_of_directory(&bench.path("layout.tar"), &bench.path("layout")).unwrap();
}

#[test]
fn artifacts_are_taken_byte_for_byte() {
    let bench = Bench::new();
    layout(&bench);
    for (tag, document, blobs) in [
        ("dashboards", artifact::dashboards(), 3),
        ("policy", artifact::policy(), 2),
    ] {
        for source in ["oci:layout", "oci-archive:layout.tar"] {
            let collected = bench.collect(&format!("{source}:{tag}")).unwrap();
            // Its subject is elsewhere and is not searched.
            assert_eq!(collected.contents.children.len(), 0);
            assert_eq!(
                *collected.contents.root.bytes, *document.bytes,
                "{source}:{tag}"
            );
            let mut contents: Vec<_> = collected.contents.blobs.iter().map(bytes).collect();
            let mut expected = document.contents.clone();
            contents.sort();
            expected.sort();
            assert_eq!(contents, expected);
            assert_eq!(contents.len(), blobs);
        }
    }
    let mut image = source_image("oci:layout:policy");
    image.platforms = vec!["linux/amd64".parse().unwrap()];
    let refused = collect_with(
        bench.0.path(),
        &image,
        Compression::None,
        &mut CollectSession::new(),
    );
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .ends_with("is an artifact, which has no platform; leave out `platforms`")
    );
}

#[test]
fn an_index_may_list_content_of_any_kind() {
    let bench = Bench::new();
    let content = b"not a document".to_vec();
    let (digest, size) = (files::digest(&content), content.len());
    let child = image("amd64");
    let descriptor = child.descriptor();
    let text = format!(
        r#"{{"schemaVersion":2,"manifests":[{{"mediaType":"text/plain","digest":"{digest}","size":{size}}},{{"mediaType":"{}","digest":"{}","size":{}}}]}}"#,
        descriptor.media_type, descriptor.digest, descriptor.size
    );
    let mut contents = child.contents();
    contents.extend([child.manifest().to_vec(), content]);
    let document = artifact::Document {
        media_type: "application/vnd.oci.image.index.v1+json",
        bytes: text.into_bytes(),
        contents,
    };
    let layout = OciLayout::create(bench.path("layout")).unwrap();
    layout
        .add_document(&document, None)
        .unwrap()
        .finish()
        .unwrap();
    let collected = bench.collect("oci:layout").unwrap();
    assert_eq!(collected.contents.children.len(), 1);
    assert!(
        collected
            .contents
            .blobs
            .iter()
            .any(|blob| blob.digest() == digest)
    );
}

#[test]
fn some_platforms_come_with_what_is_about_them() {
    let bench = Bench::new();
    layout(&bench);
    let of = |platforms: &[&str]| {
        let mut image = source_image("oci:layout:attested");
        image.platforms = platforms.iter().map(|text| text.parse().unwrap()).collect();
        collect_with(
            bench.0.path(),
            &image,
            Compression::None,
            &mut CollectSession::new(),
        )
        .unwrap()
    };
    let whole = of(&[]);
    assert_eq!(
        (whole.contents.children.len(), whole.contents.blobs.len()),
        (6, 13)
    );
    assert_eq!(
        of(&["linux/amd64", "linux/arm64", "linux/s390x"])
            .contents
            .root,
        whole.contents.root
    );
    let some = of(&["linux/s390x", "linux/amd64"]);
    assert_eq!(
        some.contents.root,
        of(&["linux/amd64", "linux/s390x"]).contents.root
    );
    // The new index, two images, and the attestation of each; the layers of both and the shared one.
    assert_eq!(
        (some.contents.children.len(), some.contents.blobs.len()),
        (4, 9)
    );
    for document in &some.contents.children {
        assert!(whole.contents.children.contains(document));
    }
    let ImageDocument::Index(index) = ImageDocument::from_slice(&some.contents.root.bytes).unwrap()
    else {
        panic!("not an index")
    };
    assert_eq!(index.manifests.len(), 4);
    let text = String::from_utf8(some.contents.root.bytes.to_vec()).unwrap();
    assert!(
        text.contains(&whole.contents.root.digest.to_string()),
        "{text}"
    );
    // A fixed value, because publishers compare digests.
    assert_eq!(
        some.contents.root.digest.to_string(),
        "sha256:cce81fa61f8d9d356d7ce42aa6e09752c2d6014448326148f85f12aafb434c26"
    );
}

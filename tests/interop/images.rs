//! The images of an unpacked archive, read by skopeo in both views.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::tools::{FileFacts, PackedArchive, Tree, tree_of, try_tool};

/// An image of the archive.
struct Image {
    /// `NAME:TAG`.
    place: String,
    /// The path below `images/`.
    directory: String,
    /// The media type of the root document.
    media_type: String,
    /// The digest in hexadecimal.
    digest: String,
}

/// Returns the images of `index.json`.
fn places(index: &Value) -> Vec<Image> {
    let list = index["manifests"].as_array().unwrap();
    let places = list.iter().map(|entry| {
        let place = entry["annotations"]["org.opencontainers.image.ref.name"]
            .as_str()
            .unwrap();
        Image {
            place: place.to_owned(),
            directory: place.replace(':', "/"),
            media_type: entry["mediaType"].as_str().unwrap().to_owned(),
            digest: entry["digest"]
                .as_str()
                .unwrap()
                .strip_prefix("sha256:")
                .unwrap()
                .to_owned(),
        }
    });
    places.collect()
}

/// Returns the files that skopeo must write for an image: those of the archive's own directory.
fn expected(packed: &PackedArchive, image: &Image) -> Tree {
    let prefix = format!("images/{}/", image.directory);
    let files = packed.files.iter().filter_map(|(path, facts)| {
        path.strip_prefix(&prefix)
            .map(|name| (name.to_owned(), facts.clone()))
    });
    files.collect()
}

/// Returns whether skopeo cannot find an image in the OCI view because it is a Docker image: versions up to that in
/// Debian 12 only read entries of `index.json` with OCI media types, later ones read both.
fn is_hidden_docker_image(image: &Image, stderr: &str) -> bool {
    image.media_type.starts_with("application/vnd.docker.")
        && (stderr.contains("no descriptor found") || stderr.contains("unsupported"))
}

#[test]
fn skopeo_copies_every_image_out_of_both_views_unchanged() {
    for packed in PackedArchive::all() {
        let root = packed.unpacked();
        let index = fs::read(root.join("index.json")).unwrap();
        let places = places(&serde_json::from_slice(&index).unwrap());
        assert!(places.len() >= 2);
        for (number, image) in places.iter().enumerate() {
            let expected = expected(&packed, image);
            assert_eq!(
                expected["manifest.json"].sha256, image.digest,
                "{}",
                image.place
            );
            let copy = |view: &str, source: &str| {
                let name = format!("copy-{number}-{view}");
                let target = format!("dir:{name}");
                let options = ["--insecure-policy", "copy", "--all", "--preserve-digests"];
                let arguments = [&options[..], &[source, &target]].concat();
                let output = try_tool(&packed.directory(), "skopeo", &arguments);
                if output.good {
                    let found = tree_of(&packed.desk.path(&name));
                    assert_eq!(found, expected, "{source}");
                    return Ok(());
                }
                Err(format!("{source}: {}", output.stderr))
            };
            let directory = format!("dir:mounted/images/{}", image.directory);
            copy("dir", &directory).unwrap();
            match copy("oci", &format!("oci:mounted:{}", image.place)) {
                Err(stderr) if is_hidden_docker_image(image, &stderr) => {}
                other => other.unwrap(),
            }
        }
    }
}

#[test]
fn every_name_that_is_a_digest_is_that_of_its_file() {
    for packed in PackedArchive::all() {
        let root = packed.unpacked();
        let mut views: [BTreeSet<String>; 2] = Default::default();
        for (path, FileFacts { sha256, .. }) in tree_of(&root) {
            let name = path.rsplit('/').next().unwrap();
            let name = name.strip_suffix(".manifest.json").unwrap_or(name);
            if name.len() == 64 {
                assert_eq!(name, sha256, "{path}");
            }
            // Both views have the same content; only the `dir:` view has the file `version`.
            if path.starts_with("images/") && name != "version" {
                views[0].insert(sha256);
            } else if path.starts_with("blobs/") {
                views[1].insert(sha256);
            }
        }
        assert!(views[0].len() > 5);
        assert_eq!(views[0], views[1]);
    }
}

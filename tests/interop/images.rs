//! The images as skopeo finds them, in both views of an unpacked archive.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::judged::{Facts, Judged, Tree, ask, tree_of};

/// An image of the archive.
struct Image {
    /// `NAME:TAG`.
    place: String,
    /// Below `images/`.
    directory: String,
    /// Of the root document.
    media_type: String,
    /// Hexadecimal.
    digest: String,
}

/// The images as `index.json` lists them.
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

/// What skopeo must write for an image: the archive's own directory of it.
fn expected(judged: &Judged, image: &Image) -> Tree {
    let prefix = format!("images/{}/", image.directory);
    let files = judged.files.iter().filter_map(|(path, facts)| {
        path.strip_prefix(&prefix)
            .map(|name| (name.to_owned(), facts.clone()))
    });
    files.collect()
}

/// Whether skopeo cannot see an image in the OCI view because the image is Docker's: up to the one in Debian 12 it only
/// looks at entries of `index.json` with OCI media types, later ones find both.
fn is_overlooked(image: &Image, stderr: &str) -> bool {
    image.media_type.starts_with("application/vnd.docker.")
        && (stderr.contains("no descriptor found") || stderr.contains("unsupported"))
}

#[test]
fn skopeo_copies_every_image_out_of_both_views_unchanged() {
    for judged in Judged::all() {
        let root = judged.unpacked();
        let index = fs::read(root.join("index.json")).unwrap();
        let places = places(&serde_json::from_slice(&index).unwrap());
        assert!(places.len() >= 2);
        for (number, image) in places.iter().enumerate() {
            let expected = expected(&judged, image);
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
                let verdict = ask(&judged.directory(), "skopeo", &arguments);
                if verdict.good {
                    let found = tree_of(&judged.desk.path(&name));
                    assert_eq!(found, expected, "{source}");
                    return Ok(());
                }
                Err(format!("{source}: {}", verdict.stderr))
            };
            let directory = format!("dir:mounted/images/{}", image.directory);
            copy("dir", &directory).unwrap();
            match copy("oci", &format!("oci:mounted:{}", image.place)) {
                Err(stderr) if is_overlooked(image, &stderr) => {}
                other => other.unwrap(),
            }
        }
    }
}

#[test]
fn every_name_that_is_a_digest_is_that_of_its_file() {
    for judged in Judged::all() {
        let root = judged.unpacked();
        let mut views: [BTreeSet<String>; 2] = Default::default();
        for (path, Facts { sha256, .. }) in tree_of(&root) {
            let name = path.rsplit('/').next().unwrap();
            let name = name.strip_suffix(".manifest.json").unwrap_or(name);
            if name.len() == 64 {
                assert_eq!(name, sha256, "{path}");
            }
            // Both views hold the same contents; `version` belongs to one of them only.
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

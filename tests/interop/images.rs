//! The images as skopeo finds them, in both views of an unpacked archive.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::judged::{Facts, Judged, must, tree_of};

/// An image of the archive.
struct Place {
    /// `NAME:TAG`.
    place: String,
    /// Below `images/`.
    directory: String,
    /// Hexadecimal.
    digest: String,
}

/// The images as `index.json` lists them.
fn places(index: &Value) -> Vec<Place> {
    let list = index["manifests"].as_array().unwrap();
    let places = list.iter().map(|entry| {
        let place = entry["annotations"]["org.opencontainers.image.ref.name"].as_str().unwrap();
        Place {
            place: place.to_owned(),
            directory: place.replace(':', "/"),
            digest: entry["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap().to_owned(),
        }
    });
    places.collect()
}

/// What skopeo must write for an image: the archive's own directory of it.
fn expected(judged: &Judged, image: &Place) -> crate::judged::Tree {
    let prefix = format!("images/{}/", image.directory);
    let files = judged.files.iter().filter_map(|(path, facts)| {
        path.strip_prefix(&prefix).map(|name| (name.to_owned(), facts.clone()))
    });
    files.collect()
}

#[test]
fn skopeo_copies_every_image_out_of_both_views_unchanged() {
    for judged in Judged::all() {
        let root = judged.unpacked();
        let index: Value = serde_json::from_slice(&fs::read(root.join("index.json")).unwrap()).unwrap();
        let places = places(&index);
        assert!(places.len() >= 2);
        for (number, image) in places.iter().enumerate() {
            let expected = expected(&judged, image);
            assert_eq!(expected["manifest.json"].sha256, image.digest, "{}", image.place);
            let views = [
                format!("dir:mounted/images/{}", image.directory),
                format!("oci:mounted:{}", image.place),
            ];
            for (view, source) in views.iter().enumerate() {
                let name = format!("copy-{number}-{view}");
                let target = format!("dir:{name}");
                let arguments =
                    ["--insecure-policy", "copy", "--all", "--preserve-digests", source, &target];
                must(&judged.directory(), "skopeo", &arguments);
                assert_eq!(tree_of(&judged.desk.path(&name)), expected, "{source}");
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

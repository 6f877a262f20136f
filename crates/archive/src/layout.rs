//! The paths of archive format 1 and the names of its volume (docs/reference/format.md).
//!
//! The module defines the fixed files and directories, the path of every image content, chart and object, and
//! `check_list`, the rules that a signed list must satisfy. Any change here changes the archive format.

use std::collections::BTreeSet;

use iso9660::SECTOR_SIZE;
use schemas::{
    ArchivePath, Contents, ContentsEntry, Digest, ImagePlace, PathError, ReleaseName, SetName,
    SolutionId, VolumeNames,
};
use sha2::{Digest as _, Sha256};

use crate::feature::{CHARTS, Feature, MANIFESTS};

/// The signed statement in its envelope. It is the first file of the image.
pub const STATEMENT: &str = "statement.dsse.json";
/// The offset of the statement in bytes: LBA 32.
pub const STATEMENT_OFFSET: u64 = 32 * SECTOR_SIZE;
/// The list of files. It is the second file of the image.
pub const CONTENTS: &str = "CONTENTS";
/// The offset of the list in bytes: LBA 64.
pub const CONTENTS_OFFSET: u64 = 64 * SECTOR_SIZE;
/// The same list in the format of `sha256sum -c`.
pub const SHA256SUMS: &str = "SHA256SUMS";
/// The Solution's manifest.
pub const MANIFEST: &str = "manifest.yaml";
/// Instructions for a person who mounts the archive.
pub const README: &str = "README.txt";
/// The images in skopeo's `dir:` layout, by name and tag.
pub const IMAGES: &str = "images";
/// The blobs of the OCI image layout.
pub const BLOBS: &str = "blobs/sha256";
/// The marker of an OCI image layout (image specification, "oci-layout file").
pub const OCI_LAYOUT: &str = "oci-layout";
/// The index of the OCI image layout.
pub const INDEX: &str = "index.json";
/// The `CustomResourceDefinition`s.
pub const CRDS: &str = "operator/deploy/crds";
/// The RBAC roles of the operator.
pub const ROLE: &str = "operator/deploy/role.yaml";
/// NGINX locations for upstream's static registry, filled in for upstream's mount point.
pub const REGISTRY_CONFIG: &str = "registry-config.inc";
/// The Jinja template of the same locations, which upstream's import fills in.
pub const REGISTRY_CONFIG_TEMPLATE: &str = "registry-config.inc.j2";

/// The files that describe all other files. They cannot be in the list themselves.
const UNLISTED: [&str; 3] = [STATEMENT, CONTENTS, SHA256SUMS];

/// The kind of file system entry that a name is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameKind {
    File,
    Directory,
}

/// Every top-level name that format 1 defines, with its kind.
const TOP_LEVEL: [(&str, NameKind); 9] = [
    (MANIFEST, NameKind::File),
    (README, NameKind::File),
    (IMAGES, NameKind::Directory),
    ("blobs", NameKind::Directory),
    (OCI_LAYOUT, NameKind::File),
    (INDEX, NameKind::File),
    ("operator", NameKind::Directory),
    (REGISTRY_CONFIG, NameKind::File),
    (REGISTRY_CONFIG_TEMPLATE, NameKind::File),
];

/// The role of a content in its image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageRole {
    /// The manifest or index that the tag names.
    Root,
    /// A manifest or index that the root references.
    Child,
    /// A configuration or layer.
    Blob,
}

/// The reason why a list of files is not a valid list of an archive.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// The list contains one of the files that describe all other files.
    #[error("the signed list must not contain `{0}`")]
    Reserved(ArchivePath),
    /// A file under a top-level name that is neither known nor declared as optional.
    #[error(
        "file `{0}` is under a top-level name that this version does not know and the statement does not declare"
    )]
    TopLevel(ArchivePath),
    /// A file with the name of one of the format's directories, or a file below the name of one of its files.
    #[error("file `{0}` uses the name of a directory of the format for a file, or the reverse")]
    TopLevelKind(ArchivePath),
    /// An empty file whose digest is not that of the empty string.
    #[error("the signed list gives the empty file `{0}` a wrong digest")]
    EmptyDigest(ArchivePath),
    /// The list lacks a file that every archive has.
    #[error("`{0}` is missing from the signed list")]
    Missing(&'static str),
}

impl ListError {
    /// The file that the error is about.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::Reserved(path)
            | Self::TopLevel(path)
            | Self::TopLevelKind(path)
            | Self::EmptyDigest(path) => path.as_str(),
            Self::Missing(path) => path,
        }
    }
}

/// Checks the rules about the list that its own grammar does not express. Writer and reader share them. `optional` are
/// the top-level names that the statement declares; `features` are those that it requires a reader to know.
pub(crate) fn check_list(
    contents: &Contents,
    optional: &[String],
    features: &BTreeSet<Feature>,
) -> Result<(), ListError> {
    let optional: BTreeSet<&str> = optional.iter().map(String::as_str).collect();
    let empty = Digest::new(Sha256::digest([]).into());
    for ContentsEntry { path, size, digest } in contents.entries() {
        if UNLISTED.contains(&path.as_str()) {
            return Err(ListError::Reserved(path.clone()));
        }
        check_top_level(path, &optional, features)?;
        // Empty files occupy no space in the image, so no later pass over the data would detect a wrong digest.
        if *size == 0 && *digest != empty {
            return Err(ListError::EmptyDigest(path.clone()));
        }
    }
    match contents.get(MANIFEST) {
        Some(_) => Ok(()),
        None => Err(ListError::Missing(MANIFEST)),
    }
}

fn check_top_level(
    path: &ArchivePath,
    optional: &BTreeSet<&str>,
    features: &BTreeSet<Feature>,
) -> Result<(), ListError> {
    let (name, kind) = match path.as_str().split_once('/') {
        Some((name, _)) => (name, NameKind::Directory),
        None => (path.as_str(), NameKind::File),
    };
    let directories = features
        .iter()
        .filter_map(|feature| feature.directory())
        .map(|directory| (directory, NameKind::Directory));
    let mut known = TOP_LEVEL.into_iter().chain(directories);
    match known.find(|(known, _)| *known == name) {
        Some((_, meant)) if meant == kind => Ok(()),
        // The optional names of a statement cannot change the kind of a name that the format defines.
        Some(_) => Err(ListError::TopLevelKind(path.clone())),
        None if optional.contains(name) => Ok(()),
        None => Err(ListError::TopLevel(path.clone())),
    }
}

fn path(text: &str) -> ArchivePath {
    text.parse()
        .expect("image names, tags and digests consist of path components, and few enough")
}

/// The path of an object: `manifests/<set>/<NNNN>-<kind>-<name>.yaml`. `place` is its position in the set, counted
/// from 1 (docs/reference/format-manifests.md, 1).
#[must_use]
pub fn object_path(set: &SetName, place: usize, kind: &str, name: &str) -> ArchivePath {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-');
    let mut text = String::new();
    // Runs of characters that paths cannot contain become a single `_`. The position keeps the path unique.
    for c in format!("{}-{name}", kind.to_lowercase()).chars() {
        if plain(c) {
            text.push(c);
        } else if !text.ends_with('_') {
            text.push('_');
        }
    }
    text.truncate(OBJECT_NAME);
    path(&format!("{MANIFESTS}/{set}/{place:04}-{text}.yaml"))
}

/// The path of a chart: `charts/<release>/chart.tgz`. The file is the publisher's chart, byte for byte.
#[must_use]
pub fn chart_path(release: &ReleaseName) -> ArchivePath {
    path(&format!("{CHARTS}/{release}/chart.tgz"))
}

/// The path of the publisher's values: `charts/<release>/values.yaml`.
#[must_use]
pub fn chart_values_path(release: &ReleaseName) -> ArchivePath {
    path(&format!("{CHARTS}/{release}/values.yaml"))
}

/// The maximum number of characters of an object's kind and name in its path. It leaves room in the path component for
/// the position and the suffix.
const OBJECT_NAME: usize = 90;

/// The directory of an image: `images/<name>/<tag>`.
#[must_use]
pub fn image_directory(place: &ImagePlace) -> ArchivePath {
    path(&format!("{IMAGES}/{}/{}", place.name, place.tag))
}

/// The path of the image's root manifest or index.
#[must_use]
pub fn image_manifest_path(place: &ImagePlace) -> ArchivePath {
    path(&format!("{}/manifest.json", image_directory(place)))
}

/// The path of the file with the version of skopeo's directory layout.
#[must_use]
pub(crate) fn image_version_path(place: &ImagePlace) -> ArchivePath {
    path(&format!("{}/version", image_directory(place)))
}

/// The path of a configuration or layer in the image's directory.
#[must_use]
pub fn image_blob_path(place: &ImagePlace, digest: &Digest) -> ArchivePath {
    path(&format!("{}/{}", image_directory(place), digest.hex()))
}

/// The path of a child manifest or index in the image's directory, as skopeo names it.
#[must_use]
pub fn image_child_path(place: &ImagePlace, digest: &Digest) -> ArchivePath {
    let hex = digest.hex();
    path(&format!("{}/{hex}.manifest.json", image_directory(place)))
}

/// The path of a content in the OCI image layout.
#[must_use]
pub fn blob_path(digest: &Digest) -> ArchivePath {
    path(&format!("{BLOBS}/{}", digest.hex()))
}

/// The suffix of files with a `CustomResourceDefinition`. Upstream reads only files with this suffix.
const CRD_SUFFIX: &str = "_crd.yaml";

/// The path of a `CustomResourceDefinition`.
pub fn crd_path(name: &str) -> Result<ArchivePath, PathError> {
    format!("{CRDS}/{name}{CRD_SUFFIX}").parse()
}

/// Returns whether the path is that of a `CustomResourceDefinition`.
#[must_use]
pub fn is_crd(path: &ArchivePath) -> bool {
    let below = path.as_str().strip_prefix(CRDS);
    let name = below.and_then(|below| below.strip_prefix('/'));
    name.is_some_and(|name| name.ends_with(CRD_SUFFIX) && !name.contains('/'))
}

/// Returns whether the data order counts a path among the blobs, the contents of images in either view. These are:
/// - `blobs/sha256/<64 hex>`
/// - `manifest.json`, `<64 hex>.manifest.json` and `<64 hex>` below `images/<name>/<tag>`
///
/// Only the path decides, so that the order follows from the signed list alone. Other files in these directories, such
/// as `version`, are not blobs.
#[must_use]
pub fn is_blob(path: &str) -> bool {
    if let Some(name) = path.strip_prefix("blobs/sha256/") {
        return is_hex(name);
    }
    let mut components = path.split('/');
    // An image's name has at least one component, so the path of a blob has at least four.
    if components.next() != Some(IMAGES) || components.clone().count() < 3 {
        return false;
    }
    let file = components.next_back().unwrap_or_default();
    file == "manifest.json" || is_hex(file.strip_suffix(".manifest.json").unwrap_or(file))
}

/// Returns whether the path is that of a manifest or an index in an image's directory. Every document of an archive has
/// such a path.
pub(crate) fn is_document(path: &str) -> bool {
    is_blob(path) && path.ends_with("manifest.json")
}

/// Returns the image that a path belongs to and the content's role in it; none outside of the images' directories.
pub(crate) fn image_content(path: &str) -> Option<(ImagePlace, ImageRole)> {
    let rest = path.strip_prefix(IMAGES)?.strip_prefix('/')?;
    let (directory, file) = rest.rsplit_once('/')?;
    let (name, tag) = directory.rsplit_once('/')?;
    let role = match file {
        "manifest.json" => ImageRole::Root,
        _ if file.strip_suffix(".manifest.json").is_some_and(is_hex) => ImageRole::Child,
        _ if is_hex(file) => ImageRole::Blob,
        _ => return None,
    };
    let place = ImagePlace {
        name: name.parse().ok()?,
        tag: tag.parse().ok()?,
    };
    Some((place, role))
}

fn is_hex(text: &str) -> bool {
    Digest::from_hex(text).is_ok()
}

/// Derives the names of the volume from the Solution's id. The volume identifier is its first 32 characters in upper
/// case, with `_` for everything but letters and digits. The volume set identifier is the id itself.
#[must_use]
pub(crate) fn volume_names(id: &SolutionId) -> VolumeNames {
    let set_id = id.to_string();
    let d_character = |c: char| match c {
        'A'..='Z' | '0'..='9' => c,
        'a'..='z' => c.to_ascii_uppercase(),
        _ => '_',
    };
    VolumeNames {
        id: set_id.chars().take(32).map(d_character).collect(),
        set_id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_are_told_by_their_paths() {
        let hex = "0".repeat(64);
        for path in [
            format!("blobs/sha256/{hex}"),
            format!("images/app/1/{hex}"),
            format!("images/org/app/1/{hex}.manifest.json"),
            "images/app/1/manifest.json".to_owned(),
        ] {
            assert!(is_blob(&path), "{path}");
        }
        for path in [
            "manifest.yaml",
            "images/app/1/version",
            "images/app/manifest.json",
            "images/manifest.json",
            "manifest.json",
            "blobs/sha256/x",
            "blobs/sha256/a/manifest.json",
            "images/app/1/x.manifest.json",
            "operator/a/b/manifest.json",
            &format!("images/app/{hex}"),
            &format!("blobs/{hex}"),
            &format!("images/app/1/{}", "A".repeat(64)),
        ] {
            assert!(!is_blob(path), "{path}");
        }
    }

    #[test]
    fn contents_of_images_are_told_by_their_paths() {
        let hex = "0".repeat(64);
        let of = |path: &str| {
            let found = image_content(path);
            found.map(|(place, role)| (place.to_string(), role))
        };
        for (path, place, role) in [
            ("images/app/1/manifest.json", "app:1", ImageRole::Root),
            (
                &format!("images/org/app/1/{hex}.manifest.json"),
                "org/app:1",
                ImageRole::Child,
            ),
            (&format!("images/app/1/{hex}"), "app:1", ImageRole::Blob),
        ] {
            assert_eq!(of(path), Some((place.to_owned(), role)), "{path}");
        }
        for path in [
            "images/app/1/version",
            "images/app/manifest.json",
            "imagesx/app/1/manifest.json",
            &format!("blobs/sha256/{hex}"),
            &format!("images/App/1/{hex}"),
        ] {
            assert_eq!(of(path), None, "{path}");
        }
    }

    #[test]
    fn definitions_are_told_by_their_paths() {
        let is = |path: &str| is_crd(&path.parse().unwrap());
        assert!(is(crd_path("x").unwrap().as_str()));
        for path in [
            "operator/deploy/crds/x_cr.yaml",
            "operator/deploy/crds/x/y_crd.yaml",
            "operator/deploy/crds_crd.yaml",
            "operator/deploy/x_crd.yaml",
        ] {
            assert!(!is(path), "{path}");
        }
    }

    #[test]
    fn volume_names_follow_from_the_id() {
        let id = SolutionId::new(
            "a-rather-long-name-of-a-solution".parse().unwrap(),
            "1.0.0-rc.1".parse().unwrap(),
        )
        .unwrap();
        let names = volume_names(&id);
        assert_eq!(names.id, "A_RATHER_LONG_NAME_OF_A_SOLUTION");
        assert_eq!(names.set_id, "a-rather-long-name-of-a-solution-1.0.0-rc.1");
        let short = SolutionId::new("app".parse().unwrap(), "1.0.0".parse().unwrap()).unwrap();
        assert_eq!(volume_names(&short).id, "APP_1_0_0");
    }
}

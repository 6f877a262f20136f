//! NGINX locations that serve the images as a read-only registry (OCI distribution specification 1.1, pull), for
//! upstream's static registry. [`registry_config`] writes them.
//!
//! Upstream includes the text in a `server` block that answers `/v2/` itself. Constants are therefore omitted, as with
//! `--omit-constants` of upstream's generator. The archive has two files: `registry-config.inc.j2` is a Jinja template
//! with `repository` and `registry_root`, which upstream's import fills in. `registry-config.inc` is the same text for
//! other uses of NGINX, filled in with upstream's values for an archive at its usual mount point.
//!
//! Injection is impossible: the grammars of names, tags and digests exclude quotes, spaces, `$`, braces and `;`, and
//! media types are an enum. Unlike upstream's generator, blob patterns are anchored at both ends and match dots
//! literally, and the children of indexes are served too.

use std::collections::{BTreeMap, BTreeSet};

use schemas::{Digest, Document, Image, ImageName, SolutionId, Tag};

/// Upstream's choices: the prefix of repositories and the directory of the images.
#[derive(Debug)]
pub(crate) struct Upstream {
    repository: String,
    /// The prefix as part of a regular expression.
    repository_pattern: String,
    root: String,
}

impl Upstream {
    /// Returns the placeholders that Jinja fills in.
    pub(crate) fn template() -> Self {
        Self {
            repository: "{{ repository }}".to_owned(),
            repository_pattern: "{{ repository | replace('.', '[.]') }}".to_owned(),
            root: "{{ registry_root }}".to_owned(),
        }
    }

    /// Returns the values for an archive at upstream's mount point.
    pub(crate) fn mounted(id: &SolutionId) -> Self {
        let id = id.to_string();
        Self {
            repository_pattern: pattern(&id),
            root: format!("/srv/scality/{id}/images"),
            repository: id,
        }
    }
}

/// Returns a regular expression that matches only this text of letters, digits, `.`, `_`, `-` and `/`.
fn pattern(text: &str) -> String {
    text.replace('.', "[.]")
}

/// Passes the locations of all images to `add`, one after the other, sorted by name and tag.
pub(crate) fn registry_config(upstream: &Upstream, images: &[&Image], add: &mut impl FnMut(&str)) {
    let mut names: BTreeMap<&ImageName, BTreeMap<&Tag, &Image>> = BTreeMap::new();
    for image in images {
        let tags = names.entry(&image.place.name).or_default();
        tags.insert(&image.place.tag, image);
    }
    for (name, tags) in &names {
        add(&tags_location(upstream, name, tags.keys()));
        manifest_locations(upstream, name, tags, add);
        add(&blobs_location(upstream, name, tags.keys()));
    }
}

fn tags_location<'a>(
    Upstream { repository, .. }: &Upstream,
    name: &ImageName,
    tags: impl Iterator<Item = &'a &'a Tag>,
) -> String {
    let list: Vec<String> = tags.map(|tag| format!("\"{tag}\"")).collect();
    let list = list.join(",");
    format!(
        r#"location = "/v2/{repository}/{name}/tags/list" {{
  default_type application/json;
  return 200 '{{"name":"{repository}/{name}","tags":[{list}]}}';
}}
"#
    )
}

fn manifest_locations(
    upstream: &Upstream,
    name: &ImageName,
    tags: &BTreeMap<&Tag, &Image>,
    add: &mut impl FnMut(&str),
) {
    // Tags can share a document, but NGINX refuses two locations with the same URI.
    let mut seen: BTreeSet<Digest> = BTreeSet::new();
    for (tag, image) in tags {
        let mut documents: Vec<_> = image.documents().collect();
        // The order of an image's documents must not influence the text.
        documents.sort_by_key(|document| document.digest);
        for document in documents {
            let (digest, hex) = (document.digest, document.digest.hex());
            let is_root = digest == image.root.digest;
            let file = if is_root {
                format!("{name}/{tag}/manifest.json")
            } else {
                format!("{name}/{tag}/{hex}.manifest.json")
            };
            let mut locate = |reference: String| {
                let uri = format!("{name}/manifests/{reference}");
                add(&manifest_location(upstream, &uri, &file, document));
            };
            if is_root {
                locate(tag.to_string());
            }
            if seen.insert(digest) {
                locate(digest.to_string());
            }
        }
    }
}

fn manifest_location(upstream: &Upstream, uri: &str, file: &str, document: &Document) -> String {
    let (repository, root) = (&upstream.repository, &upstream.root);
    let (digest, media_type) = (document.digest, document.media_type);
    format!(
        r#"location = "/v2/{repository}/{uri}" {{
  alias "{root}/{file}";
  types {{ }}
  default_type {media_type};
  add_header Docker-Content-Digest {digest};
  error_page 404 @404_tag;
}}
"#
    )
}

fn blobs_location<'a>(
    upstream: &Upstream,
    name: &ImageName,
    tags: impl Iterator<Item = &'a &'a Tag>,
) -> String {
    let (repository, root) = (&upstream.repository_pattern, &upstream.root);
    let name_pattern = pattern(name.as_str());
    let files: Vec<String> = tags.map(|tag| format!("/{tag}/$1")).collect();
    let files = files.join(" ");
    format!(
        r#"location ~ "^/v2/{repository}/{name_pattern}/blobs/sha256:([a-f0-9]{{64}})$" {{
  root "{root}/{name}";
  types {{ }}
  default_type application/octet-stream;
  try_files {files} =404;
}}
"#
    )
}

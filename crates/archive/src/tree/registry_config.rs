//! NGINX locations that serve the images as a read-only registry (OCI distribution specification 1.1, pull), for
//! upstream's static registry.
//!
//! Upstream includes the text in a `server` block that answers `/v2/` itself, so constants are left out, as with
//! `--omit-constants` of its generator. Two files: `registry-config.inc.j2`, which upstream's import reads as a Jinja
//! template with `repository` and `registry_root`; and `registry-config.inc`, the same text already filled in with the
//! values that upstream has for an archive mounted at its usual place, for every other NGINX.
//!
//! Nothing can be injected: names, tags and digests have grammars without quotes, spaces, `$`, braces or `;`, and media
//! types are an enum. Unlike upstream's generator, blobs are matched from end to end with dots taken
//! literally, and indexes are served with their children.

use std::collections::{BTreeMap, BTreeSet};

use schemas::{Digest, Document, Image, ImageName, SolutionId, Tag};

/// The choices that are upstream's: the repository's prefix and where the images lie.
#[derive(Debug)]
pub(crate) struct Upstream {
    repository: String,
    /// The prefix inside a regular expression.
    repository_pattern: String,
    root: String,
}

impl Upstream {
    /// Filled in by Jinja.
    pub(crate) fn template() -> Self {
        Self {
            repository: "{{ repository }}".to_owned(),
            repository_pattern: "{{ repository | replace('.', '[.]') }}".to_owned(),
            root: "{{ registry_root }}".to_owned(),
        }
    }

    /// An archive mounted where upstream mounts it.
    pub(crate) fn mounted(id: &SolutionId) -> Self {
        let id = id.to_string();
        Self {
            repository_pattern: pattern(&id),
            root: format!("/srv/scality/{id}/images"),
            repository: id,
        }
    }
}

/// A text of letters, digits and `.`, `_`, `-`, `/` as a regular expression that matches only itself.
fn pattern(text: &str) -> String {
    text.replace('.', "[.]")
}

/// Gives `add` the locations of all images, by name and tag, one after the other.
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
    let mut seen: BTreeSet<Digest> = BTreeSet::new();
    for (tag, image) in tags {
        let mut documents: Vec<_> = image.documents().collect();
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

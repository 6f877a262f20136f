//! The derived files of an archive are computed a second time, from the text and templates of docs/reference/format.md,
//! without the project's code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::tools::{ARCHIVE, FORMAT, FileFacts, PackedArchive, Tree, run_tool_for_text};
use crate::trees::long_listing;

/// A manifest or an index.
struct Document {
    digest: String,
    media_type: String,
    /// The path below the directory of the image.
    file: String,
    size: u64,
}

/// The directory of an image, as section 4 describes it.
struct Image {
    name: String,
    tag: String,
    root: String,
    documents: Vec<Document>,
}

fn images(root: &Path, files: &Tree) -> Vec<Image> {
    let directories = files
        .keys()
        .filter_map(|path| path.strip_prefix("images/")?.strip_suffix("/manifest.json"));
    let mut images: Vec<Image> = directories
        .map(|directory| {
            let (name, tag) = directory.rsplit_once('/').unwrap();
            let prefix = format!("images/{directory}/");
            let documents = files
                .iter()
                .filter_map(|(path, FileFacts { size, sha256 })| {
                    let file = path.strip_prefix(&prefix)?;
                    let json: Value = file.ends_with("manifest.json").then(|| {
                        serde_json::from_slice(&fs::read(root.join(path)).unwrap()).unwrap()
                    })?;
                    Some(Document {
                        digest: sha256.clone(),
                        media_type: json["mediaType"].as_str().unwrap().to_owned(),
                        file: file.to_owned(),
                        size: *size,
                    })
                });
            let mut documents: Vec<Document> = documents.collect();
            documents.sort_by(|a, b| a.digest.cmp(&b.digest));
            Image {
                name: name.to_owned(),
                tag: tag.to_owned(),
                root: files[&format!("{prefix}manifest.json")].sha256.clone(),
                documents,
            }
        })
        .collect();
    images.sort_by(|a, b| (&a.name, &a.tag).cmp(&(&b.name, &b.tag)));
    images
}

/// Returns the template of a numbered step of section 4.
fn template(step: usize) -> String {
    let (_, list) = FORMAT
        .split_once("For each image name, in byte order:")
        .unwrap();
    let blocks: Vec<&str> = list.split("   ```\n").collect();
    let lines = blocks[2 * step - 1].lines();
    let lines = lines.map(|line| line.strip_prefix("   ").unwrap());
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn registry_config(images: &[Image]) -> String {
    let names: BTreeSet<&str> = images.iter().map(|image| image.name.as_str()).collect();
    let mut config = String::new();
    for name in names {
        let images: Vec<&Image> = images.iter().filter(|image| image.name == name).collect();
        let tags: Vec<String> = images
            .iter()
            .map(|image| format!("\"{}\"", image.tag))
            .collect();
        config += &template(1)
            .replace("<name>", name)
            .replace("<tags>", &tags.join(","));
        let mut seen = BTreeSet::new();
        for Image {
            tag,
            root,
            documents,
            ..
        } in &images
        {
            for document in documents {
                let mut add = |reference: &str| {
                    config += &template(2)
                        .replace("<name>", name)
                        .replace("<reference>", reference)
                        .replace("<file>", &format!("{name}/{tag}/{}", document.file))
                        .replace("<media type>", &document.media_type)
                        .replace("<hex>", &document.digest);
                };
                if document.digest == *root {
                    add(tag);
                }
                if seen.insert(&document.digest) {
                    add(&format!("sha256:{}", document.digest));
                }
            }
        }
        let tries = images.iter().flat_map(|image| [" /", &image.tag, "/$1"]);
        let tries: String = tries.collect();
        let blobs = template(3).replace(" /<tag>/$1", &tries);
        config += &blobs
            .replacen("<name>", &name.replace('.', "[.]"), 1)
            .replace("<name>", name);
    }
    config
}

#[test]
fn the_registry_configuration_is_that_of_the_templates() {
    for packed in PackedArchive::all() {
        let root = packed.unpacked();
        let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
        let config = registry_config(&images(&root, &packed.files));
        assert_eq!(read("registry-config.inc.j2"), config);
        let id = packed.solution_id();
        let filled = config
            .replace(
                "{{ repository | replace('.', '[.]') }}",
                &id.replace('.', "[.]"),
            )
            .replace("{{ repository }}", &id)
            .replace("{{ registry_root }}", &format!("/srv/scality/{id}/images"));
        assert_eq!(read("registry-config.inc"), filled);
    }
}

#[test]
fn the_index_is_that_of_the_words() {
    let references = BTreeMap::from([
        (
            "example-operator:1.0.0",
            "registry.example.test/example/operator:1.0.0",
        ),
        (
            "example-server:1.0.0",
            "registry.example.test/example/server:1.0.0",
        ),
        ("multi:2.0.1", "registry.example.test/multi:2"),
    ]);
    let (_, template) = FORMAT
        .split_once("\n{\"mediaType\":\"<of the root document>\"")
        .unwrap();
    let (template, _) = template.split_once("\n```").unwrap();
    let template = format!(
        "{{\"mediaType\":\"<of the root document>\"{}",
        template.replace("\n ", "")
    );
    for packed in PackedArchive::all() {
        let root = packed.unpacked();
        let entries = images(&root, &packed.files).into_iter().map(|image| {
            let place = format!("{}:{}", image.name, image.tag);
            let mut documents = image.documents.iter();
            let document = documents
                .find(|document| document.digest == image.root)
                .unwrap();
            let entry = template
                .replace("<of the root document>", &document.media_type)
                .replace("<hex>", &document.digest)
                .replace("<size>", &document.size.to_string())
                .replace("<place>", &place);
            match references.get(place.as_str()) {
                Some(reference) => entry.replace("<ref>", reference),
                None => entry.replace(",\"solutions.metalk8s.scality.com/ref\":\"<ref>\"", ""),
            }
        });
        let entries: Vec<String> = entries.collect();
        let index = format!(
            "{{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.index.v1+json\",\"manifests\":[{}]}}",
            entries.join(",")
        );
        assert_eq!(fs::read_to_string(root.join("index.json")).unwrap(), index);
        let layout = fs::read_to_string(root.join("oci-layout")).unwrap();
        assert!(FORMAT.contains(&format!("| `oci-layout` | `{layout}` |")));
    }
}

#[test]
fn the_statement_has_the_fields_of_the_template_in_its_order() {
    let (_, template) = FORMAT.split_once("\n{\"_type\"").unwrap();
    let (template, _) = template.split_once("\n```").unwrap();
    let lines = template.lines().map(str::trim_start);
    let template = format!("{{\"_type\"{}", lines.collect::<String>());
    for (packed, range) in PackedArchive::all()
        .iter()
        .zip([None, Some(">=0.9.0, <1.0.0")])
    {
        let id = packed.solution_id();
        let (name, version) = (
            &packed.statement()["predicate"]["name"],
            &packed.statement()["predicate"]["version"],
        );
        let upper = id.to_uppercase().replace(['-', '.'], "_");
        let (list, sums) = (&packed.files["CONTENTS"], &packed.files["SHA256SUMS"]);
        let mut expected = template
            .replace("<of SHA256SUMS>", &sums.sha256)
            .replacen("<of CONTENTS>", &list.sha256, 1)
            .replace("<of CONTENTS>", &list.size.to_string())
            .replace("<Solution name>", name.as_str().unwrap())
            .replace("<version>", version.as_str().unwrap())
            .replace("<volume identifier>", &upper[..upper.len().min(32)])
            .replace("<volume set identifier>", &id)
            .replace("\"expires\":\"<time>\",", "")
            .replace("<time>", "1980-01-01T00:00:00Z")
            .replace('…', "");
        expected = match range {
            Some(range) => expected.replace("<range>", range),
            None => expected.replace("\"upgradeFrom\":\"<range>\",", ""),
        };
        let script =
            format!("tail -c +65537 {ARCHIVE} | head -c 65536 | cut -d '\"' -f 4 | base64 -d");
        assert_eq!(
            run_tool_for_text(&packed.directory(), "sh", &["-c", &script]),
            expected
        );
    }
}

/// Returns whether a path is a blob (section 7, "blobs").
fn is_blob(path: &str) -> bool {
    let is_hex =
        |name: &str| name.len() == 64 && name.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
    if let Some(name) = path.strip_prefix("blobs/sha256/") {
        return is_hex(name);
    }
    let Some(below) = path.strip_prefix("images/") else {
        return false;
    };
    let name = below.rsplit('/').next().unwrap();
    below.matches('/').count() >= 2
        && (name == "manifest.json"
            || is_hex(name)
            || name.strip_suffix(".manifest.json").is_some_and(is_hex))
}

#[test]
fn every_content_lies_where_the_words_put_it() {
    for packed in PackedArchive::all() {
        let places = long_listing(&packed);
        let listed = packed.files.iter().filter(|(path, _)| {
            !["CONTENTS", "SHA256SUMS", "statement.dsse.json"].contains(&path.as_str())
        });
        let (mut blobs, mut others): (Vec<_>, Vec<_>) = listed.partition(|(path, _)| is_blob(path));
        others.sort_by_key(|(path, _)| *path != "manifest.yaml");
        blobs.sort_by(|(_, a), (_, b)| b.size.cmp(&a.size).then_with(|| a.sha256.cmp(&b.sha256)));
        assert!(blobs.len() > others.len());
        let first = ("SHA256SUMS", &packed.files["SHA256SUMS"]);
        let rest = others
            .into_iter()
            .chain(blobs)
            .map(|(path, facts)| (path.as_str(), facts));
        let mut next = places["SHA256SUMS"].sector;
        let mut seen = BTreeSet::new();
        for (path, FileFacts { size, sha256 }) in std::iter::once(first).chain(rest) {
            if *size == 0 || !seen.insert(sha256) {
                continue;
            }
            if *size >= 4096 {
                next = next.next_multiple_of(2);
            }
            assert_eq!(places[path].sector, next, "{path}");
            next += size.div_ceil(2048);
        }
        let size = (next * 2048 + (1 << 20)).next_multiple_of(32_768);
        assert_eq!(packed.desk.read(ARCHIVE).len() as u64, size);
    }
}

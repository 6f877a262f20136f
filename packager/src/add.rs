//! The addition of missing images to `solution.yaml`. [`add_images`] inserts lines into the text, so that formatting
//! and comments are preserved. [`image_lines`] only returns the lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use manifests::reference;
use progress::Watch;
use rules::catalogue::source::IMAGE;
use schemars::JsonSchema;
use schemas::{
    ImageName, ImagePlace, ImageReference, ImageSource, SolutionSource, SourceImage, Tag,
};
use serde::Serialize;
use validator::Finding;

use crate::error::PackError;
use crate::missing_images::MissingImage;
use crate::pack::{self, PackRequest};
use crate::preview::{Preview, preview};
use crate::source_files::SOLUTION;
use crate::{Event, load};

/// Images that were added to a source.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Added")]
pub struct AddedImages {
    /// The file.
    pub file: PathBuf,
    /// The added images.
    pub added: Vec<SourceImage>,
    /// Other problems of the source tree; with a check, all of its findings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// Adds the missing images that objects run to `solution.yaml`.
///
/// # Errors
///
/// Returns [`PackError::Unwritten`] with the missing lines if the list of images has a form that cannot be edited.
pub fn add_images(
    request: &PackRequest,
    watch: &Watch<'_, Event>,
) -> Result<AddedImages, PackError> {
    let file = request.directory.join(SOLUTION);
    let (missing, mut findings) = match pack::missing(request, watch) {
        Ok(()) => (Vec::new(), Vec::new()),
        // Missing images can be added in spite of other findings.
        Err(PackError::RefusedSource(refused)) if !refused.missing.is_empty() => {
            (refused.missing, other_findings(refused.findings))
        }
        Err(error) => return Err(error),
    };
    let text = load::text(&request.directory)?;
    let unwritten = || PackError::Unwritten(image_lines(&missing, &[]));
    let source = SolutionSource::from_slice(text.as_bytes()).map_err(|_| unwritten())?;
    let added = with_unique_places(&missing, &source.spec.images);
    if added.is_empty() {
        return Ok(AddedImages {
            file,
            added,
            findings,
        });
    }
    let mut wanted = source;
    wanted.spec.images.extend(added.iter().cloned());
    // The edited text must parse to exactly the wanted source. Otherwise nothing is written.
    let edited = edit(&text, &added).filter(|edited| {
        SolutionSource::from_slice(edited.as_bytes()).is_ok_and(|read| read == wanted)
    });
    let edited = edited.ok_or_else(|| PackError::Unwritten(lines(&added, "    ")))?;
    fs::write(&file, edited).map_err(|source| PackError::Init(file.clone(), source))?;
    // The added lines move other findings to new line numbers, so the findings are collected again.
    let tell = once(watch);
    if !findings.is_empty()
        && let Err(PackError::RefusedSource(refused)) = pack::missing(request, &watch.with(&tell))
    {
        findings = other_findings(refused.findings);
    }
    Ok(AddedImages {
        file,
        added,
        findings,
    })
}

/// Adds the missing images, and then creates a preview of the archive. The preview resolves the added images in their
/// registries.
pub fn add_and_preview(
    request: &PackRequest,
    watch: &Watch<'_, Event>,
) -> Result<(AddedImages, Result<Preview, PackError>), PackError> {
    let tell = once(watch);
    let added = match add_images(request, &watch.with(&tell)) {
        // The preview reports all findings.
        Err(PackError::RefusedSource(_)) => AddedImages {
            file: request.directory.join(SOLUTION),
            added: Vec::new(),
            findings: Vec::new(),
        },
        added => added?,
    };
    Ok((added, preview(request, watch)))
}

/// Suppresses remarks on the source that another run reports.
fn once<'a>(watch: &'a Watch<'_, Event>) -> impl Fn(Event) + Sync + 'a {
    |event| {
        if !event.is_remark() {
            (watch.tell)(event);
        }
    }
}

/// Returns the findings that are not about missing images.
fn other_findings(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.retain(|finding| finding.id != IMAGE.id);
    findings
}

/// Returns the lines for these images in `spec.images`.
#[must_use]
pub fn image_lines(missing: &[MissingImage], images: &[SourceImage]) -> String {
    lines(&with_unique_places(missing, images), "    ")
}

fn lines(images: &[SourceImage], indent: &str) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let line = |image: &SourceImage| {
        let (name, tag) = (quoted(image.name.as_str()), quoted(image.tag.as_str()));
        let source = quoted(&image.source.to_string());
        format!("{indent}- {{name: {name}, tag: {tag}, source: {source}}}\n")
    };
    images.iter().map(line).collect()
}

/// Returns each image once, with a place that no other image has.
fn with_unique_places(missing: &[MissingImage], images: &[SourceImage]) -> Vec<SourceImage> {
    let mut taken: BTreeSet<ImagePlace> = images.iter().map(SourceImage::place).collect();
    let references: BTreeMap<&str, &ImageReference> = missing
        .iter()
        .map(|missing| (missing.reference.as_str(), &missing.reference))
        .collect();
    let image = |reference: &ImageReference| {
        let tag = tag(reference);
        let names = names(reference);
        let places = names.into_iter().map(|name| ImagePlace {
            name,
            tag: tag.clone(),
        });
        let place = places
            .into_iter()
            .find(|place| taken.insert(place.clone()))?;
        Some(SourceImage {
            name: place.name,
            tag: place.tag,
            source: ImageSource::Docker(reference.clone()),
            reference: None,
            platforms: Vec::new(),
        })
    };
    references.into_values().filter_map(image).collect()
}

/// Returns possible names for an image: the last component of its repository, the last two, and one with a digest.
fn names(image: &ImageReference) -> Vec<ImageName> {
    let path = reference::path(image);
    let (before, last) = path.rsplit_once('/').unwrap_or(("", path));
    let parent = before.rsplit('/').next().unwrap_or_default();
    let hash = &files::digest(image.as_str().as_bytes()).hex()[..12];
    let names = [
        last.to_owned(),
        format!("{parent}-{last}"),
        format!("image-{hash}"),
    ];
    names.iter().filter_map(|name| name.parse().ok()).collect()
}

/// Returns the tag of an image in the Solution: the tag of the reference, or one derived from its digest.
fn tag(image: &ImageReference) -> Tag {
    let own = image.tag().and_then(|tag| tag.parse().ok());
    own.unwrap_or_else(|| {
        let digest = image
            .as_str()
            .split_once("@sha256:")
            .map(|(_, hex)| hex.to_owned());
        let hex = digest.unwrap_or_else(|| files::digest(image.as_str().as_bytes()).hex());
        let tag = format!("sha256-{}", &hex[..12]).parse();
        tag.expect("`sha256-` and twelve digits are a tag")
    })
}

/// Returns the text with lines for these images. Returns `None` if the list of images has an unsupported form, such as
/// a flow sequence.
fn edit(text: &str, added: &[SourceImage]) -> Option<String> {
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    let spec = all.iter().position(|line| line.trim_end() == "spec:")?;
    let inside = |line: &&str| is_blank(line) || line.starts_with([' ', '-']);
    let count = all[spec + 1..]
        .iter()
        .take_while(|line| inside(line))
        .count();
    let block = &all[spec + 1..=spec + count];
    let first = block.iter().find(|line| !is_blank(line))?;
    let own = indent(first);
    let images = block.iter().position(|line| {
        indent(line) == own && line[own.len()..].starts_with("images:") && !is_blank(line)
    });
    let mut before: String = all[..=spec].concat();
    let Some(images) = images else {
        before.extend([own, "images:\n"]);
        before += &lines(added, &format!("{own}  "));
        return Some(before + &all[spec + 1..].concat());
    };
    let key = &block[images][own.len()..];
    let value = key["images:".len()..].split('#').next()?.trim();
    let items: Vec<&str> = block[images + 1..]
        .iter()
        .copied()
        .take_while(|line| {
            let deeper = indent(line).len() > own.len();
            let rest = line.get(own.len()..).unwrap_or_default();
            is_blank(line) || deeper || rest.starts_with("- ")
        })
        .collect();
    // Trailing comments and blank lines belong to the next field.
    let last = items.iter().rposition(|line| !is_blank(line));
    let (head, indent) = match (value, last) {
        ("", Some(_)) => {
            let item = items.iter().find(|line| !is_blank(line))?;
            (block[images].to_owned(), indent(item).to_owned())
        }
        ("" | "[]", None) => (format!("{own}images:\n"), format!("{own}  ")),
        _ => return None,
    };
    let end = images + 1 + last.map_or(0, |last| last + 1);
    before += &block[..images].concat();
    before += &head;
    before += &block[images + 1..end].concat();
    if !before.ends_with('\n') {
        before.push('\n');
    }
    before += &lines(added, &indent);
    Some(before + &all[spec + 1 + end..].concat())
}

fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// Returns the leading spaces of a line.
fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches(' ').len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(references: &[&str]) -> Vec<MissingImage> {
        let missing = references.iter().map(|reference| MissingImage {
            reference: reference.parse().unwrap(),
            place: String::new(),
            pointer: String::new(),
        });
        missing.collect()
    }

    #[test]
    fn every_image_gets_a_place_of_its_own() {
        let digest = format!("r.test/c@sha256:{}", "5".repeat(64));
        let references = [
            "r.test/a/app:1",
            "r.test/b/app:1",
            "r.test/b/app:2",
            &digest,
            "r.test/b/app:1",
        ];
        let known = with_unique_places(&missing(&["q.test/x/app:2"]), &[]);
        let places: Vec<String> = with_unique_places(&missing(&references), &known)
            .iter()
            .map(|image| format!("{} {}", image.place(), image.source))
            .collect();
        let expected = [
            "app:1 docker://r.test/a/app:1".to_owned(),
            "b-app:1 docker://r.test/b/app:1".to_owned(),
            "b-app:2 docker://r.test/b/app:2".to_owned(),
            format!("c:sha256-555555555555 docker://{digest}"),
        ];
        assert_eq!(places, expected);
    }

    #[test]
    fn lines_are_added_where_the_list_is_and_nothing_else_changes() {
        let added = with_unique_places(&missing(&["r.test/db:16"]), &[]);
        let line = "- {name: \"db\", tag: \"16\", source: \"docker://r.test/db:16\"}\n";
        for (text, expected) in [
            (
                "spec:\n  version: 1.0.0\n  images:\n    # the server\n    - {name: a,\n       tag: '1'}\n\n  # its operator\n  operator: {}\n",
                format!(
                    "spec:\n  version: 1.0.0\n  images:\n    # the server\n    - {{name: a,\n       tag: '1'}}\n    {line}\n  # its operator\n  operator: {{}}\n"
                ),
            ),
            (
                "spec:\n  images:\n  - a: b\nother: c\n",
                format!("spec:\n  images:\n  - a: b\n  {line}other: c\n"),
            ),
            (
                "spec:\n  images:\n  - a: b",
                format!("spec:\n  images:\n  - a: b\n  {line}"),
            ),
            (
                "spec:\n  images: []  # none yet\n  x: y\n",
                format!("spec:\n  images:\n    {line}  x: y\n"),
            ),
            (
                "spec:\n    x: y\n",
                format!("spec:\n    images:\n      {line}    x: y\n"),
            ),
        ] {
            assert_eq!(edit(text, &added).as_ref(), Some(&expected), "{text}");
        }
        let short = "spec:\n    images:\n      - a: 'b\n '\n";
        assert!(edit(short, &added).is_some());
        for text in [
            "spec: {images: []}\n",
            "spec:\n  images: [{name: a}]\n",
            "a: b\n",
        ] {
            assert_eq!(edit(text, &added), None, "{text}");
        }
    }
}

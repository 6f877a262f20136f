//! The texts of a draft: `solution.yaml` with comments, and NOTES.md. [`checked`] makes sure that a written
//! `solution.yaml` parses back to its source, so hostile names in a release cannot change its meaning.

use std::fmt::Write as _;

use manifests::display_text;
use schemas::{SolutionId, SolutionSource, SourceImage, yaml};

use crate::error::ReleaseError;
use crate::images::{DraftImages, NamedImage};
use crate::notes::{Note, NoteWeight};

/// The README next to the drafted copy of a tree.
pub(crate) const DRAFT: &str = "These are the files of the directory above as `solution init --from` wrote them, before any edit.
`--update` merges the next release with your edits. Keep these files together with the others, and do not
edit them. `solution pack` does not read them.
";

/// Appends one or more lines to a text.
macro_rules! push {
    ($text:expr, $($argument:tt)*) => {
        // Writing to a String cannot fail.
        let _ = writeln!($text, $($argument)*);
    };
}
pub(crate) use push;

/// The comment with which editors find the schema file in the same directory.
pub(crate) const EDITOR: &str = "# yaml-language-server: $schema=solution-source.schema.json\n";

/// Writes `solution.yaml` for a release whose manifests are packaged unchanged.
pub(crate) fn carried(
    source: &SolutionSource,
    images: &DraftImages,
    release: &str,
) -> Result<Vec<u8>, ReleaseError> {
    let mut text = format!(
        "{EDITOR}# Created by `solution init --from` from `{}`.\n",
        display_text(release)
    );
    head(source, &mut text);
    push_images(images, &mut text);
    sets(source, &mut text);
    checked(source, text)
}

/// Writes `solution.yaml` for a converted archive.
pub(crate) fn converted(source: &SolutionSource, called: &str) -> Result<Vec<u8>, ReleaseError> {
    let mut text = format!(
        "{EDITOR}# Created by `solution init --from` from the archive `{}`. Its images are in images/, unchanged.\n",
        display_text(called)
    );
    head(source, &mut text);
    push!(
        text,
        "  # The site's registry serves each image by its name and tag.\n  images:"
    );
    for image in &source.spec.images {
        push_source(image, &mut text);
    }
    push_operator(source, &mut text);
    checked(source, text)
}

/// Returns the text as bytes, if it parses back to `source` and `pack` accepts it.
pub(crate) fn checked(source: &SolutionSource, text: String) -> Result<Vec<u8>, ReleaseError> {
    let problems = rules::check_source(&source.metadata.name, &source.spec);
    if let Some(problem) = problems.into_iter().next() {
        return Err(ReleaseError::Unfit(Box::new(problem)));
    }
    match SolutionSource::from_slice(text.as_bytes()) {
        Ok(read) if read == *source => Ok(text.into_bytes()),
        _ => Err(ReleaseError::Spelling),
    }
}

/// Returns a text in double quotes, in a form that YAML and JSON read in the same way.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns a key, in quotes unless it is clearly a plain label or annotation name.
fn plain(key: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_' | '-');
    let is_name = key.contains('/') && key.chars().all(is_plain);
    if is_name { key.to_owned() } else { quoted(key) }
}

/// Writes the fields before the content: the metadata, the version and `upgradeFrom`.
pub(crate) fn head(source: &SolutionSource, text: &mut String) {
    push!(
        text,
        "apiVersion: {}\nkind: {}",
        source.api_version,
        source.kind
    );
    push!(
        text,
        "metadata:\n  name: {}\n  annotations:",
        quoted(source.metadata.name.as_str())
    );
    for (key, value) in &source.metadata.annotations {
        push!(text, "    {}: {}", plain(key), quoted(value));
    }
    if !source.metadata.labels.is_empty() {
        push!(text, "  labels:");
    }
    for (key, value) in &source.metadata.labels {
        push!(text, "    {}: {}", plain(key), quoted(value));
    }
    push!(
        text,
        "spec:\n  version: {}",
        quoted(&source.spec.version.to_string())
    );
    push!(
        text,
        "  # Optional. The versions that a site can upgrade from.\n  # upgradeFrom: '>=0.0.1'\n"
    );
}

/// Writes the images, each with the objects that name it.
fn push_images(images: &DraftImages, text: &mut String) {
    push!(
        text,
        "  # Every image that the release names. The site's registry serves each by its name and tag; `ref` is its\n  # original name. Remove images that you do not ship. Add images that programs start but no object names.\n  images:"
    );
    // Git merges changes of two elements without a conflict only if a line is between them.
    for (number, image) in images.images.iter().enumerate() {
        if number > 0 {
            text.push('\n');
        }
        push_image(image, text);
    }
}

/// Writes an image, and the objects that name it in comments.
fn push_image(named: &NamedImage, text: &mut String) {
    let NamedImage { image, askers } = named;
    for asker in askers {
        push!(text, "    # {asker}");
    }
    push_source(image, text);
}

/// Writes an image and its source.
fn push_source(image: &SourceImage, text: &mut String) {
    let (name, tag) = (quoted(image.name.as_str()), quoted(image.tag.as_str()));
    push!(text, "    - name: {name}\n      tag: {tag}");
    push!(text, "      source: {}", quoted(&image.source.to_string()));
    if let Some(reference) = &image.reference {
        push!(text, "      ref: {}", quoted(reference.as_str()));
    }
}

/// Writes the operator, if the Solution has one.
fn push_operator(source: &SolutionSource, text: &mut String) {
    let Some(operator) = &source.spec.operator else {
        return;
    };
    push!(text, "\n  operator:");
    for line in yaml::to_string(operator).lines() {
        push!(text, "    {line}");
    }
}

/// Writes the manifest sets.
fn sets(source: &SolutionSource, text: &mut String) {
    push!(
        text,
        "\n  # The objects of the release, in its files below manifests/. Do not edit these files, but add patches:\n  #   patches:\n  #     - target: {{kind: Deployment, name: NAME}}\n  #       patch: {{spec: {{replicas: 2}}}}\n  manifests:"
    );
    for set in &source.spec.manifests {
        push!(text, "    - name: {}", quoted(set.name.as_str()));
        let files = set.files.iter().map(|path| quoted(&path.to_string_lossy()));
        push!(
            text,
            "      files: [{}]",
            files.collect::<Vec<_>>().join(", ")
        );
        if !set.namespaces.is_empty() {
            push!(text, "      namespaces:");
        }
        for namespace in &set.namespaces {
            push!(text, "        - name: {}", quoted(namespace.name.as_str()));
            if let Some(fixed) = namespace.fixed {
                push!(text, "          fixed: {fixed}");
            }
        }
    }
}

/// The flag that names a release.
pub(crate) const RELEASE: &str = "--from";
/// The flag that names a chart.
pub(crate) const CHART: &str = "--chart";

/// Writes NOTES.md as a list of open decisions. `given` is the flag that names the source.
pub(crate) fn undecided(id: &SolutionId, given: &str, release: &str, notes: &[Note]) -> Vec<u8> {
    let mut text = String::new();
    push!(text, "# {} {}\n", id.name(), id.version());
    push!(
        text,
        "Open decisions of `solution init {given}` about `{}`. `solution pack` does not read this file.\n",
        display_text(release)
    );
    for note in notes {
        push!(text, "- [ ] **{}**: {}", note.about, note.text);
    }
    text.into_bytes()
}

/// Writes NOTES.md with sections for decisions, choices and the parts that were left out.
pub(crate) fn made(id: &SolutionId, release: &str, notes: &[Note]) -> String {
    let mut text = String::new();
    push!(text, "# {} {}\n", id.name(), id.version());
    push!(
        text,
        "Created by `solution init --from` from `{}`. `solution pack` does not read this file.",
        display_text(release)
    );
    for (weight, title, mark) in [
        (NoteWeight::Decide, "Decide before packing", "- [ ] "),
        (NoteWeight::Chosen, "Chosen", "- "),
        (NoteWeight::Lost, "Left out", "- "),
    ] {
        let mut of_weight = notes.iter().filter(|note| note.weight == weight).peekable();
        if of_weight.peek().is_some() {
            push!(text, "\n## {title}\n");
        }
        for note in of_weight {
            push!(text, "{mark}**{}**: {}", note.about, note.text);
        }
    }
    text
}

//! The texts of a draft: `solution.yaml` with a comment where something was found, and NOTES.md.

use std::fmt::Write as _;

use manifests::{ManifestObject, shown};
use schemas::{SolutionId, SolutionSource, SourceImage, yaml};

use crate::error::ReleaseError;
use crate::images::{DraftImages, NamedImage};
use crate::notes::{Note, NoteWeight};

/// The text that stands beside the copy of a tree, for who looks into it.
pub(crate) const DRAFT: &str = "These are the files of the directory above as `solution init --from` wrote them, before any edit.
`--update` merges the next release with your edits. Keep these files together with the others, and do not
edit them. `solution pack` does not read them.
";

/// A line of `solution.yaml`, or several.
macro_rules! push {
    ($text:expr, $($argument:tt)*) => {
        // Writing to a String cannot fail.
        let _ = writeln!($text, $($argument)*);
    };
}
pub(crate) use push;

/// The line by which editors find the schema of `solution.yaml` beside it.
pub(crate) const EDITOR: &str = "# yaml-language-server: $schema=solution-source.schema.json\n";

/// Writes `solution.yaml` of an operator.
pub(crate) fn operator(
    source: &SolutionSource,
    images: &DraftImages,
    release: &str,
) -> Result<Vec<u8>, ReleaseError> {
    let mut text = format!(
        "{EDITOR}# Created by `solution init --from` from `{}`. NOTES.md lists what was chosen, what you must\n# decide before packing, and what was left out.\n",
        shown(release)
    );
    head(source, &mut text);
    push_images(images, &mut text);
    push_operator(source, &mut text);
    checked(source, text)
}

/// Writes `solution.yaml` of a release that is carried as it is.
pub(crate) fn carried(
    source: &SolutionSource,
    images: &DraftImages,
    release: &str,
) -> Result<Vec<u8>, ReleaseError> {
    let mut text = format!(
        "{EDITOR}# Created by `solution init --from` from `{}`.\n",
        shown(release)
    );
    head(source, &mut text);
    push_images(images, &mut text);
    sets(source, &mut text);
    checked(source, text)
}

/// Writes `solution.yaml` of an archive that is converted.
pub(crate) fn converted(source: &SolutionSource, called: &str) -> Result<Vec<u8>, ReleaseError> {
    let mut text = format!(
        "{EDITOR}# Created by `solution init --from` from the archive `{}`. Its images are in images/, unchanged.\n",
        shown(called)
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

/// The text, if it says what the source does and `pack` would take that.
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

/// A text in double quotes, as YAML and JSON both read it.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A key, in quotes where it may not be read as one.
fn plain(key: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '/' | '_' | '-');
    let is_name = key.contains('/') && key.chars().all(is_plain);
    if is_name { key.to_owned() } else { quoted(key) }
}

/// All up to what a Solution carries.
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

/// The images of a release.
fn push_images(images: &DraftImages, text: &mut String) {
    push!(
        text,
        "  # Every image that the release names. The site's registry serves each by its name and tag; `ref` is its\n  # original name. Remove images that you do not ship. Add images that programs start but no object names.\n  images:"
    );
    // What is changed in one element and in the next can be merged where a line is between them.
    for (number, image) in images.images.iter().enumerate() {
        if number > 0 {
            text.push('\n');
        }
        push_image(image, text);
    }
}

/// An image with who asks for it.
fn push_image(named: &NamedImage, text: &mut String) {
    let NamedImage { image, askers } = named;
    for asker in askers {
        push!(text, "    # {asker}");
    }
    push_source(image, text);
}

/// An image, and where it comes from.
fn push_source(image: &SourceImage, text: &mut String) {
    let (name, tag) = (quoted(image.name.as_str()), quoted(image.tag.as_str()));
    push!(text, "    - name: {name}\n      tag: {tag}");
    push!(text, "      source: {}", quoted(&image.source.to_string()));
    if let Some(reference) = &image.reference {
        push!(text, "      ref: {}", quoted(reference.as_str()));
    }
}

/// The operator, if there is one.
fn push_operator(source: &SolutionSource, text: &mut String) {
    let Some(operator) = &source.spec.operator else {
        return;
    };
    push!(text, "\n  operator:");
    for line in yaml::to_string(operator).lines() {
        push!(text, "    {line}");
    }
}

/// The sets, as one that carries a release has them.
fn sets(source: &SolutionSource, text: &mut String) {
    push!(
        text,
        "\n  # The objects of the release, in its files below manifests/. Do not edit these files, but add patches:\n  #   patches:\n  #     - target: {{kind: Deployment, name: NAME}}\n  #       patch: {{spec: {{replicas: 2}}}}\n  manifests:"
    );
    for set in &source.spec.manifests {
        push!(text, "    - name: {}", quoted(set.name.as_str()));
        let files = set.files.iter().map(|it| quoted(&it.to_string_lossy()));
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

/// An object as it stood in the release, or written anew when it stood in another one.
pub(crate) fn object(object: &ManifestObject<'_>) -> String {
    match object.text {
        Some(text) if text.ends_with('\n') => text.to_owned(),
        Some(text) => format!("{text}\n"),
        None => yaml::to_string(&object.value),
    }
}

/// The flag with which a release is given.
pub(crate) const RELEASE: &str = "--from";
/// The flag with which a chart is given.
pub(crate) const CHART: &str = "--chart";

/// Writes NOTES.md of a release that is carried as it is; `given` is the option that it was given with.
pub(crate) fn undecided(id: &SolutionId, given: &str, release: &str, notes: &[Note]) -> Vec<u8> {
    let mut text = String::new();
    push!(text, "# {} {}\n", id.name(), id.version());
    push!(
        text,
        "Open decisions of `solution init {given}` about `{}`. `solution pack` does not read this file.\n",
        shown(release)
    );
    for note in notes {
        push!(text, "- [ ] **{}**: {}", note.about, note.text);
    }
    text.into_bytes()
}

/// Writes NOTES.md of a release of which something was left out or chosen.
pub(crate) fn made(id: &SolutionId, release: &str, notes: &[Note]) -> String {
    let mut text = String::new();
    push!(text, "# {} {}\n", id.name(), id.version());
    push!(
        text,
        "Created by `solution init --from` from `{}`. `solution pack` does not read this file.",
        shown(release)
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

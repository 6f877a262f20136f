//! Notes about open decisions in a release whose manifests are packaged unchanged. [`of_files`] covers files and
//! documents, and [`of_objects`] covers images, namespaces, Secrets and webhooks.

use std::collections::BTreeMap;
use std::path::Path;

use manifests::{
    AmbiguousText, CompileQuestion, ManifestFiles, ManifestObject, ManifestObjects, display_text,
    list, text,
};
use schemas::{ImageReference, SourceNamespace};
use serde_json::Value;

use crate::contents::{self, ReleaseObjects, UnclearText};
use crate::images::{DraftImages, FoundImages};
use crate::notes::{Note, NoteWeight};

fn decide(about: impl Into<String>, text: impl Into<String>) -> Note {
    Note::new(NoteWeight::Decide, about, text)
}

/// Returns notes about files that were left out, and about documents that are not Kubernetes objects.
pub(crate) fn of_files(release: &ManifestFiles, objects: &ManifestObjects<'_>) -> Vec<Note> {
    let is_manifest = |file: &str| {
        let extension = Path::new(file).extension();
        extension.is_some_and(|end| end == "yaml" || end == "yml" || end == "json")
    };
    let passed_over = release.passed_over.iter();
    let passed_over = passed_over
        .filter(|passed| is_manifest(&passed.file))
        .map(|passed| {
            decide(
                format!("file `{}`", passed.file),
                format!("{}; it was left out", passed.why),
            )
        });
    let kindless = objects.kindless.iter().map(|(place, _)| {
        let why =
            "has no `kind`, so it is not a Kubernetes object; remove it, because `pack` rejects it";
        decide(place.to_string(), why)
    });
    passed_over.chain(kindless).collect()
}

/// Returns notes about texts of objects whose meaning is unclear, and about objects that `pack` rejects or that need
/// attention.
pub(crate) fn of_objects(
    contents: &ReleaseObjects<'_>,
    images: &DraftImages,
    own: &[SourceNamespace],
) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut mentioned: BTreeMap<String, MentionedImage> = BTreeMap::new();
    for unsure in contents.unsure(images, own) {
        let place = unsure.place();
        match unsure.remark.what.clone() {
            CompileQuestion::Missing(image) | CompileQuestion::Mentioned(image) => {
                let one = mentioned.entry(image.to_string());
                let one = one.or_insert_with(|| MentionedImage { image, places: Vec::new() });
                one.places.push(place);
            }
            CompileQuestion::Repository(placeholder) => notes.push(decide(place, format!("names the repository of an image without its tag; if the program adds the tag, write `{placeholder}` there with a patch"))),
            CompileQuestion::Namespace(what) => notes.push(decide(place, unsure.namespace(&what))),
            CompileQuestion::Placeholder(error) => notes.push(decide(place, format!("begins like a placeholder but is not valid: {error}; if the text is literal, write another `$` before it with a patch"))),
        }
    }
    let mentioned = mentioned.into_values().map(|image| image.note());
    let mut all: Vec<Note> = mentioned.collect();
    all.append(&mut notes);
    all.extend(contents.objects.iter().filter_map(of_object));
    all.extend(contents.definitions.iter().filter_map(of_definition));
    all
}

impl UnclearText<'_> {
    fn place(&self) -> String {
        format!(
            "{}, `{}`",
            self.object.title(),
            display_text(&self.remark.path)
        )
    }

    /// Returns the note about a text that may name a namespace, with the patch that turns it into a placeholder.
    fn namespace(&self, unclear: &AmbiguousText) -> String {
        let AmbiguousText { written, meant, .. } = unclear;
        let line = self.patch(unclear);
        let how = line.map_or_else(
            || format!("write `{meant}` with a patch"),
            |patch| format!("add {patch} to patches"),
        );
        format!(
            "has `{}`, which may mean the release's namespace; if it does, {how}, or set `fixed: true` for the namespace so that it keeps its name at every site",
            display_text(written)
        )
    }

    /// Returns a patch that replaces a text with a placeholder. Returns `None` for long texts, which are easier to edit
    /// in place, and for texts that would need quoting.
    fn patch(&self, unclear: &AmbiguousText) -> Option<String> {
        let path = &self.remark.path;
        let before = self.object.value.pointer(path)?.as_str()?;
        let after = before.replace(&unclear.written, &unclear.meant);
        let [kind, name] = [self.object.kind(), self.object.name()];
        let texts = [path.as_str(), kind, name, &after];
        let plain =
            |text: &&str| text.len() <= LINE && display_text(text) == *text && !text.contains('\'');
        texts.iter().all(plain).then(|| {
            format!("`- {{target: {{kind: {kind}, name: {name}}}, patch: [{{op: replace, path: '{path}', value: '{after}'}}]}}`")
        })
    }
}

/// Maximum length of each text in a suggested line, in bytes.
const LINE: usize = 120;

/// Maximum number of places that a note lists.
const PLACES: usize = 5;

/// A text that looks like an image reference, in a place that is not known to hold images.
struct MentionedImage {
    image: ImageReference,
    places: Vec<String>,
}

impl MentionedImage {
    fn note(&self) -> Note {
        let mut one = FoundImages::default();
        one.scan(self.image.as_str(), manifests::reference::Hint::Image, "");
        let line = one.named().images.pop().map(|named| {
            let image = named.image;
            format!(
                "`- {{name: {}, tag: \"{}\", source: \"{}\"}}`",
                image.name, image.tag, image.source
            )
        });
        let places = self.places[..self.places.len().min(PLACES)].join(", ");
        let places = match self.places.len().saturating_sub(PLACES) {
            0 => places,
            more => format!("{places} and {more} more"),
        };
        decide(
            format!("`{}`", self.image),
            format!(
                "looks like an image reference, in {places}; if it is one, add {} to spec.images",
                line.unwrap_or_default()
            ),
        )
    }
}

fn of_object(object: &ManifestObject<'_>) -> Option<Note> {
    let value = &object.value;
    if let Some(problem) = rules::forbidden(value).next() {
        let problem = display_text(&problem);
        let text = match (object.group(), object.kind()) {
            ("", "Secret") => "has data, and `pack` rejects secrets in an archive; remove the data with a patch and create the Secret at the site, or, if the data is public, add the annotation `solutions.metalk8s.scality.com/public: \"true\"` with a patch".to_owned(),
            _ => format!("{problem}, so `pack` rejects it; correct it with a patch"),
        };
        return Some(decide(object.title(), text));
    }
    if object.group() != "admissionregistration.k8s.io" {
        return None;
    }
    let names = list(value, "/webhooks")
        .iter()
        .filter(|webhook| stops_everything(webhook));
    let names: Vec<String> = names
        .map(|webhook| display_text(text(webhook, "/name")))
        .collect();
    (!names.is_empty()).then(|| decide(object.title(), format!("{} blocks every change in the cluster while its program is down (`failurePolicy: Fail` on all resources); exclude namespaces that must keep working, such as kube-system, with a patch that adds a `namespaceSelector`", schemas::list_quoted(&names))))
}

/// Returns whether an unavailable webhook blocks all changes: it matches all resources, selects no namespaces or
/// objects, and its failure policy is not `Ignore`.
fn stops_everything(webhook: &Value) -> bool {
    let all = |rule: &Value, field: &str| {
        let named = list(rule, field).iter().filter_map(Value::as_str);
        named.into_iter().any(|name| name == "*" || name == "*/*")
    };
    let everything = |rule: &Value| all(rule, "/apiGroups") && all(rule, "/resources");
    let selects = |field: &str| {
        let selector = webhook.get(field).and_then(Value::as_object);
        selector.is_some_and(|selector| !selector.is_empty())
    };
    text(webhook, "/failurePolicy") != "Ignore"
        && !selects("namespaceSelector")
        && !selects("objectSelector")
        && list(webhook, "/rules").iter().any(everything)
}

pub(crate) fn of_definition(definition: &Value) -> Option<Note> {
    let named = FoundImages::default().scan_defaults(&definition["spec"], "");
    named.then(|| decide(contents::title(definition), "has images in its default values, which an import does not rewrite: nodes must find them through a mirror, or users must set other images in the custom resources"))
}

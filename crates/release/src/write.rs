//! The texts of a draft: `solution.yaml` with a comment where something was found, and NOTES.md.

use std::fmt::Write as _;

use schemas::{OperatorScope, SolutionId, SolutionSource};
use validator::rules;

use crate::error::ReleaseError;
use crate::images::DraftImages;
use crate::notes::{Note, Weight};
use manifests::shown;

/// `solution.yaml`. What is written is read back and compared, so that no name of the release can mean something else
/// in it.
pub(crate) fn source(
    source: &SolutionSource,
    images: &DraftImages,
    release: &str,
) -> Result<Vec<u8>, ReleaseError> {
    rules::check_source(&source.spec).map_err(|problem| ReleaseError::Unfit(Box::new(problem)))?;
    let text = text(source, images, release);
    match SolutionSource::from_slice(text.as_bytes()) {
        Ok(read) if read == *source => Ok(text.into_bytes()),
        _ => Err(ReleaseError::Spelling),
    }
}

/// A text in double quotes, as YAML and JSON both read it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A line of `solution.yaml`, or several.
macro_rules! push {
    ($text:expr, $($argument:tt)*) => {
        // Writing to a String cannot fail.
        let _ = writeln!($text, $($argument)*);
    };
}

fn text(source: &SolutionSource, images: &DraftImages, release: &str) -> String {
    let mut text = String::new();
    push!(
        text,
        "# Made by `solution init --from` of `{}`. NOTES.md says what was chosen, what to decide",
        shown(release)
    );
    push!(text, "# before packing, and what was left out.");
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
        push!(text, "    {key}: {}", quoted(value));
    }
    push!(
        text,
        "spec:\n  version: {}",
        quoted(&source.spec.version.to_string())
    );
    push!(
        text,
        "  # Optional. The versions that a site can upgrade from.\n  # upgradeFrom: '>=0.0.1, <{}'\n",
        source.spec.version
    );
    push!(
        text,
        "  # Every image that the release names. Name and tag are how the site's registry serves it; `ref` is its\n  # original name. Remove what you do not want to ship; add what the operator starts but the release does not name.\n  images:"
    );
    for named in &images.images {
        let image = &named.image;
        for asker in &named.askers {
            push!(text, "    # {asker}");
        }
        push!(
            text,
            "    - name: {}\n      tag: {}",
            quoted(image.name.as_str()),
            quoted(image.tag.as_str())
        );
        push!(text, "      source: {}", quoted(&image.source.to_string()));
        if let Some(reference) = &image.reference {
            push!(text, "      ref: {}", quoted(reference.as_str()));
        }
    }
    operator(source, &mut text);
    text
}

fn operator(source: &SolutionSource, text: &mut String) {
    let Some(operator) = &source.spec.operator else {
        return;
    };
    let (name, tag) = (
        quoted(operator.image.name.as_str()),
        quoted(operator.image.tag.as_str()),
    );
    push!(
        text,
        "\n  operator:\n    image: {{name: {name}, tag: {tag}}}"
    );
    let texts = |text: &mut String, field: &str, values: &[String]| {
        push!(text, "    {field}:");
        for value in values {
            push!(text, "      - {}", quoted(value));
        }
    };
    match operator.command.as_deref() {
        None => {}
        Some([]) => {
            push!(
                text,
                "    # The release gives no command: empty means the image's own entrypoint.\n    command: []"
            );
        }
        Some(command) => texts(text, "command", command),
    }
    if !operator.args.is_empty() {
        texts(text, "args", &operator.args);
    }
    if !operator.env.is_empty() {
        push!(text, "    env:");
        for variable in &operator.env {
            push!(
                text,
                "      - name: {}\n        value: {}",
                quoted(&variable.name),
                quoted(&variable.value)
            );
        }
    }
    let security = operator.security_context;
    if security != schemas::SecurityContext::default() {
        push!(
            text,
            "    securityContext:\n      runAsNonRoot: {}\n      readOnlyRootFilesystem: {}",
            security.run_as_non_root,
            security.read_only_root_filesystem
        );
        if let Some(user) = security.run_as_user {
            push!(text, "      runAsUser: {user}");
        }
    }
    if operator.scope == OperatorScope::Cluster {
        push!(text, "    scope: Cluster");
    }
}

/// NOTES.md.
pub(crate) fn notes(
    id: &SolutionId,
    release: &str,
    images: &DraftImages,
    notes: &[Note],
) -> Vec<u8> {
    let mut text = String::new();
    push!(text, "# {} {}\n", id.name(), id.version());
    push!(
        text,
        "Made by `solution init --from` of `{}`. This file is for you; `solution pack` does not read it.",
        shown(release)
    );
    for (weight, title, mark) in [
        (Weight::Decide, "To decide before packing", "- [ ] "),
        (Weight::Chosen, "Chosen", "- "),
        (Weight::Lost, "Left out", "- "),
        (Weight::Made, "Made by the import itself", "- "),
    ] {
        let mut of_weight = notes.iter().filter(|note| note.weight == weight).peekable();
        if of_weight.peek().is_some() {
            push!(text, "\n## {title}\n");
        }
        for note in of_weight {
            push!(text, "{mark}**{}**: {}", note.about, note.text);
        }
    }
    push!(
        text,
        "\n## Images\n\n| image | reference | asked for by |\n|---|---|---|"
    );
    for named in &images.images {
        let reference = named
            .image
            .reference
            .as_ref()
            .map_or("", |reference| reference.as_str());
        let askers: Vec<String> = named
            .askers
            .iter()
            .map(|asker| asker.replace('|', "\\|"))
            .collect();
        push!(
            text,
            "| `{}` | `{reference}` | {} |",
            named.image.place(),
            askers.join("; ")
        );
    }
    push!(
        text,
        "\nAn operator may start images that no manifest of its release names. Its documentation lists them; so does\na cluster where it runs: `kubectl get pods --all-namespaces -o jsonpath='{{..image}}'`. Add each to\n`spec.images`."
    );
    text.into_bytes()
}

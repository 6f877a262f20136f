//! The rendered objects: as YAML for people and other programs, as one file each, or as JSON. Values of Secrets are
//! masked by default.

use std::fs;
use std::path::Path;

use importer::{RenderedManifest, RenderedManifests, SecretValues};
use schemars::JsonSchema;
use schemas::{EnvironmentName, Namespace, SolutionId, yaml};
use serde::Serialize;

use super::Arguments;
use crate::args::Output;
use crate::commands::archive::extract;
use crate::commands::give;
use crate::failure::{Failure, Outcome, cannot};
use crate::{disk, render};

/// The maximum length of a file name, without its number and extension.
const NAME: usize = 100;

/// The objects that deploying a version would apply.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Rendered<'a> {
    /// The id of the Solution, `<name>-<version>`.
    solution: &'a SolutionId,
    /// The environment.
    environment: &'a EnvironmentName,
    /// The namespace of the environment.
    namespace: &'a Namespace,
    /// The objects, by the parts that they come from.
    manifests: &'a [RenderedManifest],
}

/// Nothing could be rendered.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NothingRendered {}

/// Refuses a directory that is not empty.
pub(in crate::commands) fn check_directory(directory: &Path) -> Result<(), Failure> {
    match fs::read_dir(directory).map(|mut entries| entries.next().is_some()) {
        Ok(false) => Ok(()),
        Ok(true) => Err(Failure::usage(format!(
            "`{}` is not empty, and could contain files of an earlier run",
            directory.display()
        ))
        .hint("name another directory, or empty it")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(cannot("read", directory)(error)),
    }
}

pub(super) fn all(
    found: &RenderedManifests,
    arguments: &Arguments,
    output: Output,
) -> Result<Outcome, Failure> {
    if let Some(directory) = &arguments.output_dir {
        files(&found.manifests, directory, arguments.secrets())?;
    }
    if output == Output::Json {
        let rendered = Rendered {
            solution: &found.id,
            environment: &arguments.environment,
            namespace: &found.namespace,
            manifests: &found.manifests,
        };
        return Ok(give(output, &rendered, |_| {}));
    }
    if let Some(directory) = &arguments.output_dir {
        let objects = render::count(found.manifests.len(), "object");
        render::line!("{objects} of {} in `{}`", found.id, directory.display());
        return Ok(Outcome::Yes);
    }
    print(found.manifests.iter().map(document))?;
    Ok(Outcome::Yes)
}

/// Prints documents, until the reader closes standard output.
pub(in crate::commands) fn print(documents: impl Iterator<Item = String>) -> Result<(), Failure> {
    for text in documents {
        if render::is_terminal() {
            text.lines().for_each(render::line);
        } else if extract::write(text.as_bytes())?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Returns a YAML document, which begins with its source.
pub(in crate::commands) fn document(manifest: &RenderedManifest) -> String {
    document_of("", manifest)
}

/// Returns the YAML document with text before its source.
pub(in crate::commands) fn document_of(origin: &str, manifest: &RenderedManifest) -> String {
    let random = if manifest.random {
        "# random: differs in each rendering\n"
    } else {
        ""
    };
    let object = yaml::to_string(&manifest.object);
    let source = &manifest.source;
    format!("---\n# Source: {origin}{source}\n{random}{object}")
}

/// Writes a file for each object.
pub(in crate::commands) fn files(
    manifests: &[RenderedManifest],
    directory: &Path,
    secrets: SecretValues,
) -> Result<(), Failure> {
    fs::create_dir_all(directory).map_err(cannot("create", directory))?;
    let mode = match secrets {
        SecretValues::Masked => 0o666,
        SecretValues::Shown => 0o600,
    };
    for (index, manifest) in manifests.iter().enumerate() {
        let path = directory.join(file_name(index + 1, manifest));
        disk::write_new(&path, mode, document(manifest).as_bytes())?;
    }
    Ok(())
}

/// Returns a file name with only letters, digits, `.` and `-`, because names of objects may contain any character.
pub(in crate::commands) fn file_name(number: usize, manifest: &RenderedManifest) -> String {
    let text = |pointer| {
        let found = manifest.object.pointer(pointer);
        found.and_then(|value| value.as_str()).unwrap_or_default()
    };
    let name = format!("{}-{}", text("/kind"), text("/metadata/name")).to_lowercase();
    let is_plain =
        |character: &char| character.is_ascii_alphanumeric() || matches!(character, '.' | '-');
    let plain = name
        .chars()
        .map(|character| if is_plain(&character) { character } else { '-' });
    let plain: String = plain.take(NAME).collect();
    format!("{number:04}-{plain}.yaml")
}

#[cfg(test)]
mod tests {
    use importer::ManifestSource;
    use serde_json::json;

    use super::*;

    fn manifest(name: &str, random: bool) -> RenderedManifest {
        RenderedManifest {
            source: ManifestSource::Set("web".to_owned()),
            random,
            masked: false,
            object: json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } }),
        }
    }

    #[test]
    fn a_file_is_named_by_its_object_and_lies_in_its_directory_whatever_that_is_called() {
        let name = |name: &str| file_name(7, &manifest(name, false));
        assert_eq!(name("web"), "0007-configmap-web.yaml");
        assert_eq!(name("../../etc:x"), "0007-configmap-..-..-etc-x.yaml");
        assert!(name(&"a".repeat(1000)).len() < 120);
    }

    #[test]
    fn what_chance_makes_is_marked() {
        let object = "apiVersion: 'v1'\nkind: 'ConfigMap'\nmetadata:\n  name: 'a'\n";
        let settled = format!("---\n# Source: set web\n{object}");
        assert_eq!(document(&manifest("a", false)), settled);
        let random = document(&manifest("a", true));
        assert_eq!(
            random.lines().nth(2),
            Some("# random: differs in each rendering")
        );
    }
}

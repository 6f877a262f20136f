//! What was rendered, as YAML for people and other programs, one file each, or as JSON.

use std::fs;
use std::path::Path;

use importer::{RenderedManifest, RenderedManifests, SecretValues};
use schemars::JsonSchema;
use schemas::{EnvironmentName, Namespace, SolutionId, yaml};
use serde::Serialize;

use super::Arguments;
use crate::args::Output;
use crate::commands::give;
use crate::commands::look::cat;
use crate::disk;
use crate::failure::{Failure, Outcome, cannot};
use crate::render;

/// The longest name of a file, without what is in front of it and behind.
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

/// Refuses a directory that holds something already.
pub(in crate::commands) fn check_directory(directory: &Path) -> Result<(), Failure> {
    match fs::read_dir(directory).map(|mut it| it.next().is_some()) {
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

/// Prints documents, until nobody reads them any more.
pub(in crate::commands) fn print(documents: impl Iterator<Item = String>) -> Result<(), Failure> {
    for text in documents {
        if render::is_terminal() {
            text.lines().for_each(render::line);
        } else if cat::write(text.as_bytes())?.is_break() {
            break;
        }
    }
    Ok(())
}

/// A document of YAML, with its source in front.
pub(in crate::commands) fn document(manifest: &RenderedManifest) -> String {
    document_of("", manifest)
}

/// The same with words before the source.
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

/// Writes a file for each.
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

/// The name of a file, of nothing but letters, digits, `.` and `-`: an object may be called anything.
pub(in crate::commands) fn file_name(number: usize, manifest: &RenderedManifest) -> String {
    let text = |pointer| {
        let found = manifest.object.pointer(pointer);
        found.and_then(|it| it.as_str()).unwrap_or_default()
    };
    let name = format!("{}-{}", text("/kind"), text("/metadata/name")).to_lowercase();
    let is_plain = |it: &char| it.is_ascii_alphanumeric() || matches!(it, '.' | '-');
    let plain = name.chars().map(|it| if is_plain(&it) { it } else { '-' });
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

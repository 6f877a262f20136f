//! The post-renderer that Helm calls. It passes on the planned objects, with hooks and tests among them, and nothing
//! that Helm has rendered itself. [`postrender`] runs it, and its files are prepared by [`planned`].
//!
//! It prevents a known attack: a chart that renders to other objects when it is installed, by `lookup`, randomness or
//! the clock. The rendering is never parsed, so Helm sends exactly the bytes that the plan showed.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use kubernetes::Object;
use schemas::yaml;

/// The file with the objects to pass on, in the directory that the post-renderer receives.
const PLANNED: &str = "planned.yaml";
/// The file that the post-renderer creates in that directory to signal that Helm has finished rendering.
const RENDERED: &str = "rendered";
/// The stream for a chart without objects, since Helm treats empty output as a failure.
const NOTHING: &str = "# nothing\n";

/// A failure of the post-renderer.
#[derive(Debug, thiserror::Error)]
pub enum RendererError {
    /// A file of the run cannot be used.
    #[error("cannot use `{}`", .0.display())]
    File(PathBuf, #[source] io::Error),
    /// The stream from Helm, or the one back to it, cannot be read or written.
    #[error("cannot communicate with helm")]
    Stream(#[source] io::Error),
}

/// Returns the stream that the post-renderer passes on, and the name of the file from which it reads it.
pub(crate) fn planned(objects: &[Object]) -> (&'static str, String) {
    let documents = objects
        .iter()
        .map(|object| format!("---\n{}", yaml::to_string(object.as_value())));
    let stream: String = documents.collect();
    if stream.is_empty() {
        (PLANNED, NOTHING.to_owned())
    } else {
        (PLANNED, stream)
    }
}

/// Returns the file by which the post-renderer of a run signals that Helm has finished rendering.
pub(crate) fn rendered(directory: &Path) -> PathBuf {
    directory.join(RENDERED)
}

/// Passes on the planned objects and discards everything that Helm has rendered.
pub fn postrender(
    directory: &Path,
    mut input: impl Read,
    mut output: impl Write,
) -> Result<(), RendererError> {
    let path = directory.join(PLANNED);
    let mut planned = File::open(&path).map_err(|error| RendererError::File(path, error))?;
    // Helm may treat a pipe that is closed early as a failure, so its whole output is read.
    io::copy(&mut input, &mut io::sink()).map_err(RendererError::Stream)?;
    let path = directory.join(RENDERED);
    File::create(&path).map_err(|error| RendererError::File(path, error))?;
    io::copy(&mut planned, &mut output).map_err(RendererError::Stream)?;
    output.flush().map_err(RendererError::Stream)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::*;

    fn map(name: &str) -> Object {
        let metadata = json!({ "name": name, "namespace": "prod" });
        // Values that YAML 1.1 would read as other types.
        let data = json!({ "a": "n", "b": "1e3", "c": "  - x: y\n", "d": "" });
        let map =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data });
        Object::new(map).unwrap()
    }

    /// Returns the documents that the post-renderer writes for this rendering and these planned objects.
    fn sent(rendering: &str, objects: &[Object]) -> Vec<Value> {
        let directory = tempfile::tempdir().unwrap();
        let (name, stream) = planned(objects);
        fs::write(directory.path().join(name), stream).unwrap();
        let mut output = Vec::new();
        postrender(directory.path(), rendering.as_bytes(), &mut output).unwrap();
        assert!(!output.is_empty() && directory.path().join(RENDERED).exists());
        let documents = yaml::documents(&output).unwrap();
        documents
            .into_iter()
            .filter(|document| !document.is_null())
            .collect()
    }

    #[test]
    fn what_was_planned_is_sent_whatever_is_rendered() {
        let objects = [map("n"), map("y")];
        let planned: Vec<Value> = objects
            .iter()
            .map(|object| object.as_value().clone())
            .collect();
        for rendering in [
            "",
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: n}, data: {a: evil}}",
            "---\n{apiVersion: v1, kind: Secret, metadata: {name: more}}\n",
            "no YAML: [",
        ] {
            assert_eq!(sent(rendering, &objects), planned, "{rendering}");
        }
        let more = "{apiVersion: v1, kind: Secret, metadata: {name: more}}";
        assert_eq!(sent(more, &[]), [Value::Null; 0]);
    }

    #[test]
    fn without_what_was_planned_nothing_is_sent() {
        let directory = tempfile::tempdir().unwrap();
        let mut output = Vec::new();
        let done = postrender(directory.path(), &b"{kind: Pod}"[..], &mut output);
        assert!(matches!(done, Err(RendererError::File(..))), "{done:?}");
        assert!(output.is_empty() && !directory.path().join(RENDERED).exists());
    }
}

//! The post-renderer that Helm calls: it passes on the objects that were planned, hooks and tests among them, and nothing of
//! what Helm has rendered itself.
//!
//! Known attacks and where they stop: a chart that renders to something else once it is sent, by `lookup`, by chance or by the
//! clock. Nothing of that is read: what is sent is what the plan showed, byte for byte.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use deployer::Object;
use schemas::yaml;

/// The file with what is sent, in the directory that the post-renderer is given.
const PLANNED: &str = "planned.yaml";
/// The file by which it says there that Helm has done with rendering.
const RENDERED: &str = "rendered";
/// The stream that is sent of a chart without objects: Helm takes an empty answer for a failure.
const NOTHING: &str = "# nothing\n";

/// The reason why the post-renderer passes nothing on.
#[derive(Debug, thiserror::Error)]
pub enum RendererError {
    /// A file of the run cannot be used.
    #[error("cannot use `{}`", .0.display())]
    File(PathBuf, #[source] io::Error),
    /// The stream from Helm, or the one back to it, cannot be read or written.
    #[error("cannot communicate with helm")]
    Stream(#[source] io::Error),
}

/// Returns the stream that the post-renderer passes on, and the name of the file in which it looks for it.
pub(crate) fn planned(objects: &[Object]) -> (&'static str, String) {
    let documents = objects.iter().map(Object::as_value);
    let documents = documents.map(|it| format!("---\n{}", yaml::to_string(it)));
    let stream: String = documents.collect();
    if stream.is_empty() {
        (PLANNED, NOTHING.to_owned())
    } else {
        (PLANNED, stream)
    }
}

/// The file by which the post-renderer of a run says that Helm has done with rendering.
pub(crate) fn rendered(directory: &Path) -> PathBuf {
    directory.join(RENDERED)
}

/// Passes on what was planned, whatever Helm has rendered.
pub fn postrender(
    directory: &Path,
    mut input: impl Read,
    mut output: impl Write,
) -> Result<(), RendererError> {
    let path = directory.join(PLANNED);
    let planned = File::open(&path).map_err(|it| RendererError::File(path, it));
    let mut planned = planned?;
    // Helm may take it for a failure if nobody reads what it has rendered.
    io::copy(&mut input, &mut io::sink()).map_err(RendererError::Stream)?;
    let path = directory.join(RENDERED);
    File::create(&path).map_err(|it| RendererError::File(path, it))?;
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
        // What YAML 1.1 would read as something else.
        let data = json!({ "a": "n", "b": "1e3", "c": "  - x: y\n", "d": "" });
        let map =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data });
        Object::new(map).unwrap()
    }

    /// Returns the documents that are sent of a rendering where these objects were planned.
    fn sent(rendering: &str, objects: &[Object]) -> Vec<Value> {
        let directory = tempfile::tempdir().unwrap();
        let (name, stream) = planned(objects);
        fs::write(directory.path().join(name), stream).unwrap();
        let mut output = Vec::new();
        postrender(directory.path(), rendering.as_bytes(), &mut output).unwrap();
        assert!(!output.is_empty() && directory.path().join(RENDERED).exists());
        let documents = yaml::documents(&output).unwrap();
        documents.into_iter().filter(|it| !it.is_null()).collect()
    }

    #[test]
    fn what_was_planned_is_sent_whatever_is_rendered() {
        let objects = [map("n"), map("y")];
        let planned: Vec<Value> = objects.iter().map(|it| it.as_value().clone()).collect();
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

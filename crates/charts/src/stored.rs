//! The size of a release as Helm stores it: the chart and its values as JSON, compressed with gzip, in base64, in a
//! single Secret (Helm's `pkg/storage/driver/util.go`). Times, notes and hooks are not included. The result is thus a
//! lower bound, and a release that exceeds the limit here can never be stored.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::archive::ArchivedFile;
use crate::metadata::ChartMetadata;

#[derive(Serialize)]
struct RecordedRelease<'a> {
    chart: RecordedChart<'a>,
    config: &'a Map<String, Value>,
    manifest: &'a str,
}

#[derive(Serialize)]
struct RecordedChart<'a> {
    metadata: &'a ChartMetadata,
    templates: Vec<StoredFile<'a>>,
    values: &'a Map<String, Value>,
    schema: Option<String>,
    files: Vec<StoredFile<'a>>,
}

#[derive(Serialize)]
struct StoredFile<'a> {
    name: &'a str,
    data: String,
}

impl<'a> From<&'a ArchivedFile> for StoredFile<'a> {
    fn from(file: &'a ArchivedFile) -> Self {
        Self {
            name: &file.path,
            data: STANDARD.encode(&file.bytes),
        }
    }
}

/// Checks whether Helm stores a file in another field, or not at all. Subcharts are not stored with a release.
fn is_apart(path: &str) -> bool {
    const APART: [&str; 5] = [
        "Chart.yaml",
        "Chart.lock",
        "values.yaml",
        "values.schema.json",
        "requirements.lock",
    ];
    APART.contains(&path) || path.starts_with("charts/")
}

/// Returns the minimal number of bytes of a release in its Secret. `manifest` is the rendered manifest, as far as it is
/// known.
pub(crate) fn size(
    metadata: &ChartMetadata,
    files: &[ArchivedFile],
    own: &Map<String, Value>,
    given: &Map<String, Value>,
    manifest: &str,
) -> usize {
    let kept = files.iter().filter(|file| !is_apart(&file.path));
    let (templates, others): (Vec<&ArchivedFile>, Vec<&ArchivedFile>) =
        kept.partition(|file| file.path.starts_with("templates/"));
    let schema = files.iter().find(|file| file.path == "values.schema.json");
    let release = RecordedRelease {
        chart: RecordedChart {
            metadata,
            templates: templates.into_iter().map(StoredFile::from).collect(),
            values: own,
            schema: schema.map(|file| STANDARD.encode(&file.bytes)),
            files: others.into_iter().map(StoredFile::from).collect(),
        },
        config: given,
        manifest,
    };
    let json = serde_json::to_vec(&release).expect("texts, numbers and maps have a JSON form");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(&json)
        .expect("writing to memory does not fail");
    let gzip = gzip.finish().expect("writing to memory does not fail");
    // Base64 encodes each three bytes as four.
    gzip.len().div_ceil(3) * 4
}

//! What Helm stores of a release: JSON of the chart and its values, gzip, base64, all in one Secret (its
//! `pkg/storage/driver/util.go`). Times, notes and what hooks are called come on top, so that what does not fit without these
//! never fits.

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

/// Whether a file is stored otherwise, or is nowhere but in the archive: charts within the chart are not kept with a
/// release.
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

/// Bytes that a release has in its Secret at least, with what is known of what it renders to.
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
    gzip.len().div_ceil(3) * 4
}

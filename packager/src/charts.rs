//! The Helm charts of a Solution. [`load`] reads or packages a chart and merges the values of its release;
//! [`read_chart`] reads a chart outside a source tree. Each chart also becomes an OCI artifact among the images.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use archive::{ArchiveFile, FileSource};
use charts::{Chart, ChartArtifact, IgnoreRules, ValuesError};
use progress::Watch;
use rules::PlaceholderNames;
use rules::catalogue::charts::VALUES;
use rules::catalogue::{Severity, source};
use schemas::{
    ArchivePath, ChartName, ChartPin, ChartRelease, ChartSource, ChartVersion, Digest, Document,
    Image, ImageReference, OciChart, SourceChart, yaml,
};
use serde_json::{Map, Value};
use sources::{Cache, Remote, SourceError, SourceNetwork};

use crate::Event;
use validator::{ErrorChain, PackagedDefinitions};

use crate::error::PackError;
use crate::problems::SourceProblems;
use crate::source_files::SourceDocument;

/// A chart that was read.
#[derive(Debug)]
pub(crate) struct LoadedChart {
    /// The release in `manifest.yaml`.
    pub(crate) release: ChartRelease,
    /// The source of the chart.
    pub(crate) source: ChartSource,
    /// The archive of the chart.
    archive: SharedBytes,
    /// The configuration of the chart's artifact.
    config: SharedBytes,
    artifact: ChartArtifact,
    /// The parsed chart.
    pub(crate) chart: Chart,
    /// The chart's field in `solution.yaml`.
    pub(crate) field: String,
    /// The merged values of all files.
    pub(crate) values: Map<String, Value>,
    /// The additional sets of values for which the images must be complete.
    pub(crate) sets: Vec<ValuesSet>,
    /// The references that need not be packaged.
    pub(crate) unused: Vec<ImageReference>,
}

/// Values that are rendered on top of the values of a release. They are not part of the archive.
#[derive(Debug)]
pub(crate) struct ValuesSet {
    /// The names of the files, for messages.
    pub(crate) name: String,
    pub(crate) values: Map<String, Value>,
}

/// Bytes that multiple files of the archive may share.
#[derive(Debug)]
struct SharedBytes {
    digest: Digest,
    bytes: Arc<[u8]>,
}

impl SharedBytes {
    fn new(bytes: Vec<u8>) -> Self {
        Self {
            digest: files::digest(&bytes),
            bytes: bytes.into(),
        }
    }

    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }
}

/// Reads the chart at this field of `solution.yaml`; `network` provides remote charts. Returns `None` and adds findings
/// if the chart cannot be packaged.
pub(crate) fn load(
    source: &SourceChart,
    field: &str,
    network: &SourceNetwork<'_>,
    problems: &mut SourceProblems<'_>,
) -> Result<Option<LoadedChart>, PackError> {
    let read = read(
        &source.source,
        &format!("{field}.source"),
        network,
        problems,
    )?;
    let values = merged(&source.values, &format!("{field}.values"), problems)?;
    let mut sets = Vec::new();
    for (number, files) in source.render.iter().enumerate() {
        let values = merged(files, &format!("{field}.render[{number}]"), problems)?;
        let names: Vec<_> = files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        let name = names.join(", ");
        sets.push(ValuesSet { name, values });
    }
    Ok(read.map(|(bytes, chart)| {
        let artifact = chart.artifact(&bytes);
        LoadedChart {
            release: release(source, &chart),
            source: source.source.clone(),
            archive: SharedBytes::new(bytes),
            config: SharedBytes::new(artifact.config.clone()),
            artifact,
            chart,
            values,
            field: field.to_owned(),
            sets,
            unused: source.unused_images.clone(),
        }
    }))
}

/// Adds findings for definitions in `crds/` that an archive cannot contain, before anything is downloaded. Returns true
/// if the charts need the second version of the chart capability, which earlier versions do not support.
pub(crate) fn check_definitions(charts: &[LoadedChart], problems: &mut SourceProblems<'_>) -> bool {
    let mut definitions = PackagedDefinitions::default();
    for chart in charts {
        let path = archive::chart_path(&chart.release.name);
        let found = definitions.judge_chart(&path, chart.archive.digest, &chart.chart);
        let errors = found.into_iter();
        for (info, words) in errors.filter(|(info, _)| info.severity == Severity::Error) {
            problems.at_field(info, &format!("{}.source", chart.field), words);
        }
    }
    definitions.are_converted() || charts.iter().any(|chart| chart.chart.as_helm)
}

fn release(source: &SourceChart, chart: &Chart) -> ChartRelease {
    ChartRelease {
        name: source.name.clone(),
        chart: chart.name.clone(),
        version: chart.version.clone(),
        namespace: source.namespace.clone(),
        namespaces: source.namespaces.clone(),
        when: source.when.clone(),
        strategy: source.strategy,
        needs: source.needs.clone(),
        timeout: source.timeout.clone(),
        site_values: source.site_values.clone(),
    }
}

/// Reads the archive of a chart and parses it. Returns `None` and adds a finding if the source tree is at fault.
fn read(
    source: &ChartSource,
    field: &str,
    network: &SourceNetwork<'_>,
    problems: &mut SourceProblems<'_>,
) -> Result<Option<(Vec<u8>, Chart)>, PackError> {
    if let ChartSource::File(path) | ChartSource::Dir(path) = source
        && problems.resolve_path(field, path).is_none()
    {
        return Ok(None);
    }
    let directory = problems.files.directory.clone();
    let read = bytes(source, |path| directory.join(path), network).and_then(|(path, bytes)| {
        let chart = Chart::read(&bytes).map_err(|source| PackError::Chart(path, source))?;
        check(source, &chart)?;
        Ok((bytes, chart))
    });
    match read {
        Ok(read) => return Ok(Some(read)),
        Err(PackError::Read(error)) => return problems.read(field, Err(error)),
        Err(PackError::Chart(_, source)) => {
            let message = format_args!("cannot package the chart: {}", ErrorChain(&source));
            problems.at_field(validator::chart_finding(&source.problem), field, message);
        }
        Err(PackError::ChartFile(path)) => {
            let path = problems.files.relative_path(&path);
            let message = format_args!(
                "`{path}` cannot be in a chart: it is not a regular file, or there are too many files"
            );
            problems.at_field(&source::CHART, field, message);
        }
        Err(error @ PackError::OtherChart { .. }) => {
            problems.at_field(&source::CHART, field, error);
        }
        Err(error @ PackError::ChartSource(..)) if error.is_of_source() => {
            problems.at_field(&source::CHART, field, ErrorChain(&error));
        }
        Err(error) => return Err(error),
    }
    Ok(None)
}

/// Returns the archive of a chart, and a path that identifies it in messages.
fn bytes(
    source: &ChartSource,
    below: impl Fn(&Path) -> PathBuf,
    network: &SourceNetwork<'_>,
) -> Result<(PathBuf, Vec<u8>), PackError> {
    let elsewhere = |read: Result<Vec<u8>, SourceError>| match read {
        Ok(bytes) => Ok((PathBuf::from(source.to_string()), bytes)),
        Err(error) => Err(PackError::no_chart(source, error)),
    };
    match source {
        ChartSource::File(file) => {
            let path = below(file);
            let bytes = files::read(&path, charts::limits::ARCHIVE_SIZE)?;
            Ok((path, bytes))
        }
        ChartSource::Dir(directory) => {
            let path = below(directory);
            let bytes = package(&path)?;
            Ok((path, bytes))
        }
        ChartSource::Oci(chart) => elsewhere(sources::oci_chart(chart, network)),
        ChartSource::Repository(chart) => elsewhere(sources::repository_chart(chart, network)),
    }
}

/// A chart that was read without a source tree.
#[derive(Debug)]
pub struct ReadChart {
    /// The name of the chart.
    pub name: ChartName,
    /// The version of the chart.
    pub version: ChartVersion,
    /// The archive of the chart. A directory is packaged like by `pack`.
    pub archive: Vec<u8>,
    /// The provenance file of a packaged chart on disk, which contains its signature.
    pub provenance: Option<Vec<u8>>,
}

/// Reads a chart without a source tree. Downloads remain in the cache in `cache`.
pub fn read_chart(
    source: &ChartSource,
    remote: &Remote,
    cache: &Path,
    watch: &Watch<'_, Event>,
) -> Result<ReadChart, PackError> {
    let cache = Cache::new(cache);
    let tell = |event| (watch.tell)(Event::Sources(event));
    let watched = watch.with(&tell);
    let network = SourceNetwork::new(remote, &cache, &watched);
    let (path, archive) = bytes(source, Path::to_owned, &network)?;
    let chart = Chart::read(&archive).map_err(|source| PackError::Chart(path, source))?;
    check(source, &chart)?;
    let provenance = match source {
        ChartSource::File(file) => provenance(file)?,
        _ => None,
    };
    drop(network);
    if let Err(error) = cache.close() {
        (watch.tell)(Event::Untidy(error));
    }
    Ok(ReadChart {
        name: chart.name,
        version: chart.version,
        archive,
        provenance,
    })
}

/// Returns the provenance file next to a chart on disk; `None` if there is none.
pub(crate) fn provenance(chart: &Path) -> Result<Option<Vec<u8>>, PackError> {
    let mut path = OsString::from(chart);
    path.push(".prov");
    match files::read(Path::new(&path), charts::limits::PROVENANCE as u64) {
        Err(error) if error.is_missing() => Ok(None),
        read => Ok(Some(read?)),
    }
}

/// Returns an error if the chart differs from the one that its source names.
fn check(source: &ChartSource, chart: &Chart) -> Result<(), PackError> {
    let is_it = match source {
        ChartSource::File(_) | ChartSource::Dir(_) => true,
        // A mirrored repository may have another name, so only the version is compared.
        ChartSource::Oci(OciChart { pin, .. }) => match pin {
            ChartPin::Version(version) => chart.version == *version,
            ChartPin::Digest(_) => true,
        },
        ChartSource::Repository(wanted) => {
            (&chart.name, &chart.version) == (&wanted.name, &wanted.version)
        }
    };
    if is_it {
        return Ok(());
    }
    Err(PackError::OtherChart {
        from: source.clone(),
        name: chart.name.clone(),
        version: chart.version.clone(),
    })
}

/// Returns the merged values of the listed files. Later files override earlier ones.
fn merged(
    files: &[PathBuf],
    field: &str,
    problems: &mut SourceProblems<'_>,
) -> Result<Map<String, Value>, PackError> {
    let mut values = Map::new();
    for (number, file) in files.iter().enumerate() {
        let field = format!("{field}[{number}]");
        let Some(path) = problems.resolve_path(&field, file) else {
            continue;
        };
        let read = files::read(&path, schemas::limits::YAML_SIZE);
        let Some(bytes) = problems.read(&field, read)? else {
            continue;
        };
        match charts::read_values(&bytes) {
            Ok(read) => schemas::merge_values(&mut values, &read),
            Err(ValuesError::Yaml(error)) => problems.at_yaml(&VALUES, &path, &error),
            Err(ValuesError::Shape) => {
                problems.at_file(&VALUES, &path, Some(1), ValuesError::Shape);
            }
        }
    }
    Ok(values)
}

/// Returns the archive of a chart directory.
fn package(directory: &Path) -> Result<Vec<u8>, PackError> {
    let failed = |source| PackError::Chart(directory.to_owned(), source);
    let limit = schemas::limits::MANIFEST_SIZE;
    let rules = match files::read(&directory.join(".helmignore"), limit) {
        Err(error) if error.is_missing() => Vec::new(),
        read => read?,
    };
    let ignored = IgnoreRules::new(&rules).map_err(failed)?;
    let mut walk = ChartWalk {
        root: directory,
        ignored,
        entries: 0,
        left: charts::limits::UNPACKED,
        files: BTreeMap::new(),
    };
    walk.directory("", 0)?;
    charts::package(&walk.files).map_err(failed)
}

/// The collected files of a chart directory.
struct ChartWalk<'a> {
    root: &'a Path,
    ignored: IgnoreRules,
    entries: usize,
    /// The number of bytes that may still be read.
    left: u64,
    files: BTreeMap<String, Vec<u8>>,
}

/// The maximum depth of directories. Paths in an archive have at most 255 bytes, so realistic charts are less deep.
const DEPTH: usize = 32;

impl ChartWalk<'_> {
    fn directory(&mut self, below: &str, depth: usize) -> Result<(), PackError> {
        // Joining an empty path would append a slash.
        let directory = match below {
            "" => self.root.to_owned(),
            below => self.root.join(below),
        };
        let failed = |source| files::failed(&directory, source);
        for entry in fs::read_dir(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            let unusable = || PackError::ChartFile(path.clone());
            self.entries += 1;
            let name = entry.file_name().into_string().map_err(|_| unusable())?;
            let below = match below {
                "" => name,
                below => format!("{below}/{name}"),
            };
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                if depth == DEPTH || self.entries > charts::limits::ENTRIES {
                    return Err(unusable());
                }
                if !self.ignored.has_directory(&below) {
                    self.directory(&below, depth + 1)?;
                }
            } else if !self.ignored.has(&below) {
                // A symbolic link could point outside the source tree.
                if !kind.is_file() || self.entries > charts::limits::ENTRIES {
                    return Err(unusable());
                }
                let bytes = files::read(&path, self.left)?;
                self.left -= bytes.len() as u64;
                self.files.insert(below, bytes);
            }
        }
        Ok(())
    }
}

/// Returns the distinct artifacts of charts as images.
pub(crate) fn images(charts: &[LoadedChart]) -> Vec<Image> {
    let mut images = BTreeMap::new();
    for chart in charts {
        let place = chart.release.place();
        images.entry(place).or_insert_with(|| chart.image());
    }
    images.into_values().collect()
}

/// Returns the sources of the artifacts' blobs.
pub(crate) fn contents(charts: &[LoadedChart]) -> BTreeMap<Digest, FileSource> {
    let contents = charts
        .iter()
        .flat_map(|chart| [&chart.archive, &chart.config]);
    let source =
        |shared: &SharedBytes| (shared.digest, FileSource::Bytes(Arc::clone(&shared.bytes)));
    contents.map(source).collect()
}

impl LoadedChart {
    /// Checks the placeholders in all values that the chart is rendered with.
    pub(crate) fn check_placeholders(
        &self,
        source: &SourceChart,
        names: &PlaceholderNames<'_>,
        problems: &mut SourceProblems<'_>,
    ) {
        let values = [("values".to_owned(), &source.values, &self.values)];
        let sets = self.sets.iter().zip(&source.render).enumerate();
        let sets = sets.map(|(at, (set, files))| (format!("render[{at}]"), files, &set.values));
        for (field, files, values) in values.into_iter().chain(sets) {
            let found = names.check_values(values, &self.release);
            // Merged values of multiple files have no line in a single file, so their problems are reported at the
            // field.
            if let [file] = &files[..] {
                let file = SourceDocument::first(file.display().to_string());
                problems.of_document(found, &file);
                continue;
            }
            let field = format!("{}.{field}", self.field);
            for problem in found {
                problems.at_field(problem.source_finding(), &field, &problem);
            }
        }
    }

    /// Returns the chart's archive.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.archive.bytes
    }

    fn image(&self) -> Image {
        let (digest, manifest) = (self.artifact.digest(), self.artifact.manifest.clone());
        let (root, _) = Document::read(digest, manifest)
            .expect("the manifest of an artifact is one of the image specification");
        let blobs = [&self.archive, &self.config];
        Image {
            place: self.release.place(),
            reference: None,
            root: Arc::new(root),
            children: Vec::new(),
            blobs: blobs.map(|shared| (shared.digest, shared.size())).into(),
            platforms: [].into(),
        }
    }

    /// Returns the chart and its values as files of the archive.
    pub(crate) fn files(&self) -> [ArchiveFile; 2] {
        let SharedBytes { digest, bytes } = &self.archive;
        let name = &self.release.name;
        let values: ArchivePath = archive::chart_values_path(name);
        [
            ArchiveFile {
                path: archive::chart_path(name),
                size: self.archive.size(),
                digest: *digest,
                source: FileSource::Bytes(Arc::clone(bytes)),
            },
            ArchiveFile::from_bytes(values, yaml::to_string(&self.values).into_bytes()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, SOLUTION};

    const CHART: &str = "apiVersion: v2\nname: web\nversion: 1.2.3+b\n";

    /// Returns a source tree with a chart directory and values files.
    fn tree(charts: &str) -> tempfile::TempDir {
        let tree = testing::texts(&format!("{SOLUTION}  charts:\n{charts}"));
        for (path, text) in [
            ("web/Chart.yaml", CHART),
            ("web/templates/a.yaml", "a: b"),
            ("web/.helmignore", ".git/\n"),
            ("web/.git/config", "x"),
            ("a.yaml", "image: {repository: x, tag: y}\nlist: [1, 2]\n"),
            ("b.yaml", "image: {tag: null}\nlist: [3]\n"),
            ("list.yaml", "[a]"),
        ] {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        tree
    }

    const WEB: &str = "    - {name: shop, source: 'dir:web', values: [a.yaml, b.yaml], needs: [db], timeout: 5m}\n";

    #[test]
    fn charts_become_files_and_one_artifact() {
        let tree = tree(&format!("{WEB}    - {{name: db, source: 'dir:web'}}\n"));
        let loaded = testing::load(tree.path()).unwrap();
        let [shop, db] = &loaded.charts[..] else {
            panic!("two charts were given");
        };
        assert_eq!(shop.release.version.as_str(), "1.2.3+b");
        assert_eq!(
            yaml::to_string(&shop.values),
            "image:\n  repository: 'x'\n  tag: null\nlist:\n- 3\n"
        );
        let [chart, values] = shop.files();
        assert_eq!(chart.path.as_str(), "charts/shop/chart.tgz");
        assert_eq!(values.path.as_str(), "charts/shop/values.yaml");
        assert_eq!(chart.digest, db.files()[0].digest);
        let images = images(&loaded.charts);
        assert_eq!(images.len(), 1);
        assert_eq!(images[0].place.to_string(), "charts/web:1.2.3_b");
        let contents = contents(&loaded.charts);
        assert!(images[0].blobs.keys().eq(contents.keys()));
        // A second load from another directory has the same result.
        let again = self::tree(WEB.replace(", needs: [db]", "").as_str());
        let again = testing::load(again.path()).unwrap();
        assert_eq!(again.charts[0].files()[0].digest, chart.digest);
    }

    #[test]
    fn what_is_wrong_with_a_chart_is_said_with_its_file() {
        let said = |charts: &str| {
            let tree = tree(charts);
            std::os::unix::fs::symlink("/etc/passwd", tree.path().join("web/link")).unwrap();
            testing::refused(testing::load(tree.path()))
        };
        for (chart, words) in [
            (
                "{name: web, source: 'dir:web'}",
                "solution.yaml:11: [source.chart] `web/link` cannot be in a chart",
            ),
            (
                "{name: web, source: 'dir:none'}",
                "solution.yaml:11: [source.missing] spec.charts[0].source names `none`, which does not exist",
            ),
            (
                "{name: web, source: 'dir:../web'}",
                "solution.yaml:11: [source.path] spec.charts[0].source is `../web`",
            ),
            (
                "{name: web, source: 'file:a.yaml'}",
                "solution.yaml:11: [charts.archive] cannot package the chart: is not a whole gzip file",
            ),
            (
                "{name: web, source: 'oci://r.test/a:latest'}",
                "solution.yaml:11:27: [source.yaml] `latest` is not",
            ),
        ] {
            let said = said(&format!("    - {chart}\n"));
            assert!(said.starts_with(words), "{said}");
        }
        let tree = tree("    - {name: web, source: 'dir:web', values: [list.yaml, a.yaml]}\n");
        assert_eq!(
            testing::refused(testing::load(tree.path())),
            "list.yaml:1: [charts.values] is not a mapping"
        );
        let tree = self::tree(WEB);
        assert_eq!(
            testing::refused(testing::load(tree.path())),
            "solution.yaml:11: [charts.release] the chart `shop` needs `db`, which is neither a set nor a chart"
        );
    }
}

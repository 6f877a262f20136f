//! The Helm charts that a Solution carries: read or packaged, with the values that their releases get.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use archive::{ArchiveFile, FileSource};
use charts::{Chart, ChartArtifact, IgnoreRules};
use schemas::{
    ArchivePath, ChartName, ChartPin, ChartRelease, ChartSource, ChartVersion, Digest, Document,
    Image, ImageReference, OciChart, SourceChart, yaml,
};
use serde_json::{Map, Value};
use sources::{Cache, Remote, SourceError, SourceNetwork};
use watch::Watch;

use crate::Event;
use crate::error::PackError;

/// A chart whose files were read.
#[derive(Debug)]
pub(crate) struct LoadedChart {
    /// The release as `manifest.yaml` has it.
    pub(crate) release: ChartRelease,
    /// The chart itself.
    archive: SharedBytes,
    /// The configuration of its artifact.
    config: SharedBytes,
    artifact: ChartArtifact,
    /// The chart as it was read.
    pub(crate) chart: Chart,
    /// The values of all files, merged.
    pub(crate) values: Map<String, Value>,
    /// Further sets of values that its images are complete for.
    pub(crate) sets: Vec<ValuesSet>,
    /// References that need not be carried.
    pub(crate) unused: Vec<ImageReference>,
}

/// Values that are rendered on top of those of a release, and are not carried.
#[derive(Debug)]
pub(crate) struct ValuesSet {
    /// The names of its files, for messages.
    pub(crate) name: String,
    pub(crate) values: Map<String, Value>,
}

/// Bytes that several files of the archive may have.
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

/// Reads a chart; `below` resolves the paths of `solution.yaml`, and what is elsewhere is asked of `network`.
pub(crate) fn load(
    source: &SourceChart,
    below: impl Fn(&'static str, &Path) -> Result<PathBuf, PackError>,
    network: &SourceNetwork<'_>,
) -> Result<LoadedChart, PackError> {
    const SOURCE: &str = "spec.charts.source";
    let (path, bytes) = bytes(&source.source, |path| below(SOURCE, path), network)?;
    let chart = Chart::read(&bytes).map_err(|source| PackError::Chart { path, source })?;
    check(&source.source, &chart)?;
    let values = merged(&source.values, |file| below("spec.charts.values", file))?;
    let set = |files: &Vec<PathBuf>| {
        let values = merged(files, |file| below("spec.charts.render", file))?;
        let names: Vec<_> = files.iter().map(|it| it.display().to_string()).collect();
        let name = names.join(", ");
        Ok(ValuesSet { name, values })
    };
    let sets = source.render.iter().map(set);
    let sets = sets.collect::<Result<_, PackError>>()?;
    let artifact = chart.artifact(&bytes);
    Ok(LoadedChart {
        release: ChartRelease {
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
        },
        archive: SharedBytes::new(bytes),
        config: SharedBytes::new(artifact.config.clone()),
        artifact,
        chart,
        values,
        sets,
        unused: source.unused_images.clone(),
    })
}

/// The archive of a chart, and how messages call it.
fn bytes(
    source: &ChartSource,
    below: impl Fn(&Path) -> Result<PathBuf, PackError>,
    network: &SourceNetwork<'_>,
) -> Result<(PathBuf, Vec<u8>), PackError> {
    let elsewhere = |read: Result<Vec<u8>, SourceError>| match read {
        Ok(bytes) => Ok((PathBuf::from(source.to_string()), bytes)),
        Err(error) => Err(PackError::no_chart(source, error)),
    };
    match source {
        ChartSource::File(file) => {
            let path = below(file)?;
            let bytes = files::read(&path, charts::limits::ARCHIVE_SIZE)?;
            Ok((path, bytes))
        }
        ChartSource::Dir(directory) => {
            let path = below(directory)?;
            let bytes = package(&path)?;
            Ok((path, bytes))
        }
        ChartSource::Oci(chart) => elsewhere(sources::oci_chart(chart, network)),
        ChartSource::Repository(chart) => elsewhere(sources::repository_chart(chart, network)),
    }
}

/// A chart that was read to be carried.
#[derive(Debug)]
pub struct ReadChart {
    /// The name of the chart.
    pub name: ChartName,
    /// The version of the chart.
    pub version: ChartVersion,
    /// The archive of the chart; that of a directory as a pack would make it.
    pub archive: Vec<u8>,
    /// The file that says who signed it, of a packed chart on this disk.
    pub provenance: Option<Vec<u8>>,
}

/// Reads a chart that is in no source tree yet. What was downloaded stays in the cache in this directory.
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
    let (path, archive) = bytes(source, |path| Ok(path.to_owned()), &network)?;
    let chart = Chart::read(&archive).map_err(|source| PackError::Chart { path, source })?;
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

/// The provenance file beside a chart on this disk; none if there is none.
pub(crate) fn provenance(chart: &Path) -> Result<Option<Vec<u8>>, PackError> {
    let mut path = OsString::from(chart);
    path.push(".prov");
    match files::read(Path::new(&path), charts::limits::PROVENANCE as u64) {
        Err(error) if error.is_missing() => Ok(None),
        read => Ok(Some(read?)),
    }
}

/// Refuses a chart that is another one than its source says.
fn check(source: &ChartSource, chart: &Chart) -> Result<(), PackError> {
    let is_it = match source {
        ChartSource::File(_) | ChartSource::Dir(_) => true,
        // The repository of a copy may be called otherwise.
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

/// The values of several files, those of a later one over those of an earlier one.
fn merged(
    files: &[PathBuf],
    below: impl Fn(&Path) -> Result<PathBuf, PackError>,
) -> Result<Map<String, Value>, PackError> {
    let mut values = Map::new();
    for file in files {
        let path = below(file)?;
        let bytes = files::read(&path, schemas::limits::YAML_SIZE)?;
        let read = charts::read_values(&bytes);
        let read = read.map_err(|source| PackError::Values { path, source })?;
        schemas::merge_values(&mut values, &read);
    }
    Ok(values)
}

/// The archive of a chart's directory.
fn package(directory: &Path) -> Result<Vec<u8>, PackError> {
    let failed = |source| PackError::Chart {
        path: directory.to_owned(),
        source,
    };
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

/// The files below a directory that are of the chart.
struct ChartWalk<'a> {
    root: &'a Path,
    ignored: IgnoreRules,
    entries: usize,
    /// Bytes that may still be read.
    left: u64,
    files: BTreeMap<String, Vec<u8>>,
}

/// Directories within one another: as deep as paths in an archive of 255 bytes can reasonably be.
const DEPTH: usize = 32;

impl ChartWalk<'_> {
    fn directory(&mut self, below: &str, depth: usize) -> Result<(), PackError> {
        // Joined with nothing, a path would get a slash.
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
                // A link could lead out of the tree that is handed over.
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

/// The artifacts of charts, as images, each once.
pub(crate) fn images(charts: &[LoadedChart]) -> Vec<Image> {
    let mut images = BTreeMap::new();
    for chart in charts {
        let place = chart.release.place();
        images.entry(place).or_insert_with(|| chart.image());
    }
    images.into_values().collect()
}

/// Returns where the contents of the artifacts come from.
pub(crate) fn contents(charts: &[LoadedChart]) -> BTreeMap<Digest, FileSource> {
    let contents = charts.iter().flat_map(|it| [&it.archive, &it.config]);
    let source = |it: &SharedBytes| (it.digest, FileSource::Bytes(Arc::clone(&it.bytes)));
    contents.map(source).collect()
}

impl LoadedChart {
    /// The chart's archive.
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
            blobs: blobs.map(|it| (it.digest, it.size())).into(),
            platforms: [].into(),
        }
    }

    /// The chart and its values, as files of the archive.
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

    /// A source tree with a chart's directory and files of values.
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
        // Made again in another place, it is the same.
        let again = self::tree(WEB.replace(", needs: [db]", "").as_str());
        let again = testing::load(again.path()).unwrap();
        assert_eq!(again.charts[0].files()[0].digest, chart.digest);
    }

    #[test]
    fn what_is_wrong_with_a_chart_is_said_with_its_file() {
        let said = |charts: &str| {
            let tree = tree(charts);
            std::os::unix::fs::symlink("/etc/passwd", tree.path().join("web/link")).unwrap();
            let error = testing::load(tree.path()).unwrap_err();
            let said = error.to_string();
            said.replace(&format!("{}/", tree.path().display()), "")
        };
        for (chart, words) in [
            (
                "{name: web, source: 'dir:web'}",
                "`web/link` cannot be in a chart",
            ),
            ("{name: web, source: 'dir:none'}", "cannot read `none`"),
            (
                "{name: web, source: 'dir:../web'}",
                "`spec.charts.source` is `../web`",
            ),
            (
                "{name: web, source: 'file:a.yaml'}",
                "the chart `a.yaml` cannot be carried",
            ),
            (
                "{name: web, source: 'oci://r.test/a:latest'}",
                "`solution.yaml` cannot be parsed",
            ),
        ] {
            let said = said(&format!("    - {chart}\n"));
            assert!(said.starts_with(words), "{said}");
        }
        let tree = tree("    - {name: web, source: 'dir:web', values: [list.yaml]}\n");
        let said = testing::load(tree.path()).unwrap_err().to_string();
        assert!(
            said.ends_with("list.yaml` cannot be the values of a chart"),
            "{said}"
        );
        let tree = self::tree(WEB);
        let said = testing::load(tree.path()).unwrap_err().to_string();
        let words = "`solution.yaml`: the chart `shop` needs `db`, which is no set and no chart";
        assert_eq!(said, words);
    }
}

//! A source tree that carries the releases of a helmfile.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use manifests::shown;
use schemas::{
    ChartName, ChartRelease, ChartSource, ChartVersion, SolutionId, SourceChart, Strategy, yaml,
};
use validator::rules;

use crate::helmfile::{Helmfile, HelmfileProblem, ListedChart, ListedRelease, ListedValues};
use crate::notes::{Note, Weight};
use crate::paths::{NOTES, SOURCE};
use crate::{ReleaseError, SourceTree, Wishes, charts, empty_source, identity, write};

/// Reads what a helmfile names.
pub trait Reads {
    /// Why something cannot be read.
    type Error: From<ReleaseError>;

    /// Reads a chart of this disk, a directory or packed: its copy is packed.
    fn local_chart(&mut self, path: &Path) -> Result<(ChartRead, Copied), Self::Error>;

    /// Reads a chart that is elsewhere, and stays there.
    fn chart(&mut self, source: &ChartSource) -> Result<ChartRead, Self::Error>;

    /// Reads a file of values, which are values.
    fn values(&mut self, path: &Path) -> Result<Copied, Self::Error>;
}

/// What a chart says of itself.
#[derive(Clone, Debug)]
pub struct ChartRead {
    /// Its name.
    pub name: ChartName,
    /// Its version.
    pub version: ChartVersion,
}

/// A file of this disk that a tree has a copy of.
#[derive(Clone, Debug)]
pub struct Copied {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether it lies outside of the helmfile's directory, perhaps by way of links.
    pub outside: bool,
}

/// The version of a Solution for which there is no other.
const VERSION: &str = "0.1.0";

/// Makes a source tree that carries the releases of a helmfile, in a directory of this name.
pub fn carry_helmfile<R: Reads>(
    helmfile: &Helmfile,
    directory: &str,
    wishes: &Wishes,
    reads: &mut R,
) -> Result<SourceTree, R::Error> {
    let id = identity::of_helmfile(directory, VERSION).choose(wishes)?;
    let mut tree = Listed {
        notes: charts::notes(),
        ..Listed::default()
    };
    if wishes.version.is_none() {
        let text = format!("a helmfile has none; `spec.version` is {VERSION}");
        tree.notes.push(Note::new(Weight::Decide, "version", text));
    }
    tree.notes.extend(helmfile.notes.iter().cloned());
    // A file that is not there is found out before anything is downloaded.
    let mut values = Vec::new();
    for release in &helmfile.releases {
        values.push(tree.values(helmfile, release, reads)?);
    }
    for (release, values) in helmfile.releases.iter().zip(values) {
        let (chart, source) = match &release.chart {
            ListedChart::Elsewhere(source) => (reads.chart(source)?, source.clone()),
            ListedChart::Local { path, version } => {
                let (chart, copied) = reads.local_chart(path)?;
                tree.note_version(release, version.as_deref(), &chart.version);
                let source = tree.copied_chart(path, &chart, copied)?;
                (chart, source)
            }
        };
        tree.add(release, values, chart, source);
    }
    Ok(tree.finish(id, &helmfile.name)?)
}

/// What a tree will be made of.
#[derive(Default)]
struct Listed {
    charts: Vec<SourceChart>,
    /// The same, as an archive will have them.
    releases: Vec<ChartRelease>,
    files: BTreeMap<String, Vec<u8>>,
    notes: Vec<Note>,
}

impl Listed {
    /// Copies the values of a release. Gives their paths in the tree.
    fn values<R: Reads>(
        &mut self,
        helmfile: &Helmfile,
        release: &ListedRelease,
        reads: &mut R,
    ) -> Result<Vec<PathBuf>, R::Error> {
        let mut paths = Vec::new();
        for (number, values) in (1..).zip(&release.values) {
            let path = format!("values/{}-{number}.yaml", release.name);
            let bytes = match values {
                ListedValues::Inline(values) => yaml::to_string(values).into_bytes(),
                ListedValues::File(file) => {
                    let copied = reads.values(file)?;
                    if Helmfile::has_reference(&copied.bytes) {
                        let wrong = helmfile.problem(release, HelmfileProblem::Secret);
                        return Err(ReleaseError::from(wrong).into());
                    }
                    self.copied(&path, file, copied)
                }
            };
            self.files.insert(path.clone(), bytes);
            paths.push(path.into());
        }
        Ok(paths)
    }

    /// The bytes of a file. What is taken from elsewhere is told: whoever wrote the helmfile may not know what is there.
    fn copied(&mut self, path: &str, from: &Path, copied: Copied) -> Vec<u8> {
        if copied.outside {
            let from = shown(&from.to_string_lossy());
            let text = format!(
                "is a copy of `{from}`, outside of the helmfile's directory; look whether it may be handed over"
            );
            self.notes.push(Note::new(Weight::Decide, path, text));
        }
        copied.bytes
    }

    /// Copies a chart. Gives what it is called then.
    fn copied_chart(
        &mut self,
        from: &Path,
        chart: &ChartRead,
        copied: Copied,
    ) -> Result<ChartSource, ReleaseError> {
        let path = format!("charts/{}-{}.tgz", chart.name, chart.version);
        let bytes = self.copied(&path, from, copied);
        match self.files.entry(path.clone()) {
            Entry::Occupied(other) if *other.get() != bytes => {
                return Err(ReleaseError::OtherBytes(path));
            }
            Entry::Occupied(_) => {}
            Entry::Vacant(vacant) => drop(vacant.insert(bytes)),
        }
        Ok(ChartSource::File(path.into()))
    }

    fn add(
        &mut self,
        release: &ListedRelease,
        values: Vec<PathBuf>,
        chart: ChartRead,
        source: ChartSource,
    ) {
        let ListedRelease {
            name: release,
            namespace,
            needs,
            timeout,
            ..
        } = release.clone();
        self.releases.push(ChartRelease {
            name: release.clone(),
            chart: chart.name,
            version: chart.version,
            namespace: namespace.clone(),
            strategy: Strategy::Managed,
            needs: needs.clone(),
            timeout: timeout.clone(),
        });
        self.charts.push(SourceChart {
            name: release,
            source,
            values,
            render: Vec::new(),
            unused_images: Vec::new(),
            namespace,
            strategy: Strategy::Managed,
            needs,
            timeout,
        });
    }

    /// Helm takes a chart of this disk whatever version it was asked for.
    fn note_version(&mut self, release: &ListedRelease, said: Option<&str>, is: &ChartVersion) {
        if let Some(said) = said.filter(|said| *said != is.as_str()) {
            let said = shown(said);
            let text = format!("`version: {said}` counts for nothing: the chart is {is}");
            let name = release.name.as_str();
            self.notes.push(Note::new(Weight::Chosen, name, text));
        }
    }

    fn finish(mut self, id: SolutionId, called: &str) -> Result<SourceTree, ReleaseError> {
        let none = BTreeMap::new();
        let problem = rules::object_sets(&[], &self.releases, &none).next();
        if let Some(problem) = problem {
            return Err(ReleaseError::Unfit(Box::new(problem)));
        }
        let mut source = empty_source(&id);
        source.spec.charts = self.charts;
        let text = charts::text(&source, write::RELEASE, called)?;
        self.notes.sort_by_key(|note| note.weight);
        let notes = write::made(&id, called, &self.notes);
        self.files.insert(NOTES.to_owned(), notes.into_bytes());
        self.files.insert(SOURCE.to_owned(), text);
        Ok(SourceTree {
            id,
            source,
            files: self.files,
            notes: self.notes,
        })
    }
}

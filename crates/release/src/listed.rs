//! Source trees with the releases of a helmfile. [`carry_helmfile`] drafts the tree and reads the helmfile, its charts
//! and its values through a [`HelmfileReader`].

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use manifests::display_text;
use schemas::{
    ChartName, ChartRelease, ChartSource, ChartVersion, SiteValues, SolutionId, SourceChart,
    Strategy, yaml,
};

use crate::helmfile::{
    HelmfileError, HelmfileProblem, HelmfileReleases, ListedChart, ListedRelease, ListedValues,
    asks_store, has_reference,
};
use crate::notes::{Note, NoteWeight};
use crate::paths::{NOTES, SOURCE};
use crate::{InitOptions, ReleaseError, SourceTree, charts, empty_source, identity, write};

/// Access to a helmfile, and to the charts and values to which it refers.
pub trait HelmfileReader {
    /// The error of a file or chart that cannot be read.
    type Error: From<ReleaseError>;

    /// Returns the releases, with the names of their values files.
    fn named(&mut self) -> Result<HelmfileReleases, Self::Error>;

    /// Returns the releases, with the content of their values files and of secret stores inserted.
    fn embedded(&mut self) -> Result<HelmfileReleases, Self::Error>;

    /// Reads a local chart, a directory or a package. The copy is always a package.
    fn local_chart(&mut self, path: &Path) -> Result<(ChartRead, CopiedFile), Self::Error>;

    /// Reads the name and version of a remote chart. The chart is not copied.
    fn chart(&mut self, source: &ChartSource) -> Result<ChartRead, Self::Error>;

    /// Reads a helmfile or a values file.
    fn file(&mut self, path: &Path) -> Result<CopiedFile, Self::Error>;
}

/// The name and version in a chart's metadata.
#[derive(Clone, Debug)]
pub struct ChartRead {
    /// The name of the chart.
    pub name: ChartName,
    /// The version of the chart.
    pub version: ChartVersion,
}

/// A local file that is copied into the tree.
#[derive(Clone, Debug)]
pub struct CopiedFile {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// True if the file is outside of the helmfile's directory, also by way of symbolic links.
    pub outside: bool,
}

/// The version of a Solution for a helmfile, which has none.
const VERSION: &str = "0.1.0";

/// Drafts a source tree with the releases of a helmfile. `called` is the name of the helmfile, and `directory` that of
/// its directory.
///
/// # Errors
///
/// Fails if the helmfile uses a secret store or unsupported features, or if a chart cannot be read.
pub fn carry_helmfile<R: HelmfileReader>(
    called: &str,
    directory: &str,
    options: &InitOptions,
    reads: &mut R,
) -> Result<SourceTree, R::Error> {
    let id = identity::of_helmfile(directory, VERSION).choose(options)?;
    let mut tree = TreeParts {
        notes: charts::notes(),
        ..TreeParts::default()
    };
    tree.decide("secrets", "Helmfile inserted values from environment variables, files and commands; check values/ for secrets before you distribute the archive");
    if options.version.is_none() {
        let text = format!("a helmfile has no version; set `spec.version`, which is {VERSION} now");
        tree.decide("version", text);
    }
    // Helmfile inserts secrets when it embeds values, so files are checked first.
    tree.check_secrets(reads)?;
    let helmfile = reads.embedded()?;
    tree.notes.extend(helmfile.notes.iter().cloned());
    for release in &helmfile.releases {
        let (chart, source) = match &release.chart {
            ListedChart::Elsewhere(source) => (reads.chart(source)?, source.clone()),
            ListedChart::Local(path, version) => {
                let (chart, copied) = reads.local_chart(path)?;
                tree.note_version(release, version.as_deref(), &chart.version);
                let source = tree.copied_chart(path, &chart, copied)?;
                (chart, source)
            }
        };
        tree.add(release, chart, source);
    }
    Ok(tree.finish(id, called)?)
}

/// The parts of a tree that are collected.
#[derive(Default)]
struct TreeParts {
    charts: Vec<SourceChart>,
    /// The same releases as they will be in an archive, for the checks.
    releases: Vec<ChartRelease>,
    files: BTreeMap<String, Vec<u8>>,
    notes: Vec<Note>,
}

impl TreeParts {
    fn decide(&mut self, about: &str, text: impl Into<String>) {
        self.notes.push(Note::new(NoteWeight::Decide, about, text));
    }

    /// Fails if a file refers to a secret store, before Helmfile reads from it. Notes the files outside of the
    /// helmfile's directory, because the user may not know them.
    fn check_secrets<R: HelmfileReader>(&mut self, reads: &mut R) -> Result<(), R::Error> {
        let named = reads.named()?;
        let secret = |path: &Path| {
            let place = format!("`{}`", display_text(&path.to_string_lossy()));
            ReleaseError::from(HelmfileError::new(place, HelmfileProblem::Secret))
        };
        for file in &named.files {
            if asks_store(&String::from_utf8_lossy(&reads.file(file)?.bytes)) {
                return Err(secret(file).into());
            }
        }
        for release in &named.releases {
            for (number, values) in (1..).zip(&release.values) {
                let ListedValues::File(file) = values else {
                    continue;
                };
                let copied = reads.file(file)?;
                let text = String::from_utf8_lossy(&copied.bytes);
                if has_reference(&text) || asks_store(&text) {
                    return Err(secret(file).into());
                }
                self.note_outside(&values_path(release, number), file, &copied);
            }
        }
        Ok(())
    }

    fn note_outside(&mut self, path: &str, from: &Path, copied: &CopiedFile) {
        if copied.outside {
            let from = display_text(&from.to_string_lossy());
            let text = format!(
                "is a copy of `{from}`, which is outside the helmfile's directory; check that you may distribute it"
            );
            self.decide(path, text);
        }
    }

    /// Copies a local chart into the tree, and returns its source there.
    fn copied_chart(
        &mut self,
        from: &Path,
        chart: &ChartRead,
        copied: CopiedFile,
    ) -> Result<ChartSource, ReleaseError> {
        let path = format!("charts/{}-{}.tgz", chart.name, chart.version);
        self.note_outside(&path, from, &copied);
        match self.files.entry(path.clone()) {
            Entry::Occupied(other) if *other.get() != copied.bytes => {
                return Err(ReleaseError::OtherBytes(path));
            }
            // Multiple releases can share one chart.
            Entry::Occupied(_) => {}
            Entry::Vacant(vacant) => drop(vacant.insert(copied.bytes)),
        }
        Ok(ChartSource::File(path.into()))
    }

    fn add(&mut self, release: &ListedRelease, chart: ChartRead, source: ChartSource) {
        let mut values = Vec::new();
        for (number, listed) in (1..).zip(&release.values) {
            let path = values_path(release, number);
            if let ListedValues::Inline(listed) = listed {
                self.files
                    .insert(path.clone(), yaml::to_string(listed).into_bytes());
                values.push(path.into());
            }
        }
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
            namespaces: Vec::new(),
            when: None,
            strategy: Strategy::Managed,
            needs: needs.clone(),
            timeout: timeout.clone(),
            site_values: SiteValues::default(),
        });
        self.charts.push(SourceChart {
            name: release,
            source,
            values,
            render: Vec::new(),
            unused_images: Vec::new(),
            namespace,
            namespaces: Vec::new(),
            when: None,
            strategy: Strategy::Managed,
            needs,
            timeout,
            site_values: SiteValues::default(),
        });
    }

    /// Notes that Helm ignores the version of a local chart, if it differs from the chart's own.
    fn note_version(&mut self, release: &ListedRelease, said: Option<&str>, is: &ChartVersion) {
        if let Some(said) = said.filter(|said| *said != is.as_str()) {
            let said = display_text(said);
            let text = format!("`version: {said}` is ignored: the chart has version {is}");
            let name = release.name.as_str();
            self.notes.push(Note::new(NoteWeight::Chosen, name, text));
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
            named_by: BTreeMap::new(),
        })
    }
}

/// Returns the path for a release's values in the tree.
fn values_path(release: &ListedRelease, number: usize) -> String {
    format!("values/{}-{number}.yaml", release.name)
}

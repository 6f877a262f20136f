//! Checks of `charts/`: the Helm charts of an archive (docs/format-charts.md).

use std::collections::{BTreeMap, BTreeSet};

use archive::{CHARTS, Feature, MANIFEST, OpenError};
use charts::{Chart, ChartProblem, read_values};
use schemas::{Capability, ChartRelease, ContentsEntry, Image, ImagePlace, Solution, limits};
use serde_json::{Map, Value};

use crate::capability;
use crate::catalogue::FindingInfo;
use crate::catalogue::charts::{
    ARCHIVE, ARTIFACT, BUDGET, CAPABILITY, DEPENDENCY, IDENTITY, METADATA, MISSING, RELEASE_SIZE,
    SCHEMA, UNEXPECTED, VALUES,
};
use crate::files::Files;
use crate::finding::Findings;
use crate::rules::{self, PlaceholderNames};

const DIRECTORY: &str = "charts/";

/// Reads and checks all charts. `solution` is none when the manifest could not be read, so that there is nothing to compare
/// them with.
pub(crate) fn check(
    files: &Files<'_>,
    solution: Option<&Solution>,
    images: &[Image],
    requires: &[Capability],
    findings: &mut Findings,
) -> Result<(), OpenError> {
    let Some(solution) = solution else {
        return Ok(());
    };
    capability::check(
        Feature::Charts,
        ["has charts", "has no charts"],
        (solution, requires),
        (&CAPABILITY, findings),
    );
    let spec = &solution.spec;
    unexpected(files, &spec.charts, findings);
    let mut judge = Judge {
        files,
        images: images.iter().map(|it| (&it.place, it)).collect(),
        placeholders: PlaceholderNames::new(&spec.images, &spec.parameters),
        findings,
    };
    // That there are more is a finding already.
    for release in spec.charts.iter().take(crate::limits::CHARTS) {
        files.go_on()?;
        judge.release(release)?;
    }
    Ok(())
}

/// Files that belong to no chart.
fn unexpected(files: &Files<'_>, charts: &[ChartRelease], findings: &mut Findings) {
    let paths = charts.iter().map(|it| &it.name);
    let paths = paths.flat_map(|it| [archive::chart_path(it), archive::chart_values_path(it)]);
    let known: BTreeSet<String> = paths.map(|path| path.to_string()).collect();
    for entry in files.below(DIRECTORY) {
        if !known.contains(entry.path.as_str()) {
            let message = format_args!("manifest.yaml has no chart with this file below {CHARTS}/");
            findings.add(&UNEXPECTED, &entry.path, message);
        }
    }
}

/// Judges charts one by one.
struct Judge<'a> {
    files: &'a Files<'a>,
    images: BTreeMap<&'a ImagePlace, &'a Image>,
    placeholders: PlaceholderNames<'a>,
    findings: &'a mut Findings,
}

impl Judge<'_> {
    fn release(&mut self, release: &ChartRelease) -> Result<(), OpenError> {
        let chart = self.chart(release)?;
        let values = self.values(release)?;
        let (Some(chart), Some(values)) = (chart, values) else {
            return Ok(());
        };
        let (size, most) = (chart.stored_size(&values), charts::limits::RELEASE);
        if size > most {
            let message = format_args!(
                "Helm would store at least {size} bytes of the release, what it renders not counted; a Secret holds {most}"
            );
            self.findings
                .add(&RELEASE_SIZE, archive::chart_path(&release.name), message);
        }
        Ok(())
    }

    fn missing(&mut self, path: &impl std::fmt::Display) {
        let message = format_args!("`{path}` is not in the archive");
        self.findings.add(&MISSING, MANIFEST, message);
    }

    /// The chart, if it can be read.
    fn chart(&mut self, release: &ChartRelease) -> Result<Option<Chart>, OpenError> {
        let path = archive::chart_path(&release.name);
        let Some(entry) = self.files.get(path.as_str()) else {
            self.missing(&path);
            return Ok(None);
        };
        let limit = charts::limits::ARCHIVE_SIZE;
        let Some(bytes) = self.files.read(entry, limit, &BUDGET, self.findings)? else {
            return Ok(None);
        };
        let chart = match Chart::read(&bytes) {
            Ok(chart) => chart,
            Err(error) => {
                self.findings.add(info(&error.problem), &path, error);
                return Ok(None);
            }
        };
        let (name, version) = (&chart.name, &chart.version);
        if (name, version) != (&release.chart, &release.version) {
            let message = format_args!(
                "is `{name}` {version}; manifest.yaml says `{}` {}",
                release.chart, release.version
            );
            self.findings.add(&IDENTITY, &path, message);
            return Ok(Some(chart));
        }
        self.artifact(release, entry, &chart, &bytes);
        Ok(Some(chart))
    }

    /// Compares the artifact among the images with that of the chart. That it is absent is a finding already.
    fn artifact(
        &mut self,
        release: &ChartRelease,
        entry: &ContentsEntry,
        chart: &Chart,
        bytes: &[u8],
    ) {
        let place = release.place();
        let digest = chart.artifact(bytes).digest();
        let image = self.images.get(&place);
        if image.is_none_or(|image| image.root.digest != digest) {
            let message = format_args!("the image `{place}` is not the artifact of this chart");
            self.findings.add(&ARTIFACT, &entry.path, message);
        }
    }

    /// The publisher's values, if they can be read.
    fn values(&mut self, release: &ChartRelease) -> Result<Option<Map<String, Value>>, OpenError> {
        let path = archive::chart_values_path(&release.name);
        let Some(entry) = self.files.get(path.as_str()) else {
            self.missing(&path);
            return Ok(None);
        };
        let Some(bytes) = self
            .files
            .read(entry, limits::YAML_SIZE, &VALUES, self.findings)?
        else {
            return Ok(None);
        };
        match read_values(&bytes) {
            Ok(values) => {
                let problems = self.placeholders.check_values(&values);
                rules::report(problems, path.as_str(), self.findings);
                Ok(Some(values))
            }
            Err(error) => {
                self.findings
                    .add(&VALUES, &path, crate::finding::Chain(&error));
                Ok(None)
            }
        }
    }
}

fn info(problem: &ChartProblem) -> &'static FindingInfo {
    match problem {
        ChartProblem::Archive(_) => &ARCHIVE,
        ChartProblem::Budget(_) => &BUDGET,
        ChartProblem::NoMetadata
        | ChartProblem::Yaml(..)
        | ChartProblem::Metadata(_)
        | ChartProblem::Name(_) => &METADATA,
        ChartProblem::Dependency(_) => &DEPENDENCY,
        ChartProblem::Values => &VALUES,
        ChartProblem::Schema(_) => &SCHEMA,
    }
}

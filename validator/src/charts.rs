//! Checks of the Helm charts in `charts/`, specified in docs/reference/format-charts.md. [`check`] reads each chart and
//! its values and compares them with the manifest and with the chart's OCI artifact among the images. It also collects
//! the custom resource definitions in `crds/`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use archive::{CHARTS, Feature, MANIFEST, OpenError};
use charts::{Chart, ChartProblem, TemplateInputs, read_values};
use rules::PlaceholderNames;
use rules::catalogue::FindingInfo;
use rules::catalogue::charts::{
    ARCHIVE, ARTIFACT, BUDGET, CAPABILITY, DEPENDENCY, IDENTITY, METADATA, MISSING, RELEASE_SIZE,
    REMOTE_SCHEMA, SCHEMA, UNEXPECTED, VALUES,
};
use schemas::{
    Capability, ChartRelease, ContentsEntry, Digest, Image, ImagePlace, Solution, limits,
};
use serde_json::{Map, Value};

use crate::capability;
use crate::definitions::{PackagedDefinition, PackagedDefinitions};
use crate::files::ListedFiles;
use crate::finding::{Findings, report};

const DIRECTORY: &str = "charts/";

/// A release of a Helm chart.
#[derive(Clone, Debug, PartialEq)]
pub struct PackagedChart {
    /// The release in the manifest.
    pub release: ChartRelease,
    /// The chart's archive.
    pub archive: Vec<u8>,
    /// The SHA-256 digest of the chart's archive.
    pub digest: Digest,
    /// True if Helm must skip the validation of values, because the chart's schema refers to a remote one.
    pub skip_schema: bool,
    /// The publisher's values, with placeholders.
    pub values: Map<String, Value>,
    /// The additional inputs of the chart's templates: the live cluster and random values.
    pub asks: TemplateInputs,
    /// The definitions in the chart's `crds/` that use webhook conversion. One environment owns them.
    pub definitions: Arc<[PackagedDefinition]>,
}

impl PackagedChart {
    /// Returns the additional inputs of the chart's templates with these values. Values are included because charts may
    /// evaluate them as templates.
    #[must_use]
    pub fn asks_with(&self, values: &[u8]) -> TemplateInputs {
        self.asks | TemplateInputs::from_template(values)
    }
}

/// The images and capabilities to compare the charts with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChartContext<'a> {
    pub(crate) images: &'a [Image],
    /// The capabilities that the signed statement requires of a reader.
    pub(crate) requires: &'a [Capability],
}

/// Reads and checks all charts, and adds their definitions. `solution` is `None` if the manifest could not be read; the
/// charts are not checked then.
pub(crate) fn check(
    files: &ListedFiles<'_>,
    solution: Option<&Solution>,
    context: ChartContext<'_>,
    definitions: &mut PackagedDefinitions,
    findings: &mut Findings,
) -> Result<Vec<PackagedChart>, OpenError> {
    let Some(solution) = solution else {
        return Ok(Vec::new());
    };
    capability::check(
        Feature::Charts,
        ["has charts", "has no charts"],
        solution,
        context.requires,
        &CAPABILITY,
        findings,
    );
    let spec = &solution.spec;
    report_unexpected(files, &spec.charts, findings);
    let mut judge = ChartJudge {
        files,
        images: context
            .images
            .iter()
            .map(|image| (&image.place, image))
            .collect(),
        placeholders: PlaceholderNames::new(&spec.images, &spec.parameters),
        definitions,
        findings,
        as_helm: false,
    };
    let mut carried = Vec::new();
    // A longer list of charts is already reported as a finding.
    for release in spec.charts.iter().take(rules::limits::CHARTS) {
        files.go_on()?;
        carried.extend(judge.release(release)?);
    }
    let message = match (
        judge.as_helm || judge.definitions.are_converted(),
        Feature::ChartsAsHelm.is_among(context.requires),
    ) {
        (true, false) => {
            "a chart has files that older readers reject, but the signed statement does not require"
        }
        (false, true) => {
            "no chart has files that older readers reject, but the signed statement requires"
        }
        _ => return Ok(carried),
    };
    let capability = Feature::ChartsAsHelm.capability();
    findings.add(
        &CAPABILITY,
        MANIFEST,
        format_args!("{message} `{capability}`"),
    );
    Ok(carried)
}

/// Adds findings for files that belong to no chart.
fn report_unexpected(files: &ListedFiles<'_>, charts: &[ChartRelease], findings: &mut Findings) {
    let paths = charts.iter().map(|release| &release.name);
    let paths =
        paths.flat_map(|name| [archive::chart_path(name), archive::chart_values_path(name)]);
    let known: BTreeSet<String> = paths.map(|path| path.to_string()).collect();
    for entry in files.below(DIRECTORY) {
        if !known.contains(entry.path.as_str()) {
            let message = format_args!("manifest.yaml has no chart with this file below {CHARTS}/");
            findings.add(&UNEXPECTED, &entry.path, message);
        }
    }
}

/// The state of the checks of the charts, which run one after the other.
struct ChartJudge<'a> {
    files: &'a ListedFiles<'a>,
    images: BTreeMap<&'a ImagePlace, &'a Image>,
    placeholders: PlaceholderNames<'a>,
    definitions: &'a mut PackagedDefinitions,
    findings: &'a mut Findings,
    /// True if a chart needs the second version of the capability.
    as_helm: bool,
}

/// A readable chart and its archive.
struct ReadableChart<'a> {
    entry: &'a ContentsEntry,
    archive: Vec<u8>,
    chart: Chart,
}

impl<'a> ChartJudge<'a> {
    /// Checks a release and returns it if its chart and its values could be read.
    fn release(&mut self, release: &ChartRelease) -> Result<Option<PackagedChart>, OpenError> {
        let read = self.chart(release)?;
        if let Some(ReadableChart { entry, chart, .. }) = &read {
            self.definitions
                .add_chart(entry, chart, self.files, self.findings)?;
        }
        let values = self.values(release)?;
        let (Some(read), Some(values)) = (read, values) else {
            return Ok(None);
        };
        let (size, most) = (read.chart.stored_size(&values), charts::limits::RELEASE);
        if size > most {
            let message = format_args!(
                "Helm would store at least {size} bytes of the release, without its rendered manifests; a Secret can store {most}"
            );
            self.findings.add(&RELEASE_SIZE, &read.entry.path, message);
        }
        Ok(Some(PackagedChart {
            release: release.clone(),
            archive: read.archive,
            digest: read.entry.digest,
            skip_schema: read.chart.remote_schema.is_some(),
            // The chart may evaluate values as templates, so their inputs count too.
            asks: read.chart.asks
                | TemplateInputs::from_template(
                    Value::Object(values.clone()).to_string().as_bytes(),
                ),
            values,
            // The definitions are only complete after all charts were read; `content::check` fills this field.
            definitions: Arc::default(),
        }))
    }

    fn missing(&mut self, path: &impl std::fmt::Display) {
        let message = format_args!("`{path}` is not in the archive");
        self.findings.add(&MISSING, MANIFEST, message);
    }

    /// Reads the chart of a release and compares its name and version with the manifest.
    fn chart(&mut self, release: &ChartRelease) -> Result<Option<ReadableChart<'a>>, OpenError> {
        let path = archive::chart_path(&release.name);
        let Some(entry) = self.files.get(path.as_str()) else {
            self.missing(&path);
            return Ok(None);
        };
        let limit = charts::limits::ARCHIVE_SIZE;
        let Some(archive) = self.files.read(entry, limit, &BUDGET, self.findings)? else {
            return Ok(None);
        };
        let chart = match Chart::read(&archive) {
            Ok(chart) => chart,
            Err(error) => {
                self.findings
                    .add(chart_finding(&error.problem), &path, error);
                return Ok(None);
            }
        };
        self.as_helm |= chart.as_helm;
        if let Some(reference) = &chart.remote_schema {
            let message = format_args!(
                "values.schema.json refers to `{reference}`, which is not in the chart: Helm does not validate the values of this release"
            );
            self.findings.add(&REMOTE_SCHEMA, &path, message);
        }
        let (name, version) = (&chart.name, &chart.version);
        if (name, version) == (&release.chart, &release.version) {
            self.artifact(release, entry);
        } else {
            let message = format_args!(
                "is `{name}` {version}; manifest.yaml says `{}` {}",
                release.chart, release.version
            );
            self.findings.add(&IDENTITY, &path, message);
        }
        Ok(Some(ReadableChart {
            entry,
            archive,
            chart,
        }))
    }

    /// Checks that the image at the release's place is the OCI artifact of this chart. Only the chart layer of the
    /// artifact is compared; the publisher controls the rest of it.
    fn artifact(&mut self, release: &ChartRelease, entry: &ContentsEntry) {
        let place = release.place();
        let image = self.images.get(&place);
        let content = image.and_then(|image| charts::content(&image.root.bytes).ok());
        if content.is_none_or(|content| content.digest != entry.digest) {
            let message = format_args!("the image `{place}` is not the artifact of this chart");
            self.findings.add(&ARTIFACT, &entry.path, message);
        }
    }

    /// Reads the publisher's values of a release and checks their placeholders.
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
                let problems = self.placeholders.check_values(&values, release);
                report(problems, path.as_str(), self.findings);
                Ok(Some(values))
            }
            Err(error) => {
                self.findings
                    .add(&VALUES, &path, crate::finding::ErrorChain(&error));
                Ok(None)
            }
        }
    }
}

/// Returns the kind of finding for a problem of a chart.
#[must_use]
pub fn chart_finding(problem: &ChartProblem) -> &'static FindingInfo {
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

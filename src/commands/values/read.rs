//! What there is to choose, from the archive.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::anyhow;
use charts::{Chart, ChartError};
use schemars::JsonSchema;
use schemas::{
    ChartName, ChartVersion, Parameter, ParameterName, ReleaseName, SiteValues, SolutionId,
    SolutionName, SolutionSpec, Version, merge_values,
};
use serde::Serialize;
use serde_json::{Map, Value};
use validator::{Accepted, CarriedChart};

use crate::commands::carried::ReadArchive;
use crate::commands::look::signers::SignerArguments;
use crate::failure::Failure;

/// The settings of a version. The signatures of a file are not verified.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SiteChoices {
    /// The name of the Solution.
    pub(super) solution: SolutionName,
    /// The version of the Solution.
    pub(super) version: Version,
    /// The parameters.
    pub(super) parameters: BTreeMap<ParameterName, Parameter>,
    /// The releases of its charts.
    pub(super) releases: Vec<ReleaseValues>,
}

/// The values of a release.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReleaseValues {
    /// The name of the release.
    pub(super) name: ReleaseName,
    /// The name of its chart.
    pub(super) chart: ChartName,
    /// The version of its chart.
    pub(super) version: ChartVersion,
    /// Its values where a site says nothing: the publisher's, with placeholders, over the chart's own.
    pub(super) values: Map<String, Value>,
    /// The values that its publisher means a site to choose.
    #[serde(skip_serializing_if = "schemas::is_default")]
    pub(super) site_values: SiteValues,
    /// The publisher's alone.
    #[serde(skip)]
    pub(super) published: Map<String, Value>,
    /// The chart's own values as text, with comments.
    #[serde(skip)]
    pub(super) text: String,
}

/// Reads what there is to choose.
pub(super) fn choices(path: &Path, signers: &SignerArguments) -> Result<SiteChoices, Failure> {
    let archive = ReadArchive::open(path, signers)?;
    site_choices(&archive.id, &archive.spec, &archive.charts()?)
}

/// Reads what there is to choose from an archive that was accepted.
pub(super) fn of_accepted(accepted: &Accepted) -> Result<SiteChoices, Failure> {
    let id = &accepted.statement().predicate.id;
    site_choices(id, &accepted.manifest().spec, accepted.charts())
}

fn site_choices(
    id: &SolutionId,
    spec: &SolutionSpec,
    charts: &[CarriedChart],
) -> Result<SiteChoices, Failure> {
    let releases = charts.iter().map(|it| {
        let wrong =
            |error: ChartError| Failure::no(anyhow!(error).context("cannot read the chart"));
        release(it).map_err(wrong)
    });
    Ok(SiteChoices {
        solution: id.name().clone(),
        version: spec.version.clone(),
        parameters: spec.parameters.clone(),
        releases: releases.collect::<Result<_, _>>()?,
    })
}

/// The values of a release.
fn release(carried: &CarriedChart) -> Result<ReleaseValues, ChartError> {
    let release = &carried.release;
    let chart = Chart::read(&carried.archive)?;
    let mut values = chart.default_values();
    merge_values(&mut values, &carried.values);
    Ok(ReleaseValues {
        name: release.name.clone(),
        chart: release.chart.clone(),
        version: release.version.clone(),
        values,
        site_values: release.site_values.clone(),
        published: carried.values.clone(),
        text: chart.values_text().to_owned(),
    })
}

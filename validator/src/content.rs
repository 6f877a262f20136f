//! The check of all documents in an archive: manifest, images, operator, charts, sets and programs. [`check`] reads
//! each document once. The importer gets the documents that were read here, so that it never uses bytes that were not
//! checked.

use archive::OpenError;
use schemas::{ImageReference, Predicate, Solution};
use serde_json::Value;

use crate::charts::PackagedChart;
use crate::definitions::{OwnedDefinitions, PackagedDefinition, PackagedDefinitions};
use crate::files::ListedFiles;
use crate::finding::Findings;
use crate::images::ArchiveImages;
use crate::programs::PackagedProgram;
use crate::sets::PackagedSet;
use crate::{charts, images, manifest, operator, practice, programs, sets};

/// The documents of an archive, as far as they could be read.
#[derive(Debug)]
pub(crate) struct CheckedContent {
    pub(crate) solution: Option<Solution>,
    pub(crate) images: ArchiveImages,
    pub(crate) definitions: Vec<PackagedDefinition>,
    pub(crate) roles: Vec<Value>,
    pub(crate) sets: Vec<PackagedSet>,
    pub(crate) charts: Vec<PackagedChart>,
    pub(crate) programs: Vec<PackagedProgram>,
}

/// Reads and checks the files of the signed Solution.
pub(crate) fn check(
    files: &ListedFiles<'_>,
    signed: &Predicate,
    findings: &mut Findings,
) -> Result<CheckedContent, OpenError> {
    let solution = manifest::load(files, findings)?;
    let images = images::check(files, &signed.id, findings)?;
    images::check_capabilities(&images, &signed.requires, findings);
    if let Some(solution) = &solution {
        let references = images
            .list
            .iter()
            .filter_map(|image| image.reference.as_ref());
        let present = manifest::PackagedContent {
            places: &images.places,
            users: &images.users,
            references: images
                .references_known
                .then(|| references.map(ImageReference::as_str).collect()),
            requires: &signed.requires,
        };
        manifest::check(solution, &signed.id, &present, findings);
    }
    let operator = operator::check(files, solution.as_ref(), findings)?;
    let mut definitions =
        PackagedDefinitions::of_operator(operator.definitions, operator.size, operator.cost);
    let requires = &signed.requires;
    let context = charts::ChartContext {
        images: &images.list,
        requires,
    };
    let mut charts = charts::check(
        files,
        solution.as_ref(),
        context,
        &mut definitions,
        findings,
    )?;
    let context = sets::SetContext {
        images: &images.list,
        users: &images.users,
        definitions: definitions.list(),
        requires,
    };
    let sets = sets::check(files, solution.as_ref(), context, findings)?;
    let programs = programs::check(&images.list, requires, findings);
    practice::check(solution.as_ref(), &images.places, &programs, findings);
    let OwnedDefinitions { shared, of_charts } = definitions.into_owned();
    // All charts are read, so the converted definitions of each are complete.
    for chart in &mut charts {
        chart.definitions = of_charts[&chart.digest].clone();
    }
    Ok(CheckedContent {
        solution,
        images,
        definitions: shared,
        roles: operator.roles,
        sets,
        charts,
        programs,
    })
}

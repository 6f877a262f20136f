//! What is in an archive, for people.

use std::fmt;
use std::num::NonZeroU32;

use schemas::{ContentsEntry, OperatorTemplate, listed};

use super::archive::InspectedArchive;
use super::{charts, images, outline, prerequisites, programs, sboms, sets};
use crate::args::choose;
use crate::commands::validate::words::show_helm;
use crate::render;

/// What an image is: an artifact's type, or what it runs on.
pub(crate) fn kind<'a>(
    artifact_type: Option<&str>,
    platforms: impl IntoIterator<Item = &'a (impl fmt::Display + 'a)>,
) -> String {
    artifact_type.map_or_else(|| render::list(platforms), str::to_owned)
}

/// Every file, with its size and digest.
pub(crate) fn show_files(files: &[ContentsEntry]) {
    for file in files {
        render::line!("{:>14}  {}  {}", file.size, file.digest, file.path);
    }
}

/// How many pods an operator's template wants, and of what it says something.
fn words(template: &OperatorTemplate) -> String {
    let pods = match template.replicas.map_or(1, NonZeroU32::get) {
        1 => "1 pod".to_owned(),
        pods => format!("{pods} pods"),
    };
    let fields: Vec<&String> = template.spec.keys().collect();
    if fields.is_empty() {
        return pods;
    }
    format!("{pods}, with {}", listed(&fields))
}

/// An archive.
pub(super) fn show(inspected: &InspectedArchive) {
    render::line!("solution    {} {}", inspected.solution, inspected.version);
    render::line!("archive id  {}", inspected.archive_id);
    render::line!("size        {}", render::bytes(inspected.size));
    render::line!("time        {}", inspected.time);
    for key in &inspected.signatures {
        render::line!("signature   by key {key} (not verified)");
    }
    if inspected.signatures.is_empty() {
        render::line("signature   none");
    }
    if let Some(operator) = &inspected.manifest.spec.operator {
        render::line!("operator    {}", operator.image.place());
        if let Some(template) = &operator.template {
            render::line!("template    {}", words(template));
        }
    }
    for line in &inspected.images {
        let kind = kind(line.artifact_type.as_deref(), &line.platforms);
        let what = choose(line.subject.is_some(), "referrer", "image");
        render::line(format!("{what:<11} {}  {kind}", line.image).trim_end());
    }
    if let (images, referrers @ 1..) = images::count(&inspected.images) {
        render::line!("counted     {}", render::images(images, referrers));
    }
    let spec = &inspected.manifest.spec;
    for line in prerequisites::lines(&spec.prerequisites) {
        render::line!("needs       {line}");
    }
    for (set, line) in spec.manifests.iter().zip(&inspected.sets) {
        sets::show(set, line);
    }
    for (release, line) in spec.charts.iter().zip(&inspected.charts) {
        charts::show(release, line);
    }
    if let Some(included) = inspected.helm_included {
        show_helm(included);
    }
    inspected.programs.iter().for_each(programs::show);
    inspected.sboms.iter().for_each(sboms::show);
    for (name, parameter) in &spec.parameters {
        sets::show_parameter(name, parameter);
    }
    outline::show(inspected.outline.as_ref());
    show_files(&inspected.files);
    if let Some(map) = &inspected.map {
        map.show();
    }
}

//! `solution inspect`: the content of an archive or a plan, without a check of its signatures. It is for reading only,
//! so it notes that nothing was verified.

pub(super) mod archive;
mod images;
mod objects;
pub(super) mod plan;

use std::fmt;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use ::archive::{ListedArchive, OpenedArchive, TrustedArchive};
use clap::Args;
use importer::{DefinedResource, DefinedVersion, PlannedRight, VersionOutline};
use registry::RegistryAddress;
use schemas::{
    ContentsEntry, NeededScope, NeededSolution, NeededStorageClass, OperatorTemplate,
    Prerequisites, list_quoted,
};

use self::archive::InspectedArchive;
use super::archive::{SignerArguments, unvouched};
use super::give;
use super::image_map::{LayoutArguments, MapArguments};
use super::validate::show_helm;
use crate::args::{Output, RegistryArguments, choose, first_given};
use crate::failure::{self, Failure, Outcome};
use crate::{plans, render};

/// Show the contents of an archive or a plan file
#[derive(Args, Debug)]
#[command(
    mut_arg("repository_layout", |argument| argument.requires("registry")),
    mut_arg("image_map", |argument| argument.requires("registry")),
    mut_arg("ca_file", |argument| argument.requires("registry")),
    mut_arg("cert_dir", |argument| argument.requires("registry")),
    mut_arg("plain_http", |argument| argument.requires("registry")),
    after_help = "\
The command verifies that the content it reads is intact. `solution validate` validates the whole archive, and \
`solution archive cat` prints a file. A plan is shown with the changes to each object.

Examples:
  solution inspect app.iso
  solution inspect app.iso --files
  solution inspect app.iso --output json
  solution inspect app.iso --sbom
  solution inspect app.iso --registry registry.site/apps
  solution inspect app.iso --registry registry.site/apps --image-map kustomize
  solution inspect plan.json"
)]
pub(crate) struct Arguments {
    /// The archive (a file or a block device), or a plan file
    archive: PathBuf,

    /// List every file with its size and digest
    #[arg(long)]
    files: bool,

    /// Show the SBOMs of each image, with their format, generator, number of packages and files
    #[arg(long)]
    sbom: bool,

    /// The registry that nodes will pull from
    #[arg(long, value_name = "HOST[/PREFIX]")]
    registry: Option<RegistryAddress>,

    #[command(flatten)]
    signers: SignerArguments,

    #[command(flatten)]
    layout: LayoutArguments,

    #[command(flatten)]
    map: MapArguments,

    #[command(flatten)]
    reach: RegistryArguments,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    if let Some(plan) = plans::recognise(&arguments.archive)? {
        refuse_of_archives(arguments)?;
        return Ok(plan::show(&plan, output));
    }
    let inspected = archive::inspect(arguments)?;
    Ok(give(output, &inspected, |inspected| {
        match (&inspected.map, arguments.map.image_map) {
            (Some(map), Some(_)) => map.show(),
            _ => show_archive(inspected),
        }
        arguments.signers.note();
    }))
}

/// Refuses flags that apply to an archive only, because a plan has no files, SBOMs or registry.
fn refuse_of_archives(arguments: &Arguments) -> Result<(), Failure> {
    let of_archives = [
        (arguments.files, "--files"),
        (arguments.sbom, "--sbom"),
        (arguments.registry.is_some(), "--registry"),
    ];
    let Some(flag) = first_given(&of_archives) else {
        return Ok(());
    };
    let plan = arguments.archive.display();
    let message = format!("cannot use `{flag}` with `{plan}`: it is a plan, not an archive");
    Err(Failure::usage(message).hint(format!("omit `{flag}`")))
}

/// Returns the kind of an image: the type of an artifact, or the platform.
pub(super) fn kind<'a>(
    artifact_type: Option<&str>,
    platforms: impl IntoIterator<Item = &'a (impl fmt::Display + 'a)>,
) -> String {
    artifact_type.map_or_else(|| render::list(platforms), str::to_owned)
}

/// Shows every file, with its size and digest.
pub(super) fn show_files(files: &[ContentsEntry]) {
    for file in files {
        render::line!("{:>14}  {}  {}", file.size, file.digest, file.path);
    }
}

/// Describes an operator template: the number of pods and the fields that it sets.
fn words(template: &OperatorTemplate) -> String {
    let pods = match template.replicas.map_or(1, NonZeroU32::get) {
        1 => "1 pod".to_owned(),
        pods => format!("{pods} pods"),
    };
    let fields: Vec<&String> = template.spec.keys().collect();
    if fields.is_empty() {
        return pods;
    }
    format!("{pods}, with {}", list_quoted(&fields))
}

/// Shows an archive.
fn show_archive(inspected: &InspectedArchive) {
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
    for line in lines(&spec.prerequisites) {
        render::line!("needs       {line}");
    }
    for (set, line) in spec.manifests.iter().zip(&inspected.sets) {
        objects::show_sets(set, line);
    }
    for (release, line) in spec.charts.iter().zip(&inspected.charts) {
        objects::show_charts(release, line);
    }
    if let Some(included) = inspected.helm_included {
        show_helm(included);
    }
    inspected.programs.iter().for_each(archive::show);
    inspected.sboms.iter().for_each(images::show);
    for (name, parameter) in &spec.parameters {
        objects::show_parameter(name, parameter);
    }
    show_outline(inspected.outline.as_ref());
    show_files(&inspected.files);
    if let Some(map) = &inspected.map {
        map.show();
    }
}

/// Lists the files of an archive. Its CRDs and rights are returned too, if its documents are valid.
fn list_archive(
    archive: &Path,
    opened: &OpenedArchive,
) -> Result<(ListedArchive, Option<VersionOutline>), Failure> {
    if let Ok(accepted) = unvouched(archive, opened.archive_id())? {
        let outline = VersionOutline::of(&accepted)?;
        return Ok((accepted.into_listed(), Some(outline)));
    }
    let listed = opened.skip_signature().and_then(TrustedArchive::list);
    let listed = listed.map_err(|error| failure::reading(archive, error))?;
    Ok((listed, None))
}

/// Shows an outline; none means that the documents of the archive are invalid.
fn show_outline(outline: Option<&VersionOutline>) {
    let Some(VersionOutline {
        definitions,
        rights,
    }) = outline
    else {
        return render::note(
            "CRDs and rights cannot be shown: run `solution validate` to see the problems of the archive",
        );
    };
    render::lines("defines     ", definitions.iter().map(definition));
    for it in rights {
        render::line!("may         {}", right(it));
    }
}

/// Describes a custom resource definition.
pub(super) fn definition(resource: &DefinedResource) -> String {
    let DefinedResource {
        name,
        kind,
        scope,
        versions,
    } = resource;
    let versions = render::list(versions.iter().map(version));
    format!("{name}  {kind}, {}: {versions}", scope.to_lowercase())
}

fn version(version: &DefinedVersion) -> String {
    let words = [
        (version.served, "served"),
        (!version.served, "not served"),
        (version.storage, "stored"),
        (version.deprecated, "deprecated"),
    ];
    let words = words.into_iter().filter(|(is, _)| *is);
    let words = render::list(words.map(|(_, word)| word));
    format!("{} ({words})", version.name)
}

/// Describes a right, with its danger.
pub(super) fn right(PlannedRight { right, danger }: &PlannedRight) -> String {
    danger
        .as_ref()
        .map_or_else(|| right.clone(), |danger| format!("{right} (! {danger})"))
}

/// Returns one line for each prerequisite.
fn lines(needed: &Prerequisites) -> Vec<String> {
    let solutions = needed.solutions.iter().map(solution);
    let kubernetes = needed.kubernetes.iter();
    let kubernetes = kubernetes.map(|range| format!("Kubernetes {range}"));
    let apis = needed.api_groups.iter().map(|api| format!("API {api}"));
    let class = needed.storage_class.iter().map(|class| match class {
        NeededStorageClass::Name(name) => format!("storage class {name}"),
        NeededStorageClass::Default(_) => "a default storage class".to_owned(),
    });
    let free = [("cpu", &needed.free.cpu), ("memory", &needed.free.memory)];
    let free = free.into_iter().filter_map(|(resource, amount)| {
        let amount = amount.as_ref()?;
        Some(format!("{amount} of {resource} free"))
    });
    let nodes = needed.nodes.iter();
    let nodes = nodes.map(|count| format!("schedulable nodes: {count}"));
    let all = solutions.chain(kubernetes).chain(apis);
    all.chain(class).chain(free).chain(nodes).collect()
}

fn solution(needed: &NeededSolution) -> String {
    let (name, version) = (&needed.name, &needed.version);
    match needed.scope {
        NeededScope::Environment => format!("{name} {version} in the same environment"),
        NeededScope::Cluster => format!("{name} {version} in any environment"),
    }
}

#[cfg(test)]
mod tests {
    use schemas::yaml;

    use super::*;

    #[test]
    fn everything_that_is_needed_is_shown() {
        let needed = "{solutions: [{name: db, version: '>=1.2, <2'}, {name: cni, version: '*', scope: cluster}], \
            kubernetes: '>=1.30', apiGroups: [v1], storageClass: {name: fast}, free: {cpu: '2', memory: 4Gi}, nodes: 3}";
        let lines = lines(&yaml::from_slice(needed.as_bytes()).unwrap());
        assert_eq!(
            lines,
            [
                "db >=1.2, <2 in the same environment",
                "cni * in any environment",
                "Kubernetes >=1.30",
                "API v1",
                "storage class fast",
                "2 of cpu free",
                "4Gi of memory free",
                "schedulable nodes: 3",
            ]
        );
    }
}

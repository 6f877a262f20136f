//! The first stage of packing. [`load()`] reads and checks `solution.yaml`, the operator's files, sets of manifests and
//! charts, and renders the charts. It reads no images, and it only uses the network for remote charts and their
//! signatures, so that errors in the texts are reported before long downloads. [`check_collected`] repeats the checks
//! that depend on images after these were collected.

use std::path::{Path, PathBuf};

use manifests::KnownImages;
use progress::Watch;
use schemas::{ImagePlace, ImageReference, SolutionId, SolutionSource, SourceImage, SourceSpec};
use sources::{FailedImage, SourceError, SourceNetwork};

use crate::Event;
use crate::chart_images::{self, RenderedImages};
use crate::charts::{self, LoadedChart};
use crate::documentation::LoadedDocumentation;
use crate::error::PackError;
use crate::operator::{self, OperatorFile, OperatorPaths};
use crate::problems::{SourceFaults, SourceProblems};
use crate::programs::LoadedProgram;
use crate::provenance;
use crate::render::{self, ChartRenderer};
use crate::sboms::SbomMaker;
use crate::sets::{self, LoadedSet};
use crate::source_files::{SOLUTION, SourceFiles};
use crate::tree_map::TreeMap;

/// A loaded source directory with its findings.
#[derive(Debug)]
pub(crate) struct LoadedSource {
    /// The source directory; relative image sources start here.
    pub(crate) files: SourceFiles,
    /// The parsed `solution.yaml`.
    pub(crate) source: SolutionSource,
    /// The name and version of the Solution.
    pub(crate) id: SolutionId,
    /// The CRDs and roles; empty without an operator.
    pub(crate) operator: Vec<OperatorFile>,
    /// The sets of manifests.
    pub(crate) sets: Vec<LoadedSet>,
    /// The Helm charts.
    pub(crate) charts: Vec<LoadedChart>,
    /// True if the charts need the second version of the chart capability.
    pub(crate) as_helm: bool,
    /// The images in the rendered charts.
    pub(crate) rendered: Vec<RenderedImages>,
    /// The included programs.
    pub(crate) programs: Vec<LoadedProgram>,
    /// The included documentation.
    pub(crate) documentation: Option<LoadedDocumentation>,
    /// The creator of SBOMs, if they are requested.
    pub(crate) sboms: Option<SbomMaker>,
    /// The CRDs and roles that exist without an operator that would use them.
    pub(crate) unused: Vec<PathBuf>,
    /// The findings so far.
    pub(crate) faults: SourceFaults,
}

/// The settings for the use of `helm` on charts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HelmSettings<'a> {
    /// The renderer of charts.
    pub(crate) renderer: &'a ChartRenderer,
    /// The keyring with the keys that may sign charts; without it, signatures are not checked.
    pub(crate) keyring: Option<&'a Path>,
}

/// A file name that other YAML tools treat like `solution.yaml`.
const OTHER_NAME: &str = "solution.yml";

fn bytes(directory: &Path) -> Result<Vec<u8>, PackError> {
    files::read(&directory.join(SOLUTION), schemas::limits::MANIFEST_SIZE).map_err(|error| {
        if directory.is_file() {
            PackError::NotADirectory(directory.to_owned())
        } else if !error.is_missing() {
            error.into()
        } else if directory.join(OTHER_NAME).is_file() {
            PackError::OtherName(directory.to_owned())
        } else {
            PackError::NoSource(directory.to_owned())
        }
    })
}

/// Returns the text of `solution.yaml`.
pub(crate) fn text(directory: &Path) -> Result<String, PackError> {
    Ok(String::from_utf8_lossy(&bytes(directory)?).into_owned())
}

/// Reads the texts of a source directory, and performs all checks that do not need images. Findings are collected in
/// [`LoadedSource`]; charts are rendered in spite of findings if their inputs are valid. `network` provides remote charts.
pub(crate) fn load(
    directory: &Path,
    network: &SourceNetwork<'_>,
    by_helm: HelmSettings<'_>,
    watch: &Watch<'_, Event>,
) -> Result<LoadedSource, PackError> {
    let bytes = bytes(directory)?;
    let files = SourceFiles {
        directory: directory.to_owned(),
    };
    let mut problems = SourceProblems::new(&files);
    let understood = SolutionSource::from_slice(&bytes)
        .and_then(|source| source.id().map(|id| (source, id)).map_err(Into::into));
    let (source, id) = match understood {
        Ok(understood) => understood,
        Err(error) => return Err(problems.unreadable(&error)),
    };
    let spec = &source.spec;
    problems.of_source(rules::check_source(id.name(), spec), spec);
    // If both are valid, stand-ins exist for all inputs of charts.
    let is_sound = problems.is_empty() && rules::parameters(&spec.parameters).next().is_none();
    let (operator, unused) = read_operator(spec, &mut problems)?;
    let sets = spec.manifests.iter().enumerate();
    let sets = sets.map(|(number, set)| {
        let field = format!("spec.manifests[{number}]");
        sets::load(set, &field, &mut problems)
    });
    let sets = sets.collect::<Result<Vec<_>, _>>()?;
    let mut charts = Vec::new();
    for (number, chart) in spec.charts.iter().enumerate() {
        let field = format!("spec.charts[{number}]");
        charts.extend(charts::load(chart, &field, network, &mut problems)?);
    }
    let as_helm = charts::check_definitions(&charts, &mut problems);
    sets::check(&sets, &charts, spec, &mut problems);
    if references_are_known(spec) {
        sets::check_images(&sets, &known_images(spec), &mut problems);
    }
    let are_signed = are_signed(&charts, &by_helm, network, &mut problems, watch)?;
    let rendered = if problems.is_empty() {
        render::render(&charts, &id, spec, by_helm.renderer, &mut problems, watch)?
    } else if is_sound && are_signed {
        let by = by_helm.renderer;
        let rendered = render::render(&charts, &id, spec, by, &mut problems, watch);
        watch.cancel.go_on()?;
        // A failed renderer must not hide the findings so far.
        rendered.unwrap_or_default()
    } else {
        Vec::new()
    };
    if references_are_known(spec) {
        let references = known_references(spec).map(|(_, reference)| reference);
        report_images(&rendered, references.clone(), watch);
        chart_images::check_images(&rendered, references, &mut problems);
    }
    let faults = problems.into_faults();
    Ok(LoadedSource {
        files,
        sets,
        charts,
        as_helm,
        rendered,
        programs: Vec::new(),
        documentation: None,
        sboms: None,
        source,
        id,
        operator,
        unused,
        faults,
    })
}

/// Checks whether all charts are signed by trusted keys, if a keyring is given. Other charts are not rendered.
fn are_signed(
    charts: &[LoadedChart],
    HelmSettings { renderer, keyring }: &HelmSettings<'_>,
    network: &SourceNetwork<'_>,
    problems: &mut SourceProblems<'_>,
    watch: &Watch<'_, Event>,
) -> Result<bool, PackError> {
    let Some(keyring) = keyring else {
        return Ok(true);
    };
    let checked = provenance::check(charts, keyring, renderer, network, problems, watch);
    watch.cancel.go_on()?;
    match checked {
        // A failed program or network must not hide the findings so far.
        Err(_) if !problems.is_empty() => Ok(false),
        checked => checked,
    }
}

/// Reads the files of the operator. Without an operator, returns the paths that nothing uses.
fn read_operator(
    spec: &SourceSpec,
    problems: &mut SourceProblems<'_>,
) -> Result<(Vec<OperatorFile>, Vec<PathBuf>), PackError> {
    let crds = problems.resolve_path("spec.crds", &spec.crds);
    let roles = problems.resolve_path("spec.roles", &spec.roles);
    Ok(match (&spec.operator, crds, roles) {
        (Some(operator), Some(crds), Some(roles)) => {
            let files = OperatorPaths { crds, roles };
            let read = operator::read(&files, operator.scope, problems)?;
            (read, Vec::new())
        }
        (Some(_), ..) => (Vec::new(), Vec::new()),
        (None, crds, roles) => {
            let unused = crds.into_iter().chain(roles);
            (Vec::new(), unused.filter(|path| path.exists()).collect())
        }
    })
}

/// Returns true if the references of all images are known without reading an image. The checks of images then run
/// during loading.
pub(crate) fn references_are_known(spec: &SourceSpec) -> bool {
    spec.images.iter().all(SourceImage::reference_is_known)
}

/// Reports the images that charts name, and the remarks on charts.
pub(crate) fn report_images<'a>(
    rendered: &[RenderedImages],
    references: impl Iterator<Item = &'a ImageReference>,
    watch: &Watch<'_, Event>,
) {
    let evidence = rendered.iter().flat_map(|chart| &chart.evidence);
    evidence.for_each(|evidence| (watch.tell)(Event::Named(evidence.clone())));
    for (release, remark) in chart_images::remarks(rendered, references) {
        (watch.tell)(Event::Chart(release, remark));
    }
}

/// Returns the image references that `solution.yaml` declares.
fn known_references(
    spec: &SourceSpec,
) -> impl Iterator<Item = (ImagePlace, &ImageReference)> + Clone {
    let images = spec.images.iter();
    images.filter_map(|image| Some((image.place(), image.known_reference()?)))
}

fn known_images(spec: &SourceSpec) -> KnownImages {
    KnownImages::new(known_references(spec))
}

/// Performs the checks that need all images: containers and charts must only run packaged images, and no reference may
/// belong to two images. Returns an error with all findings.
pub(crate) fn check_collected<'a>(
    loaded: &LoadedSource,
    references: impl Iterator<Item = (ImagePlace, &'a ImageReference)> + Clone,
) -> Result<(), PackError> {
    let spec = &loaded.source.spec;
    let mut problems = loaded.problems();
    if references_are_known(spec) {
        // These checks already ran when the tree was loaded.
        return problems.refuse();
    }
    problems.of_source(
        rules::check_references(spec.operator.as_ref(), references.clone()),
        spec,
    );
    let known = KnownImages::new(references.clone());
    sets::check_images(&loaded.sets, &known, &mut problems);
    let references = references.map(|(_, reference)| reference);
    chart_images::check_images(&loaded.rendered, references, &mut problems);
    problems.refuse()
}

/// Returns the error for images that cannot be read from their sources. If the sources are at fault, it contains all of
/// them and the other findings of the tree.
pub(crate) fn refuse_images(loaded: &LoadedSource, failed: Vec<FailedImage>) -> PackError {
    let mut problems = loaded.problems();
    let is_refused = !problems.is_empty();
    for failed in failed {
        let is_cancelled = matches!(*failed.error, SourceError::Interrupted(_));
        if failed.error.is_of_source() {
            problems.source_of_image(&failed, &loaded.source.spec);
        } else if is_cancelled || !is_refused {
            return failed.into();
        }
        // A failed network must not hide the findings so far.
    }
    problems.refused()
}

impl LoadedSource {
    /// Returns the findings so far, to which later stages add.
    pub(crate) fn problems(&self) -> SourceProblems<'_> {
        SourceProblems::continue_from(&self.files, self.faults.clone())
    }

    /// Returns an error if there are any findings.
    pub(crate) fn refuse(&self) -> Result<(), PackError> {
        self.problems().refuse()
    }

    /// Returns the mapping from files of the archive to source files.
    pub(crate) fn map(&self) -> TreeMap {
        let spec = &self.source.spec;
        let operator = self.operator.iter();
        let operator =
            operator.map(|operator| (operator.file.path.to_string(), operator.document.clone()));
        let of_sets = self.sets.iter().flat_map(LoadedSet::documents);
        TreeMap {
            files: self.files.clone(),
            documents: operator.chain(of_sets).collect(),
            spec: spec.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::testing::{self, SOLUTION};

    fn refused(from: &str, to: &str) -> String {
        assert!(SOLUTION.contains(from), "{from}");
        let tree = testing::texts(&SOLUTION.replacen(from, to, 1));
        testing::refused(testing::load(tree.path()))
    }

    #[test]
    fn a_good_tree_is_loaded() {
        let tree = testing::texts(SOLUTION);
        let loaded = testing::load(tree.path()).unwrap();
        assert_eq!(loaded.id.to_string(), "demo-1.0.0");
        let paths: Vec<_> = loaded
            .operator
            .iter()
            .map(|operator| operator.file.path.as_str())
            .collect();
        assert_eq!(
            paths,
            [
                "operator/deploy/crds/demos_crd.yaml",
                "operator/deploy/role.yaml"
            ]
        );
        assert!(loaded.unused.is_empty());
    }

    #[test]
    fn a_directory_without_solution_yaml_says_what_to_do() {
        let tree = tempfile::tempdir().unwrap();
        let message = testing::load(tree.path()).unwrap_err().to_string();
        assert!(message.ends_with("has no `solution.yaml`"), "{message}");
    }

    #[test]
    fn an_unknown_field_is_named_with_its_line() {
        let said = refused("  version:", "  verison: 1.0.0\n  version:");
        assert!(
            said.starts_with("solution.yaml:5:3: [source.yaml] unknown field"),
            "{said}"
        );
        assert!(said.contains("verison"), "{said}");
    }

    #[test]
    fn files_outside_the_directory_are_refused() {
        for path in ["../crds", "/etc", "a/../../b"] {
            let said = refused("  version:", &format!("  crds: {path}\n  version:"));
            assert_eq!(
                said,
                format!(
                    "solution.yaml:5: [source.path] spec.crds is `{path}`, which is outside the directory"
                )
            );
        }
    }

    #[test]
    fn all_problems_are_told_at_once_each_with_its_line() {
        let tree = testing::texts(&SOLUTION.replace(
            "    image: {name: demo-operator, tag: 1.0.0}\n",
            "    image: {name: demo, tag: 1.0.0}\n    env:\n      - {name: A, value: x}\n      - {name: A, value: '$(image:none)'}\n  manifests:\n    - {name: web, files: [none.yaml], namespaces: [{name: web}], needs: [db]}\n",
        ));
        let deploy = tree.path().join("operator/deploy");
        fs::write(deploy.join("crds/other.yaml"), "a: [\n").unwrap();
        fs::write(deploy.join("role.yaml"), "kind: Role\n---\nkind: X\n").unwrap();
        let said = testing::refused(testing::load(tree.path()));
        let places: Vec<&str> = said
            .lines()
            .filter_map(|line| line.split_once("] "))
            .map(|parts| parts.0)
            .collect();
        assert_eq!(
            places,
            [
                "solution.yaml:14: [source.missing",
                "solution.yaml:9: [manifest.operator-image",
                "solution.yaml:12: [manifest.expansion",
                "solution.yaml:12: [manifest.variable",
                "operator/deploy/crds/other.yaml:1:4: [operator.yaml",
                "operator/deploy/role.yaml:1: [operator.role-kind",
                "operator/deploy/role.yaml:3: [operator.role-kind",
                "solution.yaml:14: [manifests.sets",
            ],
            "{said}"
        );
    }

    #[test]
    fn operator_files_without_an_operator_are_left_out_and_told() {
        let (before, _) = SOLUTION.split_once("  operator:").unwrap();
        let tree = testing::texts(before);
        let loaded = testing::load(tree.path()).unwrap();
        assert!(loaded.operator.is_empty());
        assert_eq!(loaded.unused.len(), 2);
        fs::remove_dir_all(tree.path().join("operator")).unwrap();
        assert!(testing::load(tree.path()).unwrap().unused.is_empty());
    }

    #[test]
    fn missing_operator_files_are_named() {
        let tree = testing::texts(SOLUTION);
        fs::remove_file(tree.path().join("operator/deploy/role.yaml")).unwrap();
        assert_eq!(
            testing::refused(testing::load(tree.path())),
            "solution.yaml:5: [source.missing] spec.roles names `operator/deploy/role.yaml`, which does not exist"
        );
    }
}

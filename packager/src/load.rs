//! The first stage: `solution.yaml`, the operator's files and charts, read and checked. But for charts that are elsewhere
//! only the disk is touched, and no image yet, so that a mistake in the text is reported before anything takes time.

use std::path::{Path, PathBuf};

use manifests::KnownImages;
use schemas::{ImagePlace, ImageReference, SolutionId, SolutionSource, SourceImage, SourceSpec};
use sources::{FailedImage, SourceError, SourceNetwork};
use watch::Watch;

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

/// A source directory that was read, with what is wrong with it.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The directory; relative sources of images begin here.
    pub(crate) files: SourceFiles,
    /// The document `solution.yaml`.
    pub(crate) source: SolutionSource,
    /// The name and version of the Solution.
    pub(crate) id: SolutionId,
    /// The CRDs and roles; none without an operator.
    pub(crate) operator: Vec<OperatorFile>,
    /// The sets of objects.
    pub(crate) sets: Vec<LoadedSet>,
    /// The Helm charts.
    pub(crate) charts: Vec<LoadedChart>,
    /// Whether only later readers take one of them.
    pub(crate) as_helm: bool,
    /// The objects that they render to.
    pub(crate) rendered: Vec<RenderedImages>,
    /// The programs that are included.
    pub(crate) programs: Vec<LoadedProgram>,
    /// The documentation that is included.
    pub(crate) documentation: Option<LoadedDocumentation>,
    /// What makes SBOMs, if any are asked for.
    pub(crate) sboms: Option<SbomMaker>,
    /// CRDs and roles that lie there although there is no operator to use them.
    pub(crate) unused: Vec<PathBuf>,
    /// Everything that is wrong with it.
    pub(crate) faults: SourceFaults,
}

/// The renderer and the keys with which `helm` works on charts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByHelm<'a> {
    /// The renderer of charts.
    pub(crate) renderer: &'a ChartRenderer,
    /// The keys of which one must have signed each; without, nobody asks.
    pub(crate) keyring: Option<&'a Path>,
}

/// A name that tools for YAML take for the same.
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

/// Reads `solution.yaml` as it is written.
pub(crate) fn text(directory: &Path) -> Result<String, PackError> {
    Ok(String::from_utf8_lossy(&bytes(directory)?).into_owned())
}

/// Reads the texts of a source directory and checks all that can be known without the images; charts are rendered as far as
/// what is wrong allows it. `network` has the charts that are elsewhere.
pub(crate) fn load(
    directory: &Path,
    network: &SourceNetwork<'_>,
    by_helm: ByHelm<'_>,
    watch: &Watch<'_, Event>,
) -> Result<Loaded, PackError> {
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
    // Then there are stand-ins for all that charts are rendered with.
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
        sets::check_images(&sets, &known(spec), &mut problems);
    }
    let are_signed = are_signed(&charts, &by_helm, network, &mut problems, watch)?;
    let rendered = if problems.is_empty() {
        render::render(&charts, &id, spec, by_helm.renderer, &mut problems, watch)?
    } else if is_sound && are_signed {
        let by = by_helm.renderer;
        let rendered = render::render(&charts, &id, spec, by, &mut problems, watch);
        watch.cancel.go_on()?;
        // A program that cannot render hides nothing of what is known already.
        rendered.unwrap_or_default()
    } else {
        Vec::new()
    };
    if references_are_known(spec) {
        let references = known_references(spec).map(|(_, reference)| reference);
        tell(&rendered, references.clone(), watch);
        chart_images::check_images(&rendered, references, &mut problems);
    }
    let faults = problems.into_faults();
    Ok(Loaded {
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

/// Whether charts are signed by keys that the publisher trusts, if that is asked for: others are not rendered.
fn are_signed(
    charts: &[LoadedChart],
    ByHelm { renderer, keyring }: &ByHelm<'_>,
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
        // A program or a network that does not answer hides nothing of what is known already.
        Err(_) if !problems.is_empty() => Ok(false),
        checked => checked,
    }
}

/// Reads the files of the operator, or finds those that nothing uses.
fn read_operator(
    spec: &SourceSpec,
    problems: &mut SourceProblems<'_>,
) -> Result<(Vec<OperatorFile>, Vec<PathBuf>), PackError> {
    let crds = problems.below("spec.crds", &spec.crds);
    let roles = problems.below("spec.roles", &spec.roles);
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

/// Whether the references of all images are known before any is read, so that a source is judged when it is loaded.
pub(crate) fn references_are_known(spec: &SourceSpec) -> bool {
    spec.images.iter().all(SourceImage::reference_is_known)
}

/// Tells what charts name besides the images that they need.
pub(crate) fn tell<'a>(
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

/// The references of images that `solution.yaml` itself knows.
fn known_references(
    spec: &SourceSpec,
) -> impl Iterator<Item = (ImagePlace, &ImageReference)> + Clone {
    let images = spec.images.iter();
    images.filter_map(|image| Some((image.place(), image.known_reference()?)))
}

fn known(spec: &SourceSpec) -> KnownImages {
    KnownImages::new(known_references(spec))
}

/// Refuses sets whose containers run images that are not among these, charts that name others, and references that mean
/// two images: what is known once all images are collected.
pub(crate) fn check_collected<'a>(
    loaded: &Loaded,
    references: impl Iterator<Item = (ImagePlace, &'a ImageReference)> + Clone,
) -> Result<(), PackError> {
    let spec = &loaded.source.spec;
    let mut problems = loaded.problems();
    if references_are_known(spec) {
        // Then all of this was done when the tree was loaded.
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

/// The error that images cannot be taken from their sources: if these are to be blamed, all of them, with what else is wrong
/// with the tree.
pub(crate) fn refuse_images(loaded: &Loaded, failed: Vec<FailedImage>) -> PackError {
    let mut problems = loaded.problems();
    let is_refused = !problems.is_empty();
    for failed in failed {
        let is_cancelled = matches!(*failed.error, SourceError::Interrupted(_));
        if failed.error.is_of_source() {
            problems.source_of_image(&failed, &loaded.source.spec);
        } else if is_cancelled || !is_refused {
            return failed.into();
        }
        // A network that does not answer hides nothing of what is known already.
    }
    problems.refused()
}

impl Loaded {
    /// What is wrong with the tree, to go on from.
    pub(crate) fn problems(&self) -> SourceProblems<'_> {
        SourceProblems::after(&self.files, self.faults.clone())
    }

    /// Refuses a tree with which anything is wrong.
    pub(crate) fn refuse(&self) -> Result<(), PackError> {
        self.problems().refuse()
    }

    /// Where each file of the archive comes from.
    pub(crate) fn map(&self) -> TreeMap {
        let spec = &self.source.spec;
        let operator = self.operator.iter();
        let operator = operator.map(|it| (it.file.path.to_string(), it.document.clone()));
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
            .map(|it| it.file.path.as_str())
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
            .filter_map(|it| it.split_once("] "))
            .map(|it| it.0)
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

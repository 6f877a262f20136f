//! The first stage: `solution.yaml`, the operator's files and charts, read and checked. But for charts that are elsewhere
//! only the disk is touched, and no image yet, so that a mistake in the text is reported before anything takes time.

use std::path::{Component, Path, PathBuf};

use archive::ArchiveFile;
use manifests::KnownImages;
use schemas::{ImagePlace, ImageReference, SolutionId, SolutionSource, SourceImage, SourceSpec};
use sources::SourceNetwork;
use watch::Watch;

use crate::Event;
use crate::charts::{self, LoadedChart};
use crate::error::PackError;
use crate::operator;
use crate::programs::LoadedProgram;
use crate::provenance;
use crate::render::{self, ChartRenderer, RenderedImages};
use crate::sets::{self, LoadedSet};

/// A source directory whose texts are in order.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The directory; relative sources of images begin here.
    pub(crate) directory: PathBuf,
    /// The document `solution.yaml`.
    pub(crate) source: SolutionSource,
    /// The name and version of the Solution.
    pub(crate) id: SolutionId,
    /// The CRDs and roles; none without an operator.
    pub(crate) operator: Vec<ArchiveFile>,
    /// The sets of objects.
    pub(crate) sets: Vec<LoadedSet>,
    /// The Helm charts.
    pub(crate) charts: Vec<LoadedChart>,
    /// The objects that they render to.
    pub(crate) rendered: Vec<RenderedImages>,
    /// The programs that are included.
    pub(crate) programs: Vec<LoadedProgram>,
    /// CRDs and roles that lie there although there is no operator to use them.
    pub(crate) unused: Vec<PathBuf>,
}

/// The renderer and the keys with which `helm` works on charts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByHelm<'a> {
    /// The renderer of charts.
    pub(crate) renderer: &'a ChartRenderer,
    /// The keys of which one must have signed each; without, nobody asks.
    pub(crate) keyring: Option<&'a Path>,
}

const FILE: &str = "solution.yaml";

fn bytes(directory: &Path) -> Result<Vec<u8>, PackError> {
    files::read(&directory.join(FILE), schemas::limits::MANIFEST_SIZE).map_err(|error| {
        if error.is_missing() {
            PackError::NoSource(directory.to_owned())
        } else {
            error.into()
        }
    })
}

/// Reads `solution.yaml` as it is written.
pub(crate) fn text(directory: &Path) -> Result<String, PackError> {
    Ok(String::from_utf8_lossy(&bytes(directory)?).into_owned())
}

/// Reads the texts of a source directory, renders its charts and checks all that can be known without the images. `network`
/// has the charts that are elsewhere.
pub(crate) fn load(
    directory: &Path,
    network: &SourceNetwork<'_>,
    ByHelm { renderer, keyring }: ByHelm<'_>,
    watch: &Watch<'_, Event>,
) -> Result<Loaded, PackError> {
    let path = directory.join(FILE);
    let bytes = bytes(directory)?;
    let understood = SolutionSource::from_slice(&bytes)
        .and_then(|source| source.id().map(|id| (source, id)).map_err(Into::into));
    let (source, id) = understood.map_err(|source| PackError::Source { path, source })?;
    let in_order =
        rules::check_source(id.name(), &source.spec).map_err(PackError::in_file(Path::new(FILE)));
    // Objects may name the images that are missing.
    if source.spec.manifests.is_empty() || !source.spec.images.is_empty() {
        in_order?;
    }
    let crds = below(directory, "spec.crds", &source.spec.crds)?;
    let roles = below(directory, "spec.roles", &source.spec.roles)?;
    let (operator, unused) = if source.spec.operator.is_some() {
        (operator::read(&crds, &roles)?, Vec::new())
    } else {
        let unused = [crds, roles].into_iter().filter(|path| path.exists());
        (Vec::new(), unused.collect())
    };
    let files = |path: &Path| below(directory, "spec.manifests.files", path);
    let sets = source.spec.manifests.iter();
    let sets = sets.map(|set| sets::load(set, files));
    let sets = sets.collect::<Result<Vec<_>, _>>()?;
    let charts = source.spec.charts.iter();
    let below = |field, path: &Path| below(directory, field, path);
    let charts = charts.map(|it| charts::load(it, below, network));
    let charts = charts.collect::<Result<Vec<_>, _>>()?;
    if let Some(keyring) = keyring {
        let signed: Vec<_> = source.spec.charts.iter().zip(&charts).collect();
        provenance::check(&signed, keyring, renderer, below, network, watch)?;
    }
    sets::check(&sets, &charts, &source.spec)?;
    let of_charts = render::render(&charts, &id, &source.spec, renderer, watch)?;
    if references_are_known(&source.spec) {
        let references = known_references(&source.spec);
        tell(&of_charts, references.clone().map(|(_, it)| it), watch);
        check_images(&sets, &of_charts, references)?;
    }
    rules::check_source(id.name(), &source.spec).map_err(PackError::in_file(Path::new(FILE)))?;
    Ok(Loaded {
        directory: directory.to_owned(),
        sets,
        charts,
        rendered: of_charts,
        programs: Vec::new(),
        source,
        id,
        operator,
        unused,
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
    for (release, remark) in render::remarks(rendered, references) {
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

/// Refuses sets whose containers run images that are not among these, and charts that name others.
pub(crate) fn check_images<'a>(
    sets: &[LoadedSet],
    rendered: &[RenderedImages],
    references: impl Iterator<Item = (ImagePlace, &'a ImageReference)> + Clone,
) -> Result<(), PackError> {
    if sets.is_empty() && rendered.is_empty() {
        return Ok(());
    }
    let mut missing = sets::missing(sets, &KnownImages::new(references.clone()));
    missing.extend(render::missing(rendered, references.map(|(_, it)| it)));
    if missing.is_empty() {
        return Ok(());
    }
    Err(PackError::MissingImages(missing))
}

/// A path of `solution.yaml` that must stay inside its directory, so that the directory can be moved and handed over.
fn below(directory: &Path, field: &'static str, path: &Path) -> Result<PathBuf, PackError> {
    let inside = |component| matches!(component, Component::Normal(_) | Component::CurDir);
    if path.components().all(inside) && !path.as_os_str().is_empty() {
        return Ok(directory.join(path));
    }
    Err(PackError::Outside {
        field,
        path: path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;
    use std::fs;

    use super::*;
    use crate::testing::{self, SOLUTION};

    fn refused(from: &str, to: &str) -> PackError {
        assert!(SOLUTION.contains(from), "{from}");
        let tree = testing::texts(&SOLUTION.replacen(from, to, 1));
        testing::load(tree.path()).unwrap_err()
    }

    #[test]
    fn a_good_tree_is_loaded() {
        let tree = testing::texts(SOLUTION);
        let loaded = testing::load(tree.path()).unwrap();
        assert_eq!(loaded.id.to_string(), "demo-1.0.0");
        let paths: Vec<_> = loaded
            .operator
            .iter()
            .map(|file| file.path.as_str())
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
        let error = refused("  version:", "  verison: 1.0.0\n  version:");
        assert!(
            error
                .to_string()
                .ends_with("solution.yaml` cannot be parsed"),
            "{error}"
        );
        let reason = error.source().unwrap().to_string();
        assert!(
            reason.contains("verison") && reason.contains("line"),
            "{reason}"
        );
    }

    #[test]
    fn files_outside_the_directory_are_refused() {
        for (path, shown) in [
            ("../crds", "../crds"),
            ("/etc", "/etc"),
            ("a/../../b", "a/../../b"),
        ] {
            let error = refused("  version:", &format!("  crds: {path}\n  version:"));
            let message = error.to_string();
            assert_eq!(
                message,
                format!(
                    "`spec.crds` is `{shown}`, which is not below the directory of `solution.yaml`; write a relative path without `..`"
                )
            );
        }
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
    fn missing_operator_files_say_what_to_do() {
        let tree = testing::texts(SOLUTION);
        fs::remove_file(tree.path().join("operator/deploy/role.yaml")).unwrap();
        let message = testing::load(tree.path()).unwrap_err().to_string();
        assert!(message.starts_with("`spec.roles` is `"), "{message}");
        assert!(message.contains("which does not exist; "), "{message}");
    }
}

//! Information about a draft archive that only the packager has: the source tree, and the objects that its charts
//! render to. The validator itself cannot render charts, because it does not run `helm`.

use std::collections::BTreeMap;
use std::sync::Arc;

use rules::{Problem, WorkloadChecker};
use schemas::{ArchivePath, ImagePlace};

use crate::finding::{self, Findings, SourceMap};

/// The origin of a draft archive.
#[derive(Debug)]
pub struct DraftOrigin {
    /// The source tree in which findings are located.
    pub tree: Arc<dyn SourceMap>,
    /// The charts that were rendered.
    pub rendered: Vec<RenderedChart>,
}

/// The problems in the rendered objects of a chart.
#[derive(Debug)]
pub struct RenderedChart {
    /// The path of the chart in the archive.
    pub path: ArchivePath,
    /// The problems that do not depend on images.
    pub problems: Vec<Problem>,
    /// The containers that must not run as root and use the user of an image in the archive.
    pub non_root: Vec<ContainerOfImage>,
}

/// A container of a rendered object.
#[derive(Debug)]
pub struct ContainerOfImage {
    /// The object, in words.
    pub object: String,
    /// The name of the container.
    pub name: String,
    /// The image that the container runs.
    pub image: ImagePlace,
}

/// Reports the problems of charts, including those that depend on the users of images.
pub(crate) fn report(
    charts: &[RenderedChart],
    users: &BTreeMap<ImagePlace, String>,
    findings: &mut Findings,
) {
    let judge = WorkloadChecker::new([], users);
    for chart in charts {
        let refused = chart.non_root.iter().filter_map(|container| {
            let problem = judge.image_user(&container.name, &container.image)?;
            Some(Problem::OfMade(container.object.clone(), Box::new(problem)))
        });
        let problems = chart.problems.iter().cloned().chain(refused);
        finding::report(problems, chart.path.as_str(), findings);
    }
}

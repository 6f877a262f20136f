//! What only whoever makes an archive knows of it: the tree that it is made from, and the objects that its charts render to,
//! for which a check has no program.

use std::collections::BTreeMap;
use std::sync::Arc;

use rules::{Problem, WorkloadJudge};
use schemas::{ArchivePath, ImagePlace};

use crate::finding::{self, Findings, SourceMap};

/// Where a draft of an archive comes from.
#[derive(Debug)]
pub struct DraftOrigin {
    /// The tree in which all that is found stands.
    pub tree: Arc<dyn SourceMap>,
    /// The charts that were rendered.
    pub rendered: Vec<RenderedChart>,
}

/// What was found in the objects that a chart renders to.
#[derive(Debug)]
pub struct RenderedChart {
    /// The path of the chart in the archive.
    pub path: ArchivePath,
    /// The problems that can be told without the images.
    pub problems: Vec<Problem>,
    /// The containers that are not to be root and take the user of an image of the archive.
    pub non_root: Vec<ContainerOfImage>,
}

/// A container of a rendered object.
#[derive(Debug)]
pub struct ContainerOfImage {
    /// The object, in words.
    pub object: String,
    /// The name of the container.
    pub name: String,
    /// The image that it runs.
    pub image: ImagePlace,
}

/// Reports what was found of charts, where images have these users.
pub(crate) fn report(
    charts: &[RenderedChart],
    users: &BTreeMap<ImagePlace, String>,
    findings: &mut Findings,
) {
    let judge = WorkloadJudge::new([], users);
    for chart in charts {
        let refused = chart.non_root.iter().filter_map(|it| {
            let problem = judge.image_user(&it.name, &it.image)?;
            Some(Problem::OfMade(it.object.clone(), Box::new(problem)))
        });
        let problems = chart.problems.iter().cloned().chain(refused);
        finding::report(problems, chart.path.as_str(), findings);
    }
}

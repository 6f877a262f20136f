//! The mapping from files of an archive to source files. [`TreeMap`] gives the findings of the draft archive their
//! places in the source tree.

use std::collections::BTreeMap;

use rules::{Problem, source_pointer};
use schemas::SourceSpec;
use validator::{SourceMap, SourcePlace};

use crate::source_files::{SOLUTION, SourceDocument, SourceFiles};

/// The source of each file of an archive.
#[derive(Debug)]
pub(crate) struct TreeMap {
    pub(crate) files: SourceFiles,
    pub(crate) spec: SourceSpec,
    /// The source documents of CRDs, roles and objects, by path in the archive.
    pub(crate) documents: BTreeMap<String, SourceDocument>,
}

impl SourceMap for TreeMap {
    fn place(&self, file: &str, problem: Option<&Problem>) -> Option<SourcePlace> {
        let solution = SourceDocument::first(SOLUTION);
        if let Some(document) = self.documents.get(file) {
            return Some(match problem {
                Some(problem) if file == archive::ROLE => {
                    self.files.place_in_file(&document.file, problem)
                }
                Some(problem) => self.files.value(document, &problem.pointer()),
                None => self.files.value(document, ""),
            });
        }
        let pointer = match problem {
            _ if file != archive::MANIFEST => self.part_pointer(file)?,
            Some(problem) => source_pointer(problem, &self.spec),
            None => String::new(),
        };
        Some(self.files.value(&solution, &pointer))
    }
}

impl TreeMap {
    /// Returns the JSON pointer in `solution.yaml` of the image or chart that a file belongs to.
    fn part_pointer(&self, file: &str) -> Option<String> {
        let is_in = |directory: String| {
            let rest = file.strip_prefix(&directory);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut images = self.spec.images.iter();
        let image = images.position(|image| is_in(format!("images/{}/{}", image.name, image.tag)));
        let mut charts = self.spec.charts.iter();
        let chart = charts.position(|chart| is_in(format!("charts/{}", chart.name)));
        let image = image.map(|index| format!("/spec/images/{index}"));
        image.or_else(|| chart.map(|index| format!("/spec/charts/{index}")))
    }
}

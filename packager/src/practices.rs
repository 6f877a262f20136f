//! What is better avoided in the objects that a chart renders to, by the rules for objects that stand in the Solution
//! itself. What values and the cluster choose is told, and refuses nothing.

use std::collections::{BTreeMap, BTreeSet};

use manifests::{RenderedObject, reference};
use rules::{NonRootContainer, PossibleMinors, Problem, WorkloadJudge};
use schemas::{Condition, ImagePlace, KubernetesVersion, ReleaseName};
use validator::{ContainerOfImage, RenderedChart};

use crate::rendered;

/// What is better avoided in the objects of one chart.
#[derive(Debug, Default)]
pub(crate) struct ChartPractices {
    /// The problems by the object and in words: what several renderings have is found once.
    problems: BTreeMap<(String, String), Problem>,
    non_root: BTreeSet<RenderedContainer>,
}

/// A container that is not to be root and takes the user of its image, which is not known where it is rendered.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RenderedContainer {
    /// The place of the object with it.
    object: String,
    /// The container, with the image as it is rendered.
    container: NonRootContainer,
}

impl ChartPractices {
    /// Judges an object of a chart that is installed when this holds, rendered for this version of Kubernetes if for one.
    pub(crate) fn judge(
        &mut self,
        object: &RenderedObject,
        workloads: &WorkloadJudge<'_>,
        when: Option<&Condition>,
        kubernetes: Option<&KubernetesVersion>,
    ) {
        let minors = match kubernetes {
            Some(version) => Some(PossibleMinors::only(version)),
            None => PossibleMinors::of(None),
        };
        let lifecycle = rules::api_lifecycle(&object.value, when, minors);
        let lifecycle = lifecycle.map(|problem| match problem {
            Problem::ApiRemoved(words) => Problem::ApiDeprecated(words),
            other => other,
        });
        let place = rendered::place_within(object);
        let non_root = NonRootContainer::of(&object.value);
        self.non_root
            .extend(non_root.map(|container| RenderedContainer {
                object: place.clone(),
                container,
            }));
        let problems = workloads.check(&object.value).into_iter();
        for problem in problems.chain(lifecycle) {
            self.add(&place, problem);
        }
    }

    /// Adds a problem of the object at this place.
    pub(crate) fn add(&mut self, place: &str, problem: Problem) {
        let key = (place.to_owned(), problem.to_string());
        let problem = Problem::OfMade(place.to_owned(), Box::new(problem));
        self.problems.entry(key).or_insert(problem);
    }

    /// Returns what a check is told of the chart of this release, where images are known by these names.
    pub(crate) fn of_chart(
        &self,
        release: &ReleaseName,
        images: &BTreeMap<String, ImagePlace>,
    ) -> RenderedChart {
        let non_root = self.non_root.iter().filter_map(|it| {
            let written = reference::normal(&it.container.image)?;
            Some(ContainerOfImage {
                object: it.object.clone(),
                name: it.container.name.clone(),
                image: images.get(written.as_str())?.clone(),
            })
        });
        RenderedChart {
            path: archive::chart_path(release),
            problems: self.problems.values().cloned().collect(),
            non_root: non_root.collect(),
        }
    }
}

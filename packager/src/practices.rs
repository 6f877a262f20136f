//! Discouraged practices in the rendered objects of a chart, by the same rules as for sets of manifests. All of them
//! are warnings, because values and the cluster decide about rendered objects. The main type is [`ChartPractices`].

use std::collections::{BTreeMap, BTreeSet};

use manifests::{RenderedObject, reference};
use rules::{NonRootContainer, PossibleMinors, Problem, WorkloadChecker};
use schemas::{Condition, ImagePlace, KubernetesVersion, ReleaseName};
use validator::{ContainerOfImage, RenderedChart};

use crate::rendered;

/// The discouraged practices in the objects of one chart.
#[derive(Debug, Default)]
pub(crate) struct ChartPractices {
    /// The problems by object and message, so that several renderings report the same problem once.
    problems: BTreeMap<(String, String), Problem>,
    non_root: BTreeSet<RenderedContainer>,
}

/// A container that must not run as root and uses the user of its image, which is unknown during rendering.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RenderedContainer {
    /// The place of the object.
    object: String,
    /// The container with the rendered image reference.
    container: NonRootContainer,
}

impl ChartPractices {
    /// Checks a rendered object. `when` is the condition for installing the chart, and `kubernetes` the version that it
    /// was rendered for.
    pub(crate) fn check_object(
        &mut self,
        object: &RenderedObject,
        workloads: &WorkloadChecker<'_>,
        when: Option<&Condition>,
        kubernetes: Option<&KubernetesVersion>,
    ) {
        let minors = match kubernetes {
            Some(version) => Some(PossibleMinors::only(version)),
            None => PossibleMinors::of(None),
        };
        let lifecycle = rules::api_lifecycle(&object.value, when, minors);
        // A removed API is only a warning here, because a chart may select its API by the version of the cluster.
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

    /// Returns the problems of a chart for the validator. `images` maps rendered references to images.
    pub(crate) fn of_chart(
        &self,
        release: &ReleaseName,
        images: &BTreeMap<String, ImagePlace>,
    ) -> RenderedChart {
        let non_root = self.non_root.iter().filter_map(|rendered| {
            let written = reference::normal(&rendered.container.image)?;
            Some(ContainerOfImage {
                object: rendered.object.clone(),
                name: rendered.container.name.clone(),
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

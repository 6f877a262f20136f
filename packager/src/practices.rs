//! What is better avoided in the objects that a chart renders to, by the rules for objects that stand in the Solution
//! itself. What values and the cluster choose is told, and refuses nothing.

use std::collections::BTreeMap;

use manifests::RenderedObject;
use rules::{PossibleMinors, Problem, WorkloadJudge};
use schemas::{Condition, KubernetesVersion};

use crate::rendered;

/// What is better avoided in the objects of one chart.
#[derive(Default)]
pub(crate) struct ChartPractices {
    /// The problems by the object and in words: what several renderings have is found once.
    problems: BTreeMap<(String, String), Problem>,
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
        let problems = workloads.check(&object.value).into_iter();
        for problem in problems.chain(lifecycle) {
            let place = rendered::place_within(object);
            let key = (place.clone(), problem.to_string());
            let problem = Problem::OfMade(place, Box::new(problem));
            self.problems.entry(key).or_insert(problem);
        }
    }

    /// Returns the problems, in the order of their objects.
    pub(crate) fn into_problems(self) -> Vec<Problem> {
        self.problems.into_values().collect()
    }
}

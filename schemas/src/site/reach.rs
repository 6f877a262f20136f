//! The workloads that the entries of a site's file are for, and how much of an entry counts for which of them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Choices, SiteRule, SiteSpec};
use crate::{KubernetesName, SolutionName};

/// The part, and without a part the workload, that is the operator.
const OPERATOR: &str = "operator";

/// A kind of workload: what has pods, or a template of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "these are the names of Kubernetes' own kinds")]
pub enum WorkloadKind {
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    Pod,
    PodTemplate,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
}

impl fmt::Display for WorkloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A part of a Solution that has workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartName<'a> {
    /// The operator.
    Operator,
    /// The set or the release of this name.
    Carried(&'a str),
}

impl PartName<'_> {
    fn is(self, name: &KubernetesName) -> bool {
        match self {
            Self::Operator => name.as_str() == OPERATOR,
            Self::Carried(own) => name.as_str() == own,
        }
    }
}

/// The part of an entry that counts for the workloads of one part of a Solution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReachedRule {
    /// The kind of the workloads; none of all kinds.
    pub kind: Option<WorkloadKind>,
    /// Their name; none of all of them.
    pub workload: Option<KubernetesName>,
    /// The container that `resources` and `env` are for; none of the operator's own.
    pub container: Option<KubernetesName>,
    /// What counts of what is chosen.
    pub set: Choices,
}

impl ReachedRule {
    /// Whether it is for the workload of this kind and name.
    #[must_use]
    pub fn is_for(&self, kind: &str, name: &str) -> bool {
        let of_kind = self.kind.is_none_or(|it| it.to_string() == kind);
        let named = self.workload.as_ref();
        of_kind && named.is_none_or(|it| it.as_str() == name)
    }
}

impl SiteRule {
    /// Names the workloads that it is for, for people.
    #[must_use]
    pub fn scope(&self) -> String {
        let mut scope = self.solutions.to_string();
        if let Some(part) = &self.part {
            scope.extend([" ", part.as_str()]);
        }
        match (&self.workload, self.kind) {
            (Some(name), None) if self.part.is_none() && name.as_str() == OPERATOR => {
                scope.extend([" ", OPERATOR]);
            }
            (Some(name), None) => scope.extend([", workload ", name.as_str()]),
            (Some(name), Some(kind)) => {
                scope.extend([", ", &kind.to_string(), " ", name.as_str()]);
            }
            (None, _) => {}
        }
        if let Some(container) = &self.container {
            scope.extend([", container ", container.as_str()]);
        }
        scope
    }

    /// Whether it names the operator, in one way or the other.
    #[must_use]
    pub fn is_the_operators(&self) -> bool {
        let named = self.part.as_ref().or(self.workload.as_ref());
        named.is_some_and(|it| it.as_str() == OPERATOR)
    }

    /// Returns how close it is: of two entries for a workload the greater one counts.
    fn closeness(&self) -> (usize, [bool; 4]) {
        let named = [
            self.part.is_some(),
            self.workload.is_some(),
            self.kind.is_some(),
            self.container.is_some(),
        ];
        (self.solutions.closeness(), named)
    }

    /// Returns a field that it has, and the one that this needs and it lacks.
    pub(super) fn lacking(&self) -> Option<[&'static str; 2]> {
        if self.container.is_some() && self.part.is_none() {
            return Some(["container", "part"]);
        }
        if self.workload.is_none() {
            let named = [
                ("container", self.container.is_some()),
                ("kind", self.kind.is_some()),
            ];
            let field = named
                .into_iter()
                .find_map(|(field, is)| is.then_some(field));
            if let Some(field) = field {
                return Some([field, "workload"]);
            }
        }
        if self.part.is_none() || self.is_the_operators() {
            return None;
        }
        let own = self.set.of_one_workload();
        match (own.first(), &self.workload, &self.container) {
            (Some(field), None, _) => Some([field, "workload"]),
            (Some(_), Some(_), None) => {
                let field = own.iter().find(|it| **it != "replicas")?;
                Some([field, "container"])
            }
            _ => None,
        }
    }

    /// Returns what of it counts for the workloads of a part, if anything does.
    #[must_use]
    pub fn reaching(&self, solution: &SolutionName, part: PartName<'_>) -> Option<ReachedRule> {
        let is_for = match &self.part {
            Some(name) => part.is(name),
            None => part == PartName::Operator || !self.is_the_operators(),
        };
        if !is_for || !self.solutions.matches(solution) {
            return None;
        }
        let mut set = self.set.clone();
        let mut workload = self.workload.clone();
        if part == PartName::Operator {
            workload = workload.filter(|it| it.as_str() != OPERATOR);
        } else {
            if self.part.is_none() || workload.is_none() {
                (set.replicas, set.resources) = (None, None);
                set.env.clear();
            }
            // What a container does without is known of the operator alone.
            set.security_context = crate::SecurityContext::default();
        }
        (set != Choices::default()).then(|| ReachedRule {
            kind: self.kind,
            workload,
            container: self.container.clone(),
            set,
        })
    }
}

impl SiteSpec {
    /// Returns the entries that reach workloads of a part, the closest one last, each with what of it counts.
    #[must_use]
    pub fn reaching(
        &self,
        solution: &SolutionName,
        part: PartName<'_>,
    ) -> Vec<(&SiteRule, ReachedRule)> {
        let all = self.workloads.iter();
        let reached = all.filter_map(|rule| Some((rule, rule.reaching(solution, part)?)));
        let mut reached: Vec<_> = reached.collect();
        reached.sort_by_key(|(rule, _)| rule.closeness());
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::API_VERSION;
    use crate::site::{Site, SiteError};

    fn site(spec: &str) -> Result<Site, SiteError> {
        let text = format!("apiVersion: {API_VERSION}\nkind: Site\nspec: {spec}");
        Site::from_slice(text.as_bytes())
    }

    #[test]
    fn the_closest_entry_comes_last() {
        let site = site(
            "{workloads: [
               {solutions: shop, workload: operator, set: {priorityClassName: p1}},
               {set: {priorityClassName: p2}},
               {solutions: shop, set: {priorityClassName: p3}},
               {solutions: 'shop-*', set: {priorityClassName: p4}},
               {workload: operator, set: {priorityClassName: p5}},
               {solutions: shop, workload: web, set: {priorityClassName: p6}},
               {solutions: shop, part: db, set: {priorityClassName: p7}},
               {solutions: shop, part: db, workload: web, set: {priorityClassName: p8}},
               {solutions: shop, part: db, workload: web, kind: Job, set: {priorityClassName: p9}}]}",
        )
        .unwrap();
        let classes = |solution: &str, part, kind: &str, workload: &str| -> String {
            let rules = site.spec.reaching(&solution.parse().unwrap(), part);
            let rules = rules.iter().filter(|(_, it)| it.is_for(kind, workload));
            let classes = rules.map(|(_, it)| it.set.priority_class_name.clone().unwrap());
            classes
                .map(|it| it.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let (operator, db) = (PartName::Operator, PartName::Carried("db"));
        let named = "Deployment";
        assert_eq!(
            classes("shop", operator, named, "shop-operator"),
            "p2 p5 p3 p1"
        );
        assert_eq!(
            classes("shop-eu", operator, named, "x-operator"),
            "p2 p5 p4"
        );
        assert_eq!(classes("shop", db, named, "web"), "p2 p3 p6 p7 p8");
        assert_eq!(classes("shop", db, "Job", "web"), "p2 p3 p6 p7 p8 p9");
        assert_eq!(classes("shop", db, named, "operator"), "p2 p3 p7");
        assert_eq!(classes("shop", PartName::Carried("a"), named, "b"), "p2 p3");
    }

    #[test]
    fn what_is_one_workloads_reaches_no_other() {
        let all = "replicas: 2, resources: {limits: {cpu: '1'}}, env: {A: b}, labels: {a: b}";
        let fields = |names: &str, part| {
            let text = format!("{{workloads: [{{{names}set: {{{all}}}}}]}}");
            let site = site(&text).unwrap_or_else(|error| panic!("{names}: {error}"));
            let reached = site.spec.reaching(&"shop".parse().unwrap(), part);
            let count = |(_, it): &(&SiteRule, ReachedRule)| {
                (it.set.of_one_workload().len(), it.set.labels.len())
            };
            reached.first().map(count)
        };
        let (operator, web) = (PartName::Operator, PartName::Carried("web"));
        for (names, of_operator, of_web) in [
            ("", Some((3, 1)), Some((0, 1))),
            ("workload: operator, ", Some((3, 1)), None),
            ("part: operator, ", Some((3, 1)), None),
            ("workload: web, ", Some((3, 1)), Some((0, 1))),
            (
                "part: web, workload: web, container: c, ",
                None,
                Some((3, 1)),
            ),
            ("part: db, workload: web, container: c, ", None, None),
        ] {
            assert_eq!(fields(names, operator), of_operator, "{names}");
            assert_eq!(fields(names, web), of_web, "{names}");
        }
    }

    #[test]
    fn an_entry_that_names_too_little_is_refused() {
        for (entry, words) in [
            (
                "part: db, set: {replicas: 2}",
                "for * db has `replicas`, which needs `workload`",
            ),
            (
                "part: db, workload: db, set: {replicas: 2, env: {A: b}}",
                "for * db, workload db has `env`, which needs `container`",
            ),
            (
                "part: db, container: c, set: {}",
                "`container`, which needs `workload`",
            ),
            (
                "workload: db, container: c, set: {}",
                "`container`, which needs `part`",
            ),
            ("kind: Job, set: {}", "`kind`, which needs `workload`"),
            ("kind: Service, workload: a, set: {}", "Service"),
        ] {
            let refused = site(&format!("{{workloads: [{{{entry}}}]}}")).unwrap_err();
            assert!(refused.to_string().contains(words), "{entry}: {refused}");
        }
    }
}

//! The workloads to which the entries of a site configuration apply. [`SiteSpec::reaching`] returns the entries for a
//! part of a Solution.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Choices, SiteRule, SiteSpec};
use crate::{KubernetesName, SolutionName};

/// The name of the operator as a part and, without a part, as a workload.
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

/// A part of a Solution with workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartName<'a> {
    /// The operator.
    Operator,
    /// The manifest set or chart release with this name.
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

/// The fields of an entry that apply to the workloads of one part of a Solution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReachedRule {
    /// The kind of the workloads; `None` for all kinds.
    pub kind: Option<WorkloadKind>,
    /// The name of the workloads; `None` for all.
    pub workload: Option<KubernetesName>,
    /// The container for `resources` and `env`; `None` for the operator's own.
    pub container: Option<KubernetesName>,
    /// The settings that apply.
    pub set: Choices,
}

impl ReachedRule {
    /// Returns whether it applies to a workload of this kind and name.
    #[must_use]
    pub fn is_for(&self, kind: &str, name: &str) -> bool {
        let of_kind = self.kind.is_none_or(|own| own.to_string() == kind);
        let named = self.workload.as_ref();
        of_kind && named.is_none_or(|own| own.as_str() == name)
    }
}

impl SiteRule {
    /// Returns the workloads of the entry as text for people.
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

    /// Returns whether it names the operator, as a part or as a workload.
    #[must_use]
    pub fn is_the_operators(&self) -> bool {
        let named = self.part.as_ref().or(self.workload.as_ref());
        named.is_some_and(|name| name.as_str() == OPERATOR)
    }

    /// Returns the specificity of the entry. Of two entries for a workload, the greater one takes precedence.
    fn closeness(&self) -> (usize, [bool; 4]) {
        let named = [
            self.part.is_some(),
            self.workload.is_some(),
            self.kind.is_some(),
            self.container.is_some(),
        ];
        (self.solutions.closeness(), named)
    }

    /// Returns a field of the entry and the field that it requires but the entry lacks.
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
                let field = own.iter().find(|field| **field != "replicas")?;
                Some([field, "container"])
            }
            _ => None,
        }
    }

    /// Returns the fields of the entry that apply to a part's workloads, if any.
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
            workload = workload.filter(|name| name.as_str() != OPERATOR);
        } else {
            if self.part.is_none() || workload.is_none() {
                (set.replicas, set.resources) = (None, None);
                set.env.clear();
            }
            // Restrictions of containers apply only to the operator.
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
    /// Returns the entries for a part's workloads, the most specific last, each with the fields that apply.
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
            let rules = rules.iter().filter(|(_, rule)| rule.is_for(kind, workload));
            let classes = rules.map(|(_, rule)| rule.set.priority_class_name.clone().unwrap());
            classes
                .map(|class| class.to_string())
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

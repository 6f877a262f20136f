//! The parts of a Solution besides its operator, and their order. [`SolutionParts::in_order`] sorts them by their declared
//! dependencies, with the parts that the operator needs first.

use std::collections::{BTreeMap, BTreeSet};

use schemas::SetName;

/// A set of manifests or a chart release. Both share one namespace of names and one order.
#[derive(Clone, Copy, Debug)]
pub struct SolutionPart<'a> {
    /// The name of the part.
    pub name: &'a str,
    /// The parts that must be ready before this one is applied.
    pub needs: &'a [SetName],
}

/// All parts of a version.
#[derive(Clone, Debug, Default)]
pub struct SolutionParts<'a> {
    parts: Vec<SolutionPart<'a>>,
    /// The parts that the operator needs, directly or indirectly.
    first: BTreeSet<&'a str>,
}

impl<'a> SolutionParts<'a> {
    /// Creates the parts in the order of the manifest. `operator_needs` are the parts that the operator needs.
    #[must_use]
    pub fn new(parts: Vec<SolutionPart<'a>>, operator_needs: &'a [SetName]) -> Self {
        let mut parts = Self {
            parts,
            first: BTreeSet::new(),
        };
        parts.first = parts.with_needs(operator_needs);
        parts
    }

    /// Checks whether the operator needs a part, directly or indirectly.
    #[must_use]
    pub(crate) fn is_before_the_operator(&self, name: &str) -> bool {
        self.first.contains(name)
    }

    /// Returns these parts with all parts that they need, directly or indirectly.
    #[must_use]
    pub fn with_needs(&self, names: &'a [SetName]) -> BTreeSet<&'a str> {
        let mut left: Vec<&str> = names.iter().map(SetName::as_str).collect();
        let mut needed = BTreeSet::new();
        while let Some(name) = left.pop() {
            if needed.insert(name) {
                let parts = self.parts.iter().filter(|part| part.name == name);
                left.extend(parts.flat_map(|part| part.needs).map(SetName::as_str));
            }
        }
        needed
    }

    /// Returns the parts that the operator or another part needs.
    #[must_use]
    pub fn required_parts(&self) -> BTreeSet<&'a str> {
        let needs = self
            .parts
            .iter()
            .flat_map(|part| part.needs)
            .map(SetName::as_str);
        needs.chain(self.first.iter().copied()).collect()
    }

    /// Returns the names of all parts in the order of installation: the parts that the operator needs first, and each
    /// part after its own dependencies.
    #[must_use]
    pub fn in_order(&self) -> Vec<&'a str> {
        let mut parts = self.parts.clone();
        parts.sort_by_key(|part| !self.first.contains(part.name));
        let sorted = sorted(&parts).into_iter();
        sorted.map(|at| parts[at].name).collect()
    }
}

/// Returns the positions of the parts, each after its dependencies and otherwise in the given order. The validator
/// rejects cycles; a dependency that is not in `parts` is ignored.
fn sorted(parts: &[SolutionPart<'_>]) -> Vec<usize> {
    let numbered = parts.iter().enumerate();
    let by_name: BTreeMap<&str, usize> = numbered.map(|(at, part)| (part.name, at)).collect();
    let mut waiting = vec![0; parts.len()];
    let mut needed_by = vec![Vec::new(); parts.len()];
    for (at, part) in parts.iter().enumerate() {
        let needs = part.needs.iter();
        for needed in needs.filter_map(|name| by_name.get(name.as_str())) {
            needed_by[*needed].push(at);
            waiting[at] += 1;
        }
    }
    // Taking the first free position each time keeps the given order wherever dependencies allow it.
    let mut free: BTreeSet<usize> = (0..parts.len()).filter(|at| waiting[*at] == 0).collect();
    let mut sorted = Vec::new();
    while let Some(next) = free.pop_first() {
        sorted.push(next);
        for at in &needed_by[next] {
            waiting[*at] -= 1;
            if waiting[*at] == 0 {
                free.insert(*at);
            }
        }
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<SetName> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    #[test]
    fn parts_keep_their_order_but_for_what_they_need() {
        let needs = [&["d", "gone"][..], &[], &["b", "a"], &["b", "b"]].map(names);
        let parts = ["a", "b", "c", "d"].iter().zip(&needs);
        let parts = parts
            .map(|(name, needs)| SolutionPart { name, needs })
            .collect();
        assert_eq!(
            SolutionParts::new(parts, &[]).in_order(),
            ["b", "d", "a", "c"]
        );
    }

    #[test]
    fn what_an_operator_needs_comes_first_with_what_that_needs() {
        let needs = [&[][..], &[], &["issuer"]].map(names);
        let parts = ["web", "issuer", "certificate"].iter().zip(&needs);
        let parts: Vec<SolutionPart<'_>> = parts
            .map(|(name, needs)| SolutionPart { name, needs })
            .collect();
        let operator = names(&["certificate"]);
        let with_operator = SolutionParts::new(parts.clone(), &operator);
        assert_eq!(with_operator.in_order(), ["issuer", "certificate", "web"]);
        assert!(with_operator.is_before_the_operator("issuer"));
        assert!(!with_operator.is_before_the_operator("web"));
        assert_eq!(
            with_operator.required_parts(),
            ["certificate", "issuer"].into()
        );
        let without = SolutionParts::new(parts, &[]);
        assert_eq!(without.in_order(), ["web", "issuer", "certificate"]);
        assert_eq!(without.required_parts(), ["issuer"].into());
    }
}

//! The comparison of a plan that was shown with the same plan created again ([`PlanDifferences`]). It answers whether
//! the shown plan still holds, and names the parts that have changed.

use std::collections::{BTreeMap, BTreeSet};

/// The parts in which a plan that was created again differs from the one that was shown.
#[derive(Debug, Default)]
pub(crate) struct PlanDifferences {
    /// The objects by kind and name, and new blockers.
    pub(crate) objects: Vec<String>,
    /// The other parts that messages name.
    pub(crate) parts: Vec<String>,
    /// True if a part differs that messages do not name.
    has_others: bool,
}

impl PlanDifferences {
    /// Compares objects by name.
    pub(crate) fn compare_objects<T: PartialEq>(
        &mut self,
        shown: &BTreeMap<String, T>,
        now: &BTreeMap<String, T>,
    ) {
        let names: BTreeSet<&String> = shown.keys().chain(now.keys()).collect();
        let names = names.into_iter();
        let differing = names.filter(|name| shown.get(*name) != now.get(*name));
        self.objects.extend(differing.cloned());
    }

    /// Compares lists, and names the entries that are new.
    pub(crate) fn compare_entries<T: PartialEq>(
        &mut self,
        shown: &[T],
        now: &[T],
        name: impl Fn(&T) -> String,
    ) {
        let new = now.iter().filter(|entry| !shown.contains(entry));
        self.objects.extend(new.map(name));
        self.compare_rest(shown, now);
    }

    /// Compares a part that messages name.
    pub(crate) fn compare_part<T: PartialEq>(
        &mut self,
        name: impl Into<String>,
        shown: &T,
        now: &T,
    ) {
        if shown != now {
            self.parts.push(name.into());
        }
    }

    /// Compares a part that messages do not name.
    pub(crate) fn compare_rest<T: PartialEq + ?Sized>(&mut self, shown: &T, now: &T) {
        self.has_others |= shown != now;
    }

    /// Returns the names of the parts that differ; none of them if only parts without a name differ. `None` if the plan
    /// still holds.
    pub(crate) fn names(mut self) -> Option<Vec<String>> {
        self.objects.append(&mut self.parts);
        (self.has_others || !self.objects.is_empty()).then_some(self.objects)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(compare: impl FnOnce(&mut PlanDifferences)) -> Option<Vec<String>> {
        let mut differences = PlanDifferences::default();
        compare(&mut differences);
        differences.names()
    }

    #[test]
    fn equal_plans_do_not_differ() {
        let objects = BTreeMap::from([("Service a".to_owned(), 1)]);
        let names = differences(|all| {
            all.compare_objects(&objects, &objects.clone());
            all.compare_entries(&[1], &[1], ToString::to_string);
            all.compare_part("the version", &1, &1);
            all.compare_rest("notes", "notes");
        });
        assert_eq!(names, None);
    }

    #[test]
    fn added_changed_and_removed_objects_are_named_before_other_parts() {
        let plan = |entries: &[(&str, u8)]| -> BTreeMap<String, u8> {
            let entries = entries.iter();
            entries
                .map(|(name, at)| ((*name).to_owned(), *at))
                .collect()
        };
        let shown = plan(&[("changed", 1), ("equal", 1), ("removed", 1)]);
        let now = plan(&[("added", 1), ("changed", 2), ("equal", 1)]);
        let names = differences(|all| {
            all.compare_part("the version", &1, &2);
            all.compare_objects(&shown, &now);
        });
        let expected = ["added", "changed", "removed", "the version"];
        assert_eq!(names, Some(expected.map(str::to_owned).to_vec()));
    }

    #[test]
    fn new_entries_are_named_and_removed_ones_only_count() {
        let name = |entry: &u8| format!("blocker {entry}");
        let names = differences(|all| all.compare_entries(&[1], &[1, 2], name));
        assert_eq!(names, Some(vec!["blocker 2".to_owned()]));
        let names = differences(|all| all.compare_entries(&[1, 2], &[1], name));
        assert_eq!(names, Some(Vec::new()));
    }
}

//! The lines of objects that are created, changed, replaced or removed.

use std::collections::BTreeMap;

use importer::{PlannedField, PlannedObject};

use super::lines::Lines;
use crate::args::choose;
use crate::commands::marks::{INDENT, Mark};
use crate::render;

/// Objects of a kind with the same mark that are named in one line, from this number on, where their fields are not shown.
const GROUPED: usize = 6;

/// The objects that share a line: those of a kind with the same mark, and those alone whose version labels change.
type Group<'a> = (Mark, &'a str, bool);

impl Lines {
    /// The repositories that are created before the push.
    pub(super) fn repositories(&mut self, repositories: &[String]) {
        for repository in repositories {
            self.push(Mark::Create.line(format_args!("repository {repository}")));
        }
    }

    /// Objects, with so many of their fields.
    pub(super) fn objects<'a>(
        &mut self,
        objects: impl Iterator<Item = &'a PlannedObject>,
        most_fields: usize,
    ) {
        let objects: Vec<_> = objects.filter(|object| !object.is_kept()).collect();
        let mut groups: BTreeMap<Group<'_>, Vec<&str>> = BTreeMap::new();
        for (group, name) in objects.iter().filter_map(|object| group(object)) {
            groups.entry(group).or_default().push(name);
        }
        groups.retain(|(_, _, is_stamped), names| {
            let least = match (is_stamped, self.is_full()) {
                (true, _) => 2,
                (false, false) => GROUPED,
                (false, true) => usize::MAX,
            };
            names.len() >= least
        });
        let mut groups: BTreeMap<_, _> = groups
            .into_iter()
            .map(|(key, it)| (key, Some(it)))
            .collect();
        for object in objects {
            let grouped =
                group(object).and_then(|(group, _)| Some((group, groups.get_mut(&group)?)));
            match grouped {
                None => {
                    self.object(object, most_fields);
                    self.warnings(object);
                }
                Some(((mark, kind, is_stamped), names)) => {
                    // The first one names all.
                    if let Some(names) = names.take() {
                        let stamped = choose(is_stamped, STAMPED, "");
                        let names = render::list(names);
                        self.push(mark.line(format_args!("{kind} {names}{stamped}")));
                    }
                }
            }
        }
    }

    /// An object, with so many of the fields that change.
    pub(super) fn object(&mut self, object: &PlannedObject, most_fields: usize) {
        let most_fields = choose(self.is_full(), most_fields, 0);
        let fields = match fields(object, most_fields) {
            _ if object.is_stamped() => STAMPED.to_owned(),
            fields => fields,
        };
        let (action, name) = (&object.action, &object.object);
        self.push(match Mark::of(action) {
            Some(mark) => mark.line(format_args!("{name}{fields}")),
            None => format!("{INDENT}{action} {name}{fields}"),
        });
    }

    /// Which restrictions of a CRD were not seen to affect objects, and which fields are taken from others.
    pub(super) fn warnings(&mut self, object: &PlannedObject) {
        for narrowing in &object.narrowed {
            let checked = choose(
                narrowing.checked,
                "no existing object is affected",
                "existing objects were not checked",
            );
            let (path, api, problem) =
                (&narrowing.path, &narrowing.api_version, &narrowing.problem);
            self.warning(&format!("{path} of {api}: {problem} ({checked})"));
        }
        for PlannedField { field, manager } in &object.taken_over {
            self.warning(&format!("takes over {field} from {manager}"));
        }
    }
}

/// The words about an object of which nothing else changes.
const STAMPED: &str = " (version labels only)";

/// Returns the group of an object, and its name in it; none if something else is to be said of it.
fn group(object: &PlannedObject) -> Option<(Group<'_>, &str)> {
    let is_plain = object.narrowed.is_empty() && object.taken_over.is_empty();
    let mark = Mark::of(&object.action).filter(|_| is_plain)?;
    let (kind, name) = object.object.split_once(' ')?;
    Some(((mark, kind, object.is_stamped()), name))
}

fn fields(object: &PlannedObject, most: usize) -> String {
    let (shown, more) = object.changes.split_at(most.min(object.changes.len()));
    match (shown, more.len()) {
        ([], _) => String::new(),
        (shown, 0) => format!(" ({})", shown.join(", ")),
        (shown, more) => format!(" ({} and {more} more)", shown.join(", ")),
    }
}

//! The changes of a plan: every object that is created, changed, replaced or removed. Lines are collected first, so
//! that objects of one kind share a line.

use std::collections::BTreeMap;

use importer::{
    PlanSummary, PlannedChart, PlannedField, PlannedMigration, PlannedObject, SiteValue,
};

use super::{INDENT, Mark};
use crate::args::choose;
use crate::render;

/// The maximum number of fields shown for an object of a chart. Charts often replace the schemas of their definitions
/// and the rules of their alerts, with hundreds of fields. The diff has them all.
const CHART_FIELDS: usize = 5;

impl Lines {
    pub(super) fn changes(&mut self, plan: &PlanSummary) {
        self.repositories(&plan.creates);
        for crd in plan.crds.iter().filter(|crd| !crd.is_kept()) {
            self.object(crd, 0);
            for change in &crd.changes {
                if crd.losses.contains(change) {
                    self.warning(change);
                } else if self.is_full() {
                    self.push(format!("{INDENT}  {change}"));
                }
            }
            self.warnings(crd);
        }
        plan.migrations
            .iter()
            .for_each(|migration| self.migration(migration));
        if let Some(target) = &plan.target {
            let objects = target.objects.iter().chain(&target.removed);
            self.objects(objects, usize::MAX);
            target
                .releases
                .iter()
                .for_each(|release| self.release(release));
        }
    }

    /// Adds the migration of objects to another storage version, the dropped version, and the lost fields.
    fn migration(&mut self, migration: &PlannedMigration) {
        let objects = render::count(migration.objects, "object");
        let (crd, storage, gone) = (
            &migration.crd,
            &migration.storage,
            render::list(&migration.gone),
        );
        self.push(format!(
            "{INDENT}migrate {objects} of {crd} to the storage version {storage}; {gone} is dropped"
        ));
        self.warning(&format!("fields that {storage} does not have are dropped"));
        if !migration.lost.is_empty() {
            let lost = render::list(&migration.lost);
            self.warning(&format!(
                "you cannot return to versions that need {gone}: {lost}"
            ));
        }
        if !migration.unknown.is_empty() {
            let unknown = render::list(&migration.unknown);
            self.warning(&format!(
                "you may be unable to return to {unknown}: the archive cannot be read"
            ));
        }
    }

    /// Adds a release of a chart, with its objects.
    fn release(&mut self, release: &PlannedChart) {
        let PlannedChart {
            action,
            release: name,
            chart,
            ..
        } = release;
        let revision = release
            .revision
            .map(|revision| format!(", revision {revision} now"));
        let revision = revision.unwrap_or_default();
        self.row("chart", &format!("{action} {name} ({chart}{revision})"));
        if self.is_full() {
            for SiteValue { field, value, from } in &release.values {
                self.also(&format!("{field} {value} ({from})"));
            }
        }
        self.objects(release.objects.iter(), CHART_FIELDS);
        if !release.random.is_empty() {
            let objects = render::list(&release.random);
            self.push(format!(
                "{INDENT}contain random values that differ in each plan: {objects}"
            ));
        }
        if let Some(found) = &release.found {
            self.warning(found);
        }
    }
}

/// The number of objects of a kind with the same mark from which they share a line, if their fields are not shown.
const GROUPED: usize = 6;

/// The key of objects that share a line: the mark, the kind, and whether only version labels change.
type Group<'a> = (Mark, &'a str, bool);

impl Lines {
    /// Adds the repositories that are created before the push.
    pub(super) fn repositories(&mut self, repositories: &[String]) {
        for repository in repositories {
            self.push(Mark::Create.line(format_args!("repository {repository}")));
        }
    }

    /// Adds objects, each with a limited number of its fields.
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
            .map(|(key, group)| (key, Some(group)))
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
                    // The line at the place of the first object names all objects of the group.
                    if let Some(names) = names.take() {
                        let stamped = if is_stamped { STAMPED } else { "" };
                        let names = render::list(names);
                        self.push(mark.line(format_args!("{kind} {names}{stamped}")));
                    }
                }
            }
        }
    }

    /// Adds an object, with a limited number of its changed fields.
    pub(super) fn object(&mut self, object: &PlannedObject, most_fields: usize) {
        let most_fields = if self.is_full() { most_fields } else { 0 };
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

    /// Adds the restrictions of a CRD that affect no known object, and the fields taken over from other field managers.
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

/// The note on an object in which nothing else changes.
const STAMPED: &str = " (version labels only)";

/// Returns the group of an object, and its name in it. None if the object needs its own line.
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

/// The level of detail of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The overview, every change, and every warning.
    Brief,
    /// Also fields, rights and the source of each value.
    Full,
}

/// The lines of a plan that were added so far.
pub(super) struct Lines {
    pub(super) detail: Detail,
    pub(super) lines: Vec<String>,
}

impl Lines {
    pub(super) fn new(detail: Detail) -> Self {
        Self {
            detail,
            lines: Vec::new(),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.detail == Detail::Full
    }

    pub(super) fn push(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    /// Adds a line with a label.
    pub(super) fn row(&mut self, label: &str, text: &str) {
        self.push(format!("{label:<10}{text}"));
    }

    /// Adds another line to a label.
    pub(super) fn also(&mut self, text: &str) {
        self.row("", text);
    }

    /// Adds a warning about the line above.
    pub(super) fn warning(&mut self, text: &str) {
        self.push(format!("      ! {text}"));
    }

    /// Adds an empty line between two parts, unless it would be the first line.
    pub(super) fn part(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.push("");
        }
    }
}

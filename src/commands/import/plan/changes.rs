//! The changes of a plan: every object that is created, changed, replaced or removed.

use importer::{PlanSummary, PlannedChart, PlannedMigration, SiteValue};

use super::lines::Lines;
use crate::commands::marks::INDENT;
use crate::render;

/// Fields that are named of an object of a chart: a chart renews the schemas of its definitions and the rules of its alerts by
/// the hundred, and the diff has them all.
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

    /// The objects that are stored in another version, the version that is dropped, and what is lost with it.
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

    /// A release of a chart, and its objects.
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

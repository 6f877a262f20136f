//! The text of a plan: what blocks it, the consent that it needs, the rights gained and lost, and every object.

use std::borrow::Cow;

use importer::{
    Blocker, DeletedEnvironment, NamespaceOutcome, PlanSummary, PlannedEffects, PlannedObject,
    PlannedRight, PlannedTarget, RemovalReport,
};
use maud::{Markup, html};

use super::solutions::{plain, right_list};
use crate::page::{Tone, bytes, code, facts, lines, objects, state, table, text};
use crate::plans::{DeploymentPlan, PlanKind, StoredPlan};
use crate::texts;

/// Returns true if the plan can be applied, possibly after consent.
pub(super) fn is_applicable(plan: &StoredPlan) -> bool {
    match &plan.kind {
        PlanKind::Deployment(plan) => plan.blockers.is_empty(),
        PlanKind::Undeployment(plan) => plan.shown.is_ok(),
        PlanKind::EnvironmentDeletion(plan) => plan.shown.is_ok(),
    }
}

/// Returns the whole plan with the form that applies it.
pub(super) fn plan(plan: &StoredPlan, fix: fn(&Blocker) -> String) -> Markup {
    html! {
        @match &plan.kind {
            PlanKind::Deployment(deployment) => (self::deployment(&plan.id, deployment, fix)),
            PlanKind::Undeployment(undeployment) => {
                @match &undeployment.shown {
                    Ok(shown) => { (removal(shown)) (apply(&plan.id, texts::UNDEPLOY, true, None)) }
                    Err(found) => (blockers(found, fix)),
                }
            }
            PlanKind::EnvironmentDeletion(deletion) => {
                @match &deletion.shown {
                    Ok(shown) => {
                        (environment(shown))
                        (apply(&plan.id, texts::DELETE_ENVIRONMENT, true, None))
                    }
                    Err(found) => (blockers(found, fix)),
                }
            }
        }
    }
}

/// Returns the form that applies a plan.
fn apply(id: &str, label: &str, is_removal: bool, consent: Option<&str>) -> Markup {
    let class = if is_removal { "danger" } else { "primary" };
    html! {
        form.apply method="post" action=(format!("/plans/{id}/apply")) {
            @if let Some(consent) = consent {
                p { label.box { input type="checkbox" name="consent" value=(consent) required; " " (texts::I_CONSENT) } }
            }
            button class=(class) { (label) }
        }
    }
}

/// Returns the form that leaves a plan for a second person.
pub(super) fn propose(id: &str) -> Markup {
    html! {
        form method="post" action=(format!("/plans/{id}/propose")) {
            button { (texts::PROPOSE) }
            " " (texts::PROPOSE_HELP)
        }
    }
}

fn blockers(blockers: &[Blocker], fix: fn(&Blocker) -> String) -> Markup {
    html! {
        @if !blockers.is_empty() {
            div.alert role="alert" {
                p { strong { (texts::NOT_APPLICABLE) } }
                ul { @for blocker in blockers {
                    li { (blocker) p.reason { (texts::FIX) " " (fix(blocker)) } }
                } }
            }
        }
    }
}

fn deployment(id: &str, plan: &DeploymentPlan, fix: fn(&Blocker) -> String) -> Markup {
    let summary = &plan.shown;
    html! {
        (blockers(&plan.blockers, fix))
        (overview(plan))
        @if let Some(target) = &summary.target { (self::target(target)) }
        (changes(summary))
        (lines(texts::NOTES, &summary.notes))
        (findings(summary))
        @if plan.is_done { p { (texts::NOTHING_TO_DO) } }
        @if plan.blockers.is_empty() {
            (apply(id, texts::APPLY, false, plan.consent.as_deref()))
        }
    }
}

fn overview(plan: &DeploymentPlan) -> Markup {
    let summary = &plan.shown;
    let signers = plan.version.archive.accepted.signers();
    let signers = html! {
        @match signers {
            Some(signers) => { @for key in &signers.trusted { span.key { (texts::KEY) " " code { (key.short()) } } " " } }
            None => (state(Tone::Bad, texts::NOT_SIGNED)),
        }
    };
    let cluster = texts::cluster(
        summary.context.as_deref(),
        &summary.server,
        &summary.kubernetes,
    );
    let [missing, all] = [summary.bytes_to_push, summary.bytes].map(bytes);
    let place = summary.target.as_ref();
    let place = place.map_or_else(String::new, |target| {
        texts::place(&target.environment, &target.namespace)
    });
    let running = summary
        .target
        .as_ref()
        .and_then(|target| target.running.as_ref());
    let running = running.map_or_else(|| texts::NONE.to_owned(), ToString::to_string);
    html! {
        (facts([
            (texts::SIGNED_BY, signers),
            (texts::SOLUTION, text(&summary.solution)),
            (texts::ARCHIVE, code(&summary.archive_id)),
            (texts::PREVIOUS, text(running)),
            (texts::ENVIRONMENT, text(place)),
            (texts::CLUSTER, text(cluster)),
            (texts::TO_PUSH, text(texts::bytes_of(missing, all, &summary.registry))),
        ]))
    }
}

fn target(target: &PlannedTarget) -> Markup {
    let parameters: Vec<_> = target
        .parameters
        .iter()
        .map(|parameter| {
            [
                code(&parameter.name),
                code(plain(&parameter.value)),
                text(&parameter.from),
            ]
        })
        .collect();
    let releases: Vec<_> = target
        .releases
        .iter()
        .map(|release| {
            [
                text(&release.release),
                text(&release.chart),
                text(&release.action),
            ]
        })
        .collect();
    html! {
        @if let Some(effects) = &target.external_effects { (self::effects(effects)) }
        @if target.rights_gained.is_empty() && target.rights_lost.is_empty() {
            p { (texts::NO_RIGHTS) }
        }
        (rights(texts::RIGHTS_GAINED, &target.rights_gained))
        (rights(texts::RIGHTS_LOST, &target.rights_lost))
        (lines(texts::DANGERS, &target.dangers))
        @if !parameters.is_empty() {
            (table(texts::PARAMETERS, [texts::PARAMETER, texts::VALUE, texts::SOURCE], &parameters))
        }
        @if !releases.is_empty() {
            (table(texts::RELEASES, [texts::RELEASES, texts::CHART, texts::ACTION], &releases))
        }
    }
}

fn effects(effects: &PlannedEffects) -> Markup {
    html! {
        section.consent {
            h2 { (texts::CONSENT) }
            p { (if effects.accepted { texts::CONSENT_GIVEN } else { texts::CONSENT_HELP }) }
            ul { @for line in &effects.lines {
                li {
                    (line.text) " "
                    @if line.new { (state(Tone::Neutral, texts::NEW)) " " }
                    @if line.danger { (state(Tone::Bad, texts::DANGEROUS)) }
                }
            } }
        }
    }
}

fn rights(title: &str, rights: &[PlannedRight]) -> Markup {
    html! {
        @if !rights.is_empty() {
            h2 { (title) }
            (right_list(rights))
        }
    }
}

/// Returns every object that changes, with its differences.
fn changes(summary: &PlanSummary) -> Markup {
    let changed: Vec<&PlannedObject> = summary
        .objects()
        .filter(|object| !object.is_kept())
        .collect();
    html! {
        h2 { (texts::CHANGES) }
        @if changed.is_empty() { p { (texts::NO_CHANGES) } }
        ul.changes { @for object in changed { li { (self::change(object)) } } }
    }
}

fn change(object: &PlannedObject) -> Markup {
    let mark = match object.action.as_str() {
        "create" => "+",
        "change" => "~",
        "replace" => "-/+",
        "remove" => "-",
        _ => " ",
    };
    let title = html! { span.mark { (mark) } " " (object.action) " " code { (object.object) } };
    let warnings = object
        .losses
        .iter()
        .map(|loss| Cow::Borrowed(loss.as_str()));
    let narrowed = object
        .narrowed
        .iter()
        .map(|narrowed| Cow::Borrowed(narrowed.problem.as_str()));
    let taken = object
        .taken_over
        .iter()
        .map(|field| Cow::Owned(format!("{} ({})", field.field, field.manager)));
    let warnings: Vec<Cow<'_, str>> = warnings.chain(narrowed).chain(taken).collect();
    html! {
        @if object.diff.is_empty() {
            (title)
        } @else {
            details { summary { (title) } (diff(&object.diff)) }
        }
        @if !warnings.is_empty() { ul { @for warning in &warnings { li { (warning) } } } }
    }
}

/// Returns a unified diff with its added and removed lines marked.
fn diff(diff: &str) -> Markup {
    html! {
        pre.diff tabindex="0" { @for line in diff.lines() {
            @match line.as_bytes().first() {
                Some(b'+') => ins { (line) },
                Some(b'-') => del { (line) },
                _ => (line),
            }
            "\n"
        } }
    }
}

fn findings(summary: &PlanSummary) -> Markup {
    let words = summary
        .findings
        .iter()
        .map(|finding| format!("[{}] {} {}", finding.id, finding.place, finding.message));
    lines(texts::FINDINGS, &words.collect::<Vec<_>>())
}

fn removal(report: &RemovalReport) -> Markup {
    html! {
        @if !report.applied.is_empty() { h2 { (texts::APPLIED_FIRST) } (objects(&report.applied)) }
        h2 { (texts::REMOVED) }
        p { (texts::REMOVALS_HELP) }
        (objects(&report.removed))
        (lines(texts::KEPT, &report.notes))
    }
}

fn environment(deleted: &DeletedEnvironment) -> Markup {
    let (mut removed, mut kept) = (deleted.resources.clone(), Vec::new());
    for namespace in &deleted.namespaces {
        match namespace {
            NamespaceOutcome::Deleted(namespace) => removed.push(format!("Namespace {namespace}")),
            NamespaceOutcome::Released(namespace) => kept.push(format!("Namespace {namespace}")),
            NamespaceOutcome::Gone(_) => {}
        }
    }
    removed.extend(deleted.site_file.clone());
    html! {
        h2 { (texts::REMOVED) }
        p { (texts::REMOVALS_HELP) }
        (objects(&removed))
        (lines(texts::KEPT, &kept))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn effects_and_rights_are_marked_and_escaped() {
        let target: PlannedTarget = serde_json::from_value(json!({
            "environment": "prod", "namespace": "prod", "running": "1.0.0",
            "rightsGained": [{"right": "get secrets <all>", "danger": "reads every password"}],
            "rightsLost": [{"right": "list pods"}],
            "beyond": {"id": "5d0c", "accepted": false, "lines": [
                {"text": "ClusterRole <b>nodes</b>", "new": true, "danger": true},
            ]},
            "objects": [],
        }))
        .unwrap();
        let text = super::target(&target).into_string();
        for part in [
            "ClusterRole &lt;b&gt;nodes&lt;/b&gt;",
            r#"<span class="state">new</span>"#,
            r#"<span class="state bad">dangerous</span>"#,
            "get secrets &lt;all&gt;",
            "reads every password",
            texts::RIGHTS_LOST,
            texts::CONSENT_HELP,
        ] {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
        assert!(!text.contains(texts::NO_RIGHTS), "{text}");
    }

    #[test]
    fn a_change_shows_its_mark_its_losses_and_its_differences() {
        let mut object = PlannedObject::default();
        "Deployment prod/web".clone_into(&mut object.object);
        "change".clone_into(&mut object.action);
        object.losses = vec!["the version v1 is no longer served".to_owned()];
        "--- before
+++ after
-image: <a>
+image: b
 same"
            .clone_into(&mut object.diff);
        let text = change(&object).into_string();
        for part in [
            r#"<span class="mark">~</span> change <code>Deployment prod/web</code>"#,
            "<del>-image: &lt;a&gt;</del>",
            "<ins>+image: b</ins>",
            "<li>the version v1 is no longer served</li>",
        ] {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
        let mut removed = PlannedObject::default();
        "remove".clone_into(&mut removed.action);
        let text = change(&removed).into_string();
        assert!(
            text.contains(r#"<span class="mark">-</span>"#) && !text.contains("<details>"),
            "{text}"
        );
    }
}

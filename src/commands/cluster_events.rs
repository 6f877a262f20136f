//! Events in the cluster, shown to people and reported to programs while they happen. A repeated event, such as an
//! unchanged wait, is reported only once.

use importer::{Event, ReleaseChange};
use kubernetes::{
    ApplyOutcome, AwaitedCondition, ObjectRef, ObjectStatus, Readiness, RestartOutcome,
};
use schemas::ClusterName;
use webconsole::EventText;

use super::change_progress::ChangeProgress;
use crate::args::Output;
use crate::progress_bar::Waiting;
use crate::{events, failure, render};

/// Returns a sink that shows events, and stores the sentence to print if a signal ends the program.
pub(super) fn event_sink(output: Output) -> impl Fn(Event) + Sync {
    let (done, waiting) = (ChangeProgress::default(), Waiting::new(output));
    move |event| {
        done.take(&event);
        show_event(&event, &waiting, None, output);
    }
}

/// Shows an event, optionally of a cluster of a fleet, and reports it to programs. A repeated state is reported once.
pub(super) fn show_event(
    event: &Event,
    waiting: &Waiting,
    cluster: Option<&ClusterName>,
    output: Output,
) {
    let is_news = if let Some(awaited) = awaited_state(event) {
        waiting.tell(&awaited)
    } else {
        print_event(event, waiting, output);
        true
    };
    if is_news && is_reported(event) {
        events::tell(cluster, event);
    }
}

/// Returns the text about an event for the console.
pub(super) fn text_of(event: &Event) -> EventText {
    if let Event::Waiting(held) = event {
        return EventText::Lines(vec![format!("waiting: {}", failure::in_words(held))]);
    }
    let lines = || EventText::Lines(lines_of(event));
    awaited_state(event).map_or_else(lines, EventText::Waiting)
}

/// Returns true if the event is reported to programs here. Events of a push are reported by the push itself.
fn is_reported(event: &Event) -> bool {
    match event {
        Event::Pushing { .. }
        | Event::Push(_)
        | Event::Pushed
        | Event::HelmRuns(_)
        | Event::HelmEnded(_)
        | Event::Object {
            applied: ApplyOutcome::Unchanged,
            ..
        } => false,
        Event::Waiting(_)
        | Event::Overtaken
        | Event::Object { .. }
        | Event::Removed { .. }
        | Event::Migrated { .. }
        | Event::Nodes(_)
        | Event::Restart { .. }
        | Event::Behind { .. }
        | Event::Pulling { .. }
        | Event::Unproved { .. }
        | Event::Rollout(_)
        | Event::ObjectStatus(_)
        | Event::Release { .. }
        | Event::Refused { .. }
        | Event::RollingBack { .. } => true,
    }
}

/// Prints an event, if it deserves a line.
fn print_event(event: &Event, waiting: &Waiting, output: Output) {
    if let Event::Waiting(held) = event {
        return waiting.note(&format!("waiting: {}", failure::in_words(held)));
    }
    let lines = lines_of(event);
    // A push has its own bar, which replaces a spinner.
    if lines.is_empty() && !matches!(event, Event::Pushing { .. }) {
        return;
    }
    waiting.clear();
    if output == Output::Human {
        for line in &lines {
            waiting.note(line);
        }
    }
}

/// Describes the awaited condition while this is the last event.
fn awaited_state(event: &Event) -> Option<String> {
    Some(match event {
        Event::Rollout(status) | Event::ObjectStatus(status) => describe_status(status),
        Event::Migrated { crd, done, total } => describe_migration(crd, *done, *total),
        Event::Pulling {
            image,
            architecture,
            awaited,
        } => {
            let on = on_architecture(architecture.as_deref());
            match awaited {
                AwaitedCondition::Image { .. } => format!("pulling {image}{on}"),
                _ => format!("waiting for a pod to pull {image}{on}: {awaited}"),
            }
        }
        Event::Nodes(nodes) => format!("waiting for nodes: {nodes}"),
        _ => return None,
    })
}

/// Returns the architecture as ` on amd64`; empty if the nodes cannot be read.
fn on_architecture(architecture: Option<&str>) -> String {
    architecture.map_or(String::new(), |architecture| format!(" on {architecture}"))
}

/// Describes an object that is waited for: `waiting for Job prod/setup: it has not completed`, or that it is ready.
fn describe_status(status: &ObjectStatus) -> String {
    match status.state {
        Readiness::Ready => status.to_string(),
        Readiness::Pending(_) | Readiness::Failed(_) => format!("waiting for {status}"),
    }
}

/// Describes a storage migration in percent, so that a log gets at most a hundred lines of it.
fn describe_migration(crd: &ObjectRef, done: usize, total: usize) -> String {
    let percent = done.saturating_mul(100) / total.max(1);
    let objects = render::count(total, "object");
    format!("migrating {objects} of {crd}: {percent} % done")
}

/// Returns the lines for an event; none if it deserves no line.
fn lines_of(event: &Event) -> Vec<String> {
    match event {
        Event::Object { object, applied } => match applied {
            ApplyOutcome::Created => vec![format!("  {object} created")],
            ApplyOutcome::Unchanged => Vec::new(),
            ApplyOutcome::Changed => vec![format!("  {object} changed")],
        },
        Event::Removed { object } => vec![format!("  {object} removed")],
        Event::Behind { pod, restart } => match restart {
            RestartOutcome::Done => vec![format!(
                "  {pod} deleted: it belongs to the failed version, and its StatefulSet waits for it"
            )],
            RestartOutcome::NotAllowed => vec![
                format!(
                    "  cannot delete {pod}, for which its StatefulSet waits: you lack the right; it belongs to the failed version"
                ),
                delete_hint(pod, "StatefulSet"),
            ],
        },
        Event::Restart { pod, restart } => match restart {
            RestartOutcome::Done => {
                vec![format!("  {pod} restarted: it was waiting for its image")]
            }
            RestartOutcome::NotAllowed => vec![
                format!(
                    "  cannot recreate {pod}, which waits for its image with outdated pull secrets: you lack the right to delete it"
                ),
                delete_hint(pod, "Deployment"),
            ],
        },
        Event::Unproved {
            architecture,
            detail,
        } => vec![format!(
            "  cannot test whether nodes of {architecture} can pull the image: {detail}"
        )],
        Event::Release { release, change } => vec![match change {
            ReleaseChange::Installing => format!("  helm installs {release}"),
            ReleaseChange::Upgrading => format!("  helm upgrades {release}"),
            ReleaseChange::RollingBack(revision) => {
                format!("  helm rolls {release} back to revision {revision}")
            }
            ReleaseChange::Uninstalling => format!("  helm uninstalls {release}"),
        }],
        Event::Refused { release, why } => {
            vec![format!(
                "  a request of helm for {release} was rejected: {why}"
            )]
        }
        Event::RollingBack { version } => vec![format!("  restoring version {version}")],
        Event::Pushing { .. }
        | Event::Push(_)
        | Event::Pushed
        | Event::HelmRuns(_)
        | Event::HelmEnded(_)
        | Event::Migrated { .. }
        | Event::Pulling { .. }
        | Event::Nodes(_)
        | Event::Waiting(_)
        | Event::Overtaken
        | Event::Rollout(_)
        | Event::ObjectStatus(_) => Vec::new(),
    }
}

fn delete_hint(pod: &ObjectRef, maker: &str) -> String {
    let namespace = pod.namespace.as_deref().unwrap_or_default();
    let name = &pod.name;
    format!(
        "hint: ask the cluster administrator to delete it with `kubectl --namespace {namespace} delete pod {name}`: its {maker} then recreates it"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_that_are_stored_anew_are_counted_in_percent() {
        let crd = ObjectRef::cluster_scoped(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "apps.test",
        );
        let words = "migrating 1000 objects of CustomResourceDefinition apps.test: 30 % done";
        assert_eq!(describe_migration(&crd, 300, 1000), words);
        assert!(
            describe_migration(&crd, 1, 1)
                .ends_with("migrating 1 object of CustomResourceDefinition apps.test: 100 % done")
        );
        assert!(describe_migration(&crd, 0, 0).ends_with(" 0 % done"));
    }
}

//! What happens in the cluster, shown to people and told to programs while it does.

use deployer::{Applied, Awaited, ObjectRef, Restart, Settled, Standing};
use importer::{Event, ReleaseChange};
use schemas::ClusterName;

use super::done::Done;
use crate::args::Output;
use crate::progress::Waiting;
use crate::{events, failure, render};

/// Shows what happens, and notes it for the last words of a program that a signal ends.
pub(super) fn watch(output: Output) -> impl Fn(Event) + Sync {
    let (done, waiting) = (Done::default(), Waiting::new(output));
    move |event| {
        done.take(&event);
        show(&event, &waiting, None, output);
    }
}

/// Shows an event, perhaps of a cluster of a fleet, and tells programs of it. The same state is told once.
pub(super) fn show(
    event: &Event,
    waiting: &Waiting,
    cluster: Option<&ClusterName>,
    output: Output,
) {
    let is_news = if let Some(awaited) = awaited_by(event) {
        waiting.tell(&awaited)
    } else {
        say(event, waiting, output);
        true
    };
    if is_news && is_told(event) {
        events::tell(cluster, event);
    }
}

/// Whether programs are told of it. Of a push they are told where it is shown.
fn is_told(event: &Event) -> bool {
    match event {
        Event::Push(_)
        | Event::Pushed
        | Event::HelmRuns(_)
        | Event::HelmEnded(_)
        | Event::Object {
            applied: Applied::Unchanged,
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
        | Event::Standing(_)
        | Event::Release { .. }
        | Event::Refused { .. }
        | Event::RollingBack { .. } => true,
    }
}

/// Says what is worth a line.
fn say(event: &Event, waiting: &Waiting, output: Output) {
    if let Event::Waiting(held) = event {
        return waiting.note(&format!("waiting: {}", failure::in_words(held)));
    }
    let lines = lines_of(event);
    if lines.is_empty() {
        return;
    }
    waiting.clear();
    if output == Output::Human {
        for line in &lines {
            waiting.note(line);
        }
    }
}

/// What is waited for as long as this is the last event.
fn awaited_by(event: &Event) -> Option<String> {
    Some(match event {
        Event::Rollout(standing) | Event::Standing(standing) => awaited(standing),
        Event::Migrated { crd, done, total } => moved(crd, *done, *total),
        Event::Pulling {
            image,
            architecture,
            awaited,
        } => {
            let on = on(architecture.as_deref());
            match awaited {
                Awaited::Image { .. } => format!("pulling {image}{on}"),
                _ => format!("waiting for a pod to pull {image}{on}: {awaited}"),
            }
        }
        Event::Nodes(nodes) => format!("waiting for nodes: {nodes}"),
        _ => return None,
    })
}

/// ` on amd64`, or nothing where nodes cannot be seen.
fn on(architecture: Option<&str>) -> String {
    architecture.map_or(String::new(), |architecture| format!(" on {architecture}"))
}

/// `waiting for Job prod/setup: it has not completed`, or that it is there.
fn awaited(standing: &Standing) -> String {
    match standing.state {
        Settled::Ready => standing.to_string(),
        Settled::Pending(_) | Settled::Failed(_) => format!("waiting for {standing}"),
    }
}

/// `storing 1000 objects of CustomResourceDefinition apps.test anew: 10 % done`: never more than a hundred lines of a log.
fn moved(crd: &ObjectRef, done: usize, total: usize) -> String {
    let percent = done.saturating_mul(100) / total.max(1);
    let objects = render::count(total, "object");
    format!("migrating {objects} of {crd}: {percent} % done")
}

/// The lines that tell of an event, if it is worth any.
fn lines_of(event: &Event) -> Vec<String> {
    match event {
        Event::Object { object, applied } => match applied {
            Applied::Created => vec![format!("  {object} created")],
            Applied::Unchanged => Vec::new(),
            Applied::Changed => vec![format!("  {object} changed")],
        },
        Event::Removed { object } => vec![format!("  {object} removed")],
        Event::Behind { pod, restart } => match restart {
            Restart::Done => vec![format!(
                "  {pod} deleted: it belongs to the failed version, and its StatefulSet waits for it"
            )],
            Restart::NotAllowed => vec![
                format!(
                    "  cannot delete {pod}, for which its StatefulSet waits: you lack the right; it belongs to the failed version"
                ),
                delete_hint(pod, "StatefulSet"),
            ],
        },
        Event::Restart { pod, restart } => match restart {
            Restart::Done => vec![format!("  {pod} restarted: it was waiting for its image")],
            Restart::NotAllowed => vec![
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
        Event::Push(_)
        | Event::Pushed
        | Event::HelmRuns(_)
        | Event::HelmEnded(_)
        | Event::Migrated { .. }
        | Event::Pulling { .. }
        | Event::Nodes(_)
        | Event::Waiting(_)
        | Event::Overtaken
        | Event::Rollout(_)
        | Event::Standing(_) => Vec::new(),
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
        assert_eq!(moved(&crd, 300, 1000), words);
        assert!(
            moved(&crd, 1, 1)
                .ends_with("migrating 1 object of CustomResourceDefinition apps.test: 100 % done")
        );
        assert!(moved(&crd, 0, 0).ends_with(" 0 % done"));
    }
}

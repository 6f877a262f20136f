//! The removal of sensitive values from reports of a change: [`event`] and [`error`]. An API server's error, an Event
//! or a program's log may quote them. All events and errors pass through this module, and thereby the receipt, the
//! history and the Kubernetes Events.

use deployer::{Reword, Words};
use helm::HelmError;
use serde::de::Error as _;

use crate::model::error::Error;
use crate::model::event::Event;
use crate::plan::hidden::HiddenTexts;

/// Returns the event without hidden texts.
pub(crate) fn event(mut event: Event, hidden: &HiddenTexts) -> Event {
    let reword: Reword<'_> = &|words| hidden.say(words);
    match &mut event {
        Event::Pulling { awaited, .. } => awaited.reword(reword),
        Event::Unproved { detail, .. } => detail.reword(reword),
        Event::Rollout(standing) | Event::Standing(standing) => standing.reword(reword),
        Event::Nodes(nodes) => nodes.reword(reword),
        // Registries do not receive chosen values.
        Event::Push(_)
        | Event::Pushed
        | Event::Waiting(_)
        | Event::Overtaken
        | Event::Object { .. }
        | Event::Removed { .. }
        | Event::Migrated { .. }
        | Event::Behind { .. }
        | Event::Release { .. }
        | Event::HelmRuns(_)
        | Event::HelmEnded(_)
        | Event::Refused { .. }
        | Event::Restart { .. }
        | Event::RollingBack { .. } => {}
    }
    event
}

/// Returns the error without hidden texts.
pub(crate) fn error(mut error: Error, hidden: &HiddenTexts) -> Error {
    cover(&mut error, &|words| hidden.say(words));
    error
}

fn cover(error: &mut Error, reword: Reword<'_>) {
    match error {
        Error::Cluster(error) => error.reword(reword),
        Error::Cleanup { source, .. } => source.reword(reword),
        Error::Unready { source, said, .. } => {
            source.reword(reword);
            helm(said, reword);
        }
        Error::Helm { source, .. } => helm(source, reword),
        Error::Unpulled(unpulled) => unpulled.source.reword(reword),
        Error::RolledBack { source, .. } | Error::Mixed { source, .. } => cover(source, reword),
        Error::NotRolledBack {
            restoring, source, ..
        } => {
            cover(restoring, reword);
            cover(source, reword);
        }
        Error::Unserved { lacking, .. } => lacking.reword(reword),
        // Blockers have our own texts, and messages in the plan are masked where they are created. The other errors are
        // about the registry, this machine and the records.
        Error::Refused(_)
        | Error::Hindered(_)
        | Error::Registry(_)
        | Error::Shelf(_)
        | Error::Object(_)
        | Error::Record { .. }
        | Error::Format { .. }
        | Error::Name { .. }
        | Error::Site { .. }
        | Error::Rules { .. }
        | Error::Repository(_)
        | Error::Expand(_)
        | Error::Placeholder(_)
        | Error::Release { .. }
        | Error::Rendered { .. }
        | Error::NoIdentity
        | Error::Password
        | Error::Sensitive(_)
        | Error::SecretValue(_)
        | Error::Random(_)
        | Error::Gate(_) => {}
    }
}

/// Masks Helm's messages, in which a template may quote its values.
fn helm(error: &mut HelmError, reword: Reword<'_>) {
    match error {
        HelmError::Failed { said, .. } => said.reword(reword),
        HelmError::Printed { source, .. } => {
            *source = serde_json::Error::custom(reword(&source.to_string()));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use deployer::{Awaited, ObjectRef, Settled, Standing, Stuck};
    use serde_json::json;

    use super::*;

    const SECRET: &str = "hunter2";

    fn hidden() -> HiddenTexts {
        HiddenTexts::of(&[json!(SECRET)])
    }

    fn refused() -> Error {
        let doing = "apply ConfigMap n/c".to_owned();
        let message = format!("data: invalid value \"{SECRET}\"");
        Error::Cluster(deployer::Error::Invalid { doing, message })
    }

    #[test]
    fn no_error_of_a_change_says_what_is_hidden() {
        let [one, two] =
            ["1.0.0", "1.1.0"].map(|version| version.parse::<schemas::Version>().unwrap());
        let invalid = || match refused() {
            Error::Cluster(error) => error,
            _ => unreachable!(),
        };
        let errors = [
            refused(),
            Error::Helm {
                release: "release web".to_owned(),
                source: HelmError::Failed {
                    program: "helm",
                    verb: "upgrade",
                    said: format!("execution error: `{SECRET}` is too short"),
                },
            },
            Error::RolledBack {
                version: two.clone(),
                previous: one.clone(),
                source: Box::new(refused()),
            },
            Error::NotRolledBack {
                version: two,
                previous: one,
                restoring: Box::new(refused()),
                source: Box::new(refused()),
            },
            Error::Cleanup {
                solution: "shop".parse().unwrap(),
                source: Box::new(invalid()),
            },
        ];
        for error in errors {
            let error = super::error(error, &hidden());
            let left = format!("{error:?}");
            assert!(left.contains("***") && !left.contains(SECRET), "{left}");
        }
    }

    #[test]
    fn no_event_of_a_change_says_what_is_hidden() {
        let detail = format!("Back-off: --token={SECRET}");
        let awaited = || Awaited::Cause {
            stuck: Stuck::NotReady,
            pod: None,
            detail: detail.clone(),
        };
        let standing = Standing {
            object: ObjectRef::namespaced("apps/v1", "Deployment", "n", "d"),
            state: Settled::Pending(detail.clone()),
            awaited: Some(awaited()),
        };
        let events = [
            Event::Standing(standing),
            Event::Pulling {
                image: "i".to_owned(),
                architecture: None,
                awaited: awaited(),
            },
            Event::Unproved {
                architecture: "arm64".to_owned(),
                detail: detail.clone(),
            },
        ];
        for event in events {
            let left = format!("{:?}", super::event(event, &hidden()));
            assert!(left.contains("***") && !left.contains(SECRET), "{left}");
        }
    }
}

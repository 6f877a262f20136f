//! The schemas of progress events (`--progress`). A test ensures that the events of each form match the schemas.

use fleet::FleetEvent;
use serde_json::json;

use super::Results;
use crate::cluster::ArrivalEvent;
use crate::events::{Line, PushMessage, PushStep};

/// The name of the schema for lines of a push. It is older than the schema of all lines.
const PUSH: &str = "push-event";

/// Adds the schemas of the stream's lines.
pub(super) fn add(all: &mut Results) {
    let push = [
        all.own::<Line<PushStep<PushMessage>>>(),
        all.own::<Line<PushStep<registry::Event>>>(),
    ];
    let push = json!({
        "title": "--progress: a push",
        "description": "One object per line while a push runs.",
        "anyOf": push,
    });
    all.file(PUSH, push);
    let lines = json!({
        "title": "--progress",
        "description": "One object per line while a command runs.",
        "anyOf": [
            { "$ref": format!("{PUSH}.schema.json") },
            all.own::<Line<importer::Event>>(),
            all.own::<Line<ArrivalEvent>>(),
            all.own::<Line<FleetEvent>>(),
        ],
    });
    all.file("event", lines);
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::error::Error;
    use std::time::{Duration, SystemTime};

    use fleet::MemberOutcome;
    use importer::{Event, ReleaseChange};
    use jsonschema::{Retrieve, Uri, Validator};
    use kubernetes::{
        ApplyOutcome, AwaitedCondition, HeldLease, ObjectRef, ObjectStatus, PodProblem,
        PullProblem, Readiness, RestartOutcome, UnreadyNode, UnreadyNodes,
    };
    use schemas::{ClusterName, WaveName};
    use serde::Serialize;
    use serde_json::{Value, json};

    use super::*;
    use crate::commands::results::BASE;

    /// The schemas as generated from the types.
    struct Made(BTreeMap<String, Value>);

    impl Made {
        fn now() -> Self {
            let all = super::super::all().into_iter();
            Self(
                all.map(|(file, schema)| (file, schema.to_value()))
                    .collect(),
            )
        }

        fn validator(self) -> Validator {
            let schema = json!({ "$ref": format!("{BASE}event.schema.json") });
            let options = jsonschema::options().with_retriever(self);
            options.build(&schema).unwrap()
        }
    }

    impl Retrieve for Made {
        fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
            let file = uri.as_str().strip_prefix(BASE).ok_or("it is not ours")?;
            Ok(self.0.get(file).ok_or("there is none")?.clone())
        }
    }

    fn line(cluster: Option<&ClusterName>, said: &impl Serialize) -> Value {
        let line = crate::render::json_line(&Line::new(cluster, said));
        serde_json::from_str(&line).unwrap()
    }

    fn object() -> ObjectRef {
        ObjectRef::namespaced("apps/v1", "Deployment", "prod", "web")
    }

    fn status(state: Readiness, awaited: Option<AwaitedCondition>) -> ObjectStatus {
        ObjectStatus {
            object: object(),
            state,
            awaited,
        }
    }

    fn held(since: Option<SystemTime>) -> HeldLease {
        HeldLease {
            namespace: "solution".to_owned(),
            name: "environment-prod".to_owned(),
            holder: "alice@bastion/1234-1f".to_owned(),
            since,
            expires_in: Duration::from_secs(30),
        }
    }

    /// Returns an event for each form of a wait.
    fn waits() -> Vec<Event> {
        let text = |text: &str| text.to_owned();
        let cause = |stuck, pod| AwaitedCondition::Cause {
            stuck,
            pod,
            detail: text("x509"),
        };
        let (pod, image) = (|| text("web-1"), || text("i"));
        let awaited = [
            AwaitedCondition::Notice,
            AwaitedCondition::Pods,
            AwaitedCondition::Node { pod: pod() },
            AwaitedCondition::Start { pod: pod() },
            AwaitedCondition::Former { pods: 2 },
            AwaitedCondition::Unseen,
            cause(PodProblem::Pull(PullProblem::UnknownAuthority), Some(pod())),
            cause(PodProblem::Crash { exit_code: -1 }, None),
            cause(PodProblem::OutOfMemory, None),
        ];
        let pending = || Readiness::Pending(text("0 of 1 pods"));
        let rollouts = awaited.map(|awaited| Event::Rollout(status(pending(), Some(awaited))));
        let mut all = Vec::from(rollouts);
        all.extend([
            Event::ObjectStatus(status(Readiness::Ready, None)),
            Event::ObjectStatus(status(Readiness::Failed(text("it has failed")), None)),
            Event::Waiting(held(Some(
                SystemTime::UNIX_EPOCH + Duration::from_millis(1500),
            ))),
            Event::Waiting(held(None)),
            Event::Nodes(UnreadyNodes {
                nodes: vec![UnreadyNode {
                    name: text("node1"),
                    why: text("no network"),
                }],
                more: 0,
            }),
            Event::Pulling {
                image: image(),
                architecture: None,
                awaited: AwaitedCondition::Image {
                    pod: pod(),
                    image: image(),
                },
            },
        ]);
        all
    }

    /// Returns an event for each form of a change.
    fn deeds() -> Vec<Event> {
        let release = || "release prod/web".to_owned();
        vec![
            Event::Overtaken,
            Event::Object {
                object: object(),
                applied: ApplyOutcome::Created,
            },
            Event::Removed { object: object() },
            Event::Migrated {
                crd: object(),
                done: 0,
                total: 3,
            },
            Event::Restart {
                pod: object(),
                restart: RestartOutcome::Done,
            },
            Event::Behind {
                pod: object(),
                restart: RestartOutcome::NotAllowed,
            },
            Event::Unproved {
                architecture: "arm64".to_owned(),
                detail: "full".to_owned(),
            },
            Event::Release {
                release: release(),
                change: ReleaseChange::Installing,
            },
            Event::Release {
                release: release(),
                change: ReleaseChange::RollingBack(3),
            },
            Event::Refused {
                release: release(),
                why: "it was not planned".to_owned(),
            },
            Event::RollingBack {
                version: "1.0.0".parse().unwrap(),
            },
        ]
    }

    /// Returns one line for each event of a change, and further lines for events with parts of multiple forms.
    fn changes(cluster: Option<&ClusterName>) -> Vec<Value> {
        let all = waits().into_iter().chain(deeds());
        all.map(|event| line(cluster, &event)).collect()
    }

    /// Returns one line for each event of clusters that are away, and of waves.
    fn waves() -> Vec<Value> {
        let paris: &ClusterName = &"paris".parse().unwrap();
        let wave: WaveName = "rest".parse().unwrap();
        let away = ArrivalEvent::Away {
            why: "refused".to_owned(),
        };
        let failed = FleetEvent::ClusterEnded {
            cluster: paris.clone(),
            at_deployment: true,
            objects: 0,
            state: MemberOutcome::Failed,
            why: Some("no".to_owned()),
        };
        let soaking = |unseen| FleetEvent::Soaking {
            wave: wave.clone(),
            seconds_left: 0,
            unseen,
        };
        let begun = FleetEvent::WaveBegun {
            wave: wave.clone(),
            clusters: vec![paris.clone()],
        };
        let begun_cluster = FleetEvent::ClusterBegun {
            cluster: paris.clone(),
        };
        let stopped = FleetEvent::Stopped {
            wave: wave.clone(),
            why: "the fleet is paused".to_owned(),
        };
        vec![
            line(None, &away),
            line(Some(paris), &ArrivalEvent::Up),
            line(None, &begun),
            line(Some(paris), &begun_cluster),
            line(Some(paris), &failed),
            line(None, &soaking(None)),
            line(None, &soaking(Some("away".to_owned()))),
            line(None, &stopped),
        ]
    }

    /// Returns the names of all events in a schema.
    fn names(schema: &Value) -> BTreeSet<String> {
        let own = schema.pointer("/properties/event/const");
        let own = own.and_then(Value::as_str).map(str::to_owned);
        let below = match schema {
            Value::Object(fields) => fields.values().flat_map(names).collect(),
            Value::Array(all) => all.iter().flat_map(names).collect(),
            _ => BTreeSet::new(),
        };
        below.into_iter().chain(own).collect()
    }

    #[test]
    fn every_event_is_told_as_its_schema_says() {
        let paris: ClusterName = "paris".parse().unwrap();
        let lines = [changes(None), changes(Some(&paris)), waves()].concat();
        let made = Made::now();
        let all = names(&made.0["event.schema.json"]);
        let told = lines
            .iter()
            .map(|line| line["event"].as_str().unwrap().to_owned());
        assert_eq!(told.collect::<BTreeSet<String>>(), all);
        let validator = made.validator();
        for line in &lines {
            let errors: Vec<String> = validator
                .iter_errors(line)
                .map(|error| error.to_string())
                .collect();
            assert!(errors.is_empty(), "{errors:#?} in {line}");
            let mut more = line.clone();
            more["more than that"] = json!(1);
            assert!(!validator.is_valid(&more), "{more}");
        }
    }

    #[test]
    fn a_line_says_what_is_waited_for_as_data() {
        let lines = changes(None);
        let of = |event: &str| lines.iter().find(|line| line["event"] == event).unwrap();
        let waiting = json!({
            "schemaVersion": "1", "event": "waiting", "namespace": "solution",
            "lease": "environment-prod", "holder": "alice@bastion/1234-1f",
            "since": "1970-01-01T00:00:01Z",
        });
        assert_eq!(*of("waiting"), waiting);
        let awaited = json!({
            "what": "cause", "stuck": "pull", "problem": "unknownAuthority", "pod": "web-1",
            "detail": "x509",
        });
        let rollout = json!({
            "schemaVersion": "1", "event": "rollout", "object": "Deployment prod/web",
            "state": "pending", "why": "0 of 1 pods", "awaited": awaited,
        });
        assert!(lines.contains(&rollout), "{lines:#?}");
    }
}

//! The last words of a change that a signal ends.

use std::time::Duration;

use deployer::ObjectRef;

use super::*;

fn object(name: &str, applied: Applied) -> Event {
    Event::Object {
        object: ObjectRef::namespaced("v1", "ConfigMap", "prod", name),
        applied,
    }
}

#[test]
fn the_sentence_says_what_is_done_and_what_to_do() {
    let mut state = State::default();
    assert!(state.take(&Event::Pushed));
    assert!(!state.take(&object("same", Applied::Unchanged)));
    assert_eq!(
        state.sentence(),
        "interrupted after all images were pushed: the cluster was not changed; run the same command again to complete it"
    );
    assert!(state.take(&object("a", Applied::Created)));
    assert!(
        state
            .sentence()
            .contains("1 object was written (ConfigMap prod/a);")
    );
    for name in ["b", "c", "d", "e"] {
        state.take(&object(name, Applied::Changed));
    }
    let gone = ObjectRef::namespaced("v1", "ConfigMap", "prod", "x");
    state.take(&Event::Removed { object: gone });
    state.stage = Stage::Rollout;
    assert_eq!(
        state.sentence(),
        "interrupted while waiting for the operator: 5 objects were written (ConfigMap prod/a, ConfigMap prod/b, ConfigMap prod/c and 2 more) and 1 object was removed; run the same command again to complete it"
    );
}

#[test]
fn what_helm_was_doing_is_half_done_unless_it_has_ended() {
    let helm = |change| Event::Release {
        release: "release prod/web".to_owned(),
        change,
    };
    let mut state = State::default();
    state.take(&helm(ReleaseChange::Upgrading));
    state.take(&Event::HelmRuns(Duration::from_secs(1)));
    let half_done = "interrupted while helm was upgrading release prod/web; that operation is incomplete: the cluster was not changed; run the same command again to complete it";
    assert_eq!(state.sentence(), half_done);
    state.take(&Event::HelmEnded(HelmEnd::Asked));
    let words = "interrupted while helm was upgrading release prod/web; helm ended in time: ";
    assert!(state.sentence().starts_with(words), "{}", state.sentence());
    state.take(&Event::HelmEnded(HelmEnd::Killed));
    assert_eq!(state.sentence(), half_done);
    state.take(&Event::HelmEnded(HelmEnd::Itself));
    let words = "interrupted while waiting for the applied objects: ";
    assert!(state.sentence().starts_with(words), "{}", state.sentence());
    // These it leaves as they are.
    state.take(&helm(ReleaseChange::Uninstalling));
    state.take(&Event::HelmEnded(HelmEnd::Asked));
    let words =
        "interrupted while helm was uninstalling release prod/web; that operation is incomplete: ";
    assert!(state.sentence().starts_with(words), "{}", state.sentence());
}

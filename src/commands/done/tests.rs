//! The last words of a change that a signal ends.

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
        "interrupted after all images were pushed: nothing in the cluster was changed; run the same command again to complete it"
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
    state.take(&Event::Removed(gone));
    state.stage = Stage::Rollout;
    assert_eq!(
        state.sentence(),
        "interrupted while waiting for the operator: 5 objects were written (ConfigMap prod/a, ConfigMap prod/b, ConfigMap prod/c and 2 more) and 1 object was removed; run the same command again to complete it"
    );
}

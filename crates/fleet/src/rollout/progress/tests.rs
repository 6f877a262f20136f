//! Tests of the progress of a rollout: its events, and the status in a hub that follows from them.

use serde_json::{Value, json};

use super::*;

fn at(seconds: i64) -> StatementTime {
    StatementTime::from_unix(1_700_000_000 + seconds).unwrap()
}

fn member(name: &str) -> MemberProgress {
    MemberProgress {
        name: name.parse().unwrap(),
        state: MemberState::Untouched,
        message: String::new(),
    }
}

fn wave(name: &str, clusters: &[&str]) -> WaveProgress {
    WaveProgress {
        name: name.parse().unwrap(),
        clusters: clusters.iter().map(|cluster| member(cluster)).collect(),
    }
}

fn progress(waves: Vec<WaveProgress>) -> FleetProgress {
    let (plan, by) = ("5c1f".to_owned(), "me@here".to_owned());
    FleetProgress::new(FleetChange::Apply, plan, by, at(0), waves, 0)
}

fn two_waves() -> FleetProgress {
    progress(vec![
        wave("first", &["lab"]),
        wave("rest", &["paris", "rome"]),
    ])
}

/// Returns the type and reason of the condition that is true, and the summary state.
fn truth(progress: &FleetProgress) -> (String, String, Value) {
    let status = json!(progress.status(&[], 1, at(1)));
    let conditions = status["conditions"].as_array().unwrap();
    let is_true = |condition: &&Value| condition["status"] == "True";
    let all: Vec<&Value> = conditions.iter().filter(is_true).collect();
    let [kind, reason] = ["type", "reason"].map(|field| {
        let found = all
            .iter()
            .map(|condition| condition[field].as_str().unwrap());
        found.collect::<Vec<_>>().join(",")
    });
    (kind, reason, status["state"].clone())
}

fn is(kind: &str, reason: &str, state: &str) -> (String, String, Value) {
    (kind.to_owned(), reason.to_owned(), json!(state))
}

fn end_all(progress: &mut FleetProgress, state: MemberState) {
    for name in ["lab", "paris", "rome"] {
        progress.set_state(&name.parse().unwrap(), state, "why");
    }
}

fn begin_wave(progress: &mut FleetProgress, wave: &WaveName) {
    progress.apply(&FleetEvent::WaveBegun {
        wave: wave.clone(),
        clusters: Vec::new(),
    });
}

/// Ends a rollout, early if there is a reason.
fn end(progress: &mut FleetProgress, stopped: Option<&str>) {
    if let Some(why) = stopped {
        let wave = "rest".parse().unwrap();
        let why = why.to_owned();
        assert!(!progress.apply(&FleetEvent::Stopped { wave, why }));
    }
    assert!(progress.apply(&FleetEvent::Ended));
}

#[test]
fn a_fleet_is_complete_once_all_of_its_clusters_are_as_the_file_says() {
    let mut all = two_waves();
    assert_eq!(truth(&all), is("Progressing", "Changing", "Progressing"));
    end_all(&mut all, MemberState::Done);
    assert_eq!(truth(&all), is("Progressing", "Changing", "Progressing"));
    end(&mut all, None);
    assert_eq!(truth(&all), is("Complete", "AsTheFileSays", "Complete"));
    all.others = 1;
    assert_eq!(
        truth(&all),
        is("", "", "Ended"),
        "others were not asked for"
    );
    all.others = 0;
    all.change = FleetChange::Rollback;
    assert_eq!(truth(&all), is("", "", "Ended"), "the file says otherwise");
}

#[test]
fn what_keeps_a_fleet_from_it_is_said() {
    let mut paused = two_waves();
    end(&mut paused, Some("the fleet is paused"));
    assert_eq!(truth(&paused), is("Stalled", "Stopped", "Stalled"));
    let mut failed = two_waves();
    end_all(&mut failed, MemberState::Done);
    failed.set_state(&"rome".parse().unwrap(), MemberState::Failed, "it broke");
    end(&mut failed, None);
    assert_eq!(truth(&failed), is("Stalled", "ClustersFailed", "Stalled"));
    let status = json!(failed.status(&[], 1, at(1)));
    assert_eq!(status["conditions"][2]["message"], "rome: it broke");
    let mut away = two_waves();
    end_all(&mut away, MemberState::Done);
    away.set_state(&"rome".parse().unwrap(), MemberState::LeftOut, "");
    end(&mut away, None);
    assert_eq!(truth(&away), is("Stalled", "ClustersLeftOut", "Stalled"));
}

#[test]
fn a_wave_is_as_its_worst_cluster() {
    let mut all = two_waves();
    let (first, rest) = ("first".parse().unwrap(), "rest".parse().unwrap());
    let waves = |all: &FleetProgress| {
        let status = json!(all.status(&[], 1, at(1)));
        let waves = status["waves"].as_array().unwrap().iter();
        let shown =
            waves.map(|wave| format!("{} {} {}", wave["state"], wave["done"], wave["untouched"]));
        (shown.collect::<Vec<_>>().join(", "), status["wave"].clone())
    };
    begin_wave(&mut all, &first);
    assert_eq!(
        waves(&all).0,
        r#""changing" 0 1, "untouched" 0 2"#.to_owned()
    );
    all.set_state(&"lab".parse().unwrap(), MemberState::Done, "");
    begin_wave(&mut all, &rest);
    all.set_state(&"paris".parse().unwrap(), MemberState::Failed, "");
    assert_eq!(
        waves(&all),
        (r#""done" 1 0, "changing" 0 1"#.to_owned(), json!("rest"))
    );
    end(&mut all, None);
    assert_eq!(waves(&all).0, r#""done" 1 0, "failed" 0 1"#.to_owned());
}

#[test]
fn a_condition_keeps_its_time_until_it_changes() {
    let mut all = two_waves();
    let before = all.status(&[], 1, at(1)).conditions;
    let later = all.status(&before, 2, at(2)).conditions;
    assert!(
        later
            .iter()
            .all(|condition| condition.last_transition_time == at(1))
    );
    assert!(
        later
            .iter()
            .all(|condition| condition.observed_generation == 2)
    );
    end(&mut all, Some("paused"));
    let ended = all.status(&later, 2, at(3)).conditions;
    let times = ended.iter().map(|condition| condition.last_transition_time);
    assert_eq!(times.collect::<Vec<_>>(), [at(3), at(1), at(3)]);
}

#[test]
fn what_is_listed_is_bounded_and_what_is_wrong_comes_first() {
    let names: Vec<String> = (0..1000).map(|n| format!("c{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut all = progress(vec![wave("all", &names)]);
    for name in &names {
        let name = name.parse().unwrap();
        all.set_state(&name, MemberState::Done, &"\u{e9}".repeat(1000));
    }
    all.set_state(&"c999".parse().unwrap(), MemberState::Failed, "x");
    let status = all.status(&[], 1, at(1));
    assert_eq!((status.clusters.len(), status.unlisted), (200, 800));
    assert_eq!(status.clusters[198].name.as_str(), "c198");
    assert_eq!(status.clusters[199].name.as_str(), "c999");
    assert_eq!(status.clusters[0].message.len(), 256);
    assert!(json!(status).to_string().len() < 200_000);
}

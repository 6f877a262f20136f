//! What a waiting program says of a release, of another administrator, and of itself when it is ended: by what the
//! cluster says of this release and of no other.

use crate::common::Answer;
use crate::site::Site;

/// Packs 1.1.0 as another version, with another command of its operator if one is given.
fn release(site: &Site, version: &str, command: Option<&str>) {
    let source = "1.1.0/solution.yaml";
    let before = String::from_utf8(site.desk.read(source)).unwrap();
    let mut text = before.replacen("  version: 1.1.0\n", &format!("  version: {version}\n"), 1);
    assert_ne!(text, before);
    if let Some(command) = command {
        text = text.replace(
            "  operator:\n",
            &format!("  operator:\n    command: [{command}]\n"),
        );
    }
    site.desk.write(source, text);
    let archive = format!("{version}.iso");
    site.desk
        .solution(&["pack", "1.1.0", "-o", &archive, "--key", "publisher.key"])
        .success();
    site.desk.write(source, before);
}

fn deploy(site: &Site, version: &str, environment: &str) -> Answer {
    site.import(
        &format!("{version}.iso"),
        &[
            "-e",
            environment,
            "--pull-secret",
            "login",
            "--allow-downgrade",
        ],
    )
}

/// A broken release leaves a crashing pod (if nothing ran before it) or is taken back (if something did); the good one
/// follows at once, while the controller still works on the broken one.
#[test]
fn a_good_release_that_follows_a_broken_one_at_once_is_taken_ten_times_in_a_row() {
    let site = Site::new("judgement");
    site.environment("judgement");
    release(&site, "1.2.0", Some("/nowhere"));
    release(&site, "1.3.0", None);
    for round in 0..10 {
        if round % 2 == 0 {
            // Nothing runs, so that the broken one stays as it is.
            let undeploy = ["undeploy", "example", "-e", "judgement"];
            assert_eq!(site.solution(&undeploy).code, i32::from(round == 0));
        }
        let broken = deploy(&site, "1.2.0", "judgement");
        assert_ne!(broken.code, 0, "round {round}: {broken:?}");
        assert!(
            broken.stderr.contains("/nowhere"),
            "round {round}: {broken:?}"
        );
        let version = if round % 4 < 2 { "1.3.0" } else { "1.1.0" };
        let good = deploy(&site, version, "judgement");
        assert_eq!(good.code, 0, "round {round}: {good:?}");
    }
}

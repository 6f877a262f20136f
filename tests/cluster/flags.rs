//! Flags that the verbs of a cluster have in common: how long they wait.

use std::time::{Duration, Instant};

use crate::site::Site;

/// Far less than any time that is waited without being told.
const SOON: Duration = Duration::from_secs(60);

#[test]
fn a_timeout_is_how_long_objects_may_take_to_go() {
    let site = Site::new("timeout");
    site.environment("prod");
    site.import("1.0.0.iso", &["-e", "prod", "--pull-secret", "login"])
        .success();
    let finalizers = |list: &str| {
        let patch = format!(r#"--patch={{"metadata": {{"finalizers": {list}}}}}"#);
        let deployment = ["patch", "deployment", "example-operator", "--type=merge"];
        site.kubectl("prod", &[&deployment[..], &[&patch]].concat())
            .success();
    };
    finalizers(r#"["example.test/stays"]"#);
    let undeploy = ["undeploy", "example", "-e", "prod"];
    let began = Instant::now();
    let text = site
        .solution(&[&undeploy[..], &["--timeout", "2"]].concat())
        .failure(3);
    let took = began.elapsed();
    assert!(took < SOON, "{took:?}: {text}");
    for words in [
        "still there after 2s",
        "Deployment prod/example-operator",
        "`--timeout` waits longer",
    ] {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
    finalizers("null");
    site.solution(&undeploy).success();
}

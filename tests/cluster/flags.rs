//! Common flags of cluster commands: timeouts, and the trace of requests.

use std::fs;
use std::time::{Duration, Instant};

use crate::site::{Site, variable};

/// A time that is far below every default timeout.
const SOON: Duration = Duration::from_mins(1);

#[test]
fn a_timeout_is_how_long_objects_may_take_to_go() {
    let site = Site::new("timeout");
    site.create_environment("prod");
    site.import("1.0.0.iso", &["-e", "prod", "--pull-secret", "login"])
        .success();
    let finalizers = |list: &str| {
        let patch = format!(r#"--patch={{"metadata": {{"finalizers": {list}}}}}"#);
        let deployment = ["patch", "deployment", "example-operator", "--type=merge"];
        site.kubectl("prod", &[&deployment[..], &[&patch]].concat())
            .success();
    };
    finalizers(r#"["example.test/stays"]"#);
    let undeploy = ["undeploy", "--yes", "example", "-e", "prod"];
    let began = Instant::now();
    let answer = site.solution(&[&undeploy[..], &["--timeout", "2"]].concat());
    let took = began.elapsed();
    // The namespace must be deletable after any result.
    finalizers("null");
    let text = answer.failure(3);
    assert!(took < SOON, "{took:?}: {text}");
    for words in [
        "not deleted after 2 s",
        "Deployment prod/example-operator",
        "with `--timeout` to wait longer",
    ] {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
    site.solution(&undeploy).success();
}

#[test]
fn every_request_is_shown_and_no_secret() {
    let site = Site::new("verbose");
    let import = site.import("1.0.0.iso", &["--verbose", "--output", "json"]);
    assert_eq!(import.code, 0, "{import:?}");
    // The trace does not disturb JSON output.
    import.json();
    for line in import.stderr.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [method, url, status, took, "ms"] = words[..] else {
            panic!("{line}")
        };
        assert!(
            method.bytes().all(|byte| byte.is_ascii_uppercase()),
            "{line}"
        );
        assert!(url.starts_with("https://"), "{line}");
        assert!(
            status.parse::<u16>().is_ok() && took.parse::<u64>().is_ok(),
            "{line}"
        );
    }
    let registry = variable("SOLUTION_TEST_PUSH_REGISTRY");
    for words in [
        &format!("GET https://{registry}/v2/ 401 "),
        "/example-operator/blobs/uploads/?digest=sha256%3A",
        "/version 200 ",
        "/namespaces/metalk8s-solutions/configmaps/solution-example-1.0.0",
    ] {
        assert!(
            import.stderr.contains(words),
            "`{words}` is not in: {}",
            import.stderr
        );
    }
    let config = site.create_account("default");
    let status = site.solution(&["status", "-v", "--kubeconfig", &config]);
    let config = fs::read_to_string(config).unwrap();
    let token = config
        .lines()
        .find_map(|line| line.trim().strip_prefix("token: "));
    let secrets = [
        variable("SOLUTION_TEST_REGISTRY_PASSWORD"),
        token.unwrap().to_owned(),
    ];
    for answer in [&import, &status] {
        assert!(answer.stderr.contains(" ms"), "{answer:?}");
        for secret in secrets
            .iter()
            .map(String::as_str)
            .chain(["_state", "Bearer", "Basic"])
        {
            assert!(
                !answer.stderr.contains(secret),
                "{secret} is in: {}",
                answer.stderr
            );
        }
    }
}

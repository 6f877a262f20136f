//! The number of an import's requests to the API server: each one is a round trip to a cluster that may be far away.

use std::time::{Duration, Instant};

use crate::site::{Site, eventually, variable};

/// The tolerated number of additional requests: a controller may be faster, so that an object is read again.
const MARGIN: usize = 5;

/// The time that a pod must be ready: `kubernetes::limits::SETTLED` and `CLOCK_SKEW`, with a second for rounding.
const LONG: Duration = Duration::from_secs(11);

/// Returns the requests of an import by a cluster administrator.
fn import(site: &Site, archive: &str, more: &[&str]) -> Vec<String> {
    let all = variable("KUBECONFIG");
    let into = ["-e", "counted", "-v", "--kubeconfig", &all];
    let answer = site.import(archive, &[&into[..], more].concat());
    assert_eq!(answer.code, 0, "{answer:?}");
    let registry = format!("https://{}/", variable("SOLUTION_TEST_PUSH_REGISTRY"));
    let lines = answer.stderr.lines().filter(|line| line.ends_with(" ms"));
    let asked = lines.filter(|line| !line.contains(&registry));
    asked.map(str::to_owned).collect()
}

/// Returns whether a request is part of waiting, whose number varies: reading the Deployment and its objects, reading
/// the pod that pulls its image, and renewing the Lease.
fn is_waiting(request: &str) -> bool {
    if request.starts_with("GET ") && request.contains("/pods/example-operator-pull-") {
        return true;
    }
    let looked = [
        "/deployments/example-operator ",
        "/replicasets?",
        "/pods?",
        "/events?",
        "/leases/",
    ];
    looked.iter().any(|at| request.contains(at))
}

fn count(requests: &[String], words: &str) -> usize {
    requests
        .iter()
        .filter(|request| request.contains(words))
        .count()
}

#[test]
fn an_import_takes_no_more_requests_than_are_written_down() {
    let site = Site::new("counted");
    let login = variable("SOLUTION_TEST_PULL_SECRET");
    let new = ["--create-environment", "--pull-login", &login];
    let first = import(&site, "1.0.0.iso", &new);
    let upgrade = import(&site, "1.1.0.iso", &[]);
    let ready = Instant::now();
    eventually("the new pod has been ready for long", || {
        (ready.elapsed() > LONG).then_some(())
    });
    let again = import(&site, "1.1.0.iso", &[]);
    let runs = [(&first, 79), (&upgrade, 71), (&again, 34)];
    let counted = runs.map(|(requests, _)| {
        requests
            .iter()
            .filter(|request| !is_waiting(request))
            .count()
    });
    let expected = runs.map(|(_, most)| most..=most + MARGIN);
    let mut each = expected.iter().zip(&counted);
    assert!(
        each.all(|(expected, counted)| expected.contains(counted)),
        "{counted:?}: {runs:#?}"
    );
    for (requests, _) in runs {
        // Known facts are not requested again.
        let asked =
            ["access", "rules"].map(|kind| count(requests, &format!("/selfsubject{kind}reviews ")));
        assert_eq!(asked, [0, 3], "{requests:#?}");
        let monitors = count(requests, "/apis/monitoring.coreos.com/v1 404 ");
        assert_eq!(monitors, 1, "{requests:#?}");
    }
    // The object is planned, and found ready before the program checks that it stays ready.
    let looks = count(&again, "/deployments/example-operator ");
    assert_eq!(
        looks, 3,
        "an operator that ran before is not watched: {again:#?}"
    );
}

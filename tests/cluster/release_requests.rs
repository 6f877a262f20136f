//! The number of requests for each object of a large release.

use std::collections::BTreeMap;

use crate::common::Answer;
use crate::releases::{OWN, pack};
use crate::site::{Site, variable};

const OBJECTS: usize = 60;

/// Returns the requests for the release's objects, each with its number: the method, and the parameters that matter.
fn count_by_method(answer: &Answer) -> BTreeMap<String, usize> {
    assert_eq!(answer.code, 0, "{answer:?}");
    let lines = answer.stderr.lines().filter(|line| line.ends_with(" ms"));
    let mut asked = BTreeMap::new();
    for line in lines {
        let (method, url) = line.trim().split_once(' ').unwrap();
        let one = url.contains("/configmaps/many-");
        if !one {
            continue;
        }
        let tried = if url.contains("dryRun=All") {
            " dry"
        } else {
            ""
        };
        *asked.entry(format!("{method}{tried}")).or_default() += 1;
    }
    asked
}

fn counted(requests: &[&str]) -> BTreeMap<String, usize> {
    let counted = requests
        .iter()
        .map(|request| ((*request).to_owned(), OBJECTS));
    counted.collect()
}

#[test]
fn each_of_many_objects_takes_two_requests_to_come_one_to_stay_and_one_to_go() {
    let site = Site::new("many");
    site.create_environment("prod");
    let object = |number: usize| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: many-{number}, namespace: shop-system}}\n"
        )
    };
    let objects: String = (0..OBJECTS).map(object).collect();
    let archive = pack(&site, "1.0.0", OWN, &objects);
    let all = variable("KUBECONFIG");
    let whole = ["-v", "--kubeconfig", &all];
    let into = [&["-e", "prod"][..], &whole].concat();
    let first = count_by_method(&site.import(&archive, &into));
    assert_eq!(first, counted(&["PATCH dry", "PATCH"]));
    let again = count_by_method(&site.import(&archive, &into));
    assert_eq!(again, counted(&["PATCH dry"]));
    let undeploy = ["undeploy", "--yes", "shop", "-e", "prod"];
    let undone = count_by_method(&site.solution(&[&undeploy[..], &whole].concat()));
    assert_eq!(undone, counted(&["DELETE"]));
}

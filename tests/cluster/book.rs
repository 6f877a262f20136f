//! Every command of docs/how-to/operate, executed in the order of the pages.

use std::fs;
use std::process::Command;

use crate::common::{Answer, programs};
use crate::pages::{commands, pages};
use crate::site::{Site, variable};

/// Writes the files that the pages name to the desk, except the files that their commands create.
pub(crate) fn desk(site: &Site) {
    for version in ["1.0.0", "1.1.0"] {
        let archive = |name: &str| site.desk.path(&format!("{name}.iso"));
        fs::rename(archive(version), archive(&format!("example-{version}"))).unwrap();
    }
    let copy = |from: &str, to: &str| fs::copy(variable(from), site.desk.path(to)).unwrap();
    copy("SOLUTION_TEST_REGISTRY_CA", "site-ca.pem");
    copy("SOLUTION_TEST_PULL_SECRET", "nodes.json");
    site.desk
        .write("password", variable("SOLUTION_TEST_REGISTRY_PASSWORD"));
}

/// Returns a text of a page with this site's names.
pub(crate) fn replace_names(site: &Site, text: &str) -> String {
    text.replace("nodes.registry.example/apps", &site.pull_registry())
        .replace("registry.example/apps", &site.registry())
        .replace("registry.example", &variable("SOLUTION_TEST_PUSH_REGISTRY"))
}

/// Runs a line of a page in a shell, with this site's names.
pub(crate) fn run(site: &Site, line: &str) -> Answer {
    let line = replace_names(site, line);
    let path = format!("{}:{}", programs().display(), variable("PATH"));
    Answer::from_command(
        Command::new("bash")
            .args(["-c", &line])
            .current_dir(site.desk.path("."))
            .env_clear()
            .env("HOME", site.desk.path("."))
            .env("KUBECONFIG", variable("KUBECONFIG"))
            .env("PATH", path),
    )
}

/// Returns the objects of the cluster, except the namespace of the records with its content, and the permissions that
/// remain permanently.
fn objects_without_records(site: &Site) -> String {
    let all = site.snapshot();
    let stays = |object: &&str| {
        object.contains("\"metalk8s-solutions\"") || object.contains("\"solution-user")
    };
    let beside = all.lines().filter(|object| !stays(object));
    beside.collect::<Vec<_>>().join("\n")
}

#[test]
fn an_administrator_can_follow_the_pages() {
    let site = Site::new("book");
    site.forget_signers();
    desk(&site);
    let before = objects_without_records(&site);
    // Other tests cover these pages, with their own clusters or servers.
    let elsewhere = ["fleets.md", "serve.md"];
    let pages = pages("how-to/operate/").into_iter();
    for page in pages.filter(|page| !elsewhere.iter().any(|other| page.ends_with(other))) {
        for command in commands(&page) {
            let answer = run(&site, &command);
            let page = page.display();
            let expected = i32::from(command.ends_with("# ends with 1"));
            assert_eq!(answer.code, expected, "{page}: {command}\n{answer:?}");
        }
    }
    assert_eq!(
        objects_without_records(&site),
        before,
        "the last page leaves something"
    );
}

//! The web console against a real cluster: a browser creates an environment, deploys, upgrades, rolls back, undeploys
//! and deletes, always after it has seen the plan.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::common::Answer;
use crate::curl::{self, Reply};
use crate::dex::Dex;
use crate::site::{Site, eventually, variable};
use crate::waiting::holder;

/// A browser that uses a console.
pub(crate) struct Browser<'a> {
    pub(crate) site: &'a Site,
    /// The console, if it is a process on this machine.
    console: Option<Child>,
    /// The address of the console, without a path.
    pub(crate) url: String,
    /// The file with the cookies of the current user.
    jar: PathBuf,
    /// The arguments with which curl trusts the console.
    trust: Vec<String>,
}

impl<'a> Browser<'a> {
    fn start(site: &'a Site) -> Self {
        let mut browser = Self::launch(site, &["--listen", "127.0.0.1:0"], &[]);
        let login = browser.url.clone();
        let (url, path) = login.split_at(login.rfind("/login").unwrap());
        url.clone_into(&mut browser.url);
        assert_eq!(
            browser.get("/environments").status,
            "401",
            "there is no session yet"
        );
        assert_eq!(browser.get(path).location, format!("{url}/environments"));
        browser
    }

    /// Starts a console, and waits until it listens.
    pub(crate) fn launch(site: &'a Site, arguments: &[&str], trust: &[&str]) -> Self {
        let mut command = site.command();
        command
            .args(["console", "--output", "json"])
            .args(arguments);
        command.args(["--ca-file", &variable("SOLUTION_TEST_REGISTRY_CA")]);
        let mut console = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let stdout = console.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let started: Value = serde_json::from_str(&line).unwrap();
        let mut browser = Self::at(site, started["url"].as_str().unwrap(), trust);
        browser.console = Some(console);
        browser
    }

    /// Uses a console that runs already.
    pub(crate) fn at(site: &'a Site, url: &str, trust: &[&str]) -> Self {
        Self {
            site,
            console: None,
            url: url.to_owned(),
            jar: site.desk.path("cookies"),
            trust: trust.iter().map(ToString::to_string).collect(),
        }
    }

    /// Logs a user in at the identity provider, and returns the console's reply. Later requests are those of this user.
    #[track_caller]
    pub(crate) fn log_in(&mut self, dex: &Dex, user: &str) -> Reply {
        self.jar = self.site.desk.path(user);
        let provider = self.get("/login").location;
        let callback = dex.log_in(&self.jar, &provider, user);
        self.get(callback.strip_prefix(&self.url).unwrap())
    }

    pub(crate) fn send(&self, path: &str, more: &[&str]) -> Reply {
        let trust = self.trust.iter().map(String::as_str);
        let arguments: Vec<&str> = trust.chain(more.iter().copied()).collect();
        curl::fetch(&format!("{}{path}", self.url), &self.jar, &arguments)
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send(path, &[])
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        let reply = self.send(path, &["--header", "Accept: application/json"]);
        serde_json::from_str(&reply.body).unwrap()
    }

    /// Checks that a page contains these texts.
    #[track_caller]
    pub(crate) fn shows(&self, path: &str, texts: &[&str]) {
        self.get(path).contains(texts);
    }

    pub(crate) fn post(&self, path: &str, fields: &[&str]) -> Reply {
        let origin = format!("Origin: {}", self.url);
        let mut arguments = vec!["--header", &origin, "--request", "POST"];
        arguments.extend(fields.iter().flat_map(|field| ["--data-urlencode", field]));
        self.send(path, &arguments)
    }

    /// Sends a form, and returns the path of the page that follows it.
    #[track_caller]
    pub(crate) fn submit(&self, path: &str, fields: &[&str]) -> String {
        let reply = self.post(path, fields);
        assert_eq!(reply.status, "303", "{path}: {reply:?}");
        let next = reply.location.strip_prefix(&self.url).unwrap();
        next.to_owned()
    }

    /// Follows a run until it has ended, and returns its page.
    pub(crate) fn follow(&self, run: &str) -> Reply {
        let events = self.get(&format!("{run}/events"));
        events.contains(&[r#""ended":true"#]);
        self.get(run)
    }

    /// Applies a plan after giving the consent that it asks for, and returns the page of the run when it has ended.
    #[track_caller]
    pub(crate) fn apply(&self, plan: &str) -> Reply {
        let shown = self.get(plan);
        let consent = shown.body.split_once(r#"name="consent" value=""#);
        let consent = consent.and_then(|(_, rest)| rest.split_once('"'));
        let consent = consent.map(|(id, _)| format!("consent={id}"));
        let fields: Vec<&str> = consent.iter().map(String::as_str).collect();
        let run = self.submit(&format!("{plan}/apply"), &fields);
        let ended = self.follow(&run);
        ended.contains(&["The change is complete."]);
        ended
    }
}

impl Drop for Browser<'_> {
    fn drop(&mut self) {
        if let Some(console) = &mut self.console {
            let _ = console.kill();
            let _ = console.wait();
        }
    }
}

#[test]
fn an_application_administrator_works_in_the_browser() {
    let site = Site::new("console");
    for version in ["1.0.0", "1.1.0"] {
        site.import(&format!("{version}.iso"), &[]).success();
    }
    let browser = Browser::start(&site);
    browser.shows("/environments", &["There is no environment yet."]);
    browser.shows("/solutions", &["1.0.0", "1.1.0", "key"]);
    browser.shows("/solutions/example/1.1.0", &["Images", "sha256:"]);
    let rights = "/solutions/example/1.1.0/rights";
    browser.shows(rights, &["versionservers.example.metalk8s.test"]);
    browser.shows("/session", &["system:serviceaccount:default:importer"]);

    let fields = ["environment=web", "description=for a test"];
    let run = browser.submit("/environments", &fields);
    browser.follow(&run).contains(&["The change is complete."]);
    site.create_login("web");
    deploy_and_upgrade(&browser);
    roll_back(&browser);
    remove(&browser);
}

/// Deploys a version and upgrades it. Nothing happens before a plan is applied, and a blocked plan cannot be applied.
fn deploy_and_upgrade(browser: &Browser<'_>) {
    let form = "/environments/web/solutions/example/deploy";
    browser.shows("/environments/web/deploy", &[form]);
    browser.shows(
        form,
        &["<option value=\"1.1.0\" selected>", "Show the plan"],
    );
    let plan = browser.submit(form, &["version=1.0.0", "pull-secret=login"]);
    let parts = [
        "Signed by",
        "Rights gained",
        "Deployment web/example-operator",
    ];
    browser.shows(&plan, &parts);
    browser.shows("/environments/web", &["Nothing is deployed here."]);
    browser.apply(&plan);
    let gone = browser.get(&plan);
    assert_eq!(gone.status, "404", "a plan is applied once: {gone:?}");
    browser.shows("/environments", &["ready", "Upgrade to 1.1.0"]);
    let status = browser
        .site
        .solution(&["status", "--output", "json"])
        .json();
    assert_eq!(browser.json("/environments"), status);

    let plan = browser.submit(form, &["version=1.1.0"]);
    browser.shows(&plan, &["Apply the plan", "<ins>", "<del>"]);
    browser.apply(&plan);
    browser.shows("/environments/web", &["example", "1.1.0", "ready"]);
    let again = browser.submit(form, &["version=1.1.0"]);
    browser.shows(&again, &["Everything is in place already."]);
    let older = browser.submit(form, &["version=1.0.0"]);
    browser.shows(&older, &["The plan cannot be applied", "Fix:"]);
    let refused = browser.post(&format!("{older}/apply"), &[]);
    assert_eq!(refused.status, "409", "{refused:?}");
}

fn roll_back(browser: &Browser<'_>) {
    let form = "/environments/web/solutions/example/rollback";
    browser.shows(form, &["The deployment before the current one"]);
    let plan = browser.submit(form, &["namespace=web", "revision="]);
    browser.apply(&plan);
    browser.shows("/environments/web", &["Upgrade to 1.1.0"]);
    let history = browser
        .site
        .solution(&["history", "--output", "json"])
        .json();
    assert_eq!(browser.json("/history"), history);
    let newest = &history["revisions"][0]["revision"];
    let change = format!("/history/{newest}");
    browser.shows(&change, &["rollback", "done", "1.1.0 → 1.0.0"]);
}

fn remove(browser: &Browser<'_>) {
    let plan = browser.submit("/environments/web/solutions/example/undeploy", &[]);
    browser.shows(&plan, &["Removed", "Deployment web/example-operator"]);
    browser.apply(&plan);
    browser.shows("/environments/web", &["Nothing is deployed here."]);
    let plan = browser.submit("/environments/web/delete", &[]);
    browser.shows(&plan, &["Namespace web"]);
    browser.apply(&plan);
    browser.shows("/environments", &["There is no environment yet."]);
    browser.shows("/runs", &["Delete environment web", "done"]);
}

#[test]
fn a_plan_that_no_longer_holds_is_not_applied() {
    let site = Site::new("console-stale");
    site.import("1.0.0.iso", &[]).success();
    site.create_environment("web");
    let browser = Browser::start(&site);
    let form = "/environments/web/solutions/example/deploy";
    let plan = browser.submit(form, &["version=1.0.0", "pull-secret=login"]);
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let place = ["example", "-e", "web"];
    let deploy = ["deploy", "--pull-secret", "login", "--ca-file", &ca];
    site.solution(&[&deploy[..], &place].concat()).success();
    let refused = |plan: &str| {
        let run = browser.submit(&format!("{plan}/apply"), &[]);
        browser.follow(&run)
    };
    refused(&plan).contains(&["failed", "the cluster has changed", "create the plan again"]);
    let plan = browser.submit("/environments/web/solutions/example/undeploy", &[]);
    site.solution(&[&["undeploy", "--yes"], &place[..]].concat())
        .success();
    refused(&plan).contains(&["failed", "is not deployed"]);
}

/// Imports a version whose images nodes pull from a server that accepts connections and never answers. A deployment waits
/// for them as long as the server exists.
pub(crate) fn import_for_silent_registry(site: &Site) -> TcpListener {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let nodes = format!("{}/nothing", silent.local_addr().unwrap());
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let registry = site.registry();
    let registries = ["--registry", &registry, "--pull-registry", &nodes];
    let trust = ["--key", "publisher.pub", "--ca-file", &ca];
    let import = [&["import", "1.0.0.iso"], &trust[..], &registries].concat();
    site.solution(&import).success();
    silent
}

#[test]
fn a_cancelled_run_and_the_end_of_the_console_leave_no_lease() {
    let site = Site::new("console-cancel");
    let _silent = import_for_silent_registry(&site);
    site.create_environment("web");
    let mut browser = Browser::start(&site);
    let begin = |browser: &Browser<'_>| {
        let form = "/environments/web/solutions/example/deploy";
        let plan = browser.submit(form, &["version=1.0.0", "unproved=on"]);
        let run = browser.submit(&format!("{plan}/apply"), &[]);
        let waits = "waiting for Deployment web/example-operator";
        eventually("the run waits for the image", || {
            browser.get(&run).body.contains(waits).then_some(())
        });
        assert_ne!(holder(&site, "environment-web"), "");
        run
    };
    let run = begin(&browser);
    let page = browser.submit(&format!("{run}/cancel"), &[]);
    let end = browser.follow(&page);
    end.contains(&["cancelled", "Create the same plan again"]);
    eventually("the Lease is free", || {
        holder(&site, "environment-web").is_empty().then_some(())
    });
    begin(&browser);
    let console = browser.console.as_mut().unwrap();
    let id = console.id().to_string();
    Answer::from_command(Command::new("kill").args(["-s", "INT", &id])).success();
    assert_eq!(console.wait().unwrap().code(), Some(130));
    assert_eq!(holder(&site, "environment-web"), "", "the Lease is free");
}

//! Users of an identity provider in the web console: Dex logs them in, and the API server knows their permissions.

use std::net::TcpListener;

use serde_json::json;

use crate::console::{Browser, import_for_silent_registry};
use crate::dex::{ADMIN, Dex, DexConfig, KNOWN_PORT, SECRET, VIEWER, ca_file, pki};
use crate::site::{Site, eventually};
use crate::waiting::holder;

/// The address of the console in the network of the sandbox.
const NODE: &str = "10.244.0.1";

/// Starts Dex at a port, and returns it with the address that the console will have.
fn start_dex(port: u16, id_tokens: &str) -> (Dex, String) {
    let free = TcpListener::bind((NODE, 0)).unwrap();
    let address = free.local_addr().unwrap().to_string();
    let dex = Dex::start(&DexConfig {
        port,
        redirect_uri: &format!("https://{address}/auth/callback"),
        id_tokens,
    });
    (dex, address)
}

/// Starts a console for the users of Dex.
fn start<'a>(site: &'a Site, dex: &Dex, address: &str, more: &[&str]) -> Browser<'a> {
    site.desk.write("secret", SECRET);
    let (certificate, key, ca) = (pki("dex.crt"), pki("dex.key"), ca_file());
    let path = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let (certificate, key, ca) = (path(&certificate), path(&key), path(&ca));
    let url = format!("https://{address}");
    let provider = ["--issuer", dex.issuer(), "--issuer-ca-file", &ca];
    let client = ["--public-url", &url, "--client-secret-file", "secret"];
    let tls = [
        "--listen",
        address,
        "--tls-cert",
        &certificate,
        "--tls-key",
        &key,
    ];
    let arguments = [&provider[..], &client, &tls, more].concat();
    Browser::launch(site, &arguments, &["--cacert", &ca])
}

/// Grants permissions to users, as `solution site rbac` prints them.
fn grant(site: &Site, users: &[&str], arguments: &[&str]) {
    let users: Vec<String> = users
        .iter()
        .map(|user| format!("--user=oidc:{user}"))
        .collect();
    let users: Vec<&str> = users.iter().map(String::as_str).collect();
    let rbac = [&["site", "rbac"], &users[..], arguments].concat();
    let roles = site.desk.solution(&rbac);
    site.apply(&roles.success()).success();
}

#[test]
fn users_of_a_provider_have_their_own_permissions() {
    let (mut dex, address) = start_dex(KNOWN_PORT, "20s");
    let site = Site::new("console-login");
    site.import("1.0.0.iso", &[]).success();
    let mut browser = start(&site, &dex, &address, &[]);
    let outside = browser.get("/environments");
    assert_eq!(outside.status, "401", "{outside:?}");
    outside.contains(&["/login?next=%2Fenvironments"]);
    dex.wait_until_trusted();

    let welcome = browser.log_in(&dex, VIEWER);
    assert_eq!(
        welcome.location,
        format!("{}/environments", browser.url),
        "{welcome:?}"
    );
    browser.shows(
        "/session",
        &[
            "oidc:viewer@site.test",
            "missing permissions:",
            "list configmaps",
        ],
    );
    let hidden = "Your permissions hide some objects";
    browser.shows("/environments", &[hidden]);
    // Headers of a browser never reach the API server.
    let forged = [
        "--header",
        "Impersonate-User: system:admin",
        "--header",
        "Authorization: Bearer x",
    ];
    browser.send("/environments", &forged).contains(&[hidden]);
    grant(&site, &[ADMIN], &["1.0.0.iso", "--key", "publisher.pub"]);
    browser.log_in(&dex, ADMIN);
    eventually("the user may see environments", || {
        (!browser.get("/environments").body.contains(hidden)).then_some(())
    });
    let run = browser.submit("/environments", &["environment=web"]);
    browser.follow(&run).contains(&["The change is complete."]);
    site.create_login("web");
    deploy_with_a_second_person(&mut browser, &dex);
    let history = browser.json("/history");
    let user = &history["revisions"][0]["user"];
    assert_eq!(*user, format!("oidc:{ADMIN}"), "{history:#}");

    // The provider is needed again when the token expires.
    dex.stop();
    eventually("the provider is missing", || {
        let reply = browser.get("/runs");
        (reply.status == "502").then_some(reply)
    })
    .contains(&["cannot reach the identity provider"]);
    dex.restart();
    browser.shows("/environments", &["ready"]);
}

/// A user who may only read proposes a deployment, and the administrator applies it.
fn deploy_with_a_second_person(browser: &mut Browser<'_>, dex: &Dex) {
    let site = browser.site;
    let form = "/environments/web/solutions/example/deploy";
    let fields = ["version=1.0.0", "pull-secret=login"];
    browser.log_in(dex, VIEWER);
    grant(site, &[VIEWER], &["--verb", "status"]);
    let refused = eventually("the user may see imported versions", || {
        let reply = browser.post(form, &fields);
        reply
            .body
            .contains("get registries.solutions.metalk8s.scality.com")
            .then_some(reply)
    });
    assert_eq!(refused.status, "403", "{refused:?}");
    refused.contains(&["ask a cluster administrator"]);
    grant(site, &[VIEWER, ADMIN], &["--verb", "console"]);
    let plan = eventually("the user may read the registry", || {
        let reply = browser.post(form, &fields);
        reply.location.strip_prefix(&browser.url).map(str::to_owned)
    });
    browser.shows(
        &plan,
        &["The plan cannot be applied", "Leave it for a second person"],
    );
    let proposal = browser.submit(&format!("{plan}/propose"), &[]);
    browser.shows(&proposal, &["Send the address of this page", VIEWER]);
    assert_eq!(browser.post(&format!("{plan}/apply"), &[]).status, "409");

    browser.log_in(dex, ADMIN);
    assert_eq!(
        browser.get(&plan).status,
        "404",
        "it is the plan of another user"
    );
    browser.shows(&proposal, &["Proposed by", VIEWER, "Show the plan"]);
    let plan = browser.submit(&proposal, &[]);
    browser.shows(
        &plan,
        &[
            "viewer@site.test has proposed this change, and saw a plan that was blocked",
            "Apply the plan",
        ],
    );
    let rights = browser.json("/session?environment=web");
    let deploys = &rights["permissions"][1];
    assert_eq!(
        *deploys,
        json!({"permission": "Deploy Solutions", "missing": []}),
        "{rights:#}"
    );
    // The administrator leaves the same plan for another session, in which nothing differs.
    let again = browser.submit(&format!("{plan}/propose"), &[]);
    let same = browser.submit(&again, &[]);
    browser.shows(
        &same,
        &["admin@site.test has proposed this change, and saw the same plan"],
    );
    browser.apply(&same);
}

#[test]
fn a_run_outlives_the_token_of_its_user_and_the_session() {
    let (dex, address) = start_dex(KNOWN_PORT, "10s");
    let site = Site::new("console-renewal");
    let _silent = import_for_silent_registry(&site);
    site.create_environment("web");
    grant(&site, &[ADMIN], &["1.0.0.iso", "--key", "publisher.pub"]);
    grant(&site, &[ADMIN], &["--verb", "console"]);
    let mut browser = start(&site, &dex, &address, &[]);
    dex.wait_until_trusted();
    browser.log_in(&dex, ADMIN);
    let form = "/environments/web/solutions/example/deploy";
    let plan = browser.submit(form, &["version=1.0.0", "unproved=on"]);
    let run = browser.submit(&format!("{plan}/apply"), &[]);
    let waits = "waiting for Deployment web/example-operator";
    eventually("the run waits for the image", || {
        browser.get(&run).body.contains(waits).then_some(())
    });
    browser
        .post("/logout", &[])
        .contains(&["Runs that were started continue."]);
    assert_eq!(browser.get(&run).status, "401");
    dex.wait_until_expired();
    dex.wait_until_expired();

    browser.log_in(&dex, ADMIN);
    browser.get(&run).contains(&[waits]);
    let page = browser.submit(&format!("{run}/cancel"), &[]);
    browser.follow(&page).contains(&["cancelled"]);
    // The account of the run can still write.
    eventually("the Lease is free", || {
        holder(&site, "environment-web").is_empty().then_some(())
    });
}

#[test]
fn a_console_acts_only_on_behalf_of_listed_users() {
    let (dex, address) = start_dex(KNOWN_PORT + 1, "10m");
    let site = Site::new("console-impersonation");
    site.import("1.0.0.iso", &[]).success();
    let create = ["create", "serviceaccount", "console"];
    site.kubectl("default", &create).success();
    let archive = ["1.0.0.iso", "--key", "publisher.pub"];
    let account = ["--impersonator", "default:console"];
    grant(&site, &[ADMIN], &[&archive[..], &account].concat());
    grant(
        &site,
        &[ADMIN],
        &[&["--verb", "console"][..], &account].concat(),
    );
    let config = site.create_account("console");
    let listed = format!("oidc:{ADMIN}");
    let more = ["--kubeconfig", &config, "--impersonate-user", &listed];
    let mut browser = start(&site, &dex, &address, &more);
    let refused = browser.log_in(&dex, VIEWER);
    assert_eq!(refused.status, "403", "{refused:?}");
    refused.contains(&["may not act for the user", "oidc:viewer@site.test"]);

    browser.log_in(&dex, ADMIN);
    browser.shows("/session", &[&listed]);
    let run = browser.submit("/environments", &["environment=web"]);
    browser.follow(&run).contains(&["The change is complete."]);
    site.create_login("web");
    let form = "/environments/web/solutions/example/deploy";
    let plan = browser.submit(form, &["version=1.0.0", "pull-secret=login"]);
    browser.apply(&plan);
    browser.shows("/environments/web", &["example", "1.0.0", "ready"]);
    // The account itself may nothing, and it may not act for others.
    let get = ["--kubeconfig", &config, "get", "configmaps"];
    site.kubectl("web", &get).failure(1);
    for other in ["system:admin", "oidc:viewer@site.test"] {
        site.kubectl("web", &[&get[..], &["--as", other]].concat())
            .failure(1);
    }
}

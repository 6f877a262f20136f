//! Users of an identity provider in the web console: Dex logs them in, and the API server knows their permissions.

use std::net::TcpListener;

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

/// Grants permissions to the administrator, as `solution site rbac` prints them.
fn grant(site: &Site, arguments: &[&str]) {
    let user = format!("oidc:{ADMIN}");
    let rbac = ["site", "rbac", "--user", &user];
    let roles = site.desk.solution(&[&rbac[..], arguments].concat());
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
    browser.shows("/session", &["oidc:viewer@site.test"]);
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
    grant(&site, &["1.0.0.iso", "--key", "publisher.pub"]);
    browser.log_in(&dex, ADMIN);
    eventually("the user may see environments", || {
        (!browser.get("/environments").body.contains(hidden)).then_some(())
    });
    let run = browser.submit("/environments", &["environment=web"]);
    browser.follow(&run).contains(&["The change is complete."]);
    site.create_login("web");
    let form = "/environments/web/solutions/example/deploy";
    let fields = ["version=1.0.0", "pull-secret=login"];
    let refused = browser.post(form, &fields);
    assert_eq!(refused.status, "403", "{refused:?}");
    refused.contains(&[
        "get registries.solutions.metalk8s.scality.com",
        "ask a cluster administrator",
    ]);
    grant(&site, &["--verb", "console"]);
    let plan = eventually("the user may use the registry", || {
        let reply = browser.post(form, &fields);
        let plan = reply.location.strip_prefix(&browser.url);
        plan.map(str::to_owned)
    });
    browser.apply(&plan);
    let history = browser.json("/history");
    assert_eq!(
        history["revisions"][0]["user"],
        format!("oidc:{ADMIN}"),
        "{history:#}"
    );

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

#[test]
fn a_run_outlives_the_token_of_its_user_and_the_session() {
    let (dex, address) = start_dex(KNOWN_PORT, "10s");
    let site = Site::new("console-renewal");
    let _silent = import_for_silent_registry(&site);
    site.create_environment("web");
    grant(&site, &["1.0.0.iso", "--key", "publisher.pub"]);
    grant(&site, &["--verb", "console"]);
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
    grant(&site, &[&archive[..], &account].concat());
    grant(&site, &[&["--verb", "console"][..], &account].concat());
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

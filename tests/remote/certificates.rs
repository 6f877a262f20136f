//! Registries that require a client certificate, and registries behind a proxy.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::common::{Answer, Desk};
use crate::registries::packing_desk;
use crate::server::{PASSWORD, Protection, Server, USER, issue};
use crate::setup::{image, pack, push_with, validate, write_layout, write_source};
use fixtures::proxy::{Action, Proxy};

/// Returns a desk with a certificate for a registry that requires one, in `certs`, and a login.
fn desk() -> (Desk, Server) {
    let (desk, server) = packing_desk(&Protection::ClientCertificates);
    let directory = server.directory();
    fs::write(directory.join("usage"), "extendedKeyUsage=clientAuth\n").unwrap();
    issue(directory, "client", "-days 2 -extfile usage");
    fs::create_dir(desk.path("certs")).unwrap();
    for (from, to) in [
        ("ca.crt", "ca.crt"),
        ("client.crt", "client.cert"),
        ("client.key", "client.key"),
    ] {
        fs::copy(directory.join(from), desk.path("certs").join(to)).unwrap();
    }
    let certificates = desk.path("certs");
    let flags = ["--dest-cert-dir", certificates.to_str().unwrap()];
    push_with(&server, &desk.path("source/layout"), "team/app", &flags);
    let login = STANDARD.encode(format!("{USER}:{PASSWORD}"));
    let logins = json!({"auths": {server.host(): {"auth": login}}});
    desk.write(".docker/config.json", logins.to_string());
    (desk, server)
}

#[test]
fn certificates_lie_where_podman_looks_for_them_or_where_they_are_named() {
    let (desk, server) = desk();
    let host = server.host();
    let registry = format!("{host}/apps");
    let import = |more: &[&str]| {
        let always = ["push", "out.iso", "--key", "publisher.pub"];
        desk.solution(&[&always[..], &["--registry", &registry], more].concat())
    };
    let named = ["--cert-dir", "certs"];
    let without = [&pack("pull", "out.iso")[..], &["--ca-file", "ca.pem"]].concat();
    let text = desk.solution(&without).failure(1);
    assert!(text.contains("requires a client certificate"), "{text}");
    assert!(text.contains("--cert-dir"), "{text}");
    desk.solution(&[&pack("pull", "out.iso")[..], &named].concat())
        .success();
    validate(&desk, "out.iso");
    import(&named).success();

    // podman and skopeo read this folder by default.
    let usual = format!(".config/containers/certs.d/{host}");
    fs::create_dir_all(desk.path(&usual)).unwrap();
    for file in ["ca.crt", "client.cert", "client.key"] {
        fs::copy(desk.path("certs").join(file), desk.path(&usual).join(file)).unwrap();
    }
    let image = format!("docker://{registry}/shop-1.0.0/app-0:1");
    let mut skopeo = Command::new("skopeo");
    let skopeo = skopeo
        .env("HOME", desk.path(""))
        .env_remove("REGISTRY_AUTH_FILE");
    Answer::from_command(skopeo.args(["inspect", "--raw", &image])).success();
    let again = import(&[]).success();
    assert!(again.contains("0 blobs sent"), "{again}");

    // A key of another certificate, and a key that other users could replace.
    fs::copy(
        server.directory().join("server.key"),
        desk.path(&usual).join("client.key"),
    )
    .unwrap();
    let text = import(&[]).failure(1);
    assert!(
        text.contains("does not belong to the certificate"),
        "{text}"
    );
    let key = fs::read_to_string(desk.path(&usual).join("client.key")).unwrap();
    assert!(!text.contains(key.lines().nth(1).unwrap()), "{text}");
    let open = fs::Permissions::from_mode(0o666);
    fs::set_permissions(desk.path(&usual).join("client.key"), open).unwrap();
    let text = import(&[]).failure(1);
    assert!(text.contains("is writable by other users"), "{text}");
}

#[test]
fn every_verb_goes_through_the_proxy_of_the_environment() {
    let desk = Desk::with_key();
    write_layout(&desk, "source", &image("amd64").into());
    write_source(&desk, "source", &["source: 'oci:layout:1'"]);
    desk.solution(&pack("source", "out.iso")).success();
    let proxy = Proxy::start(0, |_| {
        Action::Answer("403 Forbidden", "not that way".to_owned())
    });
    let run = |except: &str| {
        let mut command = desk.command();
        command.env("http_proxy", format!("http://{}", proxy.host()));
        command.env("NO_PROXY", except);
        command.args(["push", "out.iso", "--key", "publisher.pub"]);
        Answer::from_command(command.args(["--registry", "registry.invalid", "--plain-http"]))
    };
    run("").failure(1);
    let seen = proxy.seen();
    assert!(
        seen.iter()
            .any(|request| request.path.contains("registry.invalid/v2/")),
        "{seen:?}"
    );
    run(".invalid").failure(3);
    assert_eq!(proxy.seen().len(), seen.len());
}

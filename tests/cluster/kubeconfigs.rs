//! Kubeconfigs of all kinds: the program accepts the same ones as kubectl, and explains why it refuses the others.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write as _, copy};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::common::{Answer, Desk};
use crate::site::{Site, variable};

/// A kubeconfig, and the expected result.
struct Case {
    name: &'static str,
    /// The lines of its cluster besides the authority.
    cluster: String,
    /// The lines of its user.
    user: String,
    /// The program's error if kubectl cannot use the kubeconfig either, or `None` if both can.
    refused: Option<&'static str>,
}

/// The subject in Kubernetes' group of administrators.
const SUBJECT: &str = "/O=system:masters/CN=table";

/// Signs a client certificate of version 1 with the cluster's authority, as `openssl x509 -req` does.
fn certificate(desk: &Desk, name: &str, key: &str, days: &str) {
    let pki = format!("{}/pki/cluster-ca", variable("SOLUTION_TEST_CLUSTER_DIR"));
    let openssl = |arguments: String| {
        let mut command = Command::new("openssl");
        command
            .args(arguments.split(' '))
            .current_dir(desk.path("pki"));
        Answer::from_command(&mut command).success()
    };
    openssl(format!("genpkey {key} -out {name}.key"));
    openssl(format!(
        "req -new -key {name}.key -subj {SUBJECT} -out {name}.csr"
    ));
    openssl(format!(
        "x509 -req -in {name}.csr -CA {pki}.crt -CAkey {pki}.key -set_serial 7 -days {days} -out {name}.crt"
    ));
    let shown = openssl(format!("x509 -in {name}.crt -noout -text"));
    assert!(shown.contains("Version: 1 (0x0)"), "{shown}");
}

/// Starts an HTTP proxy that connects every client with the API server, and counts them.
fn proxy(server: String) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    thread::spawn(move || {
        for client in listener.incoming() {
            count.fetch_add(1, Ordering::Relaxed);
            let (server, mut client) = (server.clone(), client.unwrap());
            thread::spawn(move || {
                let mut request = Vec::new();
                let mut byte = [0];
                while !request.ends_with(b"\r\n\r\n") && client.read(&mut byte).unwrap_or(0) == 1 {
                    request.push(byte[0]);
                }
                assert!(request.starts_with(b"CONNECT "));
                let mut upstream = TcpStream::connect(server).unwrap();
                client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
                let (mut from, mut to) =
                    (client.try_clone().unwrap(), upstream.try_clone().unwrap());
                thread::spawn(move || {
                    let _ = copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Write);
                });
                let _ = copy(&mut upstream, &mut client);
                let _ = client.shutdown(Shutdown::Write);
            });
        }
    });
    (port, connections)
}

fn case(name: &'static str, server: &str, user: &str) -> Case {
    Case {
        name,
        cluster: format!("server: https://{server}"),
        user: user.to_owned(),
        refused: None,
    }
}

/// Returns the lines of a user with a certificate and a key in files next to the kubeconfig.
fn files(certificate: &str, key: &str) -> String {
    format!("client-certificate: pki/{certificate}.crt, client-key: pki/{key}.key")
}

fn cases(desk: &Desk, server: &str, proxy: u16) -> Vec<Case> {
    let port = server.split(':').next_back().unwrap();
    let plugin = |text: &str| {
        format!(
            "exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: {text}}}"
        )
    };
    let elsewhere = format!("127.0.0.2:{port}");
    let plain = || case("", server, &files("ec", "ec"));
    vec![
        case("RSA, version 1", server, &files("rsa", "rsa")),
        case("EC, version 1", server, &files("ec", "ec")),
        case("Ed25519, version 1", server, &files("ed25519", "ed25519")),
        case(
            "a plugin that gives a certificate",
            server,
            &plugin("./plugin"),
        ),
        Case {
            name: "a proxy",
            cluster: format!("server: https://{server}, proxy-url: 'http://127.0.0.1:{proxy}'"),
            ..plain()
        },
        Case {
            name: "a server of another name",
            cluster: format!("server: https://{elsewhere}, tls-server-name: localhost"),
            ..plain()
        },
        Case {
            refused: Some("not valid for name"),
            ..case(
                "a server whose name is not in its certificate",
                &elsewhere,
                &files("ec", "ec"),
            )
        },
        Case {
            refused: Some("the client certificate expired at "),
            ..case(
                "an expired certificate",
                server,
                &files("expired", "expired"),
            )
        },
        Case {
            refused: Some("the key is encrypted with a passphrase"),
            ..case("an encrypted key", server, &files("ec", "locked"))
        },
        Case {
            refused: Some("the key does not belong to the certificate"),
            ..case("a foreign key", server, &files("ec", "rsa"))
        },
        Case {
            refused: Some("the key is not PEM of a private key"),
            user: format!(
                "client-certificate: pki/ec.crt, client-key: {}",
                desk.path("pki/ec.crt").display()
            ),
            ..case("no key", server, "")
        },
    ]
}

/// Writes a kubeconfig in two files that are valid only together.
fn write(desk: &Desk, case: &Case) -> String {
    let authority = format!(
        "{}/pki/cluster-ca.crt",
        variable("SOLUTION_TEST_CLUSTER_DIR")
    );
    let mut first = String::from("apiVersion: v1\nkind: Config\ncurrent-context: table\n");
    let cluster = &case.cluster;
    let _ = writeln!(
        first,
        "clusters: [{{name: table, cluster: {{certificate-authority: {authority}, {cluster}}}}}]"
    );
    let second = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: other\ncontexts: [{{name: table, context: {{cluster: table, user: table}}}}]\nusers: [{{name: table, user: {{{}}}}}]\n",
        case.user
    );
    desk.write("first.kubeconfig", first);
    desk.write("second.kubeconfig", second);
    let path = |name: &str| desk.path(name).display().to_string();
    [
        path("first.kubeconfig"),
        path("missing"),
        path("second.kubeconfig"),
    ]
    .join(":")
}

/// Writes the keys and certificates of the cases, and the plugin that provides one of them.
fn write_identities(desk: &Desk) {
    fs::create_dir(desk.path("pki")).unwrap();
    certificate(
        desk,
        "rsa",
        "-algorithm RSA -pkeyopt rsa_keygen_bits:2048",
        "30",
    );
    certificate(
        desk,
        "ec",
        "-algorithm EC -pkeyopt ec_paramgen_curve:P-256",
        "30",
    );
    certificate(desk, "ed25519", "-algorithm ED25519", "30");
    certificate(desk, "expired", "-algorithm ED25519", "-1");
    let lock = [
        "pkey",
        "-in",
        "pki/ec.key",
        "-aes256",
        "-passout",
        "pass:secret",
    ];
    desk.run(
        "openssl",
        &[&lock[..], &["-out", "pki/locked.key"]].concat(),
    )
    .success();
    let text = |name: &str| serde_json::Value::from(String::from_utf8(desk.read(name)).unwrap());
    let credential = serde_json::json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": {"clientCertificateData": text("pki/ec.crt"), "clientKeyData": text("pki/ec.key")},
    });
    desk.write_script(
        "plugin",
        &format!("#!/bin/sh\ncat <<'TEXT'\n{credential}\nTEXT\n"),
    );
}

#[test]
fn a_kubeconfig_that_kubectl_can_use_works_and_another_is_explained() {
    let site = Site::new("kubeconfigs");
    let desk = &site.desk;
    write_identities(desk);
    let server = site.kubectl(
        "default",
        &[
            "config",
            "view",
            "--output=jsonpath={.clusters[0].cluster.server}",
        ],
    );
    let server = server.success().trim_start_matches("https://").to_owned();
    let (port, connections) = proxy(server.clone());
    // Paths are relative to the file, in any working directory.
    let away = Desk::new();
    for case in cases(desk, &server, port) {
        let config = write(desk, &case);
        let before = connections.load(Ordering::Relaxed);
        let mut kubectl = Command::new("kubectl");
        kubectl
            .args(["get", "namespaces"])
            .env("KUBECONFIG", &config);
        let kubectl = Answer::from_command(kubectl.current_dir(away.path(".")));
        let between = connections.load(Ordering::Relaxed);
        let mut solution = site.command();
        solution
            .args(["environment", "list"])
            .env("KUBECONFIG", &config);
        let solution = Answer::from_command(solution.current_dir(away.path(".")));
        let after = connections.load(Ordering::Relaxed);
        let Case { name, refused, .. } = case;
        assert_eq!(kubectl.code == 0, refused.is_none(), "{name}: {kubectl:?}");
        assert_eq!(
            between > before,
            after > between,
            "{name}: only one used the proxy"
        );
        assert_eq!(name == "a proxy", after > before, "{name}");
        let Some(words) = refused else {
            assert_eq!(solution.code, 0, "{name}: {solution:?}");
            continue;
        };
        let said = solution.failure(3);
        assert_eq!(said.matches(words).count(), 1, "{name}: {said}");
        let leads_away = said.contains("check access with `kubectl version`");
        assert_eq!(leads_away, words == "not valid for name", "{name}: {said}");
    }
}

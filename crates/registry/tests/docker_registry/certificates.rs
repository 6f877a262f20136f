//! Registries that require a client certificate: a valid one is accepted, and every kind of failure has its own error.

use std::fs;
use std::path::Path;

use registry::{Client, ClientIdentity, ClientOptions, Error, IdentityError, Secret, push};

use crate::images::{Job, noise, repository, silent};
use crate::nginx::Nginx;
use crate::server::{Protection, Server, issue, make_certificates, openssl};

fn identity(directory: &Path, certificate: &str, key: &str) -> ClientIdentity {
    let read = |name: &str| fs::read(directory.join(name)).unwrap();
    ClientIdentity {
        certificate: read(certificate),
        key: Secret::new(String::from_utf8(read(key)).unwrap()),
    }
}

/// Issues client certificates in a directory with an authority: a valid one and an expired one.
fn issue_clients(directory: &Path) {
    let usage = "extendedKeyUsage=clientAuth\n";
    fs::write(directory.join("usage"), usage).unwrap();
    issue(directory, "client", "-days 2 -extfile usage");
    let past = "-not_before 20200101000000Z -not_after 20200102000000Z -extfile usage";
    if openssl(directory, "version").starts_with(b"OpenSSL 3.0") {
        // openssl cannot set the beginning of the validity; a period that ended a day before it began has expired, too.
        issue(directory, "expired", "-days -1 -extfile usage");
    } else {
        issue(directory, "expired", past);
    }
}

async fn ping(host: &str, options: ClientOptions) -> Result<(), Error> {
    let client = Client::new(&host.parse().unwrap(), options)?;
    client.ping().await
}

/// Checks the outcome for each certificate at a registry that requires one of this directory's authority.
async fn each_certificate(host: &str, options: ClientOptions, directory: &Path) {
    issue_clients(directory);
    let elsewhere = tempfile::tempdir().unwrap();
    make_certificates(elsewhere.path());
    issue_clients(elsewhere.path());
    let with = |identity: Option<ClientIdentity>| ClientOptions {
        identity,
        ..options.clone()
    };
    let good = identity(directory, "client.crt", "client.key");
    ping(host, with(Some(good))).await.unwrap();
    let error = ping(host, with(None)).await.unwrap_err();
    assert!(matches!(error, Error::CertificateRequired(..)), "{error:?}");
    assert!(error.is_everywhere() && !error.is_retried());
    let other = identity(elsewhere.path(), "client.crt", "client.key");
    let error = ping(host, with(Some(other))).await.unwrap_err();
    assert!(matches!(error, Error::CertificateRefused(..)), "{error:?}");
    assert!(error.is_everywhere() && !error.is_retried());
    let expired = identity(directory, "expired.crt", "expired.key");
    let error = ping(host, with(Some(expired))).await.unwrap_err();
    let dates = "x509 -in expired.crt -noout -enddate -dateopt iso_8601";
    let end = openssl(directory, dates);
    let end = String::from_utf8(end).unwrap();
    let end = end.trim().trim_start_matches("notAfter=").replace(' ', "T");
    let words = format!("the client certificate expired at {end}; this machine's clock says");
    assert!(error.to_string().contains(&words), "{words}: {error}");
    assert!(error.is_everywhere() && !error.is_retried());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_may_want_to_know_who_connects() {
    let server = Server::start(&Protection::ClientCertificates);
    each_certificate(&server.host(), server.options(), server.directory()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_may_one_of_another_version() {
    let server = Server::third(&Protection::ClientCertificates);
    each_certificate(&server.host(), server.options(), server.directory()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn images_are_pushed_with_a_client_certificate_and_a_login() {
    let server = Server::start(&Protection::ClientCertificates);
    issue_clients(server.directory());
    let options = ClientOptions {
        identity: Some(identity(server.directory(), "client.crt", "client.key")),
        ..server.options()
    };
    let client = Client::new(&server.host().parse().unwrap(), options).unwrap();
    let mut job = Job::default();
    job.image(&repository("app"), Some("1"), &[noise(1, 3_000_000)]);
    let report = push(&client, job.job, silent()).await;
    assert!(report.is_complete(), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_says_in_a_page_that_it_wants_a_certificate() {
    let nginx = Nginx::demanding_certificates();
    each_certificate(&nginx.host(), nginx.options(), nginx.directory()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_the_certificate_of_an_authority_is_told_what_it_needs() {
    let mut server = Server::start(&Protection::TlsAndLogin);
    for (from, to) in [("ca.crt", "server.pem"), ("ca.key", "server.key")] {
        let path = |name: &str| server.directory().join(name);
        fs::copy(path(from), path(to)).unwrap();
    }
    server.restart();
    let error = ping(&server.host(), server.options()).await.unwrap_err();
    assert!(matches!(error, Error::Untrusted(..)), "{error:?}");
    assert!(error.to_string().contains("CA:FALSE"), "{error}");
}

#[test]
fn what_is_no_pair_is_told_before_anything_is_sent() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    make_certificates(path);
    issue_clients(path);
    openssl(
        path,
        "pkcs8 -topk8 -in client.key -out locked.key -passout pass:hunter2",
    );
    openssl(
        path,
        "ec -in client.key -aes256 -out old.key -passout pass:hunter2",
    );
    openssl(path, "x509 -in client.crt -outform der -out der.crt");
    for (certificate, key, expected) in [
        ("client.crt", "server.key", IdentityError::OtherKey),
        ("client.crt", "locked.key", IdentityError::Encrypted),
        ("client.crt", "old.key", IdentityError::Encrypted),
        ("client.crt", "client.crt", IdentityError::NoKey),
        ("client.key", "client.key", IdentityError::NoCertificate),
        ("der.crt", "client.key", IdentityError::NoCertificate),
    ] {
        let identity = identity(path, certificate, key);
        let secret = identity.key.reveal().lines().nth(1).unwrap().to_owned();
        let options = ClientOptions {
            identity: Some(identity),
            ..ClientOptions::default()
        };
        let address = "registry.test".parse().unwrap();
        let error = Client::new(&address, options.clone()).unwrap_err();
        let shown = format!("{error} {error:?} {options:?}");
        assert!(!shown.contains(&secret), "{shown}");
        assert!(
            matches!(error, Error::Identity(found) if found == expected),
            "{shown}"
        );
    }
}

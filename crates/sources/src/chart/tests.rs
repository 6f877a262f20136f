//! Charts of simulated registries and repositories, because real servers do not send such bad answers.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use charts::{Chart, package};
use progress::{Cancel, Watch};
use registry::PlainHttp;
use tempfile::TempDir;

use super::*;
use crate::cache::Cache;
use crate::remote::Remote;

/// The answer of a server: a status with headers, and a body.
#[derive(Clone)]
struct Answer {
    head: String,
    body: Vec<u8>,
}

fn ok(body: impl Into<Vec<u8>>) -> Answer {
    let body = body.into();
    let head = format!("200 OK\r\nContent-Length: {}", body.len());
    Answer { head, body }
}

fn status(head: &str) -> Answer {
    let head = format!("{head}\r\nContent-Length: 0");
    let body = Vec::new();
    Answer { head, body }
}

/// A server that answers by path and records the requests with their logins.
#[derive(Clone, Default)]
struct Server {
    answers: Arc<Mutex<BTreeMap<String, Answer>>>,
    asked: Arc<Mutex<Vec<String>>>,
    /// Indicates whether it requires a login.
    closed: bool,
}

const LOGIN: &str = "Basic bWU6dmVyeS1zZWNyZXQ=";

impl Server {
    fn give(&self, path: &str, answer: Answer) {
        let mut answers = self.answers.lock().unwrap();
        answers.insert(path.to_owned(), answer);
    }

    /// Returns the requests since the last call.
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    /// Starts the server and returns its host.
    fn serve(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let server = self.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let server = server.clone();
                std::thread::spawn(move || server.answer(&connection));
            }
        });
        host
    }

    fn answer(&self, mut connection: &TcpStream) -> Option<()> {
        let mut lines = BufReader::new(connection.try_clone().ok()?).lines();
        while let Some(Ok(line)) = lines.next() {
            let path = line.strip_prefix("GET ")?.split(' ').next()?.to_owned();
            let mut login = String::new();
            for line in lines.by_ref() {
                let line = line.ok()?;
                match line.split_once(": ") {
                    Some((name, value)) if name.eq_ignore_ascii_case("authorization") => {
                        value.clone_into(&mut login);
                    }
                    Some(_) => {}
                    None => break,
                }
            }
            let mark = if login.is_empty() { "" } else { " with login" };
            self.asked.lock().unwrap().push(format!("{path}{mark}"));
            let answers = self.answers.lock().unwrap();
            let answer = match answers.get(&path) {
                _ if self.closed && login != LOGIN => {
                    status("401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"")
                }
                Some(answer) => answer.clone(),
                None => status("404 Not Found"),
            };
            let head = format!("HTTP/1.1 {}\r\n\r\n", answer.head);
            connection.write_all(head.as_bytes()).ok()?;
            connection.write_all(&answer.body).ok()?;
        }
        Some(())
    }
}

/// Returns the archive of a chart.
fn archive(version: &str) -> Vec<u8> {
    let metadata = format!("apiVersion: v2\nname: web\nversion: {version}\n");
    let files = [("Chart.yaml".to_owned(), metadata.into_bytes())];
    package(&files.into()).unwrap()
}

/// The directory with the cache and the logins of a test.
struct Fixture {
    directory: TempDir,
    plain: PlainHttp,
}

impl Fixture {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            plain: PlainHttp::Loopback,
        }
    }

    /// Creates a fixture whose registries do not use TLS. The simulated servers do not answer TLS handshakes.
    fn plain() -> Self {
        Self {
            plain: PlainHttp::Always,
            ..Self::new()
        }
    }

    fn login(&self, host: &str) {
        let auth = LOGIN.strip_prefix("Basic ").unwrap();
        let logins = format!(r#"{{"auths": {{"{host}": {{"auth": "{auth}"}}}}}}"#);
        std::fs::write(self.directory.path().join("auth.json"), logins).unwrap();
    }

    fn network<T>(&self, work: impl FnOnce(&SourceNetwork<'_>) -> T) -> T {
        let mut remote = Remote {
            logins: vec![self.directory.path().join("auth.json")],
            ..Remote::default()
        };
        remote.registries.plain_http = self.plain;
        remote.registries.retry.attempts = registry::Attempts::of_each(1);
        let cache = Cache::new(&self.directory.path().join("cache"));
        let watch = Watch::silent(Cancel::never());
        work(&SourceNetwork::new(&remote, &cache, &watch))
    }

    fn repository(&self, url: &str) -> Result<Vec<u8>, SourceError> {
        let chart = RepositoryChart {
            url: url.to_owned(),
            name: "web".parse().unwrap(),
            version: "1.0.0".parse().unwrap(),
        };
        self.network(|network| repository_chart(&chart, network))
    }

    /// Returns the error and its cause.
    fn refused(&self, url: &str) -> String {
        use std::error::Error as _;
        let error = self.repository(url).unwrap_err();
        let cause = error.source().map(|cause| format!(": {cause}"));
        format!("{error}{}", cause.unwrap_or_default())
    }

    fn oci(&self, chart: &str) -> Result<Vec<u8>, SourceError> {
        self.network(|network| oci_chart(&chart.parse().unwrap(), network))
    }
}

fn index(url: &str, digest: &str) -> Answer {
    ok(format!(
        "entries: {{web: [{{version: 1.0.0, urls: ['{url}'], digest: '{digest}'}}]}}"
    ))
}

fn hex(bytes: &[u8]) -> String {
    files::digest(bytes).hex()
}

#[test]
fn a_chart_of_a_repository_is_downloaded_once() {
    let (fixture, server) = (Fixture::new(), Server::default());
    let chart = archive("1.0.0");
    let url = format!("http://{}/charts", server.serve());
    server.give("/charts/index.yaml", index("web-1.0.0.tgz", &hex(&chart)));
    server.give("/charts/web-1.0.0.tgz", ok(chart.clone()));
    assert_eq!(fixture.repository(&url).unwrap(), chart);
    assert_eq!(
        server.asked(),
        ["/charts/index.yaml", "/charts/web-1.0.0.tgz"]
    );
    // The archive is identified by its digest, even at a different URL.
    server.give("/charts/index.yaml", index("elsewhere.tgz", &hex(&chart)));
    assert_eq!(fixture.repository(&format!("{url}/")).unwrap(), chart);
    assert_eq!(server.asked(), ["/charts/index.yaml"]);
    // If it is damaged in the cache, it is downloaded again.
    server.give("/charts/elsewhere.tgz", ok(chart.clone()));
    let kept = fixture
        .directory
        .path()
        .join("cache/contents")
        .join(hex(&chart));
    std::fs::write(&kept, "damaged").unwrap();
    assert_eq!(fixture.repository(&url).unwrap(), chart);
    assert_eq!(
        server.asked(),
        ["/charts/index.yaml", "/charts/elsewhere.tgz"]
    );
    // Without a digest, it is unknown whether it is still the same.
    server.give("/charts/index.yaml", index("elsewhere.tgz", ""));
    assert_eq!(fixture.repository(&url).unwrap(), chart);
    assert_eq!(
        server.asked(),
        ["/charts/index.yaml", "/charts/elsewhere.tgz"]
    );
}

#[test]
fn the_index_of_charts_that_follow_each_other_is_asked_for_once() {
    let (fixture, server) = (Fixture::new(), Server::default());
    let url = format!("http://{}", server.serve());
    server.give("/index.yaml", index("web.tgz", ""));
    server.give("/web.tgz", ok(archive("1.0.0")));
    let chart: RepositoryChart = RepositoryChart {
        url,
        name: "web".parse().unwrap(),
        version: "1.0.0".parse().unwrap(),
    };
    fixture.network(|network| {
        for _ in 0..2 {
            repository_chart(&chart, network).unwrap();
        }
    });
    assert_eq!(server.asked(), ["/index.yaml", "/web.tgz", "/web.tgz"]);
}

#[test]
fn a_repository_that_leads_elsewhere_is_not_followed_anywhere() {
    let (fixture, server) = (Fixture::new(), Server::default());
    let host = server.serve();
    let url = format!("http://{host}");
    let chart = archive("1.0.0");
    server.give("/web.tgz", ok(chart.clone()));
    for (leads, words) in [
        ("file:///etc/passwd", "its address does not use HTTPS"),
        ("http://r.test/web.tgz", "its address does not use HTTPS"),
        ("https://me:you@r.test/web.tgz", "its address holds a login"),
        ("oci://r.test/web", "not by its version"),
        ("gone.tgz", "the server does not have it"),
    ] {
        server.give("/index.yaml", index(leads, &hex(&chart)));
        let said = fixture.refused(&url);
        assert!(said.contains(words), "{leads}: {said}");
    }
    let other = hex(b"other");
    server.give("/index.yaml", index("web.tgz", &other));
    let said = fixture.refused(&url);
    let words = "and the repository's index says sha256:";
    assert!(said.contains(words), "{said}");
    let kept = std::fs::read_dir(fixture.directory.path().join("cache/contents")).unwrap();
    assert_eq!(kept.count(), 0, "what is not what it should be is not kept");
    server.give("/index.yaml", ok("entries: {}"));
    let said = fixture.refused(&url);
    let words = "`index.yaml` of the repository of charts cannot be used: does not list the chart `web` in version 1.0.0";
    assert_eq!(said, words);
    server.give("/index.yaml", status("404 Not Found"));
    let said = fixture.refused(&url);
    let words = format!("cannot download `/index.yaml` from {host}: the server does not have it");
    assert_eq!(said, words);
}

#[test]
fn answers_have_limits_and_redirects_an_end() {
    let (fixture, server) = (Fixture::new(), Server::default());
    let url = format!("http://{}", server.serve());
    server.give("/index.yaml", index("web.tgz", ""));
    let size = usize::try_from(limits::ARCHIVE_SIZE).unwrap();
    server.give("/web.tgz", ok(vec![0; size + 1]));
    let said = fixture.refused(&url);
    assert!(
        said.ends_with("the answer is longer than 16777216 bytes"),
        "{said}"
    );
    server.give("/web.tgz", status("302 Found\r\nLocation: /web.tgz"));
    assert!(fixture.refused(&url).ends_with("it redirects endlessly"));
    for to in ["http://r.test/web.tgz", "ftp://r.test/web.tgz"] {
        server.give("/web.tgz", status(&format!("302 Found\r\nLocation: {to}")));
        let said = fixture.refused(&url);
        assert!(
            said.ends_with("the answer's `Location` does not use HTTPS"),
            "{said}"
        );
    }
    let chart = archive("1.0.0");
    server.give("/web.tgz", status("302 Found\r\nLocation: /there.tgz"));
    server.give("/there.tgz", ok(chart.clone()));
    assert_eq!(fixture.repository(&url).unwrap(), chart);
}

#[test]
fn a_login_goes_to_the_repository_and_nowhere_else() {
    let fixture = Fixture::new();
    let closed = Server {
        closed: true,
        ..Server::default()
    };
    let other = Server::default();
    let (host, elsewhere) = (closed.serve(), other.serve());
    let url = format!("http://{host}/charts");
    let chart = archive("1.0.0");
    let there = format!("http://{elsewhere}/web.tgz");
    closed.give("/charts/index.yaml", index(&there, ""));
    other.give("/web.tgz", ok(chart.clone()));
    assert!(
        fixture
            .refused(&url)
            .contains("the server requires a login")
    );
    fixture.login(&host);
    closed.asked();
    assert_eq!(fixture.repository(&url).unwrap(), chart);
    let asked = ["/charts/index.yaml", "/charts/index.yaml with login"];
    assert_eq!(closed.asked(), asked);
    assert_eq!(other.asked(), ["/web.tgz"]);
    // It is not sent to the target of a redirect either, even if that requires a login.
    closed.give("/charts/index.yaml", index("web.tgz", ""));
    let away = format!("302 Found\r\nLocation: {there}");
    closed.give("/charts/web.tgz", status(&away));
    assert_eq!(fixture.repository(&url).unwrap(), chart);
    other.give(
        "/web.tgz",
        status("401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\""),
    );
    assert!(
        fixture
            .refused(&url)
            .contains("the server requires a login")
    );
    assert_eq!(other.asked(), ["/web.tgz", "/web.tgz"]);
    // Nor to a server that the repository names.
    let server = Server::default();
    let host = server.serve();
    fixture.login(&host);
    let token =
        format!("401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"http://{elsewhere}/token\"");
    server.give("/index.yaml", status(&token));
    let said = fixture.refused(&format!("http://{host}"));
    assert!(
        said.ends_with("it requires a token, which only registries issue"),
        "{said}"
    );
    assert!(other.asked().is_empty());
}

#[test]
fn plain_http_is_for_this_machine_or_as_the_user_says() {
    let mut fixture = Fixture::new();
    fixture.plain = PlainHttp::Never;
    let said = fixture.refused("http://127.0.0.1:1/charts");
    assert!(
        said.ends_with("its address is plain HTTP, not HTTPS"),
        "{said}"
    );
    let said = Fixture::new().refused("http://r.test/charts");
    assert_eq!(
        said,
        "cannot connect to r.test: its address is plain HTTP, not HTTPS"
    );
    let said = fixture.refused("https://r.test:99999");
    assert!(said.contains("is not the address of a web site"), "{said}");
}

/// Pushes a chart to a registry with these media types and this number of layers.
fn push(server: &Server, chart: &[u8], config: &str, layer: &str, layers: usize) {
    let digest = |bytes: &[u8]| files::digest(bytes).to_string();
    let descriptor = |kind: &str, bytes: &[u8]| {
        let (digest, size) = (digest(bytes), bytes.len());
        format!(r#"{{"mediaType":"{kind}","digest":"{digest}","size":{size}}}"#)
    };
    let layers = vec![descriptor(layer, chart); layers].join(",");
    let config = descriptor(config, b"{}");
    let manifest = format!(
        r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{config},"layers":[{layers}]}}"#
    );
    server.give("/v2/", ok("{}"));
    for name in ["1.0.0_b", &digest(manifest.as_bytes())] {
        let path = format!("/v2/charts/web/manifests/{name}");
        server.give(&path, ok(manifest.clone()));
    }
    let path = format!("/v2/charts/web/blobs/{}", digest(chart));
    server.give(&path, ok(chart));
}

#[test]
fn a_chart_of_a_registry_is_downloaded_once() {
    let (fixture, server) = (Fixture::plain(), Server::default());
    let host = server.serve();
    let chart = archive("1.0.0+b");
    push(&server, &chart, charts::CONFIG, charts::CONTENT, 1);
    let name = format!("{host}/charts/web:1.0.0+b");
    assert_eq!(fixture.oci(&name).unwrap(), chart);
    let is_blob = |request: &String| request.contains("/blobs/");
    assert!(server.asked().iter().any(is_blob));
    assert_eq!(fixture.oci(&name).unwrap(), chart);
    assert!(!server.asked().iter().any(is_blob));
    // If it is damaged in the cache, it is downloaded again.
    let kept = fixture
        .directory
        .path()
        .join("cache/contents")
        .join(hex(&chart));
    std::fs::write(&kept, vec![0; chart.len()]).unwrap();
    assert_eq!(fixture.oci(&name).unwrap(), chart);
    assert!(server.asked().iter().any(is_blob));
    assert_eq!(Chart::read(&chart).unwrap().version.as_str(), "1.0.0+b");
    // Repositories may list charts in registries.
    let url = format!("http://{host}");
    server.give("/index.yaml", index(&format!("oci://{name}"), &hex(&chart)));
    assert_eq!(fixture.repository(&url).unwrap(), chart);
}

#[test]
fn what_is_no_chart_is_not_downloaded() {
    let (fixture, server) = (Fixture::plain(), Server::default());
    let name = format!("{}/charts/web:1.0.0+b", server.serve());
    let chart = archive("1.0.0");
    let image = "application/vnd.oci.image.config.v1+json";
    let tar = "application/vnd.oci.image.layer.v1.tar+gzip";
    for (config, layer, layers, words) in [
        (image, charts::CONTENT, 1, "its configuration is of type"),
        (charts::CONFIG, tar, 1, "has 0 layers with a chart"),
        (
            charts::CONFIG,
            charts::CONTENT,
            0,
            "has 0 layers with a chart",
        ),
        (
            charts::CONFIG,
            charts::CONTENT,
            2,
            "has 2 layers with a chart",
        ),
    ] {
        push(&server, &chart, config, layer, layers);
        let error = fixture.oci(&name).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains(words), "{cause}");
    }
    let large = vec![0; usize::try_from(limits::ARCHIVE_SIZE).unwrap() + 1];
    push(&server, &large, charts::CONFIG, charts::CONTENT, 1);
    let error = fixture.oci(&name).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(
        cause.contains("16777217 bytes; at most 16777216 are read"),
        "{cause}"
    );
    assert!(
        !server
            .asked()
            .iter()
            .any(|request| request.contains("/blobs/"))
    );
}

/// The provenance file is next to the archive.
#[test]
fn the_provenance_file_of_a_repository_is_asked_for_beside_the_chart() {
    let (fixture, server) = (Fixture::new(), Server::default());
    let url = format!("http://{}", server.serve());
    let provenance = || {
        let chart = RepositoryChart {
            url: url.clone(),
            name: "web".parse().unwrap(),
            version: "1.0.0".parse().unwrap(),
        };
        fixture.network(|network| repository_provenance(&chart, network))
    };
    server.give("/index.yaml", index("charts/web-1.0.0.tgz", ""));
    assert_eq!(provenance().unwrap(), None);
    let prov = "/charts/web-1.0.0.tgz.prov";
    assert_eq!(server.asked(), ["/index.yaml", prov]);
    server.give(prov, ok("signed"));
    assert_eq!(provenance().unwrap().as_deref(), Some(&b"signed"[..]));
    server.give(prov, ok(vec![b'a'; limits::PROVENANCE + 1]));
    let said = provenance().unwrap_err().to_string();
    let words = "the answer is longer than 524288 bytes";
    assert!(said.ends_with(words), "{said}");
    server.give(prov, status("403 Forbidden"));
    assert!(provenance().is_err(), "what is refused is not absent");
}

#[test]
fn the_provenance_file_of_a_registry_is_a_layer_of_the_artifact() {
    let (fixture, server) = (Fixture::plain(), Server::default());
    let host = server.serve();
    let name = format!("{host}/charts/web:1.0.0+b");
    let provenance = || {
        let chart = name.parse().unwrap();
        fixture.network(|network| oci_provenance(&chart, network))
    };
    push(&server, b"chart", charts::CONFIG, charts::CONTENT, 1);
    assert_eq!(provenance().unwrap(), None);
    push(&server, b"signed", charts::CONFIG, charts::PROVENANCE, 1);
    assert_eq!(provenance().unwrap().as_deref(), Some(&b"signed"[..]));
    push(&server, b"signed", charts::CONFIG, charts::PROVENANCE, 2);
    let said = provenance().unwrap_err();
    let cause = std::error::Error::source(&said).unwrap().to_string();
    assert_eq!(cause, "has 2 provenance files; expected one");
    let large = vec![b'a'; limits::PROVENANCE + 1];
    push(&server, &large, charts::CONFIG, charts::PROVENANCE, 1);
    server.asked();
    let said = provenance().unwrap_err();
    let cause = std::error::Error::source(&said).unwrap().to_string();
    assert!(
        cause.contains("a provenance file of 524289 bytes"),
        "{cause}"
    );
    let is_blob = |request: &String| request.contains("/blobs/");
    assert!(!server.asked().iter().any(is_blob));
    // Repositories may list charts in registries.
    push(&server, b"signed", charts::CONFIG, charts::PROVENANCE, 1);
    server.give("/index.yaml", index(&format!("oci://{name}"), ""));
    let chart = RepositoryChart {
        url: format!("http://{host}"),
        name: "web".parse().unwrap(),
        version: "1.0.0".parse().unwrap(),
    };
    let found = fixture.network(|network| repository_provenance(&chart, network));
    assert_eq!(found.unwrap().as_deref(), Some(&b"signed"[..]));
}

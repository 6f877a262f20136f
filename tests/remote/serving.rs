//! `solution registry serve` with real clients: the content that they get, and the requests that are refused.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use fixtures::layer::Layer;
use fixtures::layout::OciLayout;
use rustix::process::{Resource, getrlimit, setrlimit};
use schemas::Digest;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::common::{Answer, Desk, results};
use crate::server::{PASSWORD, USER, eventually, issue, make_certificates, run};
use crate::setup::{LARGE, image, index, large, pack};

/// The repository of the image in every archive of these tests, and the name of its mirror.
pub(crate) const REPOSITORY: &str = "shop-1.0.0/app";
const MIRROR: &str = "mirror/docker.io/library/nginx";

/// A server, stopped on drop.
pub(crate) struct Serving {
    child: Child,
    url: String,
    said: Arc<Mutex<Vec<String>>>,
}

impl Serving {
    /// Serves from a desk, and waits until it listens.
    pub(crate) fn start(desk: &Desk, arguments: &[&str]) -> Self {
        let always = ["serve", "--key", "publisher.pub", "--listen", "127.0.0.1:0"];
        Self::run(desk, &[&always[..], arguments].concat())
    }

    /// Serves with only these arguments.
    pub(crate) fn run(desk: &Desk, arguments: &[&str]) -> Self {
        let mut command = desk.command();
        command.args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let stdout = child.stdout.take().unwrap();
        let stderr = child.stderr.take().unwrap();
        for stream in [
            Box::new(stdout) as Box<dyn std::io::Read + Send>,
            Box::new(stderr),
        ] {
            let said = Arc::clone(&said);
            std::thread::spawn(move || {
                let lines = BufReader::new(stream).lines();
                lines
                    .map_while(Result::ok)
                    .for_each(|line| said.lock().unwrap().push(line));
            });
        }
        let mut serving = Self {
            child,
            url: String::new(),
            said,
        };
        serving.wait_for_log("listening");
        let said = serving.said.lock().unwrap();
        let line = said.iter().find(|line| line.contains("listening")).unwrap();
        let url = &line[line.find("http").unwrap()..];
        let url = url.trim_end_matches(['"', '}']).to_owned();
        drop(said);
        serving.url = url;
        serving
    }

    pub(crate) fn host(&self) -> &str {
        self.url.split_once("//").unwrap().1
    }

    /// Waits until its standard error contains this text.
    fn wait_for_log(&self, words: &str) {
        eventually(words, || self.has_logged(words));
    }

    fn has_logged(&self, words: &str) -> bool {
        let said = self.said.lock().unwrap();
        said.iter().any(|line| line.contains(words))
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        Answer::from_command(Command::new("kill").args([signal, &pid])).success();
    }

    /// Returns curl's output for a path: head and body.
    pub(crate) fn curl(&self, arguments: &[&str], path: &str) -> String {
        let url = format!("{}{path}", self.url);
        let mut command = Command::new("curl");
        command.args(["--silent", "--include", "--max-time", "20"]);
        String::from_utf8_lossy(&run(command.args(arguments).arg(url))).into_owned()
    }

    fn status(&self, path: &str) -> String {
        let head = self.curl(&[], path);
        head.split(' ').nth(1).unwrap().to_owned()
    }

    /// Opens a connection and sends this request.
    fn send(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a desk with `shop.iso`: an image for two architectures with a `ref`, and its referrers.
pub(crate) fn desk() -> Desk {
    let desk = Desk::with_key();
    make(&desk, "source", "shop.iso", "1.0.0");
    desk
}

fn make(desk: &Desk, source: &str, archive: &str, version: &str) {
    let index = index();
    let policy = fixtures::artifact::policy_of(index.descriptor());
    let layout = OciLayout::create(desk.path(source).join("layout")).unwrap();
    let layout = layout.add(&index, Some("1")).unwrap();
    layout
        .add_document(&policy, Some("policy"))
        .unwrap()
        .finish()
        .unwrap();
    let text = format!(
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {{name: shop}}
spec:
  version: {version}
  images:
    - {{name: app, tag: '1', source: 'oci:layout:1', ref: 'nginx:1.25'}}
    - {{name: app, tag: policy, source: 'oci:layout:policy'}}
"
    );
    desk.write(&format!("{source}/solution.yaml"), text);
    desk.solution(&pack(source, archive)).success();
}

/// Returns the name and the size of every file in a skopeo directory; the names are digests.
fn files(directory: &Path) -> Vec<(String, u64)> {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    let mut files: Vec<_> = entries
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, entry.metadata().unwrap().len())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn skopeo_pulls_the_same_bytes_over_tls_with_a_login() {
    let desk = desk();
    make_certificates(&desk.path("."));
    desk.write("password", PASSWORD);
    let serving = Serving::start(
        &desk,
        &[
            "shop.iso",
            "--tls-cert=server.pem",
            "--tls-key=server.key",
            "--username",
            USER,
            "--password-file=password",
            "--verify-reads",
            "--prefix=apps",
        ],
    );
    fs::create_dir(desk.path("certs")).unwrap();
    fs::copy(desk.path("ca.crt"), desk.path("certs/ca.crt")).unwrap();
    let login = format!("{USER}:{PASSWORD}");
    let copy = |name: &str, login: &str, to: &str| {
        let from = format!("docker://{}/apps/{name}", serving.host());
        let mut command = Command::new("skopeo");
        command.current_dir(desk.path("."));
        command.args(["copy", "--all", "--quiet", "--src-cert-dir=certs"]);
        command.args(["--preserve-digests", "--src-creds", login, &from, to]);
        Answer::from_command(&mut command)
    };
    for (number, name) in [REPOSITORY, MIRROR].into_iter().enumerate() {
        let tag = if number == 0 { "1" } else { "1.25" };
        let to = format!("pulled-{number}");
        copy(&format!("{name}:{tag}"), &login, &format!("dir:{to}")).success();
        let pulled = desk.path(&to);
        let manifest = fs::read(pulled.join("manifest.json")).unwrap();
        assert!(manifest == index().manifest(), "{name}");
        let other = desk.path("expected");
        let _ = fs::remove_dir_all(&other);
        fixtures::layout::write_dir(&other, &index()).unwrap();
        assert_eq!(files(&pulled), files(&other));
    }
    let refused = copy(&format!("{REPOSITORY}:1"), "pusher:wrong", "dir:none").failure(1);
    assert!(
        refused.contains("authentication required") || refused.contains("nauthorized"),
        "{refused}"
    );
}

#[test]
fn curl_gets_parts_and_nothing_that_it_has() {
    let desk = desk();
    let serving = Serving::start(&desk, &["shop.iso"]);
    let blob = format!("/v2/{REPOSITORY}/blobs/{}", large());
    let head = serving.curl(&["--head"], &blob);
    assert!(
        head.contains(&format!("Content-Length: {LARGE}\r\n")),
        "{head}"
    );
    assert!(
        head.contains(&format!("Docker-Content-Digest: {}\r\n", large())),
        "{head}"
    );
    let part = serving.curl(
        &[
            "--range",
            "5-9",
            "--output",
            "/dev/null",
            "--dump-header",
            "-",
        ],
        &blob,
    );
    assert!(part.starts_with("HTTP/1.1 206 "), "{part}");
    assert!(
        part.contains(&format!("Content-Range: bytes 5-9/{LARGE}\r\n")),
        "{part}"
    );
    let both = |range: &str| {
        let url = format!("{}{blob}", serving.url);
        run(Command::new("curl").args(["--silent", "--range", range, &url]))
    };
    let (begin, rest) = (both("0-1000000"), both("1000001-"));
    desk.write("layer", [begin, rest].concat());
    let sum = desk.run("sha256sum", &["layer"]).success();
    assert!(large().ends_with(&sum[..64]), "{sum}");
    let none = serving.curl(&["--range", &format!("{LARGE}-")], &blob);
    assert!(none.starts_with("HTTP/1.1 416 "), "{none}");
    let etag = format!("If-None-Match: \"{}\"", large());
    let known = serving.curl(&["--header", &etag], &blob);
    assert!(known.starts_with("HTTP/1.1 304 "), "{known}");
    let manifest = format!("/v2/{REPOSITORY}/manifests/1");
    let etag = format!("If-None-Match: \"{}\"", index().descriptor().digest);
    let known = serving.curl(&["--header", &etag], &manifest);
    assert!(known.starts_with("HTTP/1.1 304 "), "{known}");
}

#[test]
fn answers_say_what_they_are_and_the_log_what_was_asked() {
    let desk = desk();
    let serving = Serving::start(&desk, &["shop.iso", "--access-log", "--output", "json"]);
    let manifest = format!("/v2/{REPOSITORY}/manifests/1");
    let index = index();
    let digest = &index.descriptor().digest;
    let head = serving.curl(&["--head"], &manifest);
    assert!(
        head.contains(&format!("Docker-Content-Digest: {digest}\r\n")),
        "{head}"
    );
    assert!(
        head.contains("Content-Type: application/vnd.oci.image.index.v1+json\r\n"),
        "{head}"
    );
    let of_type = "artifactType=application/vnd.example.policy.v1";
    let referrers = format!("/v2/{REPOSITORY}/referrers/{digest}?{of_type}");
    let referrers = serving.curl(&[], &referrers);
    let policy = fixtures::artifact::policy_of(index.descriptor()).descriptor();
    assert!(referrers.contains(&policy.digest), "{referrers}");
    assert!(
        referrers.contains("OCI-Filters-Applied: artifactType\r\n"),
        "{referrers}"
    );
    let mirrored = serving.status("/v2/library/nginx/manifests/1.25?ns=docker.io");
    assert_eq!(mirrored, "200");
    let other = serving.status("/v2/shop-1.0.0/app/manifests/1?ns=docker.io");
    assert_eq!(other, "404");
    let body = format!("@{}", desk.path("shop.iso").display());
    let pushed = serving.curl(
        &["--request", "POST", "--data-binary", &body],
        &format!("/v2/{REPOSITORY}/blobs/uploads/"),
    );
    assert!(
        pushed.contains("HTTP/1.1 405 ") && pushed.contains("UNSUPPORTED"),
        "{pushed}"
    );
    let metrics = serving.curl(&[], "/metrics");
    assert!(metrics.contains("solution_serve_archives 1\n"), "{metrics}");
    assert!(
        metrics.contains("solution_serve_requests_total{status=\"4xx\"} 2\n"),
        "{metrics}"
    );
    // Every line of its log matches its schema.
    serving.wait_for_log("/metrics");
    let said = serving.said.lock().unwrap();
    assert!(said.len() > 6, "{said:?}");
    for line in said.iter() {
        let value: Value = serde_json::from_str(line).unwrap();
        let outside = results::schema_violations(&["serve".to_owned()], &value);
        assert!(outside.is_empty(), "{outside:#?} in {line}");
    }
}

#[test]
fn what_no_client_sends_is_answered_and_ends_the_connection() {
    let desk = desk();
    let serving = Serving::start(&desk, &["shop.iso"]);
    let long = format!("GET /v2/ HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(20_000));
    let smuggled =
        "POST /v2/ HTTP/1.1\r\nContent-Length: 4\r\n\r\nGET /v2/_catalog HTTP/1.1\r\n\r\n";
    for (request, status) in [
        (long.as_str(), "431"),
        ("nonsense\r\n\r\n", "400"),
        ("GET /v2/ HTTP/3.0\r\n\r\n", "505"),
        (smuggled, "405"),
    ] {
        let mut answer = String::new();
        serving.send(request).read_to_string(&mut answer).unwrap();
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer}"
        );
        assert_eq!(answer.matches("Content-Length").count(), 1, "{answer}");
    }
    let two = "GET /v2/ HTTP/1.1\r\n\r\nGET /v2/_catalog HTTP/1.1\r\nConnection: close\r\n\r\n";
    let mut answer = String::new();
    serving.send(two).read_to_string(&mut answer).unwrap();
    assert_eq!(answer.matches("HTTP/1.1 200 ").count(), 2, "{answer}");
}

/// Returns every manifest and blob of the image, each with its path and digest.
fn contents() -> Vec<(String, String)> {
    let path = |kind: &str, name: &str| format!("/v2/{REPOSITORY}/{kind}/{name}");
    let index = index();
    let digest = index.descriptor().digest.clone();
    let mut wanted = vec![(path("manifests", "1"), digest)];
    for image in index.images() {
        let digest = image.descriptor().digest.clone();
        wanted.push((path("manifests", &digest), digest));
        for content in image.contents() {
            let digest = sha256(&content);
            wanted.push((path("blobs", &digest), digest));
        }
    }
    wanted
}

fn sha256(bytes: &[u8]) -> String {
    Digest::new(Sha256::digest(bytes).into()).to_string()
}

/// Returns the body of the answer to a request, on a persistent connection.
fn get(stream: &mut BufReader<TcpStream>, path: &str) -> Vec<u8> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    stream.get_mut().write_all(request.as_bytes()).unwrap();
    let mut length = 0;
    for line in stream.by_ref().lines().map(Result::unwrap) {
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    body
}

/// The number of concurrent clients.
const PULLS: usize = 200;

#[test]
fn two_hundred_clients_at_once_get_every_byte() {
    let desk = desk();
    let serving = Serving::start(&desk, &["shop.iso"]);
    let (wanted, begin) = (contents(), Barrier::new(PULLS));
    std::thread::scope(|scope| {
        for _ in 0..PULLS {
            let mut stream = BufReader::new(serving.send(""));
            let (wanted, begin) = (&wanted, &begin);
            scope.spawn(move || {
                begin.wait();
                for (path, digest) in wanted {
                    assert_eq!(sha256(&get(&mut stream, path)), *digest, "{path}");
                }
            });
        }
    });
    let metrics = serving.curl(&[], "/metrics");
    let requests = PULLS * wanted.len();
    for number in [
        format!("requests_total{{status=\"2xx\"}} {requests}\n"),
        "requests_total{status=\"5xx\"} 0\n".to_owned(),
        "broken_answers_total 0\n".to_owned(),
        "refused_connections_total 0\n".to_owned(),
    ] {
        assert!(metrics.contains(&number), "{number} in {metrics}");
    }
}

/// Runs a client that was built from its Go module.
fn client(desk: &Desk, name: &str, arguments: &[&str]) {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/program");
    let program = Answer::from_command(Command::new(program).args([name, "--path"])).success();
    desk.run(program.trim(), arguments).success();
}

/// Returns the digests of the files in a layout, and the expected ones.
fn digests(layout: &Path) -> [BTreeSet<String>; 2] {
    let entries = fs::read_dir(layout.join("blobs/sha256")).unwrap();
    let came = entries.map(|entry| sha256(&fs::read(entry.unwrap().path()).unwrap()));
    let wanted = contents().into_iter().map(|(_, digest)| digest);
    [came.collect(), wanted.collect()]
}

#[test]
fn crane_and_oras_pull_an_index_with_all_its_images() {
    let desk = desk();
    let serving = Serving::start(&desk, &["shop.iso"]);
    let image = format!("{}/{REPOSITORY}:1", serving.host());
    let pull = ["pull", "--format=oci", &image, "by-crane"];
    client(&desk, "crane", &pull);
    let [came, wanted] = digests(&desk.path("by-crane"));
    assert_eq!(came, wanted);
    // The copy includes the referrers.
    let copy = [
        "copy",
        "--recursive",
        "--from-plain-http",
        "--to-oci-layout",
    ];
    client(&desk, "oras", &[&copy[..], &[&image, "by-oras:1"]].concat());
    let [came, mut wanted] = digests(&desk.path("by-oras"));
    let policy = fixtures::artifact::policy_of(index().descriptor());
    wanted.insert(policy.descriptor().digest);
    assert!(came.is_superset(&wanted), "{came:?}");
}

#[test]
fn one_client_leaves_room_for_others() {
    let desk = desk();
    let serving = Serving::start(&desk, &["shop.iso"]);
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    setrlimit(Resource::Nofile, files).unwrap();
    let most = serve::limits::CONNECTIONS_OF_ONE;
    let mut held: Vec<_> = (0..most).map(|_| serving.send("")).collect();
    let mut refused = TcpStream::connect(serving.host()).unwrap();
    let long = Duration::from_secs(20);
    refused.set_read_timeout(Some(long)).unwrap();
    assert_eq!(refused.read(&mut [0]).unwrap(), 0);
    // Another client address is still served.
    let elsewhere = ["--interface", "127.0.0.2"];
    let metrics = serving.curl(&elsewhere, "/metrics");
    let refused = "solution_serve_refused_connections_total 1\n";
    assert!(metrics.contains(refused), "{metrics}");
    // The first address is served again once one of its connections has ended.
    held.pop();
    eventually("a connection of the first client", || {
        let mut stream = serving.send("GET /v2/ HTTP/1.0\r\n\r\n");
        let mut answer = String::new();
        stream
            .read_to_string(&mut answer)
            .is_ok_and(|read| read > 0)
    });
}

/// Returns the serial number of a server's certificate.
fn certificate_serial(desk: &Desk, serving: &Serving) -> String {
    let host = serving.host();
    let line = format!("openssl s_client -connect {host} </dev/null | openssl x509 -noout -serial");
    desk.run("sh", &["-c", &line]).success()
}

#[test]
fn a_new_certificate_is_shown_after_a_signal_and_a_broken_one_never() {
    let desk = desk();
    let folder = desk.path(".");
    make_certificates(&folder);
    let tls = ["--tls-cert=server.pem", "--tls-key=server.key"];
    let serving = Serving::start(&desk, &[&["shop.iso"], &tls[..]].concat());
    let first = certificate_serial(&desk, &serving);
    let good = fs::read(desk.path("server.pem")).unwrap();
    desk.write("server.pem", "no certificate");
    serving.signal("-HUP");
    serving.wait_for_log("cannot use `server.pem` and `server.key` for TLS");
    assert_eq!(certificate_serial(&desk, &serving), first);
    // A key that does not belong to the certificate is refused too.
    issue(&folder, "server", "-days 2 -extfile extensions");
    fs::write(desk.path("server.pem"), good).unwrap();
    serving.signal("-HUP");
    serving.wait_for_log("the certificate and the key cannot be used");
    assert_eq!(certificate_serial(&desk, &serving), first);
    fs::rename(desk.path("server.crt"), desk.path("server.pem")).unwrap();
    serving.signal("-HUP");
    eventually("the new certificate", || {
        certificate_serial(&desk, &serving) != first
    });
    let pulled = serving.curl(&["--cacert", desk.path("ca.crt").to_str().unwrap()], "/v2/");
    assert!(pulled.starts_with("HTTP/1.1 200 "), "{pulled}");
}

/// Returns the output of the conformance suite in its read-only mode. The variables name the content, because the suite
/// cannot push it.
fn conformance(serving: &Serving, desk: &Desk, tls: &str) -> String {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/program");
    let program =
        Answer::from_command(Command::new(program).args(["conformance", "--path"])).success();
    let digest = index().descriptor().digest.clone();
    let mut command = Command::new(program.trim());
    command.current_dir(desk.path("."));
    command.envs([
        ("OCI_REGISTRY", serving.host()),
        ("OCI_TLS", tls),
        ("OCI_REPO1", REPOSITORY),
        ("OCI_USERNAME", USER),
        ("OCI_PASSWORD", PASSWORD),
        ("OCI_VERSION", "1.1"),
        ("OCI_API_PUSH", "false"),
        ("SSL_CERT_FILE", "ca.crt"),
        ("OCI_API_BLOBS_DELETE", "false"),
        ("OCI_API_MANIFESTS_DELETE", "false"),
        ("OCI_API_TAGS_DELETE", "false"),
        // Version 1.1 makes the header optional, but the program sends it. The suite can only check it for manifests
        // that it pushed itself.
        ("OCI_API_BLOBS_DIGEST_HEADER", "true"),
        ("OCI_RO_DATA_TAGS", "1 policy"),
        ("OCI_RO_DATA_MANIFESTS", &digest),
        ("OCI_RO_DATA_BLOBS", &large()),
        ("OCI_RO_DATA_REFERRERS", &digest),
    ]);
    // The exit code is meaningless: at the end, the suite fails to report on data that it did not push.
    Answer::from_command(&mut command).stdout
}

/// The tests that the suite only runs if it may push or delete. They include ranges of blobs, which
/// `curl_gets_parts_and_nothing_that_it_has` covers.
const DISABLED: [&str; 12] = [
    "sha256 blobs",
    "sha512 blobs",
    "read-only/push",
    "read-only/push/manifest-by-digest",
    "read-only/push/manifest-by-tag",
    "read-only/delete",
    "read-only/delete/manifest-delete",
    "read-only/delete/blob-delete",
    "invalid-digest-format/manifest-put",
    "invalid-digest-format/delete",
    "invalid-digest-format/delete/blob-delete",
    "invalid-digest-format/delete/manifest-delete",
];

/// The parts of the specification that must pass.
const PASSED: [&str; 9] = [
    "Tag listing",
    "Blob get",
    "Blob head",
    "Manifest get by digest",
    "Manifest get by tag",
    "Manifest head by digest",
    "Manifest head by tag",
    "Referrers",
    "Ping",
];

#[test]
fn the_conformance_suite_passes_and_skips_nothing_that_reads() {
    let desk = desk();
    make_certificates(&desk.path("."));
    desk.write("password", PASSWORD);
    let login = ["--username", USER, "--password-file=password"];
    let tls = ["--tls-cert=server.pem", "--tls-key=server.key"];
    let protected = [&["shop.iso"], &login[..], &tls].concat();
    for (tls, arguments) in [("disabled", vec!["shop.iso"]), ("enabled", protected)] {
        let serving = Serving::start(&desk, &arguments);
        let text = conformance(&serving, &desk, tls);
        println!("{text}");
        let count = |kind: &str| -> u32 {
            let line = text
                .lines()
                .find(|line| line.starts_with(&format!("  {kind}.")));
            let number = line.and_then(|line| line.rsplit(' ').next());
            number.unwrap().parse().unwrap()
        };
        let [passed, skipped] = [count("Pass"), count("Skip")];
        println!("distribution-spec conformance, TLS {tls}: {passed} passed, {skipped} skipped");
        assert!(text.contains("OCI Conformance Result: Pass\n"), "{text}");
        assert_eq!([skipped, count("FAIL"), count("Error")], [0; 3], "{text}");
        assert_eq!(passed, 16, "{text}");
        let of = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("OCI Conformance Test/"));
        for case in of.filter_map(|case| case.strip_suffix(": Disabled")) {
            assert!(DISABLED.contains(&case), "{case} is not tried:\n{text}");
        }
        for part in PASSED {
            let line = text
                .lines()
                .find(|line| line.starts_with(&format!("  {part}.")));
            assert!(line.unwrap().ends_with(" Pass"), "{line:?}");
        }
    }
}

#[test]
fn a_directory_is_served_as_it_changes() {
    let desk = desk();
    fs::create_dir(desk.path("shelf")).unwrap();
    let serving = Serving::start(&desk, &["shelf"]);
    assert_eq!(serving.status("/v2/shop-1.0.0/app/tags/list"), "404");
    // The program finds the new archive by reading the folder.
    fs::copy(desk.path("shop.iso"), desk.path("shelf/shop.iso")).unwrap();
    eventually("serving a new archive", || {
        serving.status("/v2/shop-1.0.0/app/tags/list") == "200"
    });
    // An invalid file is reported, and the served archives are kept, even if the invalid file replaces one of them.
    desk.write("other.iso", "no archive");
    fs::copy(desk.path("other.iso"), desk.path("shelf/other.iso")).unwrap();
    fs::rename(desk.path("other.iso"), desk.path("shelf/shop.iso")).unwrap();
    serving.signal("-HUP");
    serving.wait_for_log("`shelf/other.iso` is left out");
    serving.wait_for_log("`shelf/shop.iso` is left out");
    let blob = format!("/v2/{REPOSITORY}/blobs/{}", large());
    assert_eq!(serving.status(&blob), "200");
    let metrics = serving.curl(&[], "/metrics");
    assert!(
        metrics.contains("solution_serve_archives_left_out 2\n"),
        "{metrics}"
    );
    // A deleted archive is no longer served.
    make(&desk, "later", "later.iso", "1.1.0");
    fs::rename(desk.path("later.iso"), desk.path("shelf/later.iso")).unwrap();
    fs::remove_file(desk.path("shelf/shop.iso")).unwrap();
    serving.signal("-HUP");
    eventually("serving the next version", || {
        serving.status("/v2/shop-1.1.0/app/tags/list") == "200"
    });
    assert_eq!(serving.status(&blob), "404");
}

/// Returns the offset of a content in an archive.
fn offset_of(archive: &Path, begin: &[u8]) -> u64 {
    let bytes = fs::read(archive).unwrap();
    let found = bytes
        .windows(begin.len())
        .position(|window| window == begin);
    found.unwrap() as u64
}

/// Changes one byte of the large layer in an archive.
fn flip(desk: &Desk, archive: &str) {
    let contents = image("amd64").contents();
    let layer = contents
        .iter()
        .find(|content| content.len() as u64 == LARGE)
        .unwrap();
    let path = desk.path(archive);
    let at = offset_of(&path, &layer[..512]) + LARGE / 2;
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[!byte[0]], at).unwrap();
}

#[test]
fn a_changed_byte_is_never_served_where_reads_are_verified() {
    let desk = desk();
    let serving = Serving::start(&desk, &["shop.iso", "--verify-reads"]);
    let blob = format!("/v2/{REPOSITORY}/blobs/{}", large());
    assert_eq!(serving.status(&blob), "200");
    flip(&desk, "shop.iso");
    let answer = serving.curl(&["--range", "0-3"], &blob);
    assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
    serving.wait_for_log(&format!("{} is not served", large()));
    // The content is served again once it is restored.
    flip(&desk, "shop.iso");
    assert_eq!(serving.status(&blob), "200");
}

#[test]
fn a_file_that_ends_early_breaks_the_answer_off() {
    for arguments in [&["large.iso"][..], &["large.iso", "--verify-reads"]] {
        const SIZE: u64 = 48 * 1024 * 1024;
        let desk = Desk::with_key();
        let image = fixtures::image::Image::random(9, &[SIZE]);
        crate::setup::write_layout(&desk, "large", &image.into());
        crate::setup::write_source(&desk, "large", &["source: 'oci:layout:1'"]);
        desk.solution(&pack("large", "large.iso")).success();
        let serving = Serving::start(&desk, arguments);
        let layer = Layer::random(9, SIZE);
        let request = format!(
            "GET /v2/shop-1.0.0/app-0/blobs/{} HTTP/1.1\r\n\r\n",
            layer.digest()
        );
        let mut stream = serving.send(&request);
        let mut head = [0; 1024];
        stream.read_exact(&mut head).unwrap();
        assert!(head.starts_with(b"HTTP/1.1 200 "));
        let file = File::options()
            .write(true)
            .open(desk.path("large.iso"))
            .unwrap();
        file.set_len(1024 * 1024).unwrap();
        let mut rest = Vec::new();
        // Either end may see the broken connection.
        let _ = stream.read_to_end(&mut rest);
        let got = (head.len() + rest.len()) as u64;
        assert!(got < SIZE, "{got}");
        eventually("the broken answer", || {
            serving
                .curl(&[], "/metrics")
                .contains("broken_answers_total 1\n")
        });
    }
}

#[test]
fn the_end_waits_for_requests_under_way_and_for_nobody_else() {
    let desk = desk();
    let mut serving = Serving::start(&desk, &["shop.iso"]);
    let idle = serving.send("GET /v2/ HTTP/1.1\r\n\r\n");
    let request = format!("GET /v2/{REPOSITORY}/blobs/{} HTTP/1.1\r\n\r\n", large());
    let mut stream = serving.send(&request);
    let mut first = [0; 16];
    stream.read_exact(&mut first).unwrap();
    serving.signal("-TERM");
    eventually("the end of listening", || {
        TcpStream::connect(serving.host()).is_err()
    });
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert!(rest.len() as u64 > LARGE - 16, "{}", rest.len());
    assert!(serving.child.wait().unwrap().success());
    drop(idle);
}

#[test]
fn an_archive_that_is_named_must_be_good() {
    let desk = desk();
    desk.solution(&["keygen", "other"]).success();
    let other = desk.solution(&[
        "serve",
        "shop.iso",
        "--key",
        "other.pub",
        "--listen",
        "127.0.0.1:0",
    ]);
    assert!(other.failure(1).contains("`shop.iso` is not accepted"));
    let none = desk.solution(&["serve", "none.iso", "--key", "publisher.pub"]);
    none.failure(3);
}

//! Charts from a real registry and from a real web server, both with TLS and a login.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tempfile::TempDir;

use crate::common::{Answer, Desk};
use crate::server::{FreePort, PASSWORD, Protection, Server, USER, eventually, make_certificates};
use crate::setup::{pack, validate};

/// Returns a desk with the tree `copied`, which contains the archive of a chart.
fn desk() -> Desk {
    let desk = Desk::with_key();
    fs::create_dir_all(desk.path("chart/templates")).unwrap();
    desk.write(
        "chart/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.2.3+b\n",
    );
    desk.write("chart/templates/a.yaml", "{}");
    desk.solution(&["init", "--chart", "chart", "copied", "--name", "web"])
        .success();
    desk.solution(&with_no_render(&pack("copied", "copied.iso")))
        .success();
    desk
}

/// Adds the flag to pack without helm.
fn with_no_render<'a>(pack: &[&'a str]) -> Vec<&'a str> {
    [pack, &["--no-render"]].concat()
}

/// Writes a file of logins, with one for this host.
fn log_in(desk: &Desk, host: &str) {
    let auth = STANDARD.encode(format!("{USER}:{PASSWORD}"));
    desk.write(
        "auth.json",
        format!(r#"{{"auths": {{"{host}": {{"auth": "{auth}"}}}}}}"#),
    );
}

/// Runs the program with the logins.
fn with_logins(desk: &Desk, arguments: &[&str]) -> Answer {
    let mut command = desk.command();
    command.env("REGISTRY_AUTH_FILE", desk.path("auth.json"));
    Answer::from_command(command.args(arguments))
}

/// Creates a tree for the chart and packs it: the archive equals that of the copied chart, except for the recorded
/// source.
fn assert_made_and_packed(desk: &Desk, source: &str, ca: &Path) {
    let ca = ["--ca-file", ca.to_str().unwrap()];
    let init = ["init", "--chart", source, "tree", "--name", "web"];
    with_logins(desk, &[&init[..], &ca].concat()).success();
    let text = String::from_utf8(desk.read("tree/solution.yaml")).unwrap();
    assert!(text.contains(&format!("source: \"{source}\"")), "{text}");
    let pack = with_no_render(&pack("tree", "tree.iso"));
    with_logins(desk, &[&pack[..], &ca].concat()).success();
    validate(desk, "tree.iso");
    assert!(
        desk.read("tree.iso") == desk.read("copied.iso"),
        "the bytes differ"
    );
}

#[test]
fn a_chart_is_taken_from_a_registry() {
    let (desk, server) = (desk(), Server::start(&Protection::TlsAndLogin));
    let (host, ca) = (server.host(), server.directory().join("ca.crt"));
    log_in(&desk, &host);
    // An import pushes Helm's artifact.
    let import = ["push", "copied.iso", "--key", "publisher.pub"];
    let to = ["--registry", &host, "--ca-file", ca.to_str().unwrap()];
    with_logins(&desk, &[&import[..], &to].concat()).success();
    let repository = format!("{host}/web-1.2.3/charts/web");
    assert_made_and_packed(&desk, &format!("oci://{repository}:1.2.3+b"), &ca);
    // Without the login, and without the certificate authority.
    let source = format!("oci://{repository}:1.2.3+b");
    let init = ["init", "--chart", &source, "none"];
    let said = with_logins(&desk, &init).failure(1);
    assert!(said.contains("certificate is not trusted"), "{said}");
    log_in(&desk, "r.test");
    let said = with_logins(&desk, &[&init[..], &to[2..]].concat()).failure(1);
    assert!(said.contains("requires a login"), "{said}");
}

/// An nginx with a repository of charts below `/charts`, which redirects to another path on the same host.
struct Nginx {
    child: Child,
    directory: TempDir,
    port: FreePort,
}

impl Nginx {
    fn start(chart: &[u8]) -> Self {
        let directory = TempDir::new().unwrap();
        let (path, port) = (directory.path(), FreePort::new());
        let number = port.number;
        make_certificates(path);
        let text = |name: &str, text: &[u8]| fs::write(path.join(name), text).unwrap();
        fs::create_dir_all(path.join("www/charts")).unwrap();
        fs::create_dir_all(path.join("www/store")).unwrap();
        text("www/store/web.tgz", chart);
        let digest = digest_of(chart);
        let index = format!(
            "apiVersion: v1\nentries:\n  web:\n  - {{name: web, version: 1.2.3+b, urls: [web.tgz], digest: {digest}}}\n"
        );
        text("www/charts/index.yaml", index.as_bytes());
        text(
            "htpasswd",
            format!("{USER}:{{PLAIN}}{PASSWORD}\n").as_bytes(),
        );
        let at = path.display();
        let places: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {at}/{kind};"))
            .concat();
        let config = format!(
            "daemon off; master_process off; pid {at}/pid; error_log {at}/log;
events {{}}
http {{
  access_log {at}/access; {places}
  server {{
    listen 127.0.0.1:{number} ssl;
    ssl_certificate {at}/server.pem; ssl_certificate_key {at}/server.key;
    root {at}/www;
    auth_basic charts; auth_basic_user_file {at}/htpasswd;
    location /charts/web.tgz {{ return 302 /store/web.tgz; }}
  }}
}}
"
        );
        text("nginx.conf", config.as_bytes());
        let mut command = Command::new("/usr/sbin/nginx");
        command.arg("-c").arg(path.join("nginx.conf"));
        command.arg("-p").arg(path).arg("-e").arg(path.join("log"));
        let child = command.stdin(Stdio::null()).spawn();
        let child = child.expect("nginx is installed");
        eventually("nginx's start", || {
            TcpStream::connect(("127.0.0.1", number)).is_ok()
        });
        Self {
            child,
            directory,
            port,
        }
    }

    /// Stops nginx, and returns its access log: it logs an answer when its client has received it.
    fn end(mut self) -> Vec<String> {
        let pid = self.child.id().to_string();
        Answer::from_command(Command::new("kill").args(["-QUIT", &pid])).success();
        assert!(self.child.wait().unwrap().success());
        let log = fs::read_to_string(self.directory.path().join("access")).unwrap();
        let given = log.lines().filter(|line| line.contains("\" 200 "));
        given.map(str::to_owned).collect()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn digest_of(bytes: &[u8]) -> String {
    use sha2::{Digest as _, Sha256};
    schemas::Digest::new(Sha256::digest(bytes).into()).hex()
}

#[test]
fn a_chart_is_taken_from_a_repository() {
    let desk = desk();
    let nginx = Nginx::start(&desk.read("copied/charts/web-1.2.3+b.tgz"));
    let host = format!("127.0.0.1:{}", nginx.port.number);
    let ca = nginx.directory.path().join("ca.crt");
    log_in(&desk, &host);
    let source = format!("https://{host}/charts#web@1.2.3+b");
    assert_made_and_packed(&desk, &source, &ca);
    log_in(&desk, "r.test");
    let init = ["init", "--chart", &source, "none", "--ca-file"];
    let said = with_logins(&desk, &[&init[..], &[ca.to_str().unwrap()]].concat()).failure(1);
    assert!(said.contains("the server requires a login"), "{said}");
    let given = nginx.end();
    let count = |path: &str| given.iter().filter(|line| line.contains(path)).count();
    assert_eq!(count("/charts/index.yaml"), 2);
    assert_eq!(count("/store/web.tgz"), 1, "it is in the cache");
}

//! A docker-registry of the test's own: on loopback, with its own storage, ended with the value.

use std::fs;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use registry::{
    Client, Credentials, Options, PlainHttp, Repository, RetryPolicy, Secret, SystemRoots,
};
use schemas::Digest;
use tempfile::TempDir;

pub(crate) const USER: &str = "pusher";
pub(crate) const PASSWORD: &str = "correct horse";
/// The same as the registry's password file has it (cost 5, the lowest: each request pays it).
const PASSWORD_BCRYPT: &str = "$2y$05$Wk3q0Zs8uT1nVb6xYc4dOeL1TBBV4nqEQChEVo1xuLP89Ki.lu4/S";

pub(crate) enum Protection {
    /// Plain HTTP, no login.
    None,
    /// TLS by a private authority, and a password.
    TlsAndLogin,
}

pub(crate) struct Server {
    child: Child,
    directory: TempDir,
    pub(crate) port: u16,
}

impl Server {
    pub(crate) fn start(protection: &Protection) -> Self {
        Self::start_with(protection, "delete: {enabled: true}")
    }

    /// As it comes with no word about deleting in its configuration.
    pub(crate) fn start_without_deleting() -> Self {
        Self::start_with(&Protection::None, "delete: {enabled: false}")
    }

    fn start_with(protection: &Protection, delete: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let port = free_port();
        let path = directory.path();
        let mut config = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage:\n  filesystem: {{rootdirectory: {}}}\n  {delete}\n  cache: {{blobdescriptor: inmemory}}\nhttp:\n  addr: 127.0.0.1:{port}\n  secret: of-the-test\n",
            path.join("data").display(),
        );
        if matches!(protection, Protection::TlsAndLogin) {
            make_certificates(path);
            fs::write(path.join("htpasswd"), format!("{USER}:{PASSWORD_BCRYPT}\n")).unwrap();
            let protection = format!(
                "  tls: {{certificate: {0}/server.pem, key: {0}/server.key}}\nauth:\n  htpasswd: {{realm: test, path: {0}/htpasswd}}\n",
                path.display()
            );
            config.push_str(&protection);
        }
        fs::write(path.join("config.yml"), config).unwrap();
        let child = spawn(path, port);
        Self {
            child,
            directory,
            port,
        }
    }

    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn ca(&self) -> Vec<u8> {
        fs::read(self.directory().join("ca.crt")).unwrap()
    }

    /// Starts it again on the same port and storage.
    pub(crate) fn restart(&mut self) {
        let _ = self.child.kill();
        self.child.wait().unwrap();
        self.child = spawn(self.directory.path(), self.port);
    }

    /// Starts it again with deleting allowed.
    pub(crate) fn allow_deleting(&mut self) {
        let config = self.directory().join("config.yml");
        let text = fs::read_to_string(&config).unwrap();
        let allowed = text.replace("delete: {enabled: false}", "delete: {enabled: true}");
        fs::write(config, allowed).unwrap();
        self.restart();
    }

    /// Deletes a manifest of a registry without login, as its administrator would.
    pub(crate) fn delete_manifest(&self, repository: &Repository, digest: &Digest) {
        let (host, path) = (self.host(), format!("/v2/{repository}/manifests/{digest}"));
        let ask = format!("DELETE {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let mut connection = TcpStream::connect(&host).unwrap();
        connection.write_all(ask.as_bytes()).unwrap();
        let answer = std::io::read_to_string(connection).unwrap();
        assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
    }

    /// Removes what no manifest needs, while the registry runs and remembers it.
    pub(crate) fn collect_garbage(&self) {
        let config = self.directory().join("config.yml");
        run(program().arg("garbage-collect").arg(config));
    }

    /// Every regular file in the storage whose path contains a text.
    pub(crate) fn stored(&self, part: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut waiting = vec![self.directory().join("data")];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    waiting.push(path);
                } else if path.to_string_lossy().contains(part) {
                    found.push(path);
                }
            }
        }
        found
    }

    pub(crate) fn options(&self) -> Options {
        Options {
            ca: vec![self.ca()],
            credentials: password(PASSWORD),
            ..options()
        }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(&self.host().parse().unwrap(), self.options()).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn password(password: &str) -> Credentials {
    Credentials::Password {
        username: USER.to_owned(),
        password: Secret::new(password.to_owned()),
    }
}

pub(crate) fn options() -> Options {
    Options {
        system_roots: SystemRoots::Ignored,
        plain_http: PlainHttp::Loopback,
        connections: NonZeroUsize::new(4).unwrap(),
        retry: RetryPolicy {
            attempts: 4,
            first_wait: Duration::from_millis(5),
            longest_wait: Duration::from_millis(50),
        },
        ..Options::default()
    }
}

pub(crate) fn client_for(host: &str, credentials: Credentials) -> Client {
    let options = Options {
        credentials,
        ..options()
    };
    Client::new(&host.parse().unwrap(), options).unwrap()
}

/// Runs a program that must succeed; its standard output.
pub(crate) fn run(command: &mut Command) -> Vec<u8> {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// Waits until something holds, at most ten seconds.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::yield_now();
    }
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// It takes variables that begin with `REGISTRY_` for parts of its configuration, and this one names a login file.
fn program() -> Command {
    let mut program = Command::new("docker-registry");
    program.env_remove("REGISTRY_AUTH_FILE");
    program
}

fn spawn(directory: &Path, port: u16) -> Child {
    let log = fs::File::create(directory.join("log")).unwrap();
    let child = program()
        .arg("serve")
        .arg(directory.join("config.yml"))
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .expect("docker-registry is installed");
    eventually("the registry's start", || {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    child
}

/// An authority, `ca.crt`, and the key and certificate of a server of this machine that it signed.
pub(crate) fn make_certificates(directory: &Path) {
    let openssl = |arguments: &str| {
        let mut command = Command::new("openssl");
        run(command
            .current_dir(directory)
            .args(arguments.split_whitespace()));
    };
    openssl(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt -subj /CN=test-authority -days 2",
    );
    openssl(
        "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout server.key -out server.csr -subj /CN=registry",
    );
    let extensions = "subjectAltName=IP:127.0.0.1,DNS:localhost\nbasicConstraints=CA:FALSE\n";
    fs::write(directory.join("extensions"), extensions).unwrap();
    openssl(
        "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile extensions -out server.pem",
    );
}

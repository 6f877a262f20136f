//! A docker-registry for tests. It runs on loopback with its own storage and ends when the value is dropped.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use registry::{
    Attempts, CertificateAuthority, Client, ClientOptions, Credentials, PlainHttp, RepositoryPath,
    RetryPolicy, Secret,
};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};
use schemas::Digest;
use tempfile::TempDir;

pub(crate) const USER: &str = "pusher";
pub(crate) const PASSWORD: &str = "correct horse";
/// The password in the form of the registry's password file (cost 5, the lowest, because each request pays it).
const PASSWORD_BCRYPT: &str = "$2y$05$Wk3q0Zs8uT1nVb6xYc4dOeL1TBBV4nqEQChEVo1xuLP89Ki.lu4/S";

/// The size of a small disk in bytes.
const DISK: u64 = 64 * 1024 * 1024;

pub(crate) enum Protection {
    /// Plain HTTP without a login.
    None,
    /// TLS with a certificate of a private authority, and a password.
    TlsAndLogin,
    /// The same login, for clients with a certificate of that authority.
    ClientCertificates,
}

pub(crate) struct Server {
    child: Child,
    program: PathBuf,
    directory: TempDir,
    pub(crate) port: u16,
    _reserved: FreePort,
}

impl Server {
    pub(crate) fn start(protection: &Protection) -> Self {
        Self::start_with(debian(), protection, "delete: {enabled: true}")
    }

    /// Starts a registry with the default configuration, which does not mention deleting.
    pub(crate) fn start_without_deleting() -> Self {
        Self::start_with(debian(), &Protection::None, "delete: {enabled: false}")
    }

    /// Starts a registry with a disk that is full after this number of bytes, until [`Server::free_disk`].
    pub(crate) fn start_with_small_disk(bytes: u64) -> Self {
        let mut server = Self::start(&Protection::None);
        let _ = server.child.kill();
        server.child.wait().unwrap();
        let disk = server.directory.path().join("disk");
        fs::create_dir(&disk).unwrap();
        let config = server.directory.path().join("config.yml");
        let text = fs::read_to_string(&config).unwrap();
        let data = server.directory.path().join("data").display().to_string();
        fs::write(
            &config,
            text.replace(&data, &format!("{}/data", disk.display())),
        )
        .unwrap();
        let filler = DISK - bytes;
        let line = format!(
            "mount -t tmpfs -o size={DISK} tmpfs {0} && head -c {filler} /dev/zero > {0}/filler && exec docker-registry serve {1}",
            disk.display(),
            config.display(),
        );
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &line]);
        command.env_remove("REGISTRY_AUTH_FILE");
        server.child = spawn_command(&mut command, server.directory.path(), server.port);
        server
    }

    /// Frees space on a small disk.
    pub(crate) fn free_disk(&self) {
        let disk = self.directory.path().join("disk/filler");
        let seen_there = format!("/proc/{}/root{}", self.child.id(), disk.display());
        fs::remove_file(seen_there).unwrap();
    }

    /// Starts version 3 of the same registry, which was built from its module (tests/interop/program).
    pub(crate) fn third(protection: &Protection) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        let mut script = root.map(|folder| folder.join("tests/interop/program"));
        let script = script.find(|script| script.exists()).unwrap();
        let path = run(Command::new(script).args(["distribution", "--path"]));
        let path = String::from_utf8(path).unwrap();
        let allowed = "delete: {enabled: true}";
        Self::start_with(path.trim().into(), protection, allowed)
    }

    fn start_with(program: PathBuf, protection: &Protection, delete: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let reserved = FreePort::new();
        let port = reserved.number;
        let path = directory.path();
        let mut config = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage:\n  filesystem: {{rootdirectory: {}}}\n  {delete}\n  cache: {{blobdescriptor: inmemory}}\nhttp:\n  addr: 127.0.0.1:{port}\n  secret: of-the-test\n",
            path.join("data").display(),
        );
        if !matches!(protection, Protection::None) {
            make_certificates(path);
            fs::write(path.join("htpasswd"), format!("{USER}:{PASSWORD_BCRYPT}\n")).unwrap();
            let clients = match protection {
                Protection::ClientCertificates => {
                    format!(", clientcas: [{}/ca.crt]", path.display())
                }
                Protection::None | Protection::TlsAndLogin => String::new(),
            };
            let protection = format!(
                "  tls: {{certificate: {0}/server.pem, key: {0}/server.key{clients}}}\nauth:\n  htpasswd: {{realm: test, path: {0}/htpasswd}}\n",
                path.display()
            );
            config.push_str(&protection);
        }
        fs::write(path.join("config.yml"), config).unwrap();
        let child = spawn(&program, path, port);
        Self {
            child,
            program,
            directory,
            port,
            _reserved: reserved,
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

    /// Restarts it on the same port and storage.
    pub(crate) fn restart(&mut self) {
        self.restart_after(|_| ());
    }

    /// Restarts it without its uploads. It is stopped first, because a registry continues to write and remove files of
    /// an upload for a while after its client has disconnected.
    pub(crate) fn forget_uploads(&mut self) {
        self.restart_after(|server| {
            let files = server.stored("/_uploads/");
            assert!(!files.is_empty(), "there is an upload to forget");
            for file in files {
                fs::remove_file(file).unwrap();
            }
        });
    }

    /// Stops it, changes its storage, and starts it again.
    fn restart_after(&mut self, change: impl FnOnce(&Self)) {
        let _ = self.child.kill();
        self.child.wait().unwrap();
        change(self);
        self.child = spawn(&self.program, self.directory.path(), self.port);
    }

    /// Restarts it with deleting allowed.
    pub(crate) fn allow_deleting(&mut self) {
        let config = self.directory().join("config.yml");
        let text = fs::read_to_string(&config).unwrap();
        let allowed = text.replace("delete: {enabled: false}", "delete: {enabled: true}");
        fs::write(config, allowed).unwrap();
        self.restart();
    }

    /// Deletes a manifest of a registry without login, as its administrator would.
    pub(crate) fn delete_manifest(&self, repository: &RepositoryPath, digest: &Digest) {
        let (host, path) = (self.host(), format!("/v2/{repository}/manifests/{digest}"));
        let ask = format!("DELETE {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let mut connection = TcpStream::connect(&host).unwrap();
        connection.write_all(ask.as_bytes()).unwrap();
        let answer = std::io::read_to_string(connection).unwrap();
        assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
    }

    /// Removes unreferenced content while the registry runs and remembers it.
    pub(crate) fn collect_garbage(&self) {
        let config = self.directory().join("config.yml");
        run(command(&self.program).arg("garbage-collect").arg(config));
    }

    /// Returns every regular file in the storage whose path contains a text.
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

    /// Lists all stored files except the hash state that both versions keep of each cancelled upload. Clients can
    /// neither see nor remove it.
    pub(crate) fn content(&self) -> BTreeSet<PathBuf> {
        let mut files = self.stored("");
        files.retain(|file| !file.ends_with("hashstates/sha256/0"));
        files.into_iter().collect()
    }

    /// Returns the file with the content of a digest.
    pub(crate) fn blob(&self, digest: &str) -> Option<PathBuf> {
        let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
        self.stored(&format!("/{hex}/data")).into_iter().next()
    }

    pub(crate) fn options(&self) -> ClientOptions {
        ClientOptions {
            ca: vec![authority(self.directory())],
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

pub(crate) fn options() -> ClientOptions {
    ClientOptions {
        trust_system_roots: false,
        plain_http: PlainHttp::Loopback,
        connections: NonZeroUsize::new(4).unwrap(),
        retry: RetryPolicy {
            attempts: Attempts::of_each(4),
            first_wait: Duration::from_millis(5),
            longest_wait: Duration::from_millis(50),
        },
        ..ClientOptions::default()
    }
}

pub(crate) fn client_for(host: &str, credentials: Credentials) -> Client {
    let options = ClientOptions {
        credentials,
        ..options()
    };
    Client::new(&host.parse().unwrap(), options).unwrap()
}

/// Runs a program that must succeed, and returns its standard output.
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

/// Waits until a condition holds, at most a minute.
pub(crate) fn eventually(what: &str, holds: impl FnMut() -> bool) {
    within(Duration::from_mins(1), what, holds);
}

/// Waits until a condition holds, at most for this time.
pub(crate) fn within(longest: Duration, what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + longest;
    while !holds() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        // A short pause between two checks leaves the processor to the awaited work.
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// A port of loopback that no other program receives while the value exists: it is bound without a listener. A server
/// that is given its number can bind it too, because both set `SO_REUSEADDR`.
pub(crate) struct FreePort {
    pub(crate) number: u16,
    _bound: TcpListener,
}

impl FreePort {
    pub(crate) fn new() -> Self {
        let (family, kind) = (AddressFamily::INET, SocketType::STREAM);
        let socket = net::socket_with(family, kind, SocketFlags::CLOEXEC, None).unwrap();
        sockopt::set_socket_reuseaddr(&socket, true).unwrap();
        net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        let bound = TcpListener::from(socket);
        Self {
            number: bound.local_addr().unwrap().port(),
            _bound: bound,
        }
    }
}

fn debian() -> PathBuf {
    PathBuf::from("docker-registry")
}

/// Returns the command of a registry. It reads variables that begin with `REGISTRY_` as parts of its configuration, and
/// this one names a login file. Version 3 exports traces of requests unless it is told not to.
fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove("REGISTRY_AUTH_FILE");
    command.env("OTEL_TRACES_EXPORTER", "none");
    command
}

fn spawn(program: &Path, directory: &Path, port: u16) -> Child {
    let mut command = command(program);
    command.arg("serve").arg(directory.join("config.yml"));
    spawn_command(&mut command, directory, port)
}

fn spawn_command(command: &mut Command, directory: &Path, port: u16) -> Child {
    let log = fs::File::create(directory.join("log")).unwrap();
    let child = command
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .expect("the registry is installed");
    eventually("the registry's start", || {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    child
}

/// Runs openssl in a directory.
pub(crate) fn openssl(directory: &Path, arguments: &str) -> Vec<u8> {
    let mut command = Command::new("openssl");
    let arguments = arguments.split_whitespace();
    run(command.current_dir(directory).args(arguments))
}

/// Creates an authority, `ca.crt`, and a key and certificate of a server on this machine that it signed.
pub(crate) fn make_certificates(directory: &Path) {
    openssl(
        directory,
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt -subj /CN=test-authority -days 2",
    );
    let extensions = "subjectAltName=IP:127.0.0.1,DNS:localhost\nbasicConstraints=CA:FALSE\n";
    fs::write(directory.join("extensions"), extensions).unwrap();
    issue(directory, "server", "-days 2 -extfile extensions");
    fs::rename(directory.join("server.crt"), directory.join("server.pem")).unwrap();
}

/// Creates a key and a certificate of a directory's authority, `NAME.key` and `NAME.crt`.
pub(crate) fn issue(directory: &Path, name: &str, options: &str) {
    openssl(
        directory,
        &format!(
            "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {name}.key -out {name}.csr -subj /CN={name}"
        ),
    );
    openssl(
        directory,
        &format!(
            "x509 -req -in {name}.csr -CA ca.crt -CAkey ca.key -CAcreateserial {options} -out {name}.crt"
        ),
    );
}

/// Returns the authority whose certificate is in a directory.
pub(crate) fn authority(directory: &Path) -> CertificateAuthority {
    let file = directory.join("ca.crt");
    CertificateAuthority::new(file.display(), fs::read(&file).unwrap()).unwrap()
}

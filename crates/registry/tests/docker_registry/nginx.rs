//! An nginx as a reverse proxy of a registry. It runs on loopback and ends when the value is dropped.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use registry::{Client, ClientOptions};
use tempfile::TempDir;

use crate::server::{FreePort, authority, eventually, make_certificates, options};

pub(crate) struct Nginx {
    child: Child,
    directory: TempDir,
    port: FreePort,
}

impl Nginx {
    /// Starts nginx with TLS, for clients with a certificate of its authority. It answers `/v2/` like a registry
    /// without a login.
    pub(crate) fn demanding_certificates() -> Self {
        let server = "ssl_client_certificate ca.crt; ssl_verify_client on; location = /v2/ { return 200 '{}'; }";
        Self::start(server)
    }

    /// Starts nginx with TLS in front of a registry on this port, with a limit for request bodies (`1m`).
    pub(crate) fn before(registry: u16, most: &str) -> Self {
        Self::start(&format!(
            "client_max_body_size {most}; location / {{ proxy_pass http://127.0.0.1:{registry}; proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto https; }}"
        ))
    }

    fn start(server: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let path = directory.path();
        make_certificates(path);
        let port = FreePort::new();
        let number = port.number;
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {kind};"))
            .concat();
        let config = format!(
            "daemon off; master_process off; pid nginx.pid; error_log stderr; events {{}}\n\
             http {{ access_log off; {temporary}\n\
             server {{ listen 127.0.0.1:{number} ssl; ssl_certificate server.pem; ssl_certificate_key server.key; {server} }} }}\n"
        );
        fs::write(path.join("nginx.conf"), config).unwrap();
        let child = Command::new("nginx")
            .arg("-p")
            .arg(path)
            .args(["-c", "nginx.conf", "-e", "stderr"])
            .stdin(Stdio::null())
            .stderr(fs::File::create(path.join("log")).unwrap())
            .spawn()
            .expect("nginx is installed");
        eventually("nginx's start", || {
            TcpStream::connect(("127.0.0.1", number)).is_ok()
        });
        Self {
            child,
            directory,
            port,
        }
    }

    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port.number)
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn options(&self) -> ClientOptions {
        ClientOptions {
            ca: vec![authority(self.directory())],
            ..options()
        }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(&self.host().parse().unwrap(), self.options()).unwrap()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! `docker-daemon:`, with podman in the place of Docker.

use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::common::{Answer, Desk};
use crate::server::eventually;
use crate::setup::{image, pack, validate, write_layout, write_source};

/// A podman of this test, with its API socket `podman.sock` on the desk; stopped on drop.
pub(crate) struct Podman<'a> {
    desk: &'a Desk,
    service: Child,
}

impl<'a> Podman<'a> {
    fn start(desk: &'a Desk) -> Self {
        let socket = desk.path("podman.sock");
        let address = format!("unix://{}", socket.display());
        let service = Self::command(desk)
            .args(["system", "service", "--time=0", &address])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("podman is installed");
        eventually("podman's start", || UnixStream::connect(&socket).is_ok());
        Self { desk, service }
    }

    pub(crate) fn command(desk: &Desk) -> Command {
        let mut command = Command::new("podman");
        let global = [
            ("--root", "storage"),
            ("--runroot", "run"),
            ("--tmpdir", "tmp"),
        ];
        for (option, name) in global {
            command.arg(option).arg(desk.path(name));
        }
        command.args(["--storage-driver", "vfs"]);
        command.current_dir(desk.path("."));
        command
    }

    fn run(&self, arguments: &[&str]) -> String {
        Answer::from_command(Self::command(self.desk).args(arguments)).success()
    }

    /// Loads the image of a layout under a name.
    fn load(&self, layout: &str, name: &str) {
        let id = self.run(&["pull", "--quiet", &format!("oci:{layout}:1")]);
        self.run(&["tag", id.trim(), name]);
    }
}

impl Drop for Podman<'_> {
    fn drop(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

fn run(desk: &Desk, socket: &str, archive: &str) -> Answer {
    let mut command = desk.command();
    let socket = format!("unix://{}", desk.path(socket).display());
    let arguments = pack("pull", archive);
    Answer::from_command(
        command
            .env("DOCKER_HOST", socket)
            .args(arguments)
            .args(["--output", "json"]),
    )
}

#[test]
fn an_image_of_podman_is_packed() {
    let desk = Desk::with_key();
    write_layout(&desk, "source", &image("amd64").into());
    let podman = Podman::start(&desk);
    podman.load("source/layout", "localhost/team/app:1");
    write_source(
        &desk,
        "pull",
        &["source: 'docker-daemon:localhost/team/app:1'"],
    );
    let answer = run(&desk, "podman.sock", "out.iso");
    assert_eq!(answer.code, 0, "{answer:?}");
    validate(&desk, "out.iso");
    assert_eq!(
        answer.json()["pinned"][0]["source"],
        "docker-daemon:localhost/team/app:1"
    );
    // The configuration and its digest are those of the image. The layers may be compressed in another way.
    let manifest: Value = serde_json::from_slice(image("amd64").manifest()).unwrap();
    let config = manifest["config"]["digest"].as_str().unwrap();
    let id = podman.run(&["images", "--quiet", "--no-trunc"]);
    assert_eq!(id.trim(), config);
    let archive = desk.read("out.iso");
    let config = config.replacen("sha256:", "", 1);
    let text = archive
        .windows(64)
        .any(|window| window == config.as_bytes());
    assert!(text, "the configuration is not in the archive");

    // The same image gives the same archive, and no temporary file is left.
    run(&desk, "podman.sock", "again.iso").success();
    assert!(archive == desk.read("again.iso"));
    let mut command = desk.command();
    let address = format!("unix://{}", desk.path("podman.sock").display());
    command.env("CONTAINER_HOST", address);
    Answer::from_command(command.args(pack("pull", "third.iso"))).success();
    assert!(archive == desk.read("third.iso"));
    let left = std::fs::read_dir(desk.path(".cache/solution/new")).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn what_is_wrong_with_an_engine_is_told_apart() {
    let desk = Desk::with_key();
    let _podman = Podman::start(&desk);
    write_source(
        &desk,
        "pull",
        &["source: 'docker-daemon:localhost/team/app:1'"],
    );
    // No server listens on the first socket any more, and the second one never existed.
    drop(UnixListener::bind(desk.path("closed.sock")).unwrap());
    for (name, code, words, hint) in [
        (
            "closed.sock",
            3,
            "cannot reach a container engine",
            "start the engine",
        ),
        (
            "missing.sock",
            3,
            "cannot reach a container engine",
            "start the engine",
        ),
        (
            "podman.sock",
            1,
            "has no image `localhost/team/app:1`",
            "podman images",
        ),
    ] {
        let text = run(&desk, name, "out.iso").failure(code);
        for part in [
            "image `app-0:1` from `docker-daemon:localhost/team/app:1`",
            name,
            words,
            hint,
        ] {
            assert!(text.contains(part), "`{part}` is not in {text}");
        }
        assert!(!desk.path("out.iso").exists());
    }
    let mut command = desk.command();
    command.env("DOCKER_HOST", "tcp://127.0.0.1:1");
    let text = Answer::from_command(command.args(pack("pull", "out.iso"))).failure(1);
    assert!(text.contains("only `unix://PATH`"), "{text}");
}

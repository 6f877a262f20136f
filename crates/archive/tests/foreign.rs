//! Tests with other programs: xorriso unpacks archives; openssl and sha256sum (with the commands of `README.txt`),
//! skopeo, Jinja and NGINX use the unpacked files.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that fails"
)]

mod common;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{Place, id, images, key};
use signing::SecretKey;

fn output(program: &str, arguments: &[&str], directory: &Path) -> Output {
    Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap_or_else(|error| panic!("{program} is installed: {error}"))
}

fn run(program: &str, arguments: &[&str], directory: &Path) -> Vec<u8> {
    let output = output(program, arguments, directory);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {stderr}");
    output.stdout
}

/// An archive and its files as a mount would show them.
struct Mounted {
    place: Place,
    root: PathBuf,
}

impl Mounted {
    fn new() -> Self {
        let place = Place::new();
        place.write();
        let root = place.sources.path().join("mounted");
        let [archive, target] = [place.archive(), root.clone()];
        let [archive, target] = [&archive, &target].map(|path| path.to_str().unwrap());
        let arguments = ["-osirrox", "on", "-indev", archive, "-extract", "/", target];
        run("xorriso", &arguments, place.sources.path());
        Self { place, root }
    }

    fn root(&self) -> &str {
        self.root.to_str().unwrap()
    }

    /// Runs the commands of `README.txt` that verify an archive with OpenSSL.
    fn check_as_told(&self, public_key: &str) -> bool {
        let readme = fs::read_to_string(self.root.join("README.txt")).unwrap();
        let start = readme
            .find("Verify the archive without that program")
            .unwrap();
        let end = readme.find("If there are multiple signatures").unwrap();
        let lines = readme[start..end]
            .lines()
            .filter(|line| line.starts_with("  "));
        let script: Vec<String> = lines
            .map(|line| line.replace("/mnt", self.root()))
            .collect();
        assert_eq!(script.len(), 7, "{script:?}");
        let work = tempfile::tempdir().unwrap();
        fs::write(work.path().join("publisher.pub"), public_key).unwrap();
        let output = output("sh", &["-e", "-c", &script.join("\n")], work.path());
        if output.status.success() {
            let id = run("sha256sum", &["payload"], work.path());
            let expected = self.place.list().unwrap().archive_id().hex();
            assert!(id.starts_with(expected.as_bytes()));
        }
        output.status.success()
    }

    fn alter(&self, path: &str, from: &str, to: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.root.join(path);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    }
}

#[test]
fn the_readmes_lines_tell_a_good_archive_from_a_bad_one() {
    let public = key().public().to_pem();
    let mounted = Mounted::new();
    assert!(mounted.check_as_told(&public));
    let stranger = SecretKey::generate().unwrap().public().to_pem();
    assert!(!mounted.check_as_told(&stranger));
    mounted.alter("manifest.yaml", "Solution", "solution");
    assert!(!mounted.check_as_told(&public));
    // If SHA256SUMS fits the altered file, SHA256SUMS itself differs from the signed one.
    let sums = mounted.root.join("SHA256SUMS");
    let before = fs::read_to_string(&sums).unwrap();
    let line = before
        .lines()
        .find(|line| line.ends_with("  manifest.yaml"))
        .unwrap();
    let altered = run("sha256sum", &["manifest.yaml"], &mounted.root);
    mounted.alter(
        "SHA256SUMS",
        &format!("{line}\n"),
        &String::from_utf8(altered).unwrap(),
    );
    assert!(!mounted.check_as_told(&public));
}

#[test]
fn skopeo_finds_every_image_in_both_views() {
    let mounted = Mounted::new();
    let out = tempfile::tempdir().unwrap();
    for (index, image) in images().0.iter().enumerate() {
        let place = &image.place;
        let views = [
            format!("oci:{}:{place}", mounted.root()),
            format!("dir:{}/images/{}/{}", mounted.root(), place.name, place.tag),
        ];
        for (view, source) in views.iter().enumerate() {
            let name = format!("{index}-{view}");
            let target = format!("dir:{name}");
            let arguments = ["--insecure-policy", "copy", "--all", source, &target];
            run("skopeo", &arguments, out.path());
            assert_same_image(image, &out.path().join(name));
        }
    }
}

fn assert_same_image(image: &schemas::Image, directory: &Path) {
    for document in image.documents() {
        let name = if document.digest == image.root.digest {
            "manifest.json".to_owned()
        } else {
            format!("{}.manifest.json", document.digest.hex())
        };
        assert_eq!(fs::read(directory.join(name)).unwrap()[..], *document.bytes);
    }
    for digest in image.blobs.keys() {
        let bytes = fs::read(directory.join(digest.hex())).unwrap();
        assert_eq!(common::digest(&bytes), *digest);
    }
}

/// Renders the template as upstream's import does, with these two values (its state `solutions/available`).
fn filled_in(mounted: &Mounted, root: &str) -> String {
    let program = "import jinja2, sys; sys.stdout.write(jinja2.Template(open(sys.argv[1]).read(), \
                   keep_trailing_newline=True).render(repository=sys.argv[2], registry_root=sys.argv[3]))";
    let id = id().to_string();
    let arguments = ["-c", program, "registry-config.inc.j2", &id, root];
    String::from_utf8(run("python3", &arguments, &mounted.root)).unwrap()
}

#[test]
fn the_template_filled_in_as_upstream_does_is_the_other_file() {
    let mounted = Mounted::new();
    let filled = filled_in(&mounted, "/srv/scality/example-1.0.0/images");
    let other = fs::read_to_string(mounted.root.join("registry-config.inc")).unwrap();
    assert_eq!(filled, other);
    assert!(filled.contains(r#"location = "/v2/example-1.0.0/app/manifests/1.0" {"#));
}

/// An NGINX process of this test, stopped by its own `stop` command.
struct Nginx {
    directory: tempfile::TempDir,
    port: u16,
}

impl Nginx {
    fn start(locations: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {kind};\n"))
            .concat();
        // Upstream's server block contains these constants once for all Solutions.
        let configuration = format!(
            "user root;\npid nginx.pid;\nerror_log error.log;\nevents {{ }}\nhttp {{\naccess_log off;\n{temporary}\
             server {{\nlisten 127.0.0.1:{port};\n\
             location = /v2/ {{ return 200 'ok'; }}\n\
             location @404_tag {{ return 404 '{{}}'; }}\n{locations}}}\n}}\n"
        );
        fs::write(directory.path().join("nginx.conf"), configuration).unwrap();
        let nginx = Self { directory, port };
        // NGINX forks into the background after it has bound the port.
        run("nginx", &nginx.arguments(&[]), nginx.directory.path());
        nginx
    }

    fn arguments<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let prefix = self.directory.path().to_str().unwrap();
        [&["-p", prefix, "-c", "nginx.conf", "-e", "error.log"], more].concat()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        output(
            "nginx",
            &self.arguments(&["-s", "stop"]),
            self.directory.path(),
        );
    }
}

#[test]
fn nginx_serves_every_image() {
    let mounted = Mounted::new();
    let images_directory = mounted.root.join("images");
    let nginx = Nginx::start(&filled_in(&mounted, images_directory.to_str().unwrap()));
    let out = tempfile::tempdir().unwrap();
    for (index, image) in images().0.iter().enumerate() {
        let (name, tag) = (&image.place.name, &image.place.tag);
        let repository = format!("127.0.0.1:{}/{}/{name}", nginx.port, id());
        for (way, reference) in [format!(":{tag}"), format!("@{}", image.root.digest)]
            .iter()
            .enumerate()
        {
            let source = format!("docker://{repository}{reference}");
            let target = format!("{index}-{way}");
            let arguments = [
                "--insecure-policy",
                "copy",
                "--all",
                "--src-tls-verify=false",
                &source,
                &format!("dir:{target}"),
            ];
            run("skopeo", &arguments, out.path());
            assert_same_image(image, &out.path().join(target));
        }
        let list = [
            "list-tags",
            "--tls-verify=false",
            &format!("docker://{repository}"),
        ];
        let tags = String::from_utf8(run("skopeo", &list, out.path())).unwrap();
        assert!(tags.contains(&format!("\"{tag}\"")), "{tags}");
    }
}

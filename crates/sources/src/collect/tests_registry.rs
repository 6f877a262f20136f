//! Concurrent requests for multiple images of multiple registries. The registries are simulated, because they must wait
//! for each other to prove the concurrency.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use progress::Watch;
use tempfile::TempDir;

use super::tests::{here, means, source_image};
use super::*;
use crate::cache::Cache;
use crate::remote::{Remote, SourceNetwork};
use crate::unpacking::UnpackSession;

/// The maximum wait for a request that may never arrive.
const PATIENCE: Duration = Duration::from_secs(20);

/// The requested paths at all registries of a test.
#[derive(Default)]
struct Asked {
    paths: Mutex<Vec<String>>,
    more: Condvar,
}

impl Asked {
    /// Waits until this number of paths with this text was requested. Returns whether that happened.
    fn wait(&self, part: &str, number: usize) -> bool {
        let few = |paths: &mut Vec<String>| {
            paths.iter().filter(|path| path.contains(part)).count() < number
        };
        let paths = self.paths.lock().unwrap();
        let waited = self.more.wait_timeout_while(paths, PATIENCE, few);
        !waited.unwrap().1.timed_out()
    }
}

/// Contents by the end of their path, and the request to wait for before an answer.
#[derive(Clone, Default)]
struct Registry {
    contents: BTreeMap<String, Vec<u8>>,
    gates: Vec<(&'static str, &'static str, usize)>,
}

impl Registry {
    /// Adds an image with one configuration, and returns the digest of its manifest.
    fn image(&mut self, name: &str, tag: &str) -> String {
        let config = format!(r#"{{"architecture":"amd64","os":"linux","name":"{name}"}}"#);
        let config = self.add("blobs", &config);
        let manifest = format!(
            r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{config},"layers":[]}}"#
        );
        self.tagged(name, tag, &manifest)
    }

    /// Adds an index of these children.
    fn index(&mut self, name: &str, children: &[String]) {
        let children = children.join(",");
        let index = format!(
            r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{children}]}}"#
        );
        self.tagged(name, "1", &index);
    }

    fn tagged(&mut self, name: &str, tag: &str, manifest: &str) -> String {
        let path = format!("{name}/manifests/{tag}");
        self.contents.insert(path, manifest.as_bytes().to_vec());
        let descriptor = self.add("manifests", manifest);
        descriptor.replace("config.v1", "manifest.v1")
    }

    /// Adds content and returns its descriptor.
    fn add(&mut self, kind: &str, content: &str) -> String {
        let (digest, size) = (files::digest(content.as_bytes()), content.len());
        let path = format!("{kind}/{digest}");
        self.contents.insert(path, content.as_bytes().to_vec());
        format!(
            r#"{{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"{digest}","size":{size}}}"#
        )
    }

    /// Starts the server and returns its host.
    fn serve(self, asked: &Arc<Asked>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let (registry, asked) = (Arc::new(self), Arc::clone(asked));
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (registry, asked) = (Arc::clone(&registry), Arc::clone(&asked));
                std::thread::spawn(move || registry.answer(&connection, &asked));
            }
        });
        host
    }

    fn answer(&self, mut connection: &TcpStream, asked: &Asked) -> Option<()> {
        let mut lines = BufReader::new(connection.try_clone().ok()?).lines();
        while let Some(Ok(line)) = lines.next() {
            let Some(path) = line.strip_prefix("GET ") else {
                continue;
            };
            let path = path.split(' ').next()?.to_owned();
            asked.paths.lock().unwrap().push(path.clone());
            asked.more.notify_all();
            let mut gates = self.gates.iter().filter(|(of, ..)| path.contains(of));
            let open = gates.all(|(_, part, number)| asked.wait(part, *number));
            let found = self.contents.iter().find(|(end, _)| path.ends_with(*end));
            let (status, body) = match found {
                Some((_, body)) if open => ("200 OK", body.as_slice()),
                _ if path == "/v2/" => ("200 OK", &b"{}"[..]),
                _ => ("404 Not Found", &b"{}"[..]),
            };
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n");
            connection.write_all(head.as_bytes()).ok()?;
            connection.write_all(body).ok()?;
        }
        Some(())
    }
}

/// Runs a function with a context for these registries, which do not use TLS.
fn with_means<T>(directory: &TempDir, work: impl FnOnce(&SourceContext<'_>) -> T) -> T {
    with_remote(directory, Remote::default(), work)
}

fn with_remote<T>(
    directory: &TempDir,
    mut remote: Remote,
    work: impl FnOnce(&SourceContext<'_>) -> T,
) -> T {
    remote.registries.plain_http = registry::PlainHttp::Always;
    let cache = Cache::new(&directory.path().join("cache"));
    let watch = Watch::silent(Cancel::never());
    work(&SourceContext {
        network: SourceNetwork::new(&remote, &cache, &watch),
        ..means(&cache, UnpackSession::new(0), &watch)
    })
}

/// Images of these sources, named in this order.
pub(super) fn images(sources: &[String]) -> Vec<SourceImage> {
    let numbered = sources.iter().enumerate();
    let images = numbered.map(|(number, source)| SourceImage {
        name: format!("app-{number}").parse().unwrap(),
        ..source_image(source)
    });
    images.collect()
}

#[test]
fn documents_of_several_images_are_asked_for_at_a_time() {
    let (asked, directory) = (Arc::default(), tempfile::tempdir().unwrap());
    let mut first = Registry::default();
    let mut second = Registry::default();
    let children = [first.image("one", "child-1"), first.image("two", "child-2")];
    first.index("list", &children);
    second.image("three", "1");
    second.image("four", "1");
    // No tag is answered before all are requested, and no child before the other.
    let tags = ("/manifests/1", "/manifests/1", 3);
    first.gates = vec![tags, ("/manifests/sha256:", "/manifests/sha256:", 2)];
    second.gates = vec![tags];
    let (first, second) = (first.serve(&asked), second.serve(&asked));
    let images = images(&[
        format!("docker://{first}/list:1"),
        format!("docker://{second}/three:1"),
        format!("docker://{second}/four:1"),
    ]);
    let documents = with_means(&directory, |means| {
        let collected = collect(directory.path(), &images, means).unwrap();
        let documents = collected
            .iter()
            .map(|image| 1 + image.contents.children.len());
        documents.collect::<Vec<_>>()
    });
    assert_eq!(documents, [3, 1, 1]);
    let paths = asked.paths.lock().unwrap();
    let manifests = paths.iter().filter(|path| path.contains("/manifests/"));
    assert_eq!(manifests.count(), 5, "each is asked for once: {paths:?}");
}

/// The original registries do not exist, so any request to them would fail.
#[test]
fn a_mirror_is_asked_instead_of_the_registry_and_the_image_keeps_its_name() {
    let (asked, directory) = (Arc::default(), tempfile::tempdir().unwrap());
    let mut cache = Registry::default();
    cache.image("hub/library/app", "1");
    cache.image("tool", "2");
    let host = cache.serve(&asked);
    let mirrors = [
        (
            "docker.io".to_owned(),
            format!("{host}/hub").parse().unwrap(),
        ),
        ("registry.test".to_owned(), host.parse().unwrap()),
    ];
    let remote = Remote {
        mirrors: mirrors.into(),
        ..Remote::default()
    };
    let sources = ["docker://app:1", "docker://registry.test/tool:2"].map(str::to_owned);
    let collected = with_remote(&directory, remote, |means| {
        let collected = collect(directory.path(), &images(&sources), means).unwrap();
        assert_eq!(
            fetch(&collected, blobs(&collected), means).unwrap().len(),
            2
        );
        collected
    });
    let named: Vec<String> = collected
        .iter()
        .map(|image| image.from.to_string())
        .collect();
    assert_eq!(named, sources);
    let paths = asked.paths.lock().unwrap();
    assert!(
        paths
            .iter()
            .any(|path| path == "/v2/hub/library/app/manifests/1"),
        "{paths:?}"
    );
}

/// The other contents of the image are not requested.
#[test]
fn a_foreign_layer_that_a_registry_does_not_have_is_told_before_any_download() {
    let (asked, directory) = (Arc::default(), tempfile::tempdir().unwrap());
    let mut registry = Registry::default();
    let config = registry.add("blobs", r#"{"architecture":"amd64","os":"windows"}"#);
    let layer = format!(
        r#"{{"mediaType":"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip","digest":"{}","size":5,"urls":["https://example.test/layer"]}}"#,
        files::digest(b"layer")
    );
    let manifest = |layer: &str| {
        format!(
            r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{config},"layers":[{layer}]}}"#
        )
    };
    registry.tagged("windows", "1", &manifest(&layer));
    let host = registry.serve(&asked);
    let images = images(&[format!("docker://{host}/windows:1")]);
    let failed = with_means(&directory, |means| {
        collect(directory.path(), &images, means).unwrap_err()
    });
    let [failed] = &failed[..] else {
        panic!("{failed:?}")
    };
    assert!(matches!(*failed.error, SourceError::MissingForeign { .. }));
    assert!(failed.error.is_of_source());
}

#[test]
fn the_first_image_in_order_that_fails_is_told() {
    let (asked, directory) = (Arc::default(), tempfile::tempdir().unwrap());
    // The failure of the first image is known after that of the second.
    let registry = Registry {
        gates: vec![("/v2/first/", "/v2/second/", 1)],
        ..Registry::default()
    };
    let host = registry.serve(&asked);
    let [first, second] = ["first", "second"].map(|name| format!("docker://{host}/{name}:1"));
    let failed = |sources: &[String]| {
        let failed = with_means(&directory, |means| {
            collect(directory.path(), &images(sources), means).unwrap_err()
        });
        let failed = &failed[0];
        assert!(!matches!(*failed.error, SourceError::Interrupted(_)));
        (failed.place.to_string(), failed.from.to_string())
    };
    let (place, from) = failed(&[first.clone(), second.clone()]);
    assert_eq!((place.as_str(), from), ("app-0:1.0", first.clone()));
    // An image on the disk is reported too, although registries are prefetched.
    let (place, _) = failed(&["oci:nothing".to_owned(), first, second]);
    assert_eq!(place, "app-0:1.0");
}

#[test]
fn several_registries_are_downloaded_from_at_a_time() {
    let (asked, directory) = (Arc::default(), tempfile::tempdir().unwrap());
    let serve = |name: &str| {
        let mut registry = Registry::default();
        registry.image(name, "1");
        registry.gates = vec![("/blobs/", "/blobs/", 2)];
        let host = registry.serve(&asked);
        format!("docker://{host}/{name}:1")
    };
    let images = images(&[serve("one"), serve("two")]);
    with_means(&directory, |means| {
        let collected = collect(directory.path(), &images, means).unwrap();
        let wanted = blobs(&collected);
        assert!(
            wanted
                .values()
                .all(|blob| matches!(blob, ImageBlob::Remote(_)))
        );
        let fetched = fetch(&collected, wanted, means).unwrap();
        assert_eq!(fetched.len(), 2);
        for (digest, blob) in &fetched {
            assert_eq!(files::digest(&blob.read().unwrap()), *digest);
        }
        // Downloaded content is not downloaded again.
        let again = collect(directory.path(), &images, means).unwrap();
        for (digest, blob) in &blobs(&again) {
            assert_eq!(here(blob).path, fetched[digest].path);
        }
    });
}

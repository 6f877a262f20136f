//! The number of requests of an import: the push uses the results of the plan and repeats no request.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use fixtures::far_line::FarLine;
use registry::{Client, Credentials, PushReport, Reference, RepositoryPath, limits, push};
use schemas::Digest;

use crate::images::{Job, in_time, noise, repository, silent};
use crate::server::{Protection, Server, client_for};
use fixtures::proxy::{Action, Proxy, Seen};

/// The number of images of a version, which exceeds the number of connections.
const IMAGES: usize = 10;

fn repositories(version: &str) -> Vec<RepositoryPath> {
    let name = |image| repository(&format!("demo-{version}/app-{image}"));
    (0..IMAGES).map(name).collect()
}

/// A version of some images. All share a base, and each has its own layer that is the same in all versions, plus a
/// layer for each of these seeds.
fn version(version: &str, seed: u64) -> Job {
    let mut job = Job::default();
    for (image, at) in (100..).zip(&repositories(version)) {
        job.image(
            at,
            Some("1"),
            &[noise(1, 5000), noise(image, 100), noise(image * seed, 10)],
        );
    }
    let tags = |manifest: &registry::ManifestPush| matches!(manifest.reference, Reference::Tag(_));
    job.job.manifests.retain(tags);
    job
}

/// Plans like an import, then pushes the missing content.
async fn import(client: &Client, job: &Job, earlier: &[(RepositoryPath, Digest)]) -> PushReport {
    let mut job = job.job.clone();
    job.known = client.survey(&job).await.unwrap();
    let known = job.known.clone();
    let (found, missing): (Vec<_>, Vec<_>) = job
        .manifests
        .into_iter()
        .partition(|m| known.manifest(&m.repository, &m.reference) == Some(m.digest));
    job.manifests = missing;
    let at: BTreeSet<_> = job.manifests.iter().map(|m| &m.repository).collect();
    let refused = client.open_uploads(&job.known, at).await.unwrap();
    assert!(refused.is_empty(), "{refused:?}");
    client.find_in_images(&mut job, earlier).await.unwrap();
    let report = push(client, job, silent()).await;
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(report.manifests.len() + found.len(), IMAGES);
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_asks_nothing_twice() {
    let server = Server::start(&Protection::None);
    let proxy = Proxy::start(server.port, |_| Action::Forward);
    let client = client_for(&proxy.host(), Credentials::Anonymous);
    client.ping().await.unwrap();
    let mut before = proxy.seen().len();
    let mut asked = || {
        let seen = proxy.seen().split_off(before);
        before += seen.len();
        seen
    };
    let images = IMAGES;
    // A blob counts once per repository: a base, two layers, a configuration.
    let blobs = 4 * images;
    let first = version("1.0.0", 3);

    import(&client, &first, &[]).await;
    let seen = asked();
    assert_eq!(count(&seen, "GET", "/blobs/sha256"), blobs);
    assert_eq!(count(&seen, "", "/manifests/"), 3 * images);
    assert_eq!(count(&seen, "POST", "?mount="), images - 1, "the base");
    // One upload is opened to prove the permission to push, and then used.
    let sent = blobs - (images - 1);
    assert_eq!(count(&seen, "PUT", "/uploads/"), sent);
    assert_eq!(count(&seen, "POST", "/uploads/"), blobs);
    assert_eq!(seen.len(), 2 * blobs + sent + 3 * images);
    assert!(seen.len() <= 4 * blobs + 4 * images);

    import(&client, &first, &[]).await;
    let seen = asked();
    assert_eq!(count(&seen, "GET", "/blobs/sha256"), blobs);
    assert_eq!(count(&seen, "GET", "/manifests/"), images);
    assert_eq!(seen.len(), blobs + images);

    let images_before = first.job.manifests.iter();
    let images_before: Vec<_> = images_before
        .map(|manifest| (manifest.repository.clone(), manifest.digest))
        .collect();
    let report = import(&client, &version("1.1.0", 5), &images_before).await;
    let counts = (report.mounted.count, report.uploaded.count);
    assert_eq!(counts, (2 * images as u64, 2 * images as u64));
    let seen = asked();
    assert!(seen.len() <= 4 * blobs + 4 * images);
    assert_eq!(count(&seen, "DELETE", ""), 0, "no upload is given back");
    // The earlier manifests refer to the base and a layer, which are found there and mounted.
    let (named, mounted, sent) = (images + 1, 2 * images, 2 * images);
    assert_eq!(count(&seen, "GET", "/blobs/sha256"), blobs + named);
    assert_eq!(count(&seen, "POST", "?mount="), mounted);
    assert_eq!(count(&seen, "", "/manifests/"), 4 * images);
    assert_eq!(seen.len(), blobs + named + mounted + 2 * sent + 4 * images);
    assert!(server.stored("_uploads").is_empty());
}

fn count(seen: &[Seen], method: &str, part: &str) -> usize {
    let seen = seen.iter();
    seen.filter(|seen| seen.method.contains(method) && seen.path.contains(part))
        .count()
}

/// The latency of the simulated line.
const DELAY: Duration = Duration::from_millis(50);

/// A line that simulates a distant registry, and a client at its near end.
fn far(server: &Server) -> (FarLine, Client) {
    let upstream = server.host().parse().unwrap();
    let anywhere = "127.0.0.1:0".parse().unwrap();
    let line = FarLine::start(anywhere, upstream, DELAY).unwrap();
    let client = client_for(&line.address().to_string(), Credentials::Anonymous);
    (line, client)
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_share_connections_and_wait_for_a_far_registry_together() {
    let server = Server::start(&Protection::None);
    let (line, client) = far(&server);
    let job = version("1.0.0", 3);
    client.ping().await.unwrap();

    let questions = 5 * IMAGES;
    let one_by_one = DELAY * 2 * u32::try_from(questions).unwrap();
    in_time(one_by_one / 3, async |_| {
        let start = Instant::now();
        client.survey(&job.job).await.unwrap();
        start.elapsed()
    })
    .await;

    import(&client, &job, &[]).await;
    import(&client, &job, &[]).await;
    // As many as there are concurrent requests. The connection pool can open one for a request that then uses another
    // free connection, so the number has no exact bound.
    let connections = line.connections();
    assert!(connections <= 2 * limits::REQUESTS, "{connections}");
}

#[tokio::test(flavor = "multi_thread")]
async fn small_blobs_go_beside_each_other_from_media_with_heads() {
    let server = Server::start(&Protection::None);
    let (_line, client) = far(&server);
    let layers: Vec<_> = (1..20).map(|seed| noise(seed, 100)).collect();
    // Two requests each.
    let one_by_one = 20 * 2 * 2 * DELAY;
    in_time(one_by_one / 2, async |number| {
        let mut job = Job::default();
        job.image(&repository(&format!("app-{number}")), None, &layers);
        job.job.manifests.clear();
        job.job.read_one_at_a_time = true;
        job.job.known = client.survey(&job.job).await.unwrap();
        let start = Instant::now();
        assert!(push(&client, job.job, silent()).await.is_complete());
        start.elapsed()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_that_nothing_is_sent_to_are_given_back() {
    let server = Server::start(&Protection::None);
    let proxy = Proxy::start(server.port, |_| Action::Forward);
    let client = client_for(&proxy.host(), Credentials::Anonymous);
    let mut job = Job::default();
    job.image(&repository("a"), Some("1"), &[noise(1, 10)]);
    let at = [repository("a"), repository("b"), repository("c")];
    let refused = client.open_uploads(&job.job.known, at.iter().collect());
    assert!(refused.await.unwrap().is_empty());
    let report = push(&client, job.job, silent()).await;
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(proxy.count("POST", "/uploads/"), 3 + 1);
    assert_eq!(proxy.count("DELETE", "/v2/a/"), 0);
    for unused in ["/v2/b/", "/v2/c/"] {
        assert_eq!(proxy.count("DELETE", unused), 1);
    }
    assert!(server.stored("startedat").is_empty());
}

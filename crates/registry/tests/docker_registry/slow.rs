//! Peers that transfer a byte now and then, with a minimum rate that is checked after a second.

use std::time::{Duration, Instant};

use registry::{Client, ClientOptions, Error, LeastRate, pull, push};

use crate::images::{Job, MIB, digest_of, noise, repository, silent};
use crate::pulling::{Memory, blob};
use crate::server::{Protection, Server, options};
use fixtures::proxy::{Action, Proxy};

const RATE: LeastRate = LeastRate {
    bytes: 1000,
    within: Duration::from_secs(1),
};

fn client(proxy: &Proxy) -> Client {
    let options = ClientOptions {
        least_rate: RATE,
        ..options()
    };
    Client::new(&proxy.host().parse().unwrap(), options).unwrap()
}

/// A registry that has an image of this layer as `app:1`.
async fn with_image(layer: &bytes::Bytes) -> Server {
    let server = Server::start(&Protection::None);
    let mut job = Job::default();
    job.image(&repository("app"), Some("1"), std::slice::from_ref(layer));
    let client = Client::new(&server.host().parse().unwrap(), options()).unwrap();
    assert!(push(&client, job.job, silent()).await.is_complete());
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_drips_its_answers_is_given_up() {
    let layer = noise(1, MIB);
    let server = with_image(&layer).await;
    let app = repository("app");
    let proxy = Proxy::start(server.port, |seen| match seen.method.as_str() {
        "GET" if seen.path != "/v2/" => Action::Drip,
        _ => Action::Forward,
    });
    let start = Instant::now();
    let tag = "1".parse::<schemas::Tag>().unwrap().into();
    let reading = client(&proxy);
    let error = reading.manifest(&app, &tag).await.unwrap_err();
    assert!(
        matches!(error, Error::TooSlow(_, rate) if rate == RATE),
        "{error:?}"
    );
    assert!(
        error
            .to_string()
            .ends_with("fewer than 1000 bytes were transferred in 1 seconds")
    );
    assert!(error.is_everywhere() && !error.is_retried());

    let pulling = client(&proxy);
    let sink = Memory::of(&layer);
    let wanted = vec![blob(&app, &layer, &sink)];
    let error = pull(&pulling, wanted, &|_| ()).await.unwrap_err().error;
    assert!(matches!(error, Error::TooSlow(..)), "{error:?}");
    assert_eq!(proxy.count("GET", "/app/"), 2, "each is tried once");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_sips_ends_the_push() {
    let server = Server::start(&Protection::None);
    let proxy = Proxy::start(server.port, |seen| match seen.method.as_str() {
        "PUT" => Action::Sip,
        _ => Action::Forward,
    });
    let mut job = Job::default();
    let content = noise(1, 17 * MIB);
    for from in 0..6 {
        // More than the buffers on the way can hold.
        let layer = content.slice(from..from + 16 * MIB);
        job.blob(&repository("app"), digest_of(&layer), &layer);
    }
    let report = push(&client(&proxy), job.job, silent()).await;
    assert_eq!(report.failed_blobs.len(), 6);
    let slow = |error: &Error| matches!(error, Error::TooSlow(..));
    assert!(
        report.errors().iter().all(|error| slow(error)),
        "{report:?}"
    );
    let tried = proxy.count("PUT", "");
    assert!(tried < 6, "what was not under way is not tried: {tried}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_thinks_after_the_last_byte_is_waited_for() {
    let server = Server::start(&Protection::None);
    let proxy = Proxy::start(server.port, |seen| match seen.method.as_str() {
        "PUT" => Action::Think(3 * RATE.within),
        _ => Action::Forward,
    });
    let mut job = Job::default();
    job.blob(&repository("app"), digest_of(b"few"), &b"few"[..].into());
    let report = push(&client(&proxy), job.job, silent()).await;
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(proxy.count("PUT", ""), 1);
}

//! Records and clients for unit tests. The client is never connected: tests use only the address of its registry.

use registry::{Client, ClientOptions, RetryPolicy};
use schemas::{Digest, Solution, StatementTime};

use crate::layout::{MirrorPolicy, PathLayout, Placement};
use crate::record::{Record, RecordedImage};

/// The address of the registry.
pub(crate) const REGISTRY: &str = "r.test:5000/apps";

/// Returns a client of [`REGISTRY`].
pub(crate) fn client() -> Client {
    let options = ClientOptions {
        retry: RetryPolicy::default(),
        ..ClientOptions::default()
    };
    Client::new(&REGISTRY.parse().unwrap(), options).unwrap()
}

/// Returns a digest whose bytes are all `number`.
pub(crate) fn digest(number: u8) -> Digest {
    Digest::new([number; 32])
}

/// Returns a placement.
pub(crate) fn placement(layout: PathLayout, mirrors: MirrorPolicy) -> Placement {
    Placement { layout, mirrors }
}

/// Returns an image with the digest [`digest`]; an empty reference means none.
pub(crate) fn image(place: &str, number: u8, reference: &str) -> RecordedImage {
    RecordedImage {
        image: place.parse().unwrap(),
        digest: digest(number),
        reference: (!reference.is_empty()).then(|| reference.parse().unwrap()),
    }
}

/// Returns the record of a version that was pushed to [`REGISTRY`] and is pulled from `pull.test`.
pub(crate) fn record(name: &str, version: &str, images: Vec<RecordedImage>) -> Record {
    let manifest = format!(
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: Solution\nmetadata: {{name: {name}}}\nspec: {{version: {version}}}\n"
    );
    Record {
        name: name.parse().unwrap(),
        version: version.parse().unwrap(),
        archive_id: digest(0xa),
        signers: Vec::new(),
        pushed_to: format!("{REGISTRY}/{name}-{version}"),
        endpoint: format!("pull.test/{name}-{version}"),
        images,
        placement: Placement::default(),
        imported: StatementTime::DEFAULT,
        expires: None,
        manifest: Solution::from_slice(manifest.as_bytes()).unwrap(),
    }
}

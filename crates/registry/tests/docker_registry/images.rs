//! Images of random data, and the jobs that push them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use progress::ProgressSink;
use registry::{
    BlobContent, BlobPush, Client, Error, Event, KnownContent, ManifestPush, PushJob,
    RepositoryPath,
};
use schemas::Digest;
use sha2::{Digest as _, Sha256};

pub(crate) const MIB: usize = 1024 * 1024;
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

pub(crate) fn digest_of(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}

/// Returns incompressible bytes without repetition. The same seed returns the same bytes.
pub(crate) fn noise(seed: u64, size: usize) -> Bytes {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(size);
    bytes.into()
}

/// Asserts that a measurement is below a limit in at least one of three attempts, whose number it receives. A machine
/// that is busy for a while is not slow three times in a row.
pub(crate) async fn in_time(longest: Duration, mut measure: impl AsyncFnMut(u32) -> Duration) {
    let mut times = Vec::new();
    for number in 0..3 {
        times.push(measure(number).await);
        if times.iter().any(|time| *time < longest) {
            return;
        }
    }
    panic!("{times:?}, and {longest:?} is too long");
}

pub(crate) fn repository(text: &str) -> RepositoryPath {
    text.parse().unwrap()
}

/// Checks whether a repository delivers a blob of this size.
pub(crate) async fn has_blob(
    client: &Client,
    at: &RepositoryPath,
    digest: &Digest,
    size: u64,
) -> Result<bool, Error> {
    let mut known = KnownContent::default();
    client
        .find_blobs(&mut known, &[(at, *digest, size)])
        .await?;
    Ok(known.has_blob(at, digest))
}

/// Checks whether an upload can be opened in a repository, and cancels it.
pub(crate) async fn may_push(client: &Client, at: &str) -> Result<(), Error> {
    let known = KnownContent::default();
    let refused = client
        .open_uploads(&known, BTreeSet::from([&repository(at)]))
        .await?;
    client.cancel_uploads(&known).await;
    refused.into_iter().next().map_or(Ok(()), Err)
}

/// Content that counts its reads.
pub(crate) struct Counted {
    bytes: Bytes,
    pub(crate) read: AtomicU64,
}

impl BlobContent for Counted {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
        self.read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        self.bytes.read_exact_at(buffer, offset)
    }
}

/// A job that is built image by image.
#[derive(Default)]
pub(crate) struct Job {
    pub(crate) job: PushJob,
    pub(crate) contents: Vec<Arc<Counted>>,
}

impl Job {
    /// Adds content under a digest that may differ from its own.
    pub(crate) fn blob(&mut self, repository: &RepositoryPath, digest: Digest, bytes: &Bytes) {
        let known = self.job.blobs.iter_mut().find(|blob| blob.digest == digest);
        if let Some(known) = known {
            known.repositories.push(repository.clone());
            return;
        }
        let content = Arc::new(Counted {
            bytes: bytes.clone(),
            read: AtomicU64::new(0),
        });
        self.contents.push(Arc::clone(&content));
        self.job.blobs.push(BlobPush {
            digest,
            size: bytes.len() as u64,
            repositories: vec![repository.clone()],
            content,
        });
    }

    /// Adds an image of these layers. It is pushed by digest, and by tag if there is one.
    pub(crate) fn image(
        &mut self,
        at: &RepositoryPath,
        tag: Option<&str>,
        layers: &[Bytes],
    ) -> Digest {
        let layers: Vec<(Digest, Bytes)> = layers
            .iter()
            .map(|layer| (digest_of(layer), layer.clone()))
            .collect();
        self.image_of(at, tag, &layers)
    }

    pub(crate) fn image_of(
        &mut self,
        at: &RepositoryPath,
        tag: Option<&str>,
        layers: &[(Digest, Bytes)],
    ) -> Digest {
        let diffs: Vec<String> = layers.iter().map(|(d, _)| format!("\"{d}\"")).collect();
        let config = Bytes::from(format!(
            r#"{{"architecture":"amd64","os":"linux","rootfs":{{"type":"layers","diff_ids":[{}]}}}}"#,
            diffs.join(",")
        ));
        let mut needs = vec![digest_of(&config)];
        self.blob(at, needs[0], &config);
        let mut described = Vec::new();
        for (digest, layer) in layers {
            self.blob(at, *digest, layer);
            needs.push(*digest);
            described.push(format!(
                r#"{{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"{digest}","size":{}}}"#,
                layer.len()
            ));
        }
        let manifest = format!(
            r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}","config":{{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"{}","size":{}}},"layers":[{}]}}"#,
            needs[0],
            config.len(),
            described.join(",")
        );
        self.manifest(at, tag, MANIFEST, manifest.into(), &needs)
    }

    pub(crate) fn index(&mut self, at: &RepositoryPath, tag: &str, children: &[Digest]) -> Digest {
        let described: Vec<String> = children
            .iter()
            .map(|child| {
                let mut manifests = self.job.manifests.iter();
                let size = manifests.find(|m| m.digest == *child).unwrap().bytes.len();
                format!(r#"{{"mediaType":"{MANIFEST}","digest":"{child}","size":{size},"platform":{{"architecture":"amd64","os":"linux"}}}}"#)
            })
            .collect();
        let index = format!(
            r#"{{"schemaVersion":2,"mediaType":"{INDEX}","manifests":[{}]}}"#,
            described.join(",")
        );
        self.manifest(at, Some(tag), INDEX, index.into(), children)
    }

    fn manifest(
        &mut self,
        at: &RepositoryPath,
        tag: Option<&str>,
        media_type: &str,
        bytes: Bytes,
        needs: &[Digest],
    ) -> Digest {
        let digest = digest_of(&bytes);
        let push = ManifestPush {
            repository: at.clone(),
            reference: digest.into(),
            media_type: media_type.to_owned(),
            bytes,
            digest,
            needs: needs.to_vec(),
        };
        // The tag comes first, to test that the order in a job does not matter.
        if let Some(tag) = tag {
            let reference = tag.parse::<schemas::Tag>().unwrap().into();
            let tagged = ManifestPush {
                reference,
                ..push.clone()
            };
            self.job.manifests.insert(0, tagged);
        }
        self.job.manifests.push(push);
        digest
    }

    /// Looks for the blobs in other repositories, to mount them from there.
    pub(crate) async fn mount_from(&mut self, client: &Client, repositories: &[RepositoryPath]) {
        let blobs: Vec<_> = self
            .job
            .blobs
            .iter()
            .flat_map(|blob| {
                let at = repositories.iter();
                at.map(|repository| (repository, blob.digest, blob.size))
            })
            .collect();
        let found = client.find_blobs(&mut self.job.known, &blobs).await;
        found.unwrap();
    }

    /// Returns the number of bytes read of all content since the job was built.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.contents
            .iter()
            .map(|content| content.read.load(Ordering::Relaxed))
            .sum()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.job.blobs.iter().map(|blob| blob.size).sum()
    }
}

/// The size of one part of the blobs of [`seeded`] in bytes.
pub(crate) const PART: u64 = 512 * 1024;

/// Builds three images from a seed, with tags: each has its own layer, and two of them share one. Returns the job and
/// the content of all layers.
pub(crate) fn seeded(seed: u64) -> (Job, Vec<Bytes>) {
    let mut numbers = fixtures::faults::Numbers::new(seed);
    let mut layer = |number: u64| {
        let size = usize::try_from(numbers.below(6 * PART + 1)).unwrap();
        noise(seed.wrapping_mul(16) + number, 1 + size)
    };
    let shared = layer(0);
    let mut job = Job::default();
    let mut layers = vec![shared.clone()];
    for (number, at) in (1..).zip(["one", "two", "three"]) {
        let own = layer(number);
        layers.push(own.clone());
        let all = if number == 3 {
            vec![own]
        } else {
            vec![shared.clone(), own]
        };
        job.image(&repository(at), Some("1"), &all);
    }
    (job, layers)
}

/// A progress sink that ignores all events.
pub(crate) fn silent() -> ProgressSink<'static, Event> {
    &|_| ()
}

//! Access to registries, container engines and web sites ([`SourceNetwork`]). This module contains all waits for the
//! network. Layers are downloaded into the cache, so that interrupted downloads are resumed by the next pack and
//! unchanged layers are not downloaded again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use progress::{Cancelled, Progress, ProgressSink, Watch};
use registry::{
    BlobPull, BlobSink, Client, Credentials, Engine, FailedPull, ImageLocation, Logins, Reference,
    RegistryAddress, RegistryManifest, SiteAddress, WebSite,
};
use schemas::{Descriptor, Digest, ImageReference};
use tempfile::TempPath;
use tokio::runtime::Runtime;

use crate::blob::{BlobOrigin, ImageBlob, LocalBlob, RemoteBlob};
use crate::cache::{Cache, OpenCache};
use crate::certificates::CertificateFolders;
use crate::error::{SourceError, check_digest};
use crate::{Event, limits};

/// The file with the list of charts in a repository, as defined by Helm.
pub(crate) const INDEX: &str = "index.yaml";

/// The settings for sources outside this disk, which the caller provides.
#[derive(Clone, Debug, Default)]
pub struct Remote {
    /// The options for registry clients. Their credentials are not used.
    pub registries: registry::ClientOptions,
    /// The files with logins, in the format of docker and podman. The first file with a login for an image is used, and
    /// missing files are skipped.
    pub logins: Vec<PathBuf>,
    /// The mirrors that are used in place of registries, by host.
    pub mirrors: BTreeMap<String, RegistryAddress>,
    /// The directories with certificates of registries.
    pub certificates: CertificateFolders,
    /// The socket of the container engine, if known.
    pub engine: Option<PathBuf>,
}

/// The network state of one pack.
#[expect(missing_debug_implementations, reason = "progress has nothing to show")]
pub struct SourceNetwork<'a> {
    remote: &'a Remote,
    cache: &'a Cache,
    watch: &'a Watch<'a, Event>,
    runtime: OnceLock<Runtime>,
    /// The files with logins read so far.
    logins: Mutex<BTreeMap<PathBuf, Logins>>,
    /// The clients, one per registry and login.
    clients: Mutex<Vec<(String, Credentials, Client)>>,
    /// The prefetched answers of registries, by their names for messages.
    ahead: Mutex<BTreeMap<PathBuf, Result<RegistryManifest, registry::Error>>>,
    /// The last index of a chart repository, with its URL.
    index: Mutex<Option<(String, Bytes)>>,
    /// The files that engines have saved. They are removed at the end.
    saved: Mutex<Vec<TempPath>>,
}

impl<'a> SourceNetwork<'a> {
    /// Creates the state without any requests.
    pub fn new(remote: &'a Remote, cache: &'a Cache, watch: &'a Watch<'a, Event>) -> Self {
        Self {
            remote,
            cache,
            watch,
            runtime: OnceLock::new(),
            logins: Mutex::default(),
            clients: Mutex::default(),
            ahead: Mutex::default(),
            index: Mutex::default(),
            saved: Mutex::default(),
        }
    }

    /// Returns a fresh state with the same settings.
    pub(crate) fn renew(&self) -> Self {
        Self::new(self.remote, self.cache, self.watch)
    }

    /// Returns the repository of an image, at the mirror of its registry if there is one.
    pub(crate) fn origin(&self, location: &ImageLocation) -> Result<BlobOrigin, SourceError> {
        let mirror = self.remote.mirrors.get(location.registry().host());
        let mirrored = mirror.map(|mirror| location.at_mirror(mirror));
        let mirrored = mirrored.transpose()?;
        let location = mirrored.as_ref().unwrap_or(location);
        let client = self.client(location)?;
        let repository = location.repository().clone();
        Ok(BlobOrigin { client, repository })
    }

    /// Returns the client for an image. Images of a registry with the same login share it.
    fn client(&self, location: &ImageLocation) -> Result<Client, SourceError> {
        let credentials = self.credentials(&location.login())?;
        let host = location.registry().to_string();
        let mut clients = self.clients.lock().expect("no panic while held");
        let known = clients
            .iter()
            .find(|(known, login, _)| (known, login) == (&host, &credentials));
        if let Some((_, _, client)) = known {
            return Ok(client.clone());
        }
        let options = self.options(&host, credentials.clone())?;
        let client = Client::new(location.registry(), options)?;
        clients.push((host, credentials, client.clone()));
        Ok(client)
    }

    /// Returns the options for a host with this login.
    fn options(
        &self,
        host: &str,
        credentials: Credentials,
    ) -> Result<registry::ClientOptions, SourceError> {
        let mut options = registry::ClientOptions {
            credentials,
            ..self.remote.registries.clone()
        };
        self.remote.certificates.find(host)?.add_to(&mut options);
        Ok(options)
    }

    /// Returns the login for a registry or a part of it.
    fn credentials(&self, address: &RegistryAddress) -> Result<Credentials, SourceError> {
        let mut read = self.logins.lock().expect("no panic while held");
        for path in &self.remote.logins {
            // A file that cannot be accessed at all counts as missing.
            if !path.exists() {
                continue;
            }
            let unusable = |source| SourceError::Logins(path.clone(), source);
            if !read.contains_key(path) {
                let config = files::read(path, registry::limits::CREDENTIALS_FILE as u64)?;
                let logins = Logins::from_slice(&config).map_err(unusable)?;
                read.insert(path.clone(), logins);
            }
            if let Some(credentials) = read[path].find(address).map_err(unusable)? {
                return Ok(credentials);
            }
        }
        Ok(Credentials::Anonymous)
    }

    /// Waits for a future until the user cancels. In that case, the future is dropped.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, SourceError> {
        self.runtime()?.block_on(async {
            tokio::select! {
                result = work => Ok(result),
                () = self.cancelled() => Err(Cancelled.into()),
            }
        })
    }

    fn runtime(&self) -> Result<&Runtime, SourceError> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(SourceError::Runtime)?;
        Ok(self.runtime.get_or_init(|| runtime))
    }

    async fn cancelled(&self) {
        while !self.watch.cancel.is_asked() {
            tokio::time::sleep(limits::CANCEL_POLL).await;
        }
    }

    /// Returns a document of a registry.
    pub(crate) fn document(
        &self,
        origin: &BlobOrigin,
        reference: &Reference,
    ) -> Result<RegistryManifest, SourceError> {
        let name = origin.name(reference);
        let mut ahead = self.ahead.lock().expect("no panic while held");
        match ahead.remove(&name) {
            Some(Ok(manifest)) => {
                // Other images may need the same document.
                ahead.insert(name, Ok(manifest.clone()));
                return Ok(manifest);
            }
            Some(Err(error)) => return Err(error.into()),
            None => drop(ahead),
        }
        Ok(self.wait(self.ask(origin, reference))??)
    }

    /// Prefetches a document for [`SourceNetwork::document`]. Returns `None` if it is not available.
    pub(crate) async fn ask_ahead(
        &self,
        origin: &BlobOrigin,
        reference: &Reference,
    ) -> Option<RegistryManifest> {
        let answer = self.ask(origin, reference).await;
        let manifest = answer.as_ref().ok().cloned();
        let mut ahead = self.ahead.lock().expect("no panic while held");
        ahead.insert(origin.name(reference), answer);
        manifest
    }

    async fn ask(
        &self,
        origin: &BlobOrigin,
        reference: &Reference,
    ) -> Result<RegistryManifest, registry::Error> {
        let BlobOrigin { client, repository } = origin;
        let tell = |event| self.retrying(event);
        client.existing_manifest(repository, reference, &tell).await
    }

    /// Returns a document, or `None` if it does not exist.
    pub(crate) async fn ask_for(
        &self,
        origin: &BlobOrigin,
        reference: &Reference,
    ) -> Result<Option<RegistryManifest>, registry::Error> {
        match self.ask(origin, reference).await {
            Err(registry::Error::Missing(..)) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Returns the referrers of a document, or `None` if the registry does not have the list.
    pub(crate) async fn ask_about(
        &self,
        origin: &BlobOrigin,
        subject: Digest,
    ) -> Result<Option<BTreeSet<Digest>>, registry::Error> {
        let BlobOrigin { client, repository } = origin;
        let tell = |event| self.retrying(event);
        client.referrers(repository, subject, &tell).await
    }

    /// Returns the location of a blob: in the cache or in the registry. Its size is compared when it is downloaded.
    pub(crate) fn find(
        &self,
        origin: &BlobOrigin,
        blob: &Descriptor,
    ) -> Result<ImageBlob, SourceError> {
        let (digest, size) = (blob.digest, blob.size);
        let cache = self.cache.get()?;
        Ok(match cache.find(digest, size) {
            Some(here) => ImageBlob::Local(here),
            None => ImageBlob::Remote(RemoteBlob {
                then: LocalBlob::whole_file(digest, size, cache.content(digest)),
                from: origin.clone(),
            }),
        })
    }

    /// Checks whether a registry claims to have a blob.
    pub(crate) fn has(&self, origin: &BlobOrigin, blob: &Descriptor) -> Result<bool, SourceError> {
        let BlobOrigin { client, repository } = origin;
        let tell = |event| self.retrying(event);
        Ok(self.wait(client.has_blob(repository, &blob.digest, blob.size, &tell))??)
    }

    /// Returns the client for a web site.
    pub(crate) fn site(&self, url: &str) -> Result<WebSite, SourceError> {
        let address: SiteAddress = url.parse()?;
        let login = address.login();
        let options = self.options(login.host(), self.credentials(login)?)?;
        Ok(WebSite::new(&address, options)?)
    }

    /// Returns a file of a web site with at most `limit` bytes.
    pub(crate) fn file(
        &self,
        site: &WebSite,
        file: &str,
        limit: usize,
    ) -> Result<Bytes, SourceError> {
        let tell = |event| self.retrying(event);
        Ok(self.wait(site.read(file, limit, &tell))??)
    }

    /// Returns the index of a chart repository. Consecutive charts of the same repository share one request.
    pub(crate) fn index(&self, url: &str, site: &WebSite) -> Result<Bytes, SourceError> {
        let mut last = self.index.lock().expect("no panic while held");
        if let Some((of, index)) = &*last
            && of == url
        {
            return Ok(index.clone());
        }
        // An index is large, so two must not be in memory at the same time.
        *last = None;
        let index = self.file(site, INDEX, charts::limits::INDEX)?;
        *last = Some((url.to_owned(), index.clone()));
        Ok(index)
    }

    /// Returns small content from the cache, verified.
    pub(crate) fn read_cached(
        &self,
        digest: Digest,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, SourceError> {
        Ok(self.cache.get()?.read(digest, limit))
    }

    /// Stores content in the cache.
    pub(crate) fn keep(&self, bytes: &[u8]) -> Result<(), SourceError> {
        Ok(self.cache.get()?.keep(bytes)?)
    }

    fn retrying(&self, event: registry::Event) {
        if let registry::Event::Retrying { reason, wait } = event {
            (self.watch.tell)(Event::Retrying { reason, wait });
        }
    }

    /// Reads a small blob of a registry into memory. The copy in the cache is verified, and a damaged one is replaced.
    pub(crate) fn read_small_blob(
        &self,
        origin: &BlobOrigin,
        blob: &Descriptor,
    ) -> Result<Vec<u8>, SourceError> {
        let mut anew = false;
        loop {
            let here = match self.find(origin, blob)? {
                ImageBlob::Local(here) => here,
                ImageBlob::Remote(wanted) => {
                    let fetched = self.fetch(vec![wanted]);
                    fetched.map_err(|(_, error)| error)?.remove(0)
                }
            };
            let bytes = here.read()?;
            let compared = check_digest(&here.path, blob.digest, files::digest(&bytes));
            if compared.is_ok() {
                return Ok(bytes);
            }
            self.cache.discard(&here.path);
            if anew {
                compared?;
            }
            anew = true;
        }
    }

    /// Downloads blobs. The error contains the blob's digest.
    pub(crate) fn fetch(
        &self,
        wanted: Vec<RemoteBlob>,
    ) -> Result<Vec<LocalBlob>, (Digest, SourceError)> {
        let Some(first) = wanted.first().map(|blob| blob.then.digest) else {
            return Ok(Vec::new());
        };
        let cache = self.cache.get().map_err(|error| (first, error.into()))?;
        let tally = Downloads::new(
            self.watch.tell,
            wanted.iter().map(|blob| blob.then.size).sum(),
        );
        let tell = |event| tally.take(event);
        let here = wanted.iter().map(|blob| blob.then.clone()).collect();
        let groups = stream::iter(by_client(wanted, cache)).map(Ok);
        let tell = &tell;
        let pulls = groups
            .try_for_each_concurrent(limits::REGISTRIES, |(client, blobs)| async move {
                registry::pull(&client, blobs, tell).await
            });
        self.wait(pulls)
            // A cancellation or a missing runtime is not about a blob, but the error must contain one.
            .map_err(|error| (first, error))?
            .map_err(|FailedPull { digest, error }| (digest, error.into()))?;
        Ok(here)
    }
}

/// Access to container engines.
impl SourceNetwork<'_> {
    /// Lets the container engine save an image. The file exists as long as this value.
    pub(crate) fn save(&self, image: &ImageReference) -> Result<PathBuf, SourceError> {
        let socket = self.remote.engine.as_deref();
        let engine = Engine::new(socket.ok_or(SourceError::NoEngine)?)?;
        let file = self.cache.get()?.scratch()?;
        let (file, path) = file.into_parts();
        let saved = self.wait(async {
            let found = engine.find(image).await?;
            let tell = |progress| (self.watch.tell)(Event::Downloading(progress));
            let limit = limits::ENGINE_SAVE;
            engine.save(&found, limit, file, &tell).await
        })?;
        saved.map(drop)?;
        let place = path.to_path_buf();
        let mut saved = self.saved.lock().expect("no panic while held");
        saved.push(path);
        Ok(place)
    }
}

/// Groups blobs by client and downloads each group at once, because its blobs share the connections of the client.
fn by_client(wanted: Vec<RemoteBlob>, cache: &Arc<OpenCache>) -> Vec<(Client, Vec<BlobPull>)> {
    let mut groups: Vec<(Client, Vec<BlobPull>)> = Vec::new();
    for RemoteBlob { then, from } in wanted {
        let BlobOrigin { client, repository } = from;
        let LocalBlob { digest, size, .. } = then;
        let cache = Arc::clone(cache);
        let pull = BlobPull {
            repository,
            digest,
            size,
            sink: Box::new(move || {
                let begun = cache
                    .begin_content(digest, size)
                    .map_err(io::Error::other)?;
                Ok(begun.map(|partial| -> Box<dyn BlobSink> { Box::new(partial) }))
            }),
        };
        match groups.iter_mut().find(|(known, _)| known.is_same(&client)) {
            Some((_, pulls)) => pulls.push(pull),
            None => groups.push((client, vec![pull])),
        }
    }
    groups
}

/// The total progress of all downloads.
struct Downloads<'a> {
    tell: ProgressSink<'a, Event>,
    total: u64,
    /// The position of each download, and their sum.
    positions: Mutex<(HashMap<Digest, u64>, u64)>,
}

impl<'a> Downloads<'a> {
    fn new(tell: ProgressSink<'a, Event>, total: u64) -> Self {
        Self {
            tell,
            total,
            positions: Mutex::default(),
        }
    }

    fn take(&self, event: registry::Event) {
        let (digest, position) = match event {
            registry::Event::BlobReceived { digest, position } => (digest, position),
            registry::Event::BlobComplete { digest, size } => (digest, size),
            registry::Event::Retrying { reason, wait } => {
                return (self.tell)(Event::Retrying { reason, wait });
            }
            _ => return,
        };
        let done = {
            let mut held = self.positions.lock().expect("no panic while held");
            let (positions, done) = &mut *held;
            let before = positions.insert(digest, position).unwrap_or_default();
            *done = *done + position - before;
            *done
        };
        let total = self.total;
        (self.tell)(Event::Downloading(Progress { done, total }));
    }
}

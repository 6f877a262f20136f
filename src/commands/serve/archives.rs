//! Which archives are served: found, verified, and found again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use importer::{Artifact, Placed};
use registry::{Reference, RegistryAddress};
use rustix::fs::{MemfdFlags, memfd_create};
use schemas::Digest;
use serve::{Blob, Brought, Content, Image};
use validator::{Accepted, Depth, Signatures};

use super::Arguments;
use super::log::Log;
use crate::args::Output;
use crate::commands::validate::{check, words};
use crate::failure::{Failure, cannot};

/// What the names of archives in a directory end with.
const EXTENSION: &str = "iso";
/// Archives that are served at most: each is an open file, and its documents are in memory.
const MOST: usize = 256;

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// Everything, and what is named must be good.
    First,
    /// What has changed.
    Changed,
    /// Everything once more, by the keys and policies of now.
    All,
}

/// What there is to serve from now on, and how many archives are left out; none if nothing has changed.
pub(super) type Changes = Option<Result<(Content, usize), Failure>>;

/// What a file looks like from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: (u64, u64),
    size: u64,
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self {
            inode: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

/// An archive that is served.
#[derive(Debug)]
struct Held {
    stamp: Stamp,
    /// As which one it came: of two that want the same name, the first keeps it.
    number: u64,
    brought: Brought,
}

/// All archives that there are.
#[derive(Debug)]
pub(super) struct Shelf {
    arguments: Arguments,
    registry: RegistryAddress,
    output: Output,
    log: Arc<Log>,
    held: BTreeMap<PathBuf, Held>,
    /// Those that are left out, as they were when that was decided.
    refused: BTreeMap<PathBuf, Stamp>,
    /// Those that were found, as they were then.
    seen: BTreeMap<PathBuf, Stamp>,
    came: u64,
}

impl Shelf {
    pub(super) fn new(
        arguments: Arguments,
        output: Output,
        log: Arc<Log>,
    ) -> Result<Self, Failure> {
        let prefix = arguments.prefix.as_ref();
        let prefix = prefix.map_or_else(String::new, |prefix| format!("/{prefix}"));
        // Nothing that is served has the host in it.
        let registry = format!("localhost{prefix}").parse();
        Ok(Self {
            arguments,
            registry: registry.map_err(Failure::usage)?,
            output,
            log,
            held: BTreeMap::new(),
            refused: BTreeMap::new(),
            seen: BTreeMap::new(),
            came: 0,
        })
    }

    /// Looks at the archives, and verifies those that have changed.
    pub(super) fn look(&mut self, whole: Whole) -> Changes {
        let found = match self.find(whole) {
            Ok(found) => found,
            Err(failure) => return Some(Err(failure)),
        };
        let before = self.held.len() + self.refused.len();
        self.held.retain(|path, _| found.contains_key(path));
        self.refused.retain(|path, _| found.contains_key(path));
        let mut changed = self.held.len() + self.refused.len() < before;
        let wanted: Vec<_> = found
            .iter()
            .filter(|(path, stamp)| self.is_wanted(path, stamp, whole))
            .map(|(path, stamp)| (path.clone(), *stamp))
            .collect();
        self.seen = found;
        if !wanted.is_empty() || whole == Whole::First {
            let signatures = self.signatures(whole);
            let signatures = match signatures {
                Ok(signatures) => signatures,
                Err(failure) => return Some(Err(failure)),
            };
            changed = true;
            for (path, stamp) in wanted {
                if let Err(failure) = self.take(&path, stamp, &signatures) {
                    let is_named = self.arguments.archives.contains(&path);
                    if whole == Whole::First && is_named {
                        return Some(Err(failure));
                    }
                    self.leave_out(path, stamp, &failure);
                }
            }
        }
        changed.then(|| Ok(self.put_together()))
    }

    /// Whether an archive is to be verified: one that was not seen so before, and does not change at the moment.
    fn is_wanted(&self, path: &Path, stamp: &Stamp, whole: Whole) -> bool {
        let held = self.held.get(path).map(|held| &held.stamp);
        let is_known = held == Some(stamp) || self.refused.get(path) == Some(stamp);
        match whole {
            Whole::First | Whole::All => true,
            Whole::Changed => !is_known && self.seen.get(path) == Some(stamp),
        }
    }

    /// Every archive that is named, or lies in a directory that is.
    fn find(&self, whole: Whole) -> Result<BTreeMap<PathBuf, Stamp>, Failure> {
        let mut found = BTreeMap::new();
        for named in &self.arguments.archives {
            let mut paths = BTreeSet::from([named.clone()]);
            if named.is_dir() {
                paths = in_directory(named).map_err(cannot("read", named))?;
            }
            for path in paths {
                match (Stamp::of(&path), self.held.get(&path)) {
                    (Ok(stamp), _) => drop(found.insert(path, stamp)),
                    (Err(error), _) if whole == Whole::First => {
                        return Err(cannot("read", &path)(error));
                    }
                    // It is gone, or not there yet.
                    (Err(error), _) if error.kind() == io::ErrorKind::NotFound => {}
                    // The medium has a bad moment.
                    (Err(_), Some(held)) => drop(found.insert(path, held.stamp)),
                    (Err(_), None) => {}
                }
            }
        }
        if found.len() > MOST {
            let failure = anyhow!(
                "{} archives are found; at most {MOST} are served",
                found.len()
            );
            return Err(Failure::no(failure));
        }
        Ok(found)
    }

    fn signatures(&self, whole: Whole) -> Result<Signatures, Failure> {
        // Where policies were looked for is said once.
        let output = match whole {
            Whole::First => self.output,
            Whole::Changed | Whole::All => Output::Json,
        };
        let allow = self.arguments.allow_unsigned.clone();
        Ok(check::whose(&self.arguments.trust, allow, output)?.0)
    }

    /// Verifies an archive as an import does, and serves it.
    fn take(&mut self, path: &Path, stamp: Stamp, signatures: &Signatures) -> Result<(), Failure> {
        let report = check::check(path, signatures.clone(), Depth::Documents, self.output)?;
        words::talk_of(&report, self.output);
        let accepted = report.accept().map_err(|report| {
            let findings = report.findings().iter();
            let refused = anyhow!("`{}` is not accepted", path.display());
            let reasons = findings.map(|finding| format!("{}: {}", finding.id, finding.message));
            reasons.fold(Failure::no(refused), Failure::because)
        })?;
        let brought = brought(path, &accepted, &self.registry)?;
        self.log.serving(path, &accepted);
        self.came += 1;
        let number = self.held.get(path).map_or(self.came, |held| held.number);
        let held = Held {
            stamp,
            number,
            brought,
        };
        self.refused.remove(path);
        self.held.insert(path.to_owned(), held);
        Ok(())
    }

    /// Does without an archive. What was served before from another file of its name goes on; what has changed in this
    /// very file does not.
    fn leave_out(&mut self, path: PathBuf, stamp: Stamp, failure: &Failure) {
        self.log.left_out(&path, failure);
        if self
            .held
            .get(&path)
            .is_some_and(|held| held.stamp.inode == stamp.inode)
        {
            self.held.remove(&path);
        }
        self.refused.insert(path, stamp);
    }

    /// What there is to serve, and how many archives are left out.
    fn put_together(&mut self) -> (Content, usize) {
        let mut content = Content::default();
        let mut all: Vec<_> = self.held.iter().collect();
        all.sort_by_key(|(_, held)| held.number);
        let mut clashing = Vec::new();
        for (path, held) in all {
            if let Err(conflict) = content.add(&held.brought) {
                clashing.push((path.clone(), held.stamp, Failure::no(*conflict)));
            }
        }
        for (path, stamp, failure) in clashing {
            self.leave_out(path, stamp, &failure);
        }
        (content, self.refused.len())
    }
}

fn in_directory(directory: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let mut paths = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == EXTENSION)
            && path.is_file()
        {
            paths.insert(path);
        }
    }
    Ok(paths)
}

/// What an archive brings to a registry, under the names that an import gives it.
fn brought(
    path: &Path,
    accepted: &Accepted,
    registry: &RegistryAddress,
) -> Result<Brought, Failure> {
    let placed = Placed::of(accepted, registry)?;
    let mut blobs = BTreeMap::new();
    for (digest, size) in accepted.images().iter().flat_map(|image| &image.blobs) {
        let blob = accepted.blob(digest).and_then(|blob| blob.place());
        let blob = blob_at(*digest, blob, *size)?;
        blobs.entry(*digest).or_insert(blob);
    }
    let image = |placed: &importer::PlacedImage<'_>| Image {
        repository: placed.repository.to_string(),
        tag: tag(&placed.reference),
        root: Arc::clone(&placed.image.root),
        children: placed.image.children.clone(),
        blobs: placed
            .image
            .blobs
            .keys()
            .map(|digest| Arc::clone(&blobs[digest]))
            .collect(),
    };
    let images = placed.images.iter().map(image);
    let mirrors = placed.mirrors.iter();
    Ok(Brought {
        name: path.display().to_string(),
        images: images.chain([head(&placed.head)?]).collect(),
        mirrors: mirrors
            .map(|(host, path)| (host.clone(), path.to_string()))
            .collect(),
    })
}

/// The head of an archive, for sites that deploy its version later without the medium.
fn head(artifact: &Artifact) -> Result<Image, Failure> {
    let config = in_memory(Artifact::CONFIG).map_err(cannot_hold)?;
    let config = Some((Arc::new(config), 0));
    let size = Artifact::CONFIG.len() as u64;
    let head = &artifact.head;
    Ok(Image {
        repository: artifact.repository.to_string(),
        tag: tag(&artifact.reference),
        root: Arc::clone(&artifact.manifest),
        children: Vec::new(),
        blobs: vec![
            blob_at(head.digest(), head.place(), head.size())?,
            blob_at(artifact.config, config, size)?,
        ],
    })
}

/// What is served is files: a few bytes of our own lie in one that is memory.
fn in_memory(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("solution", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    Ok(file)
}

fn cannot_hold(error: io::Error) -> Failure {
    Failure::unknown(anyhow::Error::new(error).context("cannot make a file in memory"))
}

fn tag(reference: &Reference) -> Option<String> {
    match reference {
        Reference::Tag(tag) => Some(tag.to_string()),
        Reference::Digest(_) => None,
    }
}

fn blob_at(
    digest: Digest,
    place: Option<(Arc<File>, u64)>,
    size: u64,
) -> Result<Arc<Blob>, Failure> {
    let (file, offset) = place.ok_or_else(|| Failure::no(anyhow!("{digest} is not in it")))?;
    Ok(Arc::new(Blob {
        digest,
        file,
        offset,
        size,
    }))
}

//! The served content: [`Content`] combines the repositories of all archives, with their tags, manifests and blobs.
//!
//! Manifests are in memory, as verified. Of a blob, only the location is stored: an open file, an offset and a size.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::sync::Arc;

use bytes::Bytes;
use schemas::{Digest, Document, Tag};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The media type of an index, in which referrers are listed.
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The location of a blob's bytes.
#[derive(Clone, Debug)]
pub struct ServedBlob {
    /// The signed SHA-256.
    pub digest: Digest,
    /// The file with the bytes. It stays open as long as a request reads from it.
    pub file: Arc<File>,
    /// The offset of the first byte in the file.
    pub offset: u64,
    /// The size in bytes.
    pub size: u64,
}

/// An image with one of its names.
#[derive(Clone, Debug)]
pub struct ServedImage {
    /// The full name of the repository.
    pub repository: String,
    /// The tag; none for an image that is only available by digest.
    pub tag: Option<String>,
    /// The manifest or index that the tag names.
    pub root: Arc<Document>,
    /// Every other manifest and index.
    pub children: Vec<Arc<Document>>,
    /// Every configuration and layer.
    pub blobs: Vec<Arc<ServedBlob>>,
}

/// The content of one archive.
#[derive(Clone, Debug, Default)]
pub struct ServedArchive {
    /// The name of the archive in messages.
    pub name: String,
    /// The images, with one entry for each of their names.
    pub images: Vec<ServedImage>,
    /// The mirrored registries, each with the prefix of its repositories in this server.
    pub mirrors: BTreeMap<String, String>,
}

/// A tag that two archives use for different images.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{repository}:{tag}` is already {held}, from `{holder}`; this archive has {other}")]
pub struct Conflict {
    /// The repository.
    pub repository: String,
    /// The tag.
    pub tag: String,
    /// The digest that the tag already names.
    pub held: Digest,
    /// The archive that uses the tag for that digest.
    pub holder: String,
    /// The digest for which the tag is also used.
    pub other: Digest,
}

/// All content that is served at a time.
#[derive(Debug, Default)]
pub struct Content {
    repositories: BTreeMap<String, ServedRepository>,
    mirrors: BTreeMap<String, String>,
    archives: usize,
}

/// A repository.
#[derive(Debug, Default)]
pub(crate) struct ServedRepository {
    tags: BTreeMap<String, TagTarget>,
    manifests: HashMap<Digest, Arc<Document>>,
    blobs: HashMap<Digest, Arc<ServedBlob>>,
    referrers: HashMap<Digest, BTreeMap<Digest, Referrer>>,
}

#[derive(Debug)]
struct TagTarget {
    digest: Digest,
    holder: String,
}

/// A manifest that refers to another manifest, in the form of the list of referrers (distribution specification,
/// "Listing Referrers").
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Referrer {
    media_type: &'static str,
    digest: Digest,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_type: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

/// The fields of a manifest that determine its type and its subject.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReferringManifest {
    subject: Option<SubjectDescriptor>,
    artifact_type: Option<String>,
    config: Option<Config>,
    #[serde(default)]
    annotations: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct SubjectDescriptor {
    digest: Digest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    media_type: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Index<'a> {
    schema_version: u8,
    media_type: &'static str,
    manifests: Vec<&'a Referrer>,
}

impl Content {
    /// Adds the content of an archive. If it conflicts with another archive, nothing is added.
    pub fn add(&mut self, archive: &ServedArchive) -> Result<(), Box<Conflict>> {
        for image in &archive.images {
            self.check(image)?;
        }
        // The archive must not conflict with itself either.
        let mut own = BTreeMap::new();
        for image in &archive.images {
            let Some(tag) = &image.tag else { continue };
            let digest = image.root.digest;
            let held = *own.entry((&image.repository, tag)).or_insert(digest);
            if held != digest && !is_of_referrer(tag) {
                return Err(conflict(image, tag, held, &archive.name));
            }
        }
        for image in &archive.images {
            let repository = self.repositories.entry(image.repository.clone());
            repository.or_default().add(image, &archive.name);
        }
        let mirrors = archive.mirrors.iter();
        self.mirrors
            .extend(mirrors.map(|(host, path)| (host.clone(), path.clone())));
        self.archives += 1;
        Ok(())
    }

    fn check(&self, image: &ServedImage) -> Result<(), Box<Conflict>> {
        let Some(tag) = &image.tag else { return Ok(()) };
        let repository = self.repositories.get(&image.repository);
        match repository.and_then(|repository| repository.tags.get(tag)) {
            Some(tagged) if tagged.digest != image.root.digest && !is_of_referrer(tag) => {
                Err(conflict(image, tag, tagged.digest, &tagged.holder))
            }
            _ => Ok(()),
        }
    }

    /// Returns the number of archives.
    #[must_use]
    pub fn archives(&self) -> usize {
        self.archives
    }

    /// Lists the names of all repositories, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.repositories.keys().map(String::as_str)
    }

    /// Lists the names after `last`.
    pub(crate) fn names_after(&self, last: &str) -> impl Iterator<Item = &str> {
        keys_after(&self.repositories, last)
    }

    /// Returns the repository with a name, interpreted in the mirrored registry `of` if the client specifies one. Such
    /// a request never finds a repository outside of the mirror that has the same name by coincidence.
    pub(crate) fn repository(&self, name: &str, of: Option<&str>) -> Option<&ServedRepository> {
        let mirror = of.and_then(|host| self.mirrors.get(host));
        let Some(mirror) = mirror else {
            return self.repositories.get(name);
        };
        let below = |name: &str| {
            let rest = name.strip_prefix(mirror.as_str());
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        if below(name) {
            return self.repositories.get(name);
        }
        self.repositories.get(&format!("{mirror}/{name}"))
    }
}

/// Returns whether a tag is that of a signature or another referrer. Archives may contain different referrers of a
/// shared image: the tag then names the first one, and the list of referrers contains both.
fn is_of_referrer(tag: &str) -> bool {
    let tag: Result<Tag, _> = tag.parse();
    tag.is_ok_and(|tag| tag.subject().is_some())
}

fn conflict(image: &ServedImage, tag: &str, held: Digest, holder: &str) -> Box<Conflict> {
    Box::new(Conflict {
        repository: image.repository.clone(),
        tag: tag.to_owned(),
        held,
        holder: holder.to_owned(),
        other: image.root.digest,
    })
}

/// Lists the keys after `last`, which need not exist.
fn keys_after<'a, T>(map: &'a BTreeMap<String, T>, last: &str) -> impl Iterator<Item = &'a str> {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let first = match last {
        "" => Included(""),
        last => Excluded(last),
    };
    map.range::<str, _>((first, Unbounded))
        .map(|(name, _)| name.as_str())
}

impl ServedRepository {
    fn add(&mut self, image: &ServedImage, holder: &str) {
        for document in image.children.iter().chain([&image.root]) {
            if let Some((subject, referrer)) = Referrer::from_document(document) {
                let all = self.referrers.entry(subject).or_default();
                all.insert(document.digest, referrer);
            }
            self.manifests.insert(document.digest, Arc::clone(document));
        }
        for blob in &image.blobs {
            // Every location of a blob is equally good, so the first one is kept.
            let known = self.blobs.entry(blob.digest);
            known.or_insert_with(|| Arc::clone(blob));
        }
        if let Some(tag) = &image.tag {
            let tagged = TagTarget {
                digest: image.root.digest,
                holder: holder.to_owned(),
            };
            self.tags.entry(tag.clone()).or_insert(tagged);
        }
    }

    pub(crate) fn tags_after(&self, last: &str) -> impl Iterator<Item = &str> {
        keys_after(&self.tags, last)
    }

    pub(crate) fn tagged(&self, tag: &str) -> Option<&Arc<Document>> {
        self.manifests.get(&self.tags.get(tag)?.digest)
    }

    pub(crate) fn manifest(&self, digest: &Digest) -> Option<&Arc<Document>> {
        self.manifests.get(digest)
    }

    pub(crate) fn blob(&self, digest: &Digest) -> Option<&Arc<ServedBlob>> {
        self.blobs.get(digest)
    }

    /// Encodes the list of a manifest's referrers, limited to one artifact type if one is given.
    pub(crate) fn referrers(&self, subject: Option<&Digest>, of_type: Option<&str>) -> Bytes {
        let all = subject
            .and_then(|subject| self.referrers.get(subject))
            .into_iter()
            .flat_map(BTreeMap::values);
        let wanted = |referrer: &&Referrer| {
            of_type.is_none_or(|of| referrer.artifact_type.as_deref() == Some(of))
        };
        let index = Index {
            schema_version: 2,
            media_type: INDEX,
            manifests: all.filter(wanted).collect(),
        };
        serde_json::to_vec(&index).unwrap_or_default().into()
    }
}

impl Referrer {
    /// Returns a document as a referrer together with its subject; none if it has no subject.
    fn from_document(document: &Document) -> Option<(Digest, Self)> {
        let said: ReferringManifest = serde_json::from_slice(&document.bytes).ok()?;
        let text = |(key, value): (String, Value)| Some((key, value.as_str()?.to_owned()));
        let artifact_type = said.artifact_type.filter(|text| !text.is_empty());
        let referrer = Self {
            media_type: document.media_type.as_str(),
            digest: document.digest,
            size: document.bytes.len() as u64,
            artifact_type: artifact_type.or(said.config.map(|config| config.media_type)),
            annotations: said.annotations.into_iter().filter_map(text).collect(),
        };
        Some((said.subject?.digest, referrer))
    }
}

#[cfg(test)]
mod tests {
    use sha2::Digest as _;

    use super::*;

    fn document(extra: &str) -> Arc<Document> {
        let digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let text = format!(
            r#"{{"schemaVersion":2,"config":{{"mediaType":"c","digest":"{digest}","size":0}},"layers":[]{extra}}}"#
        );
        let digest = Digest::new(sha2::Sha256::digest(&text).into());
        Arc::new(Document::read(digest, text.into_bytes()).unwrap().0)
    }

    fn image(repository: &str, tag: &str, root: Arc<Document>) -> ServedImage {
        ServedImage {
            repository: repository.to_owned(),
            tag: Some(tag.to_owned()),
            root,
            children: Vec::new(),
            blobs: Vec::new(),
        }
    }

    fn brought(name: &str, images: Vec<ServedImage>) -> ServedArchive {
        ServedArchive {
            name: name.to_owned(),
            images,
            mirrors: BTreeMap::from([("docker.io".to_owned(), "mirror/docker.io".to_owned())]),
        }
    }

    #[test]
    fn archives_may_share_names_but_no_tag_for_different_images() {
        let mut content = Content::default();
        let [one, other] = [document(""), document(r#","annotations":{}"#)];
        let first = image("shop-1.0.0/web", "1", Arc::clone(&one));
        content.add(&brought("a.iso", vec![first.clone()])).unwrap();
        content.add(&brought("b.iso", vec![first])).unwrap();
        let new = image("shop-1.1.0/web", "1", Arc::clone(&other));
        let clash = image("shop-1.0.0/web", "1", Arc::clone(&other));
        let refused = content
            .add(&brought("c.iso", vec![new, clash]))
            .unwrap_err();
        assert_eq!(
            (refused.holder.as_str(), refused.held),
            ("a.iso", one.digest)
        );
        assert_eq!(content.names().collect::<Vec<_>>(), ["shop-1.0.0/web"]);
        let own = [&one, &other].map(|root| image("x", "1", Arc::clone(root)));
        let refused = content.add(&brought("d.iso", own.into())).unwrap_err();
        assert_eq!(refused.holder, "d.iso");
        assert_eq!(content.archives(), 2);
    }

    #[test]
    fn a_registry_that_is_mirrored_has_its_own_names_and_no_others() {
        let mut content = Content::default();
        let root = document("");
        let images = ["shop-1.0.0/web", "mirror/docker.io/library/nginx"];
        let images = images.map(|name| image(name, "1", Arc::clone(&root)));
        content.add(&brought("a.iso", images.into())).unwrap();
        for (name, of, there) in [
            ("library/nginx", Some("docker.io"), true),
            ("mirror/docker.io/library/nginx", Some("docker.io"), true),
            ("mirror/docker.io/library/nginx", None, true),
            ("library/nginx", None, false),
            ("library/nginx", Some("quay.io"), false),
            ("shop-1.0.0/web", Some("docker.io"), false),
            ("shop-1.0.0/web", Some("registry.site"), true),
            ("shop-1.0.0/web", None, true),
        ] {
            assert_eq!(
                content.repository(name, of).is_some(),
                there,
                "{name} {of:?}"
            );
        }
    }

    #[test]
    fn referrers_are_listed_by_what_they_refer_to() {
        let subject = document("");
        let refers = format!(
            r#","subject":{{"mediaType":"m","digest":"{}","size":1}},"artifactType":"sbom","annotations":{{"a":"b"}}"#,
            subject.digest
        );
        let referring = document(&refers);
        let mut content = Content::default();
        let images = [("1", &subject), ("s", &referring)];
        let images = images.map(|(tag, root)| image("app", tag, Arc::clone(root)));
        content.add(&brought("a.iso", images.into())).unwrap();
        let repository = content.repository("app", None).unwrap();
        let list = |subject: &Digest, of: Option<&str>| {
            let bytes = repository.referrers(Some(subject), of);
            serde_json::from_slice::<Value>(&bytes).unwrap()["manifests"].clone()
        };
        let expected = serde_json::json!([{
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": referring.digest,
            "size": referring.bytes.len(),
            "artifactType": "sbom",
            "annotations": {"a": "b"},
        }]);
        assert_eq!(list(&subject.digest, None), expected);
        assert_eq!(list(&subject.digest, Some("sbom")), expected);
        let none = serde_json::json!([]);
        assert_eq!(list(&subject.digest, Some("other")), none);
        assert_eq!(list(&referring.digest, None), none);
    }
}

//! The content that is served: repositories with their tags, manifests and blobs, put together from all archives.
//!
//! Manifests are in memory, as they were verified. Of a blob there is only its place: a file that was opened once, an
//! offset and a size.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::sync::Arc;

use bytes::Bytes;
use schemas::{Digest, Document, Tag};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The media type of an index, which referrers are listed in.
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The place of the bytes of a blob.
#[derive(Clone, Debug)]
pub struct ServedBlob {
    /// The SHA-256 that was signed.
    pub digest: Digest,
    /// The file that they are read from; it stays open as long as anybody reads.
    pub file: Arc<File>,
    /// The offset where they begin there.
    pub offset: u64,
    /// The number of bytes.
    pub size: u64,
}

/// An image under one of its names.
#[derive(Clone, Debug)]
pub struct ServedImage {
    /// The whole name of the repository.
    pub repository: String,
    /// The tag; none for one that is named by its digest.
    pub tag: Option<String>,
    /// The document that the tag names.
    pub root: Arc<Document>,
    /// Every other manifest and index.
    pub children: Vec<Arc<Document>>,
    /// Every configuration and layer.
    pub blobs: Vec<Arc<ServedBlob>>,
}

/// The content that one archive brings.
#[derive(Clone, Debug, Default)]
pub struct ServedArchive {
    /// The name that messages have for it.
    pub name: String,
    /// The images, each as often as it has names.
    pub images: Vec<ServedImage>,
    /// The registries whose names images have here, each with what stands before these names.
    pub mirrors: BTreeMap<String, String>,
}

/// A tag that two archives have for different images.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{repository}:{tag}` is already {held}, from `{holder}`; this archive has {other}")]
pub struct Conflict {
    /// The repository.
    pub repository: String,
    /// The tag.
    pub tag: String,
    /// The digest that the tag names.
    pub held: Digest,
    /// The archive that has it so.
    pub holder: String,
    /// The digest that it would name.
    pub other: Digest,
}

/// The content that is served at one time.
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

/// A manifest that refers to another one, as the list of referrers has it (distribution specification, "Listing
/// Referrers").
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

/// The fields of a manifest that say what it is, and what it refers to.
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
    /// Adds what an archive brings, all of it or nothing.
    pub fn add(&mut self, archive: &ServedArchive) -> Result<(), Box<Conflict>> {
        for image in &archive.images {
            self.check(image)?;
        }
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

    /// The names of all repositories, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.repositories.keys().map(String::as_str)
    }

    /// The names behind one of them.
    pub(crate) fn names_after(&self, last: &str) -> impl Iterator<Item = &str> {
        after(&self.repositories, last)
    }

    /// The repository of a name that a client asks for, as a mirror of another registry if it says so. What is asked for as
    /// that registry's is not another repository that happens to have the same name here.
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

/// Whether a tag is that of a signature or another referrer. Archives may bring different ones of an image that they share:
/// the tag is then the first one's, and the list of referrers has both.
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

/// The names behind one of them, which need not be there itself.
fn after<'a, T>(map: &'a BTreeMap<String, T>, last: &str) -> impl Iterator<Item = &'a str> {
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
            if let Some((subject, referrer)) = Referrer::of(document) {
                let all = self.referrers.entry(subject).or_default();
                all.insert(document.digest, referrer);
            }
            self.manifests.insert(document.digest, Arc::clone(document));
        }
        for blob in &image.blobs {
            // The place that is known already is as good.
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
        after(&self.tags, last)
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

    /// The list of what refers to a manifest, of one type if one is asked for.
    pub(crate) fn referrers(&self, subject: Option<&Digest>, of_type: Option<&str>) -> Bytes {
        let all = subject.and_then(|subject| self.referrers.get(subject));
        let all = all.into_iter().flat_map(BTreeMap::values);
        let wanted =
            |it: &&Referrer| of_type.is_none_or(|of| it.artifact_type.as_deref() == Some(of));
        let index = Index {
            schema_version: 2,
            media_type: INDEX,
            manifests: all.filter(wanted).collect(),
        };
        serde_json::to_vec(&index).unwrap_or_default().into()
    }
}

impl Referrer {
    /// A document as a referrer, and what it refers to; none if it refers to nothing.
    fn of(document: &Document) -> Option<(Digest, Self)> {
        let said: ReferringManifest = serde_json::from_slice(&document.bytes).ok()?;
        let text = |(key, value): (String, Value)| Some((key, value.as_str()?.to_owned()));
        let artifact_type = said.artifact_type.filter(|it| !it.is_empty());
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

//! The walk from a tag's document to everything that is reachable from it. [`Walker`] determines the documents, their
//! order and depth, and contradictions between them. The caller's [`Visit`] finds the contents and handles problems.
//!
//! These attacks are stopped:
//!
//! - endlessly nested indexes, by [`limits::INDEX_DEPTH`], which also bounds the recursion;
//!
//! - documents that very many tags and indexes share: each is read and compared once for all walks of a [`Walker`], and
//!   visited once in a walk;
//!
//! - a content that one document references very often: it is looked up once.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::rc::Rc;
use std::sync::Arc;

use super::{Descriptor, Document, ImageDocument, ImageManifest, MediaType, Platform};
use crate::{Digest, limits};

/// The caller's side of a walk, which finds contents and receives problems. An error ends the walk. After a problem,
/// the walk continues with the valid parts.
pub trait Visit {
    /// The reason why the walk ends early.
    type Error;
    /// The key that identifies a content.
    type Content: Copy + Ord + Debug;

    /// Finds a content that a document references, whether or not the walk [follows](Document::follows) it. Returns
    /// `None` if it is missing. Called once for each distinct description of a content in a document.
    fn find(
        &mut self,
        by: &Document,
        named: &Descriptor,
    ) -> Result<Option<Self::Content>, Self::Error>;

    /// Reads a document that was found. Returns `None` if it cannot be read. Called once for each.
    fn read(&mut self, named: &Descriptor) -> Result<Option<Parsed>, Self::Error>;

    /// Returns the platform of a manifest's image, if the caller knows it. Called once for each.
    fn platform(
        &mut self,
        of: &Document,
        manifest: &ImageManifest,
    ) -> Result<Option<Platform>, Self::Error>;

    /// Receives a problem of a document. Called once for each, except [`WalkProblem::Depth`], which is reported in each
    /// walk.
    fn problem(&mut self, of: &Document, problem: WalkProblem<'_>) -> Result<(), Self::Error>;
}

/// A document and its parsed content.
pub type Parsed = (Document, ImageDocument);

/// A problem of a document or of its descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkProblem<'a> {
    /// The document is an index without entries.
    Empty,
    /// The document references this one at a depth beyond the limit.
    Depth(Digest),
    /// The descriptor declares a media type other than the second one, which the document has.
    MediaType(&'a Descriptor, MediaType),
    /// The descriptor declares the first platform, but the document has the second one.
    Platform(Digest, &'a Platform, &'a Platform),
}

/// A document in a walk.
#[derive(Debug)]
pub struct ReachedDocument<C> {
    /// The document.
    pub document: Arc<Document>,
    /// The available configurations, layers and other contents that it references, each once.
    pub blobs: Vec<C>,
    /// The platform, if it is known.
    pub platform: Option<Platform>,
    /// The first available document that it references.
    first: Option<Digest>,
    /// The descriptors of the referenced documents, until these are read.
    named: RefCell<Vec<Descriptor>>,
    /// The referenced documents that could be read, each once.
    children: OnceCell<Vec<Rc<Self>>>,
    /// The number of the last walk that visited this document.
    last_walk: Cell<usize>,
}

type Shared<V> = Rc<ReachedDocument<<V as Visit>::Content>>;

/// Walks from the documents of tags, with a cache of all documents that were read.
#[derive(Debug)]
pub struct Walker<V: Visit> {
    /// The caller's visitor.
    pub visit: V,
    /// The documents that were read, with `None` for those that cannot be read.
    known: BTreeMap<Digest, Option<Shared<V>>>,
    /// The number of the current walk, from 1.
    walk: usize,
}

impl<V: Visit> Walker<V> {
    /// Returns a walker with an empty cache.
    pub fn new(visit: V) -> Self {
        Self {
            visit,
            known: BTreeMap::new(),
            walk: 0,
        }
    }

    /// Reads a document unless it is in the cache. Returns `None` if it cannot be read.
    pub fn load(
        &mut self,
        digest: Digest,
        read: impl FnOnce(&mut V) -> Result<Option<Parsed>, V::Error>,
    ) -> Result<Option<Shared<V>>, V::Error> {
        if let Some(known) = self.known.get(&digest) {
            return Ok(known.clone());
        }
        let parsed = read(&mut self.visit)?;
        let reached = parsed.map(|parsed| self.look_up(parsed)).transpose()?;
        let reached = reached.map(Rc::new);
        self.known.insert(digest, reached.clone());
        Ok(reached)
    }

    /// Returns every document below a root, each once and after those that it references.
    pub fn walk(&mut self, root: &ReachedDocument<V::Content>) -> Result<Vec<Shared<V>>, V::Error> {
        self.walk += 1;
        root.last_walk.set(self.walk);
        let mut reached = Vec::new();
        self.descend(root, 0, &mut reached)?;
        Ok(reached)
    }

    /// Visits everything below a document at this depth of indexes.
    fn descend(
        &mut self,
        at: &ReachedDocument<V::Content>,
        depth: usize,
        reached: &mut Vec<Shared<V>>,
    ) -> Result<(), V::Error> {
        if depth == limits::INDEX_DEPTH {
            let too_deep = |child| self.visit.problem(&at.document, WalkProblem::Depth(child));
            return at.first.map_or(Ok(()), too_deep);
        }
        for child in self.children(at)? {
            if child.last_walk.replace(self.walk) != self.walk {
                self.descend(child, depth + 1, reached)?;
                reached.push(Rc::clone(child));
            }
        }
        Ok(())
    }

    /// Returns the readable documents of an index. They are compared with their descriptors the first time.
    fn children<'r>(
        &mut self,
        index: &'r ReachedDocument<V::Content>,
    ) -> Result<&'r [Shared<V>], V::Error> {
        if let Some(known) = index.children.get() {
            return Ok(known);
        }
        let mut children = Vec::new();
        let mut taken = BTreeSet::new();
        for named in index.named.take() {
            if let Some(child) = self.load(named.digest, |visit| visit.read(&named))? {
                self.compare(&index.document, &named, &child)?;
                if taken.insert(named.digest) {
                    children.push(child);
                }
            }
        }
        Ok(index.children.get_or_init(|| children))
    }

    /// Compares a descriptor of an index with the document.
    fn compare(
        &mut self,
        index: &Document,
        named: &Descriptor,
        child: &ReachedDocument<V::Content>,
    ) -> Result<(), V::Error> {
        let is = child.document.media_type;
        if named.document_type() != Some(is) {
            self.visit
                .problem(index, WalkProblem::MediaType(named, is))?;
        }
        if let (Some(says), Some(is)) = (&named.platform, &child.platform)
            && !says.is_like(is)
        {
            let problem = WalkProblem::Platform(named.digest, says, is);
            self.visit.problem(index, problem)?;
        }
        Ok(())
    }

    /// Looks up everything that a document references.
    pub fn look_up(&mut self, parsed: Parsed) -> Result<ReachedDocument<V::Content>, V::Error> {
        let (document, content) = parsed;
        let (mut documents, mut blobs) = (Vec::new(), BTreeSet::new());
        // Equal descriptors are looked up once, because a small manifest may repeat one layer very many times.
        let mut said = BTreeSet::new();
        for named in content.descriptors() {
            if !said.insert((named.digest, named.size, &named.media_type, &named.platform)) {
                continue;
            }
            let found = self.visit.find(&document, named)?;
            if !document.follows(named) {
                blobs.extend(found);
            } else if found.is_some() {
                documents.push(named.clone());
            }
        }
        let platform = match &content {
            ImageDocument::Manifest(manifest) => self.visit.platform(&document, manifest)?,
            ImageDocument::Index(_) => None,
        };
        if said.is_empty() {
            self.visit.problem(&document, WalkProblem::Empty)?;
        }
        Ok(ReachedDocument {
            document: document.into(),
            blobs: blobs.into_iter().collect(),
            platform,
            first: documents.first().map(|named| named.digest),
            named: RefCell::new(documents),
            children: OnceCell::new(),
            last_walk: Cell::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = MediaType::OciManifest.as_str();
    const INDEX: &str = MediaType::OciIndex.as_str();

    fn digest(number: u8) -> Digest {
        Digest::new([number; 32])
    }

    fn list_names(media_type: &str, number: u8, more: &str) -> String {
        let digest = digest(number);
        format!(r#"{{"mediaType":"{media_type}","digest":"{digest}","size":1{more}}}"#)
    }

    /// Documents and blobs by numbers.
    #[derive(Default)]
    struct Store {
        texts: BTreeMap<Digest, String>,
        read: Vec<u8>,
        looked_for: Vec<u8>,
        problems: Vec<String>,
        /// True if a problem ends the walk.
        strict: bool,
    }

    impl Store {
        fn index(&mut self, number: u8, children: &[String]) {
            let list = children.join(",");
            let text = format!(r#"{{"schemaVersion":2,"manifests":[{list}]}}"#);
            self.texts.insert(digest(number), text);
        }

        fn manifest(&mut self, number: u8, layers: &[u8]) {
            let layers: Vec<String> = layers
                .iter()
                .map(|layer| list_names("m", *layer, ""))
                .collect();
            let (config, list) = (list_names("c", 100, ""), layers.join(","));
            let text = format!(r#"{{"schemaVersion":2,"config":{config},"layers":[{list}]}}"#);
            self.texts.insert(digest(number), text);
        }

        fn load(&mut self, digest: Digest) -> Option<Parsed> {
            let text = self.texts.get(&digest)?;
            self.read.push(digest.as_bytes()[0]);
            Some(Document::read(digest, text.clone().into_bytes()).unwrap())
        }
    }

    /// Returns the numbers of documents and contents in the walk from a root.
    fn walk(walker: &mut Walker<Store>, root: u8) -> Result<Vec<u8>, String> {
        let root = digest(root);
        let root = walker.load(root, |store| Ok(store.load(root)))?;
        let reached = walker.walk(&root.unwrap())?;
        let number = |reached: &Shared<Store>| reached.document.digest.as_bytes()[0];
        Ok(reached.iter().map(number).collect())
    }

    impl Visit for Store {
        type Error = String;
        type Content = u8;

        fn find(&mut self, by: &Document, named: &Descriptor) -> Result<Option<u8>, String> {
            let number = named.digest.as_bytes()[0];
            if !by.follows(named) {
                self.looked_for.push(number);
            }
            Ok(Some(number).filter(|number| *number != 99))
        }

        fn read(&mut self, named: &Descriptor) -> Result<Option<Parsed>, String> {
            Ok(self.load(named.digest))
        }

        fn platform(
            &mut self,
            _: &Document,
            _: &ImageManifest,
        ) -> Result<Option<Platform>, String> {
            let (os, architecture) = ("linux".to_owned(), "arm64".to_owned());
            Ok(Some(Platform {
                os,
                architecture,
                variant: None,
            }))
        }

        fn problem(&mut self, of: &Document, problem: WalkProblem<'_>) -> Result<(), String> {
            let number = |digest: Digest| digest.as_bytes()[0];
            let of = number(of.digest);
            let text = match problem {
                WalkProblem::Empty => format!("{of} is empty"),
                WalkProblem::Depth(child) => format!("{of} names {}", number(child)),
                WalkProblem::MediaType(named, is) => format!("{} is {is}", number(named.digest)),
                WalkProblem::Platform(child, says, is) => format!("{} {says} {is}", number(child)),
            };
            if self.strict {
                return Err(text);
            }
            self.problems.push(text);
            Ok(())
        }
    }

    #[test]
    fn each_document_comes_once_and_after_those_that_it_names() {
        let mut store = Store::default();
        store.manifest(1, &[50, 50, 51]);
        store.manifest(2, &[50]);
        store.index(
            3,
            &[list_names(MANIFEST, 2, ""), list_names(MANIFEST, 1, "")],
        );
        store.index(4, &[list_names(MANIFEST, 1, ""), list_names(INDEX, 3, "")]);
        store.index(5, &[list_names(INDEX, 3, ""), list_names(INDEX, 4, "")]);
        let mut walker = Walker::new(store);
        assert_eq!(walk(&mut walker, 5).unwrap(), [2, 1, 3, 4]);
        // The second walk visits known documents without reading or looking up anything.
        assert_eq!(walk(&mut walker, 4).unwrap(), [1, 2, 3]);
        assert_eq!(walk(&mut walker, 5).unwrap(), [2, 1, 3, 4]);
        assert_eq!(walker.visit.read, [5, 3, 4, 2, 1]);
        assert_eq!(walker.visit.looked_for, [100, 50, 100, 50, 51]);
        assert_eq!(walker.visit.problems, [""; 0]);
    }

    #[test]
    fn what_is_not_there_is_gone_without() {
        let mut store = Store::default();
        store.manifest(1, &[]);
        let children = [list_names(MANIFEST, 99, ""), list_names(MANIFEST, 98, "")];
        store.index(
            2,
            &[children.as_slice(), &[list_names(MANIFEST, 1, "")]].concat(),
        );
        assert_eq!(walk(&mut Walker::new(store), 2).unwrap(), [1]);
    }

    #[test]
    fn indexes_are_followed_to_a_bound() {
        let mut store = Store::default();
        store.manifest(1, &[]);
        let below = |number: u8| list_names(if number > 1 { INDEX } else { MANIFEST }, number, "");
        (2..8).for_each(|number| store.index(number, &[below(number - 1)]));
        let mut walker = Walker::new(store);
        assert_eq!(walk(&mut walker, 5).unwrap(), [1, 2, 3, 4]);
        assert_eq!(walker.visit.problems, [""; 0]);
        assert_eq!(walk(&mut walker, 6).unwrap(), [2, 3, 4, 5]);
        assert_eq!(walker.visit.problems, ["2 names 1"]);
        assert_eq!(walk(&mut walker, 7).unwrap(), [3, 4, 5, 6]);
        assert_eq!(walker.visit.problems, ["2 names 1", "3 names 2"]);
    }

    #[test]
    fn each_description_is_compared_once() {
        let mut store = Store::default();
        store.manifest(1, &[]);
        let docker = MediaType::DockerManifest.as_str();
        let of = |architecture: &str| {
            format!(r#","platform":{{"os":"linux","architecture":"{architecture}"}}"#)
        };
        let (arm, amd) = (of("arm64"), of("amd64"));
        let right = list_names(MANIFEST, 1, &arm);
        let wrong = [list_names(docker, 1, &arm), list_names(MANIFEST, 1, &amd)];
        store.index(2, &[&[right][..], &wrong, &wrong].concat());
        store.index(3, &[list_names(INDEX, 2, ""), list_names(INDEX, 4, "")]);
        store.index(4, &[]);
        let expected = [
            &format!("1 is {MANIFEST}"),
            "1 linux/amd64 linux/arm64",
            "4 is empty",
        ];
        let mut walker = Walker::new(store);
        for root in [2, 3, 2] {
            walk(&mut walker, root).unwrap();
        }
        assert_eq!(walker.visit.problems, expected);
        let known = walker.known[&digest(2)].as_ref().unwrap();
        assert_eq!(known.children.get().unwrap().len(), 1);
        // Who stops at the first has not read what comes after it.
        let (texts, strict) = (walker.visit.texts, true);
        let mut walker = Walker::new(Store {
            texts,
            strict,
            ..Store::default()
        });
        let stopped = walk(&mut walker, 3);
        assert_eq!(stopped.unwrap_err(), expected[2]);
        assert_eq!(walker.visit.read, [3, 2, 4]);
    }
}

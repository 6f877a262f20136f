//! The walk from the document that a tag names to everything that it reaches: which documents, in which order, how
//! deep, and what is wrong between one and another. Where contents are and what a problem means is known to whoever
//! asked for the walk.
//!
//! Known attacks and where they stop: indexes in indexes without end: [`limits::INDEX_DEPTH`], which bounds the recursion
//! too; documents that very many tags and indexes share: each is read, and compared with what names it, once for all walks
//! of one [`Walker`], and each walk comes to it once; a content that is named very often in one document: looked for once.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::rc::Rc;
use std::sync::Arc;

use super::{Descriptor, Document, ImageDocument, ImageManifest, MediaType, Platform};
use crate::{Digest, limits};

/// Finds contents for a walk, and is told what is wrong. An error ends the walk; otherwise it goes on with what is right.
pub trait Visit {
    /// The reason why the walk ends early.
    type Error;
    /// The key by which a content is known.
    type Content: Copy + Ord + Debug;

    /// Looks for what a document names, whether the walk [follows](Document::follows) it or not; none when it is not
    /// there. Asked once for each way in which one document describes a content.
    fn find(
        &mut self,
        by: &Document,
        named: &Descriptor,
    ) -> Result<Option<Self::Content>, Self::Error>;

    /// Reads a document that was found; none when that cannot be done. Asked once for each.
    fn read(&mut self, named: &Descriptor) -> Result<Option<Parsed>, Self::Error>;

    /// Returns what the image of a manifest runs on, if whoever asked knows it already. Asked once for each.
    fn platform(
        &mut self,
        of: &Document,
        manifest: &ImageManifest,
    ) -> Result<Option<Platform>, Self::Error>;

    /// Hears what is wrong with a document. Told once, but [`WalkProblem::Depth`] in each walk.
    fn problem(&mut self, of: &Document, problem: WalkProblem<'_>) -> Result<(), Self::Error>;
}

/// A document and what it says.
pub type Parsed = (Document, ImageDocument);

/// The problem of a document, or of what it says of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkProblem<'a> {
    /// The document is an index of nothing.
    Empty,
    /// The document names this one below as many indexes as there may be.
    Depth(Digest),
    /// The document names one of this type, and not of the one that it says.
    MediaType(&'a Descriptor, MediaType),
    /// The document names one for the second platform, and not for the first.
    Platform(Digest, &'a Platform, &'a Platform),
}

/// A document that a walk came to.
#[derive(Debug)]
pub struct Reached<C> {
    /// The document.
    pub document: Arc<Document>,
    /// The configurations, layers and other contents that it names and that are there, each once.
    pub blobs: Vec<C>,
    /// The platform that it runs on, if that is known.
    pub platform: Option<Platform>,
    /// The first of the documents that it names and that are there.
    first: Option<Digest>,
    /// The descriptors that it has of these documents, until they are read.
    named: RefCell<Vec<Descriptor>>,
    /// The documents among them that could be read, each once.
    children: OnceCell<Vec<Rc<Self>>>,
    /// The last walk that came here.
    last_walk: Cell<usize>,
}

type Shared<V> = Rc<Reached<<V as Visit>::Content>>;

/// Walks from documents that tags name, and remembers what it has read.
#[derive(Debug)]
pub struct Walker<V: Visit> {
    /// The visitor of whoever asked.
    pub visit: V,
    /// The documents that were read; none for those that cannot be read.
    known: BTreeMap<Digest, Option<Shared<V>>>,
    /// The number of the present walk, from 1.
    walk: usize,
}

impl<V: Visit> Walker<V> {
    /// A walker that has read nothing yet.
    pub fn new(visit: V) -> Self {
        Self {
            visit,
            known: BTreeMap::new(),
            walk: 0,
        }
    }

    /// Reads a document unless it is known; none when it cannot be read.
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

    /// Every document that a root reaches: each once, and after those that it names.
    pub fn walk(&mut self, root: &Reached<V::Content>) -> Result<Vec<Shared<V>>, V::Error> {
        self.walk += 1;
        root.last_walk.set(self.walk);
        let mut reached = Vec::new();
        self.descend(root, 0, &mut reached)?;
        Ok(reached)
    }

    /// Goes through everything below a document that `depth` indexes are above.
    fn descend(
        &mut self,
        at: &Reached<V::Content>,
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

    /// The documents that an index names and that can be read. The first time, what it says of them is compared.
    fn children<'r>(
        &mut self,
        index: &'r Reached<V::Content>,
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

    /// Compares what an index says of a document with what it is.
    fn compare(
        &mut self,
        index: &Document,
        named: &Descriptor,
        child: &Reached<V::Content>,
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

    /// Looks for everything that a document names.
    pub fn look_up(&mut self, parsed: Parsed) -> Result<Reached<V::Content>, V::Error> {
        let (document, content) = parsed;
        let (mut documents, mut blobs) = (Vec::new(), BTreeSet::new());
        // What is said twice is looked for once: a small manifest may repeat one layer very many times.
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
        Ok(Reached {
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

    fn named(media_type: &str, number: u8, more: &str) -> String {
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
        /// Whether a problem ends the walk.
        strict: bool,
    }

    impl Store {
        fn index(&mut self, number: u8, children: &[String]) {
            let list = children.join(",");
            let text = format!(r#"{{"schemaVersion":2,"manifests":[{list}]}}"#);
            self.texts.insert(digest(number), text);
        }

        fn manifest(&mut self, number: u8, layers: &[u8]) {
            let layers: Vec<String> = layers.iter().map(|it| named("m", *it, "")).collect();
            let (config, list) = (named("c", 100, ""), layers.join(","));
            let text = format!(r#"{{"schemaVersion":2,"config":{config},"layers":[{list}]}}"#);
            self.texts.insert(digest(number), text);
        }

        fn load(&mut self, digest: Digest) -> Option<Parsed> {
            let text = self.texts.get(&digest)?;
            self.read.push(digest.as_bytes()[0]);
            Some(Document::read(digest, text.clone().into_bytes()).unwrap())
        }
    }

    /// The numbers of what the walk from a root comes to.
    fn walk(walker: &mut Walker<Store>, root: u8) -> Result<Vec<u8>, String> {
        let root = digest(root);
        let root = walker.load(root, |store| Ok(store.load(root)))?;
        let reached = walker.walk(&root.unwrap())?;
        let number = |it: &Shared<Store>| it.document.digest.as_bytes()[0];
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
            Ok(Some(number).filter(|it| *it != 99))
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
        store.index(3, &[named(MANIFEST, 2, ""), named(MANIFEST, 1, "")]);
        store.index(4, &[named(MANIFEST, 1, ""), named(INDEX, 3, "")]);
        store.index(5, &[named(INDEX, 3, ""), named(INDEX, 4, "")]);
        let mut walker = Walker::new(store);
        assert_eq!(walk(&mut walker, 5).unwrap(), [2, 1, 3, 4]);
        // What is known is gone through again, and neither read nor looked for.
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
        let children = [named(MANIFEST, 99, ""), named(MANIFEST, 98, "")];
        store.index(
            2,
            &[children.as_slice(), &[named(MANIFEST, 1, "")]].concat(),
        );
        assert_eq!(walk(&mut Walker::new(store), 2).unwrap(), [1]);
    }

    #[test]
    fn indexes_are_followed_to_a_bound() {
        let mut store = Store::default();
        store.manifest(1, &[]);
        let below = |number: u8| named(if number > 1 { INDEX } else { MANIFEST }, number, "");
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
        let right = named(MANIFEST, 1, &arm);
        let wrong = [named(docker, 1, &arm), named(MANIFEST, 1, &amd)];
        store.index(2, &[&[right][..], &wrong, &wrong].concat());
        store.index(3, &[named(INDEX, 2, ""), named(INDEX, 4, "")]);
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

//! The smallest parts of rights: one verb on one thing. Whether one covers another is decided as Kubernetes decides it
//! (`pkg/apis/rbac/v1/evaluation_helpers.go`), by looking up the few wider forms that a part can have.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;

use schemas::is_cluster_scoped;

use super::right::Reach;

/// Everything of its kind.
pub(super) const ALL: &str = "*";

/// A request for a single Namespace counts as a request in that namespace, so these verbs can be granted there.
const NAMESPACE_VERBS: [&str; 4] = ["get", "update", "patch", "delete"];

/// One verb on one thing, within a reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Part<'a> {
    pub(super) reach: &'a Reach,
    pub(super) thing: Thing<'a>,
    pub(super) verb: &'a str,
}

/// What a verb is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Thing<'a> {
    Resource {
        group: &'a str,
        resource: Resource<'a>,
        /// The only object meant; none for all.
        name: Option<&'a str>,
    },
    /// A path of the API server that is no resource; a last `*` is any rest.
    Url(&'a str),
}

/// A resource as rules name it. `*` is every resource and subresource, `*/scale` that subresource of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Resource<'a> {
    pub(super) plural: &'a str,
    pub(super) sub: Option<&'a str>,
}

impl<'a> Resource<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        match text.split_once('/') {
            None => Self {
                plural: text,
                sub: None,
            },
            Some((plural, sub)) => Self {
                plural,
                sub: Some(sub),
            },
        }
    }

    /// Itself, and the two that cover it.
    pub(super) fn wider(self) -> [Self; 3] {
        let every = |sub| Self { plural: ALL, sub };
        [self, every(self.sub), every(None)]
    }
}

impl fmt::Display for Resource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.plural)?;
        self.sub.map_or(Ok(()), |sub| write!(f, "/{sub}"))
    }
}

/// Whether a verb on a resource can be granted in a namespace: resources of the whole cluster cannot.
pub(crate) fn is_in_namespace(group: &str, plural: &str, verb: &str) -> bool {
    if (group, plural) == ("", "namespaces") {
        return verb == ALL || NAMESPACE_VERBS.contains(&verb);
    }
    !is_cluster_scoped(group, plural)
}

impl Part<'_> {
    /// Whether a binding with its reach gives it at all.
    pub(super) fn is_granted(&self) -> bool {
        match (self.reach, self.thing) {
            (Reach::Cluster, _) => true,
            (Reach::Namespace(_), Thing::Url(_)) => false,
            (
                Reach::Namespace(_),
                Thing::Resource {
                    group, resource, ..
                },
            ) => is_in_namespace(group, resource.plural, self.verb),
        }
    }
}

/// Parts to look up others in.
pub(super) struct Held<'a> {
    parts: HashSet<Part<'a>>,
    /// The beginnings of paths, by verb: none begins with another of the same verb.
    beginnings: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Held<'a> {
    pub(super) fn new(parts: impl IntoIterator<Item = Part<'a>>) -> Self {
        let parts: HashSet<Part<'a>> = parts.into_iter().collect();
        let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for part in &parts {
            if let Thing::Url(url) = part.thing
                && url.ends_with(ALL)
            {
                all.entry(part.verb).or_default().insert(beginning(url));
            }
        }
        let beginnings = all
            .into_iter()
            .map(|(verb, beginnings)| (verb, shortest(beginnings)))
            .collect();
        Self { parts, beginnings }
    }

    /// Whether one of them is this part or a wider one.
    pub(super) fn covers(&self, part: &Part<'a>) -> bool {
        self.parts.contains(part) || self.covers_by_wider(part)
    }

    /// Whether another one of them is wider than this part.
    pub(super) fn covers_by_wider(&self, part: &Part<'a>) -> bool {
        let every_verb = Part { verb: ALL, ..*part };
        if part.verb != ALL && self.parts.contains(&every_verb) {
            return true;
        }
        match part.thing {
            Thing::Url(url) => [part.verb, ALL]
                .iter()
                .any(|verb| self.has_beginning_of(url, verb, part.verb)),
            Thing::Resource {
                group,
                resource,
                name,
            } => wider(part, group, resource, name)
                .any(|wider| wider != *part && self.parts.contains(&wider)),
        }
    }

    /// Whether a path with this verb has a beginning of `url`, which is there with the verb `own`.
    fn has_beginning_of(&self, url: &str, verb: &str, own: &str) -> bool {
        // The last one that is not behind it is the only one that it can begin with, since none begins with another.
        let last = self
            .beginnings
            .get(verb)
            .and_then(|beginnings| beginnings.range(..=url).next_back());
        let is_itself = |last: &str| verb == own && url.ends_with(ALL) && beginning(url) == last;
        last.is_some_and(|last| url.starts_with(last) && !is_itself(last))
    }
}

fn beginning(url: &str) -> &str {
    url.trim_end_matches(ALL)
}

/// Those that begin with no other.
fn shortest(sorted: BTreeSet<&str>) -> BTreeSet<&str> {
    let mut last: Option<&str> = None;
    let mut shortest = BTreeSet::new();
    for text in sorted {
        if last.is_none_or(|last| !text.starts_with(last)) {
            shortest.insert(text);
            last = Some(text);
        }
    }
    shortest
}

/// Every form that covers a part: itself, and those with a wildcard or a wider reach in some place.
fn wider<'a>(
    part: &Part<'a>,
    group: &'a str,
    resource: Resource<'a>,
    name: Option<&'a str>,
) -> impl Iterator<Item = Part<'a>> {
    let (reaches, verbs) = ([part.reach, &Reach::Cluster], [part.verb, ALL]);
    let things = [group, ALL].into_iter().flat_map(move |group| {
        resource.wider().into_iter().flat_map(move |resource| {
            [name, None].into_iter().map(move |name| Thing::Resource {
                group,
                resource,
                name,
            })
        })
    });
    things.flat_map(move |thing| {
        reaches.into_iter().flat_map(move |reach| {
            verbs
                .into_iter()
                .map(move |verb| Part { reach, thing, verb })
        })
    })
}

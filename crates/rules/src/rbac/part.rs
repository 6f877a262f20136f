//! The smallest parts of rights, each one verb on one thing. The rule whether one part covers another is that of
//! Kubernetes (`pkg/apis/rbac/v1/evaluation_helpers.go`). It is decided by looking up the few wider forms that a part
//! can have.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;

use schemas::is_cluster_scoped;

use crate::rbac::reach::Reach;

/// The wildcard in rules.
pub(crate) const ALL: &str = "*";

/// The verbs on Namespaces that can be granted within a namespace, since a request for a single Namespace counts as a
/// request in that namespace.
const NAMESPACE_VERBS: [&str; 4] = ["get", "update", "patch", "delete"];

/// One verb on one resource or path, within a reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RightPart<'a> {
    pub(crate) reach: &'a Reach,
    pub(crate) thing: Target<'a>,
    pub(crate) verb: &'a str,
}

/// The resource or path of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Target<'a> {
    Resource {
        group: &'a str,
        resource: Resource<'a>,
        /// The name of the only object; `None` for all objects.
        name: Option<&'a str>,
    },
    /// A path of the API server that is not a resource. A trailing `*` matches any rest.
    Url(&'a str),
}

/// A resource as rules name it. `*` is all resources and subresources, and `*/scale` is this subresource of all
/// resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Resource<'a> {
    pub(crate) plural: &'a str,
    pub(crate) sub: Option<&'a str>,
}

impl<'a> Resource<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
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

    /// Returns the resource, and the two wildcards that cover it.
    pub(crate) fn wider(self) -> [Self; 3] {
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

/// Checks whether a verb on a resource can be granted in a namespace, which is impossible for cluster-scoped resources.
pub(crate) fn is_in_namespace(group: &str, plural: &str, verb: &str) -> bool {
    if (group, plural) == ("", "namespaces") {
        return verb == ALL || NAMESPACE_VERBS.contains(&verb);
    }
    !is_cluster_scoped(group, plural)
}

impl RightPart<'_> {
    /// Checks whether a binding with this reach grants the part at all.
    pub(crate) fn is_granted(&self) -> bool {
        match (self.reach, self.thing) {
            (Reach::Cluster, _) => true,
            (Reach::Namespace(_), Target::Url(_)) => false,
            (
                Reach::Namespace(_),
                Target::Resource {
                    group, resource, ..
                },
            ) => is_in_namespace(group, resource.plural, self.verb),
        }
    }
}

/// An index of held parts.
pub(crate) struct HeldParts<'a> {
    parts: HashSet<RightPart<'a>>,
    /// The combinations of wildcards in these parts. Only these combinations have to be looked up.
    forms: HashSet<Form>,
    /// The prefixes of paths by verb, where no prefix begins with another one of the same verb.
    beginnings: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> HeldParts<'a> {
    pub(crate) fn new(parts: impl IntoIterator<Item = RightPart<'a>>) -> Self {
        let parts: HashSet<RightPart<'a>> = parts.into_iter().collect();
        let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for part in &parts {
            if let Target::Url(url) = part.thing
                && url.ends_with(ALL)
            {
                all.entry(part.verb).or_default().insert(beginning(url));
            }
        }
        let beginnings = all
            .into_iter()
            .map(|(verb, beginnings)| (verb, shortest(beginnings)))
            .collect();
        Self {
            forms: parts.iter().filter_map(form).collect(),
            parts,
            beginnings,
        }
    }

    /// Checks whether the index contains this part or a wider one.
    pub(crate) fn covers(&self, part: &RightPart<'a>) -> bool {
        self.parts.contains(part) || self.covers_by_wider(part)
    }

    /// Checks whether the index contains a wider part than this one.
    pub(crate) fn covers_by_wider(&self, part: &RightPart<'a>) -> bool {
        match part.thing {
            Target::Url(url) => self.covers_url(url, part),
            Target::Resource { .. } => self
                .forms
                .iter()
                .filter_map(|form| widen(part, form))
                .any(|wider| wider != *part && self.parts.contains(&wider)),
        }
    }

    fn covers_url(&self, url: &str, part: &RightPart<'a>) -> bool {
        let every_verb = RightPart { verb: ALL, ..*part };
        (part.verb != ALL && self.parts.contains(&every_verb))
            || self.has_beginning_of(url, part.verb, part.verb)
            || self.has_beginning_of(url, ALL, part.verb)
    }

    /// Checks whether the prefixes of `verb` include one of `url`. The path itself, held with the verb `own`, does not
    /// count.
    fn has_beginning_of(&self, url: &str, verb: &str, own: &str) -> bool {
        // Since no prefix begins with another, only the last one that is not greater than the path can match.
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

/// Returns the texts that do not begin with another of these texts.
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

/// A part of a resource without its texts, which only has its wildcards and whether it has a subresource and a name.
type Form = RightPart<'static>;

static SOMEWHERE: Reach = Reach::Namespace(String::new());

fn form(part: &RightPart<'_>) -> Option<Form> {
    let Target::Resource {
        group,
        resource,
        name,
    } = part.thing
    else {
        return None;
    };
    let wildcard = |text: &str| if text == ALL { ALL } else { "" };
    Some(RightPart {
        reach: match part.reach {
            Reach::Cluster => &Reach::Cluster,
            Reach::Namespace(_) => &SOMEWHERE,
        },
        thing: Target::Resource {
            group: wildcard(group),
            resource: Resource {
                plural: wildcard(resource.plural),
                sub: resource.sub.map(|_| ""),
            },
            name: name.map(|_| ""),
        },
        verb: wildcard(part.verb),
    })
}

/// Returns the only part of this form that can cover `part`.
fn widen<'a>(part: &RightPart<'a>, form: &Form) -> Option<RightPart<'a>> {
    let (
        Target::Resource {
            group,
            resource,
            name,
        },
        Target::Resource {
            group: group_form,
            resource: resource_form,
            name: name_form,
        },
    ) = (part.thing, form.thing)
    else {
        return None;
    };
    let or_own = |wildcard: &'static str, own| if wildcard == ALL { ALL } else { own };
    let sub = resource_form.sub.and(resource.sub);
    // A resource does not cover its subresources.
    if sub != resource.sub && resource_form.plural != ALL {
        return None;
    }
    Some(RightPart {
        reach: match form.reach {
            Reach::Cluster => &Reach::Cluster,
            Reach::Namespace(_) => part.reach,
        },
        thing: Target::Resource {
            group: or_own(group_form, group),
            resource: Resource {
                plural: or_own(resource_form.plural, resource.plural),
                sub,
            },
            name: name_form.and(name),
        },
        verb: or_own(form.verb, part.verb),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part<'a>(reach: &'a Reach, resource: &'a str, verb: &'a str) -> RightPart<'a> {
        let thing = Target::Resource {
            group: "",
            resource: Resource::new(resource),
            name: None,
        };
        RightPart { reach, thing, verb }
    }

    /// The number of lookups depends only on the number of forms, not on the number of parts.
    #[test]
    fn lookups_are_as_many_as_forms() {
        let here = Reach::Namespace("a".to_owned());
        let resources: Vec<String> = (0..1000).map(|number| format!("r{number}")).collect();
        let plain = resources
            .iter()
            .map(|resource| part(&here, resource, "get"));
        let held = HeldParts::new(plain.clone());
        assert_eq!((held.parts.len(), held.forms.len()), (1000, 1));
        let wide = [
            part(&here, "*", "get"),
            part(&here, "*/log", "*"),
            part(&Reach::Cluster, "pods", "get"),
        ];
        let held = HeldParts::new(plain.chain(wide));
        assert_eq!((held.parts.len(), held.forms.len()), (1003, 4));
        for (resource, verb, covered) in [
            ("r1", "get", true),
            ("x", "get", true),
            ("x/log", "get", true),
            ("x/log", "put", true),
            ("pods", "list", false),
            ("x/exec", "list", false),
        ] {
            let part = part(&here, resource, verb);
            assert_eq!(held.covers_by_wider(&part), covered, "{verb} {resource}");
        }
    }

    #[test]
    fn of_paths_only_the_shortest_beginnings_are_kept() {
        let paths = ["/a/b/*", "/a/*", "/a/c*", "/b*", "/ab"];
        let parts = paths.map(|path| RightPart {
            reach: &Reach::Cluster,
            thing: Target::Url(path),
            verb: "get",
        });
        let held = HeldParts::new(parts);
        assert_eq!(held.beginnings["get"], BTreeSet::from(["/a/", "/b"]));
        let covered = parts.map(|part| held.covers_by_wider(&part));
        assert_eq!(covered, [true, false, true, false, false]);
    }
}

//! The position of a problem: the document in its file, and the JSON Pointer (RFC 6901) in this document. The message
//! of a problem begins with the field that it is about, from which the position is derived unless the problem has a
//! more precise one.

use schemas::{ImagePlace, SourceSpec};
use serde_json::Value;

use crate::document::{kind_of, text};
use crate::finding::problem::Problem;

/// Returns the JSON Pointer of a field: `/spec/images/0` for `spec.images[0]`.
#[must_use]
pub fn field_pointer(field: &str) -> String {
    let names = names(field)
        .into_iter()
        .map(|name| name.replace('~', "~0").replace('/', "~1"));
    names.flat_map(|name| ["/".to_owned(), name]).collect()
}

/// Returns the names in the field at the beginning of a message. A name in brackets may contain characters that end
/// other names.
fn names(words: &str) -> Vec<&str> {
    const ENDS: [char; 6] = ['.', '[', ' ', '`', ',', ':'];
    let (mut names, mut rest) = (Vec::new(), words);
    loop {
        let name = if let Some(inner) = rest.strip_prefix('[') {
            let ends = |end: &usize| {
                let behind = &inner[end + 1..];
                behind.is_empty() || behind.starts_with(ENDS)
            };
            let mut ends_of = inner.match_indices(']').map(|(end, _)| end);
            let Some(end) = ends_of.find(ends) else {
                return names;
            };
            rest = &inner[end + 1..];
            &inner[..end]
        } else {
            let inner = rest.strip_prefix('.').unwrap_or(rest);
            let end = inner.find(ENDS).unwrap_or(inner.len());
            rest = &inner[end..];
            &inner[..end]
        };
        if name.is_empty() {
            return names;
        }
        names.push(name);
    }
}

/// Returns the JSON Pointer of a problem in `solution.yaml`.
#[must_use]
pub fn source_pointer(problem: &Problem, spec: &SourceSpec) -> String {
    let images = |places: &[&ImagePlace]| {
        let place = |index: &usize| places.contains(&&spec.images[*index].place());
        let last = (0..spec.images.len()).rev().find(place);
        listed("/spec/images", last)
    };
    let variable = |name: &str| {
        let env = spec.operator.iter().flat_map(|operator| &operator.env);
        let named = env
            .enumerate()
            .filter(|(_, variable)| variable.name == name);
        listed("/spec/operator/env", named.last().map(|(index, _)| index))
    };
    match problem {
        Problem::Nothing => "/spec".to_owned(),
        Problem::ImageTwice(place) | Problem::ReferenceTwice(_, place, _) => images(&[place]),
        Problem::ImageCase(one, other) | Problem::ImageInside(one, other) => images(&[one, other]),
        Problem::OperatorImage(_) => "/spec/operator/image".to_owned(),
        Problem::VariableName(name)
        | Problem::VariableTwice(name)
        | Problem::RelatedImage(name, _) => variable(name),
        Problem::Expansion(field, _)
        | Problem::UnknownImage(field, _)
        | Problem::AmbiguousImage(field, ..) => match field.strip_prefix("spec.operator.env.") {
            Some(name) => variable(name),
            None => field_pointer(field),
        },
        Problem::Set(name, _) => {
            let mut sets = spec.manifests.iter();
            listed("/spec/manifests", sets.position(|set| set.name == *name))
        }
        Problem::Chart(name, _) => {
            let mut charts = spec.charts.iter();
            listed("/spec/charts", charts.position(|chart| chart.name == *name))
        }
        Problem::Charts(_) => "/spec/charts".to_owned(),
        Problem::Parameter(name, _) => format!("/spec/parameters/{name}"),
        other => first_words(&other.to_string()),
    }
}

fn listed(list: &str, index: Option<usize>) -> String {
    index.map_or_else(|| list.to_owned(), |index| format!("{list}/{index}"))
}

/// Returns the JSON Pointer of the field at the beginning of a message. If the message does not begin with a field, the
/// pointer denotes no value.
fn first_words(words: &str) -> String {
    let words = words.trim_start_matches('`');
    if !words.starts_with('/') {
        return field_pointer(words);
    }
    let end = words.find([' ', '`', ',', ':']);
    words[..end.unwrap_or(words.len())].to_owned()
}

impl Problem {
    /// Returns the JSON Pointer of the problem in its document.
    #[must_use]
    pub fn pointer(&self) -> String {
        let pointer = match self {
            Self::Wildcard(_, number, _) | Self::ClusterOnly(_, number, _) => {
                return listed("/rules", number.checked_sub(1));
            }
            Self::Aggregated(_) => "/aggregationRule",
            Self::Rules(..) | Self::Rule(..) | Self::Dangerous(..) => "/rules",
            Self::NotADefinition(..) | Self::NotARole(..) => "/kind",
            Self::Group(_) => "/spec/group",
            Self::Versions(words) if words.starts_with("spec.") => return first_words(words),
            Self::Versions(_) => "/spec/versions",
            Self::Conversion => "/spec/conversion",
            Self::DefinitionName(..)
            | Self::ObjectName(_)
            | Self::DefinedTwice(..)
            | Self::RoleName(..)
            | Self::RoleTwice(..)
            | Self::ObjectTwice(..) => "/metadata/name",
            Self::NamespaceOfCluster(..) => "/metadata/namespace",
            Self::Withheld(_) => "/metadata",
            other => return first_words(&other.to_string()),
        };
        pointer.to_owned()
    }

    /// Returns the index of the problem's document in its file.
    #[must_use]
    pub fn document(&self, documents: &[Value]) -> usize {
        let title = match self {
            Self::NotARole(number, ..) | Self::RoleName(number, _) => return number - 1,
            Self::RoleTwice(kind, name) => format!("{kind} {name}"),
            Self::Aggregated(role)
            | Self::Rules(role, _)
            | Self::Rule(role, _)
            | Self::Wildcard(role, ..)
            | Self::ClusterOnly(role, ..)
            | Self::Dangerous(role, ..) => role.to_string(),
            _ => return 0,
        };
        let named = |role: &Value| {
            let name = text(role, "/metadata/name").unwrap_or_default();
            format!("{} {name}", kind_of(role).1) == title
        };
        documents.iter().rposition(named).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_with_their_place() {
        for (words, pointer) in [
            ("spec.operator.args[0]: no image", "/spec/operator/args/0"),
            ("`spec.scope` is missing", "/spec/scope"),
            ("/data/a~1b: there is no parameter", "/data/a~1b"),
            ("/spec/image is `x`, which", "/spec/image"),
            (
                "spec.versions[1].schema is missing",
                "/spec/versions/1/schema",
            ),
            (
                "spec.schema.properties[a.b/c: d].properties[e]f].type: is no type",
                "/spec/schema/properties/a.b~1c: d/properties/e]f/type",
            ),
            (
                "spec.schema.properties[a: is cut",
                "/spec/schema/properties",
            ),
            ("holds 2 documents", "/holds"),
            ("", ""),
        ] {
            assert_eq!(first_words(words), pointer, "{words}");
        }
    }

    #[test]
    fn versions_are_where_their_words_say() {
        let pointer = |words: &str| Problem::Versions(words.to_owned()).pointer();
        assert_eq!(pointer("no version is served"), "/spec/versions");
        assert_eq!(
            pointer("spec.versions[1].name: is missing"),
            "/spec/versions/1/name"
        );
    }

    #[test]
    fn a_problem_of_a_role_finds_its_document() {
        let role =
            |kind: &str, name: &str| serde_json::json!({"kind": kind, "metadata": {"name": name}});
        let roles = [
            role("Role", "a"),
            role("ClusterRole", "a"),
            role("Role", "a"),
        ];
        let wildcard = Problem::Wildcard("ClusterRole a".into(), 2, "verbs".to_owned());
        assert_eq!(wildcard.document(&roles), 1);
        assert_eq!(wildcard.pointer(), "/rules/1");
        let twice = Problem::RoleTwice("Role".to_owned(), "a".to_owned());
        assert_eq!(twice.document(&roles), 2);
        assert_eq!(
            Problem::NotARole(2, String::new(), String::new()).document(&roles),
            1
        );
    }
}

//! Placeholders in the objects of `spec.manifests`, for values that only the site knows. This module is the only one
//! that knows their grammar (docs/reference/format-manifests.md, 4): [`pieces`] splits a text, [`expand`] replaces the
//! placeholders, and [`each_text`] and [`change_texts`] visit the texts of an object. The packager writes and checks
//! placeholders, and the importer expands them.
//!
//! The command, arguments and environment of an operator have the smaller grammar of format 1 (`split_expansions`).

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde_json::Value;

use crate::{ImageName, ImagePlace, NameError, Namespace, ParameterName, Tag};

/// A parsed placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// `$(image:NAME[:TAG])`, or `$(image.ATTRIBUTE:NAME[:TAG])` for a part: the address of an image at the site.
    Image {
        /// The part of the address.
        part: AddressPart,
        /// The image.
        image: ImageChoice,
    },
    /// `$(namespace:NAME)`: the environment's namespace for one of the release's namespaces.
    Namespace(Namespace),
    /// `$(solution:FACT)`: a fact about the Solution.
    Solution(SolutionFact),
    /// `$(param:NAME)`: the value of a parameter.
    Parameter(ParameterName),
}

/// An image of the Solution, by name and optional tag.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageChoice {
    /// The image's name.
    pub name: ImageName,
    /// The tag of the image, required if multiple images have the name.
    pub tag: Option<Tag>,
}

impl FromStr for ImageChoice {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.contains(':') {
            let ImagePlace { name, tag } = text.parse()?;
            return Ok(Self {
                name,
                tag: Some(tag),
            });
        }
        let name = text.parse()?;
        Ok(Self { name, tag: None })
    }
}

impl fmt::Display for ImageChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        self.tag.iter().try_for_each(|tag| write!(f, ":{tag}"))
    }
}

/// A part of an address `REGISTRY/PATH:TAG@DIGEST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressPart {
    /// The whole address.
    Whole,
    /// The host and port.
    Registry,
    /// The path after the registry, without tag and digest.
    Path,
    /// The registry and path.
    Repository,
    /// The tag.
    Tag,
    /// The digest, `sha256:…`.
    Digest,
}

/// The names of the parts, except the whole.
const PARTS: [(&str, AddressPart); 5] = [
    ("registry", AddressPart::Registry),
    ("path", AddressPart::Path),
    ("repository", AddressPart::Repository),
    ("tag", AddressPart::Tag),
    ("digest", AddressPart::Digest),
];

/// A fact about the Solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolutionFact {
    /// The name of the Solution.
    Name,
    /// The version of the Solution.
    Version,
    /// The environment in which it is installed.
    Environment,
}

const FACTS: [(&str, SolutionFact); 3] = [
    ("name", SolutionFact::Name),
    ("version", SolutionFact::Version),
    ("environment", SolutionFact::Environment),
];

/// A piece of a text with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceholderPiece<'a> {
    /// Literal text.
    Text(&'a str),
    /// A placeholder.
    Placeholder(Placeholder),
}

/// The error of a text whose placeholders are not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceholderError {
    /// A placeholder has no `)`.
    #[error("`{0}` is not closed by `)`")]
    Open(String),
    /// The address has no such part.
    #[error(
        "`{0}` is not a part of an address; the parts are registry, path, repository, tag, digest"
    )]
    Part(String),
    /// The Solution has no such fact.
    #[error("`{0}` is not a property of a Solution; the properties are name, version, environment")]
    Fact(String),
    /// The text in the placeholder is not a valid name.
    #[error(transparent)]
    Name(#[from] NameError),
}

/// The start of a placeholder: its kind, the part of an image's address, and the length in bytes up to the colon,
/// inclusive.
struct Opening<'a> {
    kind: &'a str,
    part: Option<&'a str>,
    length: usize,
}

impl<'a> Opening<'a> {
    const KINDS: [&'static str; 4] = ["image", "namespace", "solution", "param"];

    /// Returns the start of a placeholder at the beginning of a text.
    fn parse(text: &'a str) -> Option<Self> {
        let inner = text.strip_prefix("$(")?;
        let word = inner.bytes().take_while(|byte| is_word(*byte)).count();
        let (word, rest) = inner.split_at(word);
        let length = "$(".len() + word.len() + ":".len();
        let (kind, part) = match word.split_once('.') {
            Some(("image", part)) => ("image", Some(part)),
            Some(_) => return None,
            None => (word, None),
        };
        (Self::KINDS.contains(&kind) && rest.starts_with(':')).then_some(Self {
            kind,
            part,
            length,
        })
    }

    fn placeholder(&self, name: &str) -> Result<Placeholder, PlaceholderError> {
        Ok(match self.kind {
            "image" => Placeholder::Image {
                part: self.address_part()?,
                image: name.parse()?,
            },
            "namespace" => Placeholder::Namespace(name.parse()?),
            "solution" => Placeholder::Solution(
                find_by_name(&FACTS, name).ok_or_else(|| PlaceholderError::Fact(shorten(name)))?,
            ),
            _ => Placeholder::Parameter(name.parse()?),
        })
    }

    fn address_part(&self) -> Result<AddressPart, PlaceholderError> {
        let Some(part) = self.part else {
            return Ok(AddressPart::Whole);
        };
        find_by_name(&PARTS, part).ok_or_else(|| PlaceholderError::Part(shorten(part)))
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte == b'.'
}

fn find_by_name<T: Copy>(names: &[(&str, T)], name: &str) -> Option<T> {
    let found = names.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| *value)
}

fn shorten(text: &str) -> String {
    crate::digest::shorten(text)
}

/// Splits a text at its placeholders, as [`pieces`] does, without the ranges.
pub fn split(text: &str) -> Result<Vec<PlaceholderPiece<'_>>, PlaceholderError> {
    let pieces = pieces(text)?;
    Ok(pieces.into_iter().map(|(_, piece)| piece).collect())
}

/// Splits a text at its placeholders, and returns each piece with its range. An extra `$` before a placeholder escapes
/// it and is removed. Every other `$` is literal, also in Kubernetes' `$(VARIABLE)`.
///
/// # Errors
///
/// Fails if a placeholder has no end, or an invalid name, part or fact.
pub fn pieces(text: &str) -> Result<Vec<(Range<usize>, PlaceholderPiece<'_>)>, PlaceholderError> {
    let mut pieces = Vec::new();
    // The text between the two is not yet part of a piece.
    let (mut begin, mut position) = (0, 0);
    while let Some(dollar) = text[position..].find('$').map(|found| position + found) {
        if Opening::parse(&text[dollar + 1..]).is_some() {
            push_text(&mut pieces, text, begin..dollar);
            begin = dollar + 1;
            position = begin + 1;
        } else if let Some(opening) = Opening::parse(&text[dollar..]) {
            push_text(&mut pieces, text, begin..dollar);
            let name = dollar + opening.length;
            let end = text[name..].find(')').map(|found| name + found);
            let end = end.ok_or_else(|| PlaceholderError::Open(text[dollar..name].to_owned()))?;
            let placeholder = opening.placeholder(&text[name..end])?;
            begin = end + 1;
            pieces.push((dollar..begin, PlaceholderPiece::Placeholder(placeholder)));
            position = begin;
        } else {
            position = dollar + 1;
        }
    }
    push_text(&mut pieces, text, begin..text.len());
    Ok(pieces)
}

fn push_text<'a>(
    pieces: &mut Vec<(Range<usize>, PlaceholderPiece<'a>)>,
    text: &'a str,
    range: Range<usize>,
) {
    if !range.is_empty() {
        pieces.push((range.clone(), PlaceholderPiece::Text(&text[range])));
    }
}

/// Calls `change` for every text of an object that can have placeholders, and replaces the text if `change` returns a
/// value. Keys, `apiVersion`, `kind` and `metadata.name` have no placeholders.
pub fn change_texts<E>(
    object: &mut Value,
    change: &mut impl FnMut(&str) -> Result<Option<Value>, E>,
) -> Result<(), E> {
    let Value::Object(fields) = object else {
        return Ok(());
    };
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("apiVersion" | "kind", _) => {}
            ("metadata", Value::Object(metadata)) => {
                let others = metadata.iter_mut().filter(|(key, _)| *key != "name");
                for (_, value) in others {
                    change_within(value, change)?;
                }
            }
            (_, value) => change_within(value, change)?,
        }
    }
    Ok(())
}

fn change_within<E>(
    value: &mut Value,
    change: &mut impl FnMut(&str) -> Result<Option<Value>, E>,
) -> Result<(), E> {
    match value {
        Value::String(text) => {
            if let Some(changed) = change(text)? {
                *value = changed;
            }
        }
        Value::Array(items) => {
            for item in items {
                change_within(item, change)?;
            }
        }
        Value::Object(fields) => {
            for field in fields.values_mut() {
                change_within(field, change)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Calls `visit` for every text that can have placeholders, as [`change_texts`] does, with its place as a JSON Pointer
/// (RFC 6901).
pub fn each_text<'a>(object: &'a Value, visit: &mut impl FnMut(&str, &'a str)) {
    let Value::Object(fields) = object else {
        return;
    };
    let mut pointer = String::new();
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("apiVersion" | "kind", _) => {}
            ("metadata", Value::Object(metadata)) => {
                for (key, value) in metadata.iter().filter(|(key, _)| *key != "name") {
                    pointer.push_str("/metadata");
                    each_below(key, value, &mut pointer, visit);
                    pointer.clear();
                }
            }
            (key, value) => each_below(key, value, &mut pointer, visit),
        }
    }
}

fn each_below<'a>(
    step: &str,
    value: &'a Value,
    pointer: &mut String,
    visit: &mut impl FnMut(&str, &'a str),
) {
    let length = pointer.len();
    pointer.push('/');
    pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::String(text) => visit(pointer, text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each_below(&index.to_string(), item, pointer, visit);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                each_below(key, field, pointer, visit);
            }
        }
        _ => {}
    }
    pointer.truncate(length);
}

/// Returns the text with the values of its placeholders from `resolve`. Returns `None` for a text without placeholders
/// and escapes. A text that is a single placeholder takes the type of its value.
///
/// # Errors
///
/// Fails if a placeholder is not valid, or `resolve` fails.
pub fn expand<E: From<PlaceholderError>>(
    text: &str,
    resolve: impl Fn(&Placeholder) -> Result<Value, E>,
) -> Result<Option<Value>, E> {
    if !text.contains("$(") {
        return Ok(None);
    }
    let pieces = split(text)?;
    match &pieces[..] {
        [PlaceholderPiece::Text(same)] if *same == text => return Ok(None),
        [PlaceholderPiece::Placeholder(alone)] => return resolve(alone).map(Some),
        _ => {}
    }
    let mut expanded = String::with_capacity(text.len());
    for piece in &pieces {
        match piece {
            PlaceholderPiece::Text(text) => expanded.push_str(text),
            PlaceholderPiece::Placeholder(placeholder) => match resolve(placeholder)? {
                Value::String(text) => expanded.push_str(&text),
                other => expanded.push_str(&other.to_string()),
            },
        }
    }
    Ok(Some(Value::String(expanded)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn image(part: AddressPart, image: &str) -> PlaceholderPiece<'static> {
        let image = image.parse().unwrap();
        PlaceholderPiece::Placeholder(Placeholder::Image { part, image })
    }

    #[test]
    fn texts_are_split_at_their_placeholders() {
        for text in [
            "",
            "a $(B) $x",
            "$(B)$$(C)",
            "$(images:x) $(image) $(image.x) $(Image:x)",
            "$",
        ] {
            let whole = (!text.is_empty()).then_some(PlaceholderPiece::Text(text));
            assert_eq!(split(text).unwrap(), Vec::from_iter(whole), "{text}");
        }
        assert_eq!(
            split("--a=$(image:org/app),$(image.tag:b:1.0)!$(namespace:ns)$(solution:version)$(param:size)").unwrap(),
            [
                PlaceholderPiece::Text("--a="),
                image(AddressPart::Whole, "org/app"),
                PlaceholderPiece::Text(","),
                image(AddressPart::Tag, "b:1.0"),
                PlaceholderPiece::Text("!"),
                PlaceholderPiece::Placeholder(Placeholder::Namespace("ns".parse().unwrap())),
                PlaceholderPiece::Placeholder(Placeholder::Solution(SolutionFact::Version)),
                PlaceholderPiece::Placeholder(Placeholder::Parameter("size".parse().unwrap())),
            ]
        );
    }

    #[test]
    fn one_more_dollar_makes_a_literal() {
        let literal = |text: &str| {
            let pieces = split(text).unwrap();
            let texts = pieces.iter().map(|piece| match piece {
                PlaceholderPiece::Text(text) => *text,
                PlaceholderPiece::Placeholder(_) => panic!("{text}"),
            });
            texts.collect::<String>()
        };
        assert_eq!(literal("$$(image:a)"), "$(image:a)");
        assert_eq!(literal("$$$(image:a)"), "$$(image:a)");
        assert_eq!(literal("$$(A)$$(param:b"), "$$(A)$(param:b");
        assert_eq!(
            split("$$(image:a)$(image:a)").unwrap(),
            [
                PlaceholderPiece::Text("$(image:a)"),
                image(AddressPart::Whole, "a")
            ]
        );
    }

    #[test]
    fn malformed_placeholders_are_refused_by_what_is_wrong() {
        for (text, words) in [
            ("$(image:a", "`$(image:` is not closed by `)`"),
            ("$(image.host:a)", "`host` is not a part of an address"),
            ("$(solution:id)", "`id` is not a property of a Solution"),
            ("$(image:A)", "`A` is not a valid image name"),
            ("$(image:a:)", "`` is not a valid tag"),
            ("$(namespace:)", "`` is not a valid namespace"),
            ("$(param:a.b)", "`a.b` is not a valid parameter name"),
            (
                "$(param:$(param:a))",
                "`$(param:a` is not a valid parameter name",
            ),
        ] {
            let error = split(text).unwrap_err().to_string();
            assert!(error.starts_with(words), "{text}: {error}");
        }
    }

    #[test]
    fn a_placeholder_alone_keeps_the_type_of_its_value() {
        let resolve = |placeholder: &Placeholder| match placeholder {
            Placeholder::Parameter(_) => Ok::<_, PlaceholderError>(json!(3)),
            _ => Ok(json!("r.test/app")),
        };
        assert_eq!(expand("a $(B)", resolve), Ok(None));
        assert_eq!(expand("$(param:n)", resolve), Ok(Some(json!(3))));
        assert_eq!(expand("n=$(param:n)", resolve), Ok(Some(json!("n=3"))));
        assert_eq!(
            expand("$$(image:a) is $(image:a)", resolve),
            Ok(Some(json!("$(image:a) is r.test/app")))
        );
    }

    #[test]
    fn names_and_kinds_of_objects_are_never_given() {
        let mut object = json!({
            "apiVersion": "a", "kind": "k",
            "metadata": {"name": "n", "namespace": "ns", "labels": {"name": "l"}},
            "spec": {"kind": "inner", "list": ["x", 1, {"metadata": {"name": "template"}}]},
        });
        let mut seen = Vec::new();
        change_texts(&mut object, &mut |text| {
            seen.push(text.to_owned());
            Ok::<_, ()>((text == "x").then(|| json!([2])))
        })
        .unwrap();
        assert_eq!(seen, ["l", "ns", "inner", "x", "template"]);
        let mut places = Vec::new();
        let before = object.clone();
        each_text(&before, &mut |pointer, text| {
            assert_eq!(before.pointer(pointer), Some(&json!(text)));
            places.push(text.to_owned());
        });
        assert_eq!(places, ["l", "ns", "inner", "template"]);
        assert_eq!(object["spec"]["list"][0], json!([2]));
    }
}

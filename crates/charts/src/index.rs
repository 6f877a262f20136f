//! The index of a chart repository, `index.yaml`, which contains the address of each version of each chart. [`find`] is
//! the entry point.
//!
//! The indexes of large repositories have about 20 MB, and one chart is a small part of them. Therefore [`versions`]
//! first extracts the lines of this chart, and only these are parsed as YAML. An index that is not written in lines,
//! such as JSON, is parsed as a whole with the same limit.

use std::fmt;

use schemas::yaml::{self, YamlError};
use schemas::{ChartName, ChartVersion, Digest};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::error::IndexProblem;
use crate::limits;

/// The entry of one version of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedVersion {
    /// The address of the archive, which may be relative to the address of the repository.
    pub url: String,
    /// The digest of the archive, if the index contains it.
    pub digest: Option<Digest>,
}

/// Finds one version of a chart in an index.
///
/// # Errors
///
/// Fails if the index is invalid or exceeds a limit, or if the version is missing, ambiguous or without an address.
pub fn find(
    index: &[u8],
    name: &ChartName,
    version: &ChartVersion,
) -> Result<IndexedVersion, IndexProblem> {
    if index.len() > limits::INDEX {
        return Err(YamlError::TooLong(index.len(), limits::INDEX).into());
    }
    let cut = versions(index, name.as_str());
    let text = cut.as_deref().unwrap_or(index);
    let charts = EntryFilter {
        name: name.as_str(),
        what: "charts by their names",
        inside: Versions(version),
    };
    let whole = EntryFilter {
        name: "entries",
        what: "the index of a repository of charts",
        inside: charts,
    };
    let found = yaml::long(text, limits::INDEX_READ, whole)?;
    if found.differ {
        return Err(IndexProblem::Twice(version.clone()));
    }
    let Some(entry) = found.first else {
        return Err(IndexProblem::Missing {
            name: name.clone(),
            version: version.clone(),
        });
    };
    let no_address = || IndexProblem::NoAddress(version.clone());
    let hex = entry.digest.filter(|digest| !digest.is_empty());
    // Helm writes the digits without the algorithm.
    let digest = hex.map(|text| Digest::from_hex(text.strip_prefix("sha256:").unwrap_or(&text)));
    Ok(IndexedVersion {
        url: entry
            .urls
            .0
            .filter(|url| !url.is_empty())
            .ok_or_else(no_address)?,
        digest: digest.transpose()?,
    })
}

/// Extracts the lines of one chart as a separate index, or returns `None` if the index is not written in lines. All
/// content of a chart is indented more than the chart's name, or begins with a hyphen.
fn versions(index: &[u8], name: &str) -> Option<Vec<u8>> {
    let (mut is_inside, mut is_it, mut names) = (false, false, None);
    let mut cut: Option<Vec<u8>> = None;
    for line in index.split_inclusive(|byte| *byte == b'\n') {
        let text = line.trim_ascii();
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        let is_empty = text.is_empty() || text.starts_with(b"#");
        if !is_empty && indent == 0 {
            is_inside = text == b"entries:";
            is_it = false;
            if is_inside {
                cut.get_or_insert_with(|| b"entries:\n".to_vec());
            }
        } else if !is_empty && is_inside {
            // The charts are a flow mapping, which may have any line breaks.
            if names.is_none() && text.starts_with(b"{") {
                return None;
            }
            if indent <= *names.get_or_insert(indent) && !text.starts_with(b"-") {
                is_it = is_key(text, name.as_bytes());
            }
        }
        if is_it && let Some(cut) = &mut cut {
            cut.extend_from_slice(line);
        }
    }
    cut
}

/// Checks whether a line begins with a key, which may be quoted.
fn is_key(line: &[u8], name: &[u8]) -> bool {
    let quote: &[u8] = line
        .first()
        .filter(|byte| matches!(**byte, b'"' | b'\''))
        .map_or(&[], std::slice::from_ref);
    let rest = line
        .strip_prefix(quote)
        .and_then(|rest| rest.strip_prefix(name))
        .and_then(|rest| rest.strip_prefix(quote));
    rest.is_some_and(|rest| rest.trim_ascii_start().starts_with(b":"))
}

/// The entries of the wanted version.
#[derive(Default)]
struct IndexMatch {
    first: Option<ChartIndexEntry>,
    /// True if another entry of the same version has different content.
    differ: bool,
}

impl IndexMatch {
    fn take(&mut self, entry: ChartIndexEntry) {
        match &self.first {
            None => self.first = Some(entry),
            Some(first) => self.differ |= *first != entry,
        }
    }

    fn join(&mut self, other: Self) {
        self.differ |= other.differ;
        if let Some(entry) = other.first {
            self.take(entry);
        }
    }
}

/// The fields that are used of one version of a chart.
#[derive(PartialEq, Eq, Deserialize)]
struct ChartIndexEntry {
    #[serde(default)]
    version: Option<String>,
    #[serde(default)]
    urls: FirstText,
    #[serde(default)]
    digest: Option<String>,
}

/// The first text of a list. Helm uses no other address.
#[derive(Default, PartialEq, Eq)]
struct FirstText(Option<String>);

/// A map of which only the entry `name` is read, with `inside`: the index itself, and its map of charts.
#[derive(Clone, Copy)]
struct EntryFilter<'a, S> {
    name: &'a str,
    what: &'static str,
    inside: S,
}

/// The list of a chart's versions, of which only this one is read.
#[derive(Clone, Copy)]
struct Versions<'a>(&'a ChartVersion);

impl<'de, S: DeserializeSeed<'de, Value = IndexMatch> + Copy> DeserializeSeed<'de>
    for EntryFilter<'_, S>
{
    type Value = IndexMatch;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<IndexMatch, D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de, S: DeserializeSeed<'de, Value = IndexMatch> + Copy> Visitor<'de> for EntryFilter<'_, S> {
    type Value = IndexMatch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<IndexMatch, A::Error> {
        let mut found = IndexMatch::default();
        while let Some(key) = map.next_key::<String>()? {
            if key == self.name {
                found.join(map.next_value_seed(self.inside)?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    /// Accepts a repository without charts.
    fn visit_unit<E: Error>(self) -> Result<IndexMatch, E> {
        Ok(IndexMatch::default())
    }
}

impl<'de> DeserializeSeed<'de> for Versions<'_> {
    type Value = IndexMatch;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<IndexMatch, D::Error> {
        reader.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Versions<'_> {
    type Value = IndexMatch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the versions of a chart")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<IndexMatch, A::Error> {
        let mut found = IndexMatch::default();
        while let Some(entry) = list.next_element::<ChartIndexEntry>()? {
            if entry.version.as_deref() == Some(self.0.as_str()) {
                found.take(entry);
            }
        }
        Ok(found)
    }
}

impl<'de> Deserialize<'de> for FirstText {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = FirstText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of addresses")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<FirstText, A::Error> {
                let first = list.next_element()?;
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(FirstText(first))
            }

            fn visit_unit<E: Error>(self) -> Result<FirstText, E> {
                Ok(FirstText(None))
            }
        }
        reader.deserialize_any(List)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn looked(index: &str) -> Result<IndexedVersion, IndexProblem> {
        find(
            index.as_bytes(),
            &"web".parse().unwrap(),
            &"1.2.3".parse().unwrap(),
        )
    }

    fn refused(index: &str) -> String {
        looked(index).unwrap_err().to_string()
    }

    /// The format of `helm repo index`.
    const INDEX: &str = "apiVersion: v1
entries:
  other:
  - {name: other, version: 1.2.3, urls: [other.tgz], annotations: {a: [b, {c: 1.0}]}}
  web:
  - apiVersion: v2
    appVersion: 1.10
    created: '2026-08-01T10:00:00.123456789Z'
    dependencies:
    - name: db
    digest: 5555555555555555555555555555555555555555555555555555555555555555
    name: web
    urls:
    - https://r.test/web-1.2.3.tgz
    - https://mirror.test/web-1.2.3.tgz
    version: 1.2.3
  - {name: web, version: 1.2.3-rc.1, urls: [rc.tgz], digest: ~}
generated: '2026-08-01T10:00:00Z'
";

    #[test]
    fn the_version_that_is_asked_for_is_found() {
        let listed = looked(INDEX).unwrap();
        assert_eq!(listed.url, "https://r.test/web-1.2.3.tgz");
        assert_eq!(listed.digest, Some(Digest::new([0x55; 32])));
        // JSON, without a digest.
        let json =
            r#"{"entries": {"web": [{"version": "1.2.3", "urls": ["web.tgz"], "digest": ""}]}}"#;
        let listed = looked(json).unwrap();
        assert_eq!((listed.url.as_str(), listed.digest), ("web.tgz", None));
    }

    #[test]
    fn what_leads_to_no_archive_is_refused() {
        let entry = |fields: &str| format!("entries: {{web: [{{version: 1.2.3, {fields}}}]}}");
        let missing = "does not list the chart `web` in version 1.2.3";
        for (index, words) in [
            (INDEX.replace("1.2.3\n", "1.2.4\n"), missing),
            (INDEX.replace("  web:", "  webs:"), missing),
            ("entries: {}".to_owned(), missing),
            ("entries:".to_owned(), missing),
            ("entries: {web: []}".to_owned(), missing),
            ("other: {web: []}".to_owned(), missing),
            (entry("urls: []"), "does not say where version 1.2.3 is"),
            (entry("urls: ~"), "does not say where version 1.2.3 is"),
            (entry("a: b"), "does not say where version 1.2.3 is"),
            (entry("urls: [a], digest: 5555"), "gives an invalid digest"),
            (entry("urls: {a: b}"), "cannot be read"),
            (
                "entries: {web: {version: 1.2.3}}".to_owned(),
                "cannot be read",
            ),
            ("[]".to_owned(), "cannot be read"),
            ("<html>".to_owned(), "cannot be read"),
            (String::new(), missing),
        ] {
            assert_eq!(refused(&index), words, "{index}");
        }
        let twice = |other: &str| {
            looked(&format!(
                "entries: {{web: [{{version: 1.2.3, urls: [a]}}, {{version: 1.2.3, urls: [{other}]}}]}}"
            ))
        };
        assert!(twice("a").is_ok());
        let said = twice("b").unwrap_err().to_string();
        assert_eq!(said, "lists version 1.2.3 twice, with different archives");
    }

    /// Forty thousand versions of many charts take 20 MB.
    #[test]
    fn large_indexes_are_passed_over_and_bombs_are_not_read() {
        let mut index = "entries:\n".to_owned();
        for chart in 0..400 {
            writeln!(index, "  web-{chart}:").unwrap();
            for version in 0..100 {
                writeln!(
                    index,
                    "  - version: 1.{version}.3\n    urls: [web-{chart}.tgz]"
                )
                .unwrap();
                writeln!(index, "    description: >-\n      {}", "words ".repeat(75)).unwrap();
            }
        }
        index.push_str(&INDEX[INDEX.find("  web:").unwrap()..]);
        assert!(index.len() > 20_000_000, "{}", index.len());
        assert!(looked(&index).is_ok());
        let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..10 {
            let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
            writeln!(laughs, "a{level}: &a{level} [{aliases}]").unwrap();
        }
        // The bomb is skipped as well, except where its lines have to be parsed.
        assert!(looked(&(laughs.clone() + INDEX)).is_ok());
        let entries = INDEX.replace(
            "digest: 55",
            &format!("{}digest: 55", "a: &a [*a, *a]\n    "),
        );
        let json = r#"{"entries": {"web": [{"version": "1.2.3", "urls": ["a"]}]}}"#;
        for bomb in [
            entries,
            laughs + json,
            "{a: ".repeat(100_000),
            "[".repeat(1_000_000),
        ] {
            assert_eq!(refused(&bomb), "cannot be read");
        }
        let long = "#".repeat(limits::INDEX + 1);
        assert_eq!(refused(&long), "cannot be read");
        let mut much = INDEX.to_owned();
        let version =
            "  - {name: web, version: 1.0.0, urls: [a], description: aaaaaaaaaaaaaaaaaa}\n";
        let list = much.find("generated").unwrap();
        much.insert_str(list, &version.repeat(limits::INDEX_READ / version.len()));
        assert_eq!(refused(&much), "cannot be read");
    }

    #[test]
    fn one_chart_is_cut_out_of_all() {
        let cut = |index: &str| {
            let cut = versions(index.as_bytes(), "web");
            cut.map(|cut| String::from_utf8(cut).unwrap())
        };
        let all = "entries:
# charts
  other:
  - version: 1
  web:
  - version: 2
    description: |
      # Web

      web: no key
  - version: 3
  'web' :
    - version: 4
  web-2:
  - version: 5
generated: x
  web:
";
        let expected = "entries:
  web:
  - version: 2
    description: |
      # Web

      web: no key
  - version: 3
  'web' :
    - version: 4
";
        assert_eq!(cut(all).as_deref(), Some(expected));
        assert_eq!(cut("entries:\n").as_deref(), Some("entries:\n"));
        for other in [
            "entries: {web: []}",
            "entries:\n  {web: []}\n",
            "{\"entries\": {}}",
            "a: b",
            "",
        ] {
            assert_eq!(cut(other), None, "{other}");
        }
    }
}

//! Small changes of `solution.yaml` that leave the rest of its text as somebody wrote it. Only the usual ways to write
//! YAML are understood; whether the outcome means what it should is for the caller to check.

use std::fmt;
use std::ops::Range;

use crate::images::NamedImage;
use crate::write::{push_image, quoted};

/// A change.
#[derive(Debug)]
pub(crate) enum Edit {
    /// The Solution's version.
    Version(String),
    /// A field of an image, by its place in the list.
    Field {
        image: usize,
        key: &'static str,
        value: String,
    },
    /// An image is taken out.
    Remove(usize),
    /// An image is added at the end.
    Add(NamedImage),
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "`version` becomes {version}"),
            Self::Field { image, key, value } => {
                write!(f, "`{key}` of image {} becomes {value}", image + 1)
            }
            Self::Remove(image) => write!(f, "image {} goes", image + 1),
            Self::Add(named) => {
                let image = &named.image;
                let place = image.place();
                write!(f, "image {place} of {} comes", image.source)
            }
        }
    }
}

/// The text with all changes; none if it is written in a way that is not understood.
pub(crate) fn apply(text: &str, edits: &[Edit]) -> Option<String> {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let spec = children(&lines, 0..lines.len(), "spec")?.1;
    let items = children(&lines, spec.clone(), "images").map(|(_, images)| items(&lines, images));
    let items = items.unwrap_or_default();
    let column = items.first().and_then(|item| indent(&lines[item.start]));
    let mut added = String::new();
    for edit in edits {
        match edit {
            Edit::Version(version) => {
                let (line, _) = children(&lines, spec.clone(), "version")?;
                set(&mut lines[line..=line], "version", version)?;
            }
            Edit::Field { image, key, value } => {
                let item = items.get(*image)?.clone();
                set(&mut lines[item], key, value)?;
            }
            Edit::Remove(image) => {
                let item = items.get(*image)?.clone();
                let item = with_askers(&lines, &item);
                for line in &mut lines[item] {
                    line.clear();
                }
            }
            Edit::Add(image) => {
                push_image(image, &" ".repeat(column?), &mut added);
            }
        }
    }
    if !added.is_empty() {
        let last = &mut lines[items.last()?.end - 1];
        if !last.is_empty() && !last.ends_with('\n') {
            last.push('\n');
        }
        last.push_str(&added);
    }
    Some(lines.concat())
}

/// How far a line is indented; none if it only has a comment, or nothing.
fn indent(line: &str) -> Option<usize> {
    let text = line.trim_start();
    let said = !text.is_empty() && !text.starts_with('#');
    said.then(|| line.len() - text.len())
}

/// The line of a key of a mapping in block style, and the lines below it.
fn children(lines: &[String], mapping: Range<usize>, key: &str) -> Option<(usize, Range<usize>)> {
    let own = mapping.clone().find_map(|line| indent(&lines[line]))?;
    let is_key = |line: &usize| {
        let text = lines[*line].trim_start();
        let rest = text.strip_prefix(key);
        indent(&lines[*line]) == Some(own) && rest.is_some_and(|rest| rest.starts_with(':'))
    };
    let line = mapping.clone().find(is_key)?;
    let mut below = line + 1..mapping.end;
    let ends = |line: &usize| {
        let text = &lines[*line];
        indent(text)
            .is_some_and(|it| it < own || (it == own && !text.trim_start().starts_with('-')))
    };
    let end = below.find(ends).unwrap_or(mapping.end);
    Some((line, line + 1..end))
}

/// The elements of a list in block style, each without what only comments on the next.
fn items(lines: &[String], list: Range<usize>) -> Vec<Range<usize>> {
    let Some(own) = list.clone().find_map(|line| indent(&lines[line])) else {
        return Vec::new();
    };
    let begins = |line: &usize| {
        indent(&lines[*line]) == Some(own) && lines[*line].trim_start().starts_with('-')
    };
    let starts: Vec<usize> = list.clone().filter(begins).collect();
    let ends = starts.iter().skip(1).copied().chain([list.end]);
    let item = |(start, end): (&usize, usize)| {
        let says = |line: &usize| indent(&lines[*line]).is_some();
        *start..(*start..end).rfind(says).unwrap_or(*start) + 1
    };
    starts.iter().zip(ends).map(item).collect()
}

/// An element, with the comments above it that say who asks for an image.
fn with_askers(lines: &[String], item: &Range<usize>) -> Range<usize> {
    let is_asker = |line: &str| {
        let words = line.trim_start().strip_prefix("# ");
        words.is_some_and(|words| {
            words
                .split_once(" `")
                .is_some_and(|(kind, _)| !kind.contains(' '))
        })
    };
    let above = (0..item.start)
        .rev()
        .take_while(|line| is_asker(&lines[*line]));
    above.last().unwrap_or(item.start)..item.end
}

/// Gives a key of an element another value.
fn set(item: &mut [String], key: &str, value: &str) -> Option<()> {
    let of_line = |line: &String| scalar(line, key);
    let (line, range) = item
        .iter()
        .enumerate()
        .find_map(|(number, line)| Some((number, of_line(line)?)))?;
    item[line].replace_range(range, &quoted(value));
    Some(())
}

/// Where the value of a key stands in a line.
fn scalar(line: &str, key: &str) -> Option<Range<usize>> {
    let mut begin = 0;
    loop {
        let at = begin + line[begin..].find(key)?;
        let before = &line[..at];
        if before.contains('#') {
            return None;
        }
        begin = at + key.len();
        let separate = before.is_empty() || before.ends_with([' ', '{', ',']);
        if separate && line[begin..].starts_with(": ") {
            break;
        }
    }
    let flow = line[..begin].contains('{');
    let value = begin + line[begin..].find(|c| c != ':' && c != ' ')?;
    let rest = &line[value..];
    let length = if let Some(quote) = rest.chars().next().filter(|c| ['"', '\''].contains(c)) {
        2 + rest[1..].find(quote)?
    } else {
        let text = &rest[..rest.find(" #").unwrap_or(rest.len())];
        let text = text
            .split([',', '}'])
            .next()
            .filter(|_| flow)
            .unwrap_or(text);
        text.trim_end().len()
    };
    Some(value..value + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# mine
spec:
  version: 1.0.0 # ours
  upgradeFrom: '>=0.9.0'
  # all
  images:
    # Deployment `a`
    - name: a
      tag: '1.0' # pinned
      source: docker://r.test/a:1.0
    # not for arm
    # Job `b`
    - {name: b, tag: \"1.0\", source: \"docker://r.test/b:1.0\"}

  # the release
  manifests: []
";

    fn field(image: usize, key: &'static str, value: &str) -> Edit {
        Edit::Field {
            image,
            key,
            value: value.to_owned(),
        }
    }

    #[test]
    fn only_what_changes_is_written_anew() {
        let edits = [
            Edit::Version("1.1.0".to_owned()),
            field(0, "tag", "1.1"),
            field(0, "source", "docker://r.test/a:1.1"),
            field(1, "tag", "1.2"),
        ];
        let expected = TEXT
            .replace("version: 1.0.0", "version: \"1.1.0\"")
            .replace("tag: '1.0'", "tag: \"1.1\"")
            .replace("docker://r.test/a:1.0", "\"docker://r.test/a:1.1\"")
            .replace("b, tag: \"1.0\"", "b, tag: \"1.2\"");
        assert_eq!(apply(TEXT, &edits).unwrap(), expected);
    }

    #[test]
    fn an_image_goes_with_who_asks_for_it_and_comes_at_the_end() {
        let mut found = crate::images::FoundImages::default();
        found.scan("r.test/c:2", manifests::reference::Hint::Image, "Job `c`");
        let image = found.named().images.pop().unwrap();
        let edits = [Edit::Remove(0), Edit::Remove(1), Edit::Add(image)];
        let first = "    # Deployment `a`\n    - name: a\n      tag: '1.0' # pinned\n      source: docker://r.test/a:1.0\n";
        let removed =
            "    # Job `b`\n    - {name: b, tag: \"1.0\", source: \"docker://r.test/b:1.0\"}\n";
        let added = "    # Job `c`\n    - name: \"c\"\n      tag: \"2\"\n      source: \"docker://r.test/c:2\"\n      ref: \"r.test/c:2\"\n";
        let expected = TEXT.replace(first, "").replace(removed, added);
        assert_eq!(apply(TEXT, &edits).unwrap(), expected);
    }

    #[test]
    fn what_is_written_otherwise_is_not_understood() {
        for text in ["{spec: {version: 1.0.0}}\n", "spec: *other\n", ""] {
            let edits = [Edit::Version("1.1.0".to_owned())];
            assert_eq!(apply(text, &edits), None, "{text}");
        }
        let flow = TEXT.replace("  manifests: []", "  manifests: [{}]");
        assert_eq!(apply(&flow, &[field(2, "tag", "1")]), None);
        assert_eq!(
            apply("spec:\n  images: []\n", &[field(0, "tag", "1")]),
            None
        );
    }
}

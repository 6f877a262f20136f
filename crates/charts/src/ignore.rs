//! `.helmignore`: the files of a chart's directory that are not part of the chart. The rules are those of Helm (its
//! `pkg/ignore/rules.go`): patterns of Go's `filepath.Match`, without `**`. Only paths are matched, and no file is
//! read.

use crate::error::{ChartError, ChartProblem};
use crate::limits;

/// The rules of a `.helmignore`, and Helm's built-in rule.
#[derive(Debug)]
pub struct IgnoreRules {
    rules: Vec<Rule>,
}

#[derive(Debug)]
struct Rule {
    pattern: Vec<char>,
    /// True if the rule matches only directories.
    directory: bool,
    /// True if the rule matches the whole path, and not only its last element.
    whole: bool,
}

impl IgnoreRules {
    /// Parses a `.helmignore`. Negated rules are rejected, because Helm ignores all files that such a rule does not
    /// match.
    pub fn new(text: &[u8]) -> Result<Self, ChartError> {
        let refuse =
            |words: String| Err(ChartProblem::Metadata(format!(".helmignore {words}")).into());
        let Ok(text) = std::str::from_utf8(text) else {
            return refuse("is not UTF-8 text".to_owned());
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut rules = Vec::new();
        for line in lines.chain(["templates/.?*"]) {
            if line.contains("**") || line.contains(['[', '\\']) || line.starts_with('!') {
                return refuse(format!(
                    "has `{line}`: only names, `*` and `?` are understood"
                ));
            }
            if rules.len() == limits::IGNORE_RULES {
                return refuse(format!("has more than {} rules", limits::IGNORE_RULES));
            }
            let (pattern, directory) = match line.strip_suffix('/') {
                Some(pattern) => (pattern, true),
                None => (line, false),
            };
            rules.push(Rule {
                pattern: pattern.trim_start_matches('/').chars().collect(),
                directory,
                whole: pattern.contains('/'),
            });
        }
        Ok(Self { rules })
    }

    /// Checks whether a file is ignored, by itself or with a directory that contains it.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        let mut around = path.match_indices('/').map(|(at, _)| &path[..at]);
        around.any(|directory| self.has_directory(directory)) || self.matches_any(path, false)
    }

    /// Checks whether a rule matches a directory itself.
    #[must_use]
    pub fn has_directory(&self, path: &str) -> bool {
        self.matches_any(path, true)
    }

    fn matches_any(&self, path: &str, is_directory: bool) -> bool {
        self.rules
            .iter()
            .any(|rule| rule.matches(path, is_directory))
    }
}

impl Rule {
    fn matches(&self, path: &str, is_directory: bool) -> bool {
        if self.directory && !is_directory {
            return false;
        }
        let last = path.rsplit('/').next().filter(|_| !self.whole);
        let name = last.unwrap_or(path);
        matches(&self.pattern, &name.chars().collect::<Vec<_>>())
    }
}

/// Checks whether a pattern matches a text. Only the last `*` is extended after a mismatch. This is sufficient, because
/// an earlier `*` could only match more text. A `*` does not match a slash.
fn matches(pattern: &[char], text: &[char]) -> bool {
    let (mut at, mut in_text) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        match (pattern.get(at), text.get(in_text)) {
            (Some('*'), _) => {
                star = Some((at, in_text));
                at += 1;
                continue;
            }
            (Some('?'), Some(c)) if *c != '/' => {}
            (Some(expected), Some(c)) if expected == c && *c != '?' => {}
            (None, None) => return true,
            _ => {
                let Some((before, taken)) = star else {
                    return false;
                };
                if text.get(taken).is_none_or(|c| *c == '/') {
                    return false;
                }
                star = Some((before, taken + 1));
                (at, in_text) = (before + 1, taken + 1);
                continue;
            }
        }
        at += 1;
        in_text += 1;
    }
}

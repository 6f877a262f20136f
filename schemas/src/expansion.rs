//! The expansion `$(image:NAME)` in an operator's command, arguments, environment and template. This module is the only
//! one that knows its grammar: the packager and the validator check texts with [`split_expansions`], and the importer
//! expands them.

use serde_json::Value;

use crate::{ImageName, NameError, Operator, OperatorTemplate};

const OPEN: &str = "$(image:";

/// A piece of a text with expansions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Literal text.
    Text(&'a str),
    /// The pull address of the image with this name.
    Image(ImageName),
}

/// The error of a text that cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpansionError {
    /// The text has `$(image:` without `)`.
    #[error("`$(image:` is not closed by `)`")]
    Open,
    /// The text in the expansion is not a valid image name.
    #[error(transparent)]
    Name(#[from] NameError),
}

/// Splits a text at its expansions. Every other `$` is literal.
///
/// # Errors
///
/// Fails if an expansion has no end or an invalid name.
pub fn split_expansions(text: &str) -> Result<Vec<Piece<'_>>, ExpansionError> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let (name, after) = after.split_once(')').ok_or(ExpansionError::Open)?;
        if !before.is_empty() {
            pieces.push(Piece::Text(before));
        }
        pieces.push(Piece::Image(name.parse()?));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    Ok(pieces)
}

impl Operator {
    /// Returns the variables with plain values of the operator's container, including those of its template.
    pub fn plain_variables(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = self.env.iter();
        let own = own.map(|variable| (variable.name.as_str(), variable.value.as_str()));
        let template = self.template.iter();
        let container = template.filter_map(OperatorTemplate::own_container);
        let variables = container.filter_map(|container| container.get("env")?.as_array());
        own.chain(variables.flatten().filter_map(|variable| {
            let text = |field| variable.get(field).and_then(Value::as_str);
            Some((text("name")?, text("value")?))
        }))
    }

    /// Returns every text in which images are expanded, with its place in `manifest.yaml` and `solution.yaml`.
    pub fn expandable(&self) -> impl Iterator<Item = (String, &str)> {
        let command = self.command.iter().flatten().enumerate();
        let args = self.args.iter().enumerate();
        let env = self.env.iter();
        command
            .map(|(index, text)| (format!("spec.operator.command[{index}]"), text.as_str()))
            .chain(
                args.map(|(index, text)| (format!("spec.operator.args[{index}]"), text.as_str())),
            )
            .chain(env.map(|variable| {
                let place = format!("spec.operator.env.{}", variable.name);
                (place, variable.value.as_str())
            }))
            .chain(self.template.iter().flat_map(OperatorTemplate::texts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_at_their_expansions() {
        let image = |name: &str| Piece::Image(name.parse().unwrap());
        assert_eq!(split_expansions("").unwrap(), []);
        assert_eq!(
            split_expansions("a $(B) $x").unwrap(),
            [Piece::Text("a $(B) $x")]
        );
        assert_eq!(
            split_expansions("--a=$(image:org/app),$(image:b)!").unwrap(),
            [
                Piece::Text("--a="),
                image("org/app"),
                Piece::Text(","),
                image("b"),
                Piece::Text("!")
            ]
        );
    }

    #[test]
    fn malformed_expansions_are_refused() {
        assert_eq!(split_expansions("$(image:a"), Err(ExpansionError::Open));
        for text in [
            "$(image:)",
            "$(image:A)",
            "$(image:a:1)",
            "$(image:$(image:a))",
        ] {
            assert!(
                matches!(split_expansions(text), Err(ExpansionError::Name(_))),
                "{text}"
            );
        }
    }
}

//! Functions do not take tuples as arguments. Functions of tests are exempt.

use crate::packages;
use crate::source::{files, spaced};

#[test]
fn no_argument_is_a_tuple() {
    let mut wrong = Vec::new();
    for (name, source) in packages::folders() {
        for (file, text) in &files(&source) {
            let words: Vec<&str> = text.split_whitespace().collect();
            let found = functions_with_tuples(&words).into_iter();
            wrong.extend(found.map(|function| format!("{name}: {function} in {file}")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn arguments_are_read_as_they_are_written() {
    for (parameters, found) in [
        ("", false),
        ("(a, b): (A, B)", true),
        ("&self, (a, b): &Pair, c: C", true),
        ("place: &'a mut (A, B)", true),
        ("tell: &(dyn Fn(A, B) + 'a), done: ()", false),
        ("all: &[(A, B)], made: impl Fn(A, B) -> (A, B)", false),
        ("Pair { a, b }: model::Pair<A, B>", false),
    ] {
        for generics in ["", "<T: Into<A>, F: Fn() -> B>"] {
            let text = spaced(&format!(
                "pub fn one{generics}({parameters}) -> (A, B) {{}}"
            ));
            let words: Vec<&str> = text.split_whitespace().collect();
            let expected: &[&str] = if found { &["one"] } else { &[] };
            assert_eq!(functions_with_tuples(&words), expected, "{text}");
        }
    }
}

/// Returns the functions of a file that take a tuple.
fn functions_with_tuples<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let begins = (0..words.len()).filter(|at| words[*at] == "fn");
    let functions = begins.filter_map(|at| {
        let (name, mut rest) = words[at + 1..].split_first()?;
        if rest.starts_with(&["<"]) {
            rest = parts(rest).1;
        }
        // A `fn` without a name is a type.
        let is_declared = *name != "(" && rest.starts_with(&["("]);
        let taken = is_declared.then(|| parts(rest).0)?;
        taken.into_iter().any(has_tuple).then_some(*name)
    });
    functions.collect()
}

/// Returns whether a parameter's pattern or type is a tuple.
fn has_tuple(parameter: &[&str]) -> bool {
    let mut words = parameter.windows(3);
    let colon = words.position(|window| window[0] != ":" && window[1] == ":" && window[2] != ":");
    is_tuple(parameter) || colon.is_some_and(|before| is_tuple(&parameter[before + 2..]))
}

fn is_tuple(mut words: &[&str]) -> bool {
    while let ["&" | "mut", rest @ ..] | ["'", _, rest @ ..] = words {
        words = rest;
    }
    words.starts_with(&["("]) && parts(words).0.len() > 1
}

/// Splits the brackets at the start of `words` at their commas. Returns the parts, and the words after the brackets.
fn parts<'w, 'a>(words: &'w [&'a str]) -> (Vec<&'w [&'a str]>, &'w [&'a str]) {
    let (mut depth, mut begin, mut parts) = (0, 1, Vec::new());
    for (at, word) in words.iter().enumerate() {
        match *word {
            "(" | "[" | "{" | "<" => depth += 1,
            // The `>` of an arrow closes no bracket.
            ">" if words[at - 1] == "-" => {}
            ")" | "]" | "}" | ">" => depth -= 1,
            "," if depth == 1 => {
                parts.push(&words[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
        if depth == 0 {
            parts.push(&words[begin..at]);
            return (parts, &words[at + 1..]);
        }
    }
    (parts, &[])
}

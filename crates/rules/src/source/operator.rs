//! Rules for the operator, which `solution.yaml` and `manifest.yaml` define in the same form. The images that it names
//! are compared with the list of images.

use std::collections::BTreeSet;
use std::sync::Arc;

use schemas::{EnvVar, ImagePlace, Operator, Piece, split_expansions};

use crate::finding::problem::Problem;
use crate::images::ImagesByName;
use crate::source::template::template;

/// The conventional prefix of variables that contain the images that an operator starts.
const RELATED: &str = "RELATED_IMAGE_";

/// Returns the problems of an operator in a Solution with these images.
pub fn operator<'a>(
    operator: &'a Operator,
    images: &'a [ImagePlace],
) -> impl Iterator<Item = Problem> + 'a {
    let place = operator.image.place();
    let absent = (!images.contains(&place)).then_some(Problem::OperatorImage(place));
    let problems = absent
        .into_iter()
        .chain(variables(&operator.env))
        .chain(template(operator));
    problems.chain(expansions(operator, images))
}

fn variables(env: &[EnvVar]) -> impl Iterator<Item = Problem> {
    let mut names = BTreeSet::new();
    env.iter().filter_map(move |EnvVar { name, .. }| {
        let printable = name.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
        if name.is_empty() || name.contains('=') || !printable {
            Some(Problem::VariableName(name.clone()))
        } else {
            (!names.insert(name)).then(|| Problem::VariableTwice(name.clone()))
        }
    })
}

/// Returns the problems of image expansions. The texts are processed one by one, since aliases can turn a small file
/// into many long texts.
fn expansions<'a>(
    operator: &'a Operator,
    images: &'a [ImagePlace],
) -> impl Iterator<Item = Problem> + 'a {
    let images = ImagesByName::new(images);
    let texts = operator.expandable();
    texts.flat_map(move |(field, text)| check_text(&field.into(), text, &images))
}

fn check_text(field: &Arc<str>, text: &str, images: &ImagesByName<'_>) -> Vec<Problem> {
    let problem = |piece| match piece {
        Piece::Text(_) => None,
        Piece::Image(name) => match images.only(&name).err()? {
            0 => Some(Problem::UnknownImage(Arc::clone(field), name)),
            count => Some(Problem::AmbiguousImage(Arc::clone(field), name, count)),
        },
    };
    match split_expansions(text) {
        Ok(pieces) => pieces.into_iter().filter_map(problem).collect(),
        Err(error) => vec![Problem::Expansion(Arc::clone(field), error)],
    }
}

/// Returns the variables for images of the operator whose reference no image has.
pub fn related_images<'a>(
    operator: &'a Operator,
    references: &'a BTreeSet<&str>,
) -> impl Iterator<Item = Problem> + 'a {
    operator.plain_variables().filter_map(|(name, value)| {
        let literal = name.starts_with(RELATED) && !value.is_empty() && !value.contains("$(");
        let absent = literal && !references.contains(value);
        absent.then(|| Problem::RelatedImage(name.to_owned(), value.to_owned()))
    })
}

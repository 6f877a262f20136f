//! What can be wrong among the images and in the operator's block although every single value is inside its grammar.
//! `solution validate` refuses archives with these faults; here they are reported by their place in `solution.yaml`.

use std::collections::{BTreeMap, BTreeSet};

use schemas::{
    ImageName, ImagePlace, ImageReference, Operator, Piece, SourceImage, SourceSpec, listed,
    split_expansions,
};
use sources::Collected;

use crate::error::PackError;

/// Checks what `solution.yaml` says of images and operator: all that can be known without reading another file.
pub fn check(spec: &SourceSpec) -> Result<(), PackError> {
    images(&spec.images)?;
    let operator = spec.operator.as_ref();
    operator.map_or(Ok(()), |it| self::operator(it, &spec.images))
}

/// Checks the list of images: places, references and platforms.
pub(crate) fn images(images: &[SourceImage]) -> Result<(), PackError> {
    if images.is_empty() {
        return Err(PackError::NoImages);
    }
    let mut places: Vec<ImagePlace> = images.iter().map(SourceImage::place).collect();
    places.sort();
    check_directories(&places)?;
    check_references(images)?;
    images.iter().try_for_each(|image| {
        let bad = sources::not_a_platform(&image.platforms);
        bad.map_or(Ok(()), |text| {
            Err(PackError::Platform {
                place: image.place(),
                text: text.to_owned(),
            })
        })
    })
}

/// Every image has a directory of its own, outside all others, also where upper and lower case are the same.
fn check_directories(places: &[ImagePlace]) -> Result<(), PackError> {
    let mut images: BTreeMap<String, &ImagePlace> = BTreeMap::new();
    for place in places {
        if let Some(other) = images.insert(directory(place).to_lowercase(), place) {
            return Err(if other == place {
                PackError::Twice(place.clone())
            } else {
                PackError::Case {
                    one: other.clone(),
                    other: place.clone(),
                }
            });
        }
    }
    for inner in places {
        let path = directory(inner).to_lowercase();
        for (end, _) in path.match_indices('/') {
            if let Some(outer) = images.get(&path[..end]) {
                return Err(PackError::Inside {
                    inner: inner.clone(),
                    outer: (*outer).clone(),
                });
            }
        }
    }
    Ok(())
}

fn directory(place: &ImagePlace) -> String {
    format!("{}/{}", place.name, place.tag)
}

fn check_references(images: &[SourceImage]) -> Result<(), PackError> {
    let known = images
        .iter()
        .map(|image| (image.place(), sources::reference(image)));
    distinct(known)
}

/// Checks what only the sources could tell: the references under which images were saved.
pub(crate) fn collected(
    images: &[Collected],
    operator: Option<&Operator>,
) -> Result<(), PackError> {
    let references = images.iter().map(|image| &image.reference);
    distinct(
        images
            .iter()
            .map(|image| (image.place.clone(), image.reference.clone())),
    )?;
    operator.map_or(Ok(()), |operator| {
        check_related_images(operator, references.flatten())
    })
}

/// A reference means one image.
fn distinct(
    images: impl Iterator<Item = (ImagePlace, Option<ImageReference>)>,
) -> Result<(), PackError> {
    let mut seen = BTreeMap::new();
    for (place, reference) in images {
        let Some(reference) = reference else {
            continue;
        };
        if let Some(one) = seen.insert(reference.clone(), place.clone()) {
            return Err(PackError::Reference {
                one,
                other: place,
                reference,
            });
        }
    }
    Ok(())
}

/// The images of each name.
type ByName<'a> = BTreeMap<&'a ImageName, Vec<&'a ImagePlace>>;

/// Checks the operator's block against the images.
pub(crate) fn operator(operator: &Operator, images: &[SourceImage]) -> Result<(), PackError> {
    let places: Vec<ImagePlace> = images.iter().map(SourceImage::place).collect();
    if !places.contains(&operator.image.place()) {
        return Err(PackError::OperatorImage {
            image: operator.image.place(),
            images: listed(&places),
        });
    }
    check_variables(operator)?;
    if images.iter().all(sources::reference_is_known) {
        let references = images.iter().filter_map(sources::reference);
        check_related_images(operator, references.collect::<Vec<_>>().iter())?;
    }
    let mut by_name: ByName<'_> = BTreeMap::new();
    for place in &places {
        by_name.entry(&place.name).or_default().push(place);
    }
    for (field, text) in operator.expandable() {
        check_expansions(&field, text, &places, &by_name)?;
    }
    Ok(())
}

fn check_variables(operator: &Operator) -> Result<(), PackError> {
    let mut seen = BTreeSet::new();
    for variable in &operator.env {
        let name = variable.name.as_str();
        let problem = if name.is_empty()
            || !name
                .bytes()
                .all(|b| (b' '..=b'~').contains(&b) && b != b'=')
        {
            "whose name Kubernetes refuses: write printable ASCII without `=`"
        } else if !seen.insert(name) {
            "twice; keep one"
        } else {
            continue;
        };
        return Err(PackError::Variable {
            name: name.to_owned(),
            problem,
        });
    }
    Ok(())
}

/// What the variables `RELATED_IMAGE_*` list, by the convention of operators for disconnected sites, must be there.
fn check_related_images<'a>(
    operator: &Operator,
    references: impl Iterator<Item = &'a ImageReference>,
) -> Result<(), PackError> {
    let references: BTreeSet<String> = references.map(ToString::to_string).collect();
    let literal = |value: &str| !value.is_empty() && !value.contains("$(");
    let missing = operator.env.iter().find(|variable| {
        variable.name.starts_with("RELATED_IMAGE_")
            && literal(&variable.value)
            && !references.contains(&variable.value)
    });
    missing.map_or(Ok(()), |variable| {
        Err(PackError::RelatedImage {
            variable: variable.name.clone(),
            value: variable.value.clone(),
        })
    })
}

fn check_expansions(
    field: &str,
    text: &str,
    places: &[ImagePlace],
    by_name: &ByName<'_>,
) -> Result<(), PackError> {
    let pieces = split_expansions(text).map_err(|problem| PackError::Expansion {
        field: field.to_owned(),
        problem,
    })?;
    pieces.into_iter().try_for_each(|piece| match piece {
        Piece::Text(_) => Ok(()),
        Piece::Image(name) => check_expansion(field, name, places, by_name),
    })
}

fn check_expansion(
    field: &str,
    name: ImageName,
    places: &[ImagePlace],
    by_name: &ByName<'_>,
) -> Result<(), PackError> {
    let found = by_name.get(&name).map_or(&[][..], Vec::as_slice);
    let field = field.to_owned();
    match found.len() {
        1 => Ok(()),
        0 => Err(PackError::UnknownExpansion {
            field,
            name,
            images: listed(places),
        }),
        _ => Err(PackError::AmbiguousExpansion {
            field,
            name,
            places: listed(found),
        }),
    }
}

#[cfg(test)]
mod tests {
    use schemas::SolutionSource;

    use super::*;

    fn source(images: &str, operator: &str) -> Result<(), PackError> {
        let text = format!(
            "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: SolutionSource\nmetadata: {{name: demo}}\nspec:\n  version: 1.0.0\n  images: [{images}]\n  operator: {{image: {{name: app, tag: '1'}}{operator}}}\n"
        );
        let source = SolutionSource::from_slice(text.as_bytes()).unwrap();
        super::images(&source.spec.images)?;
        super::operator(source.spec.operator.as_ref().unwrap(), &source.spec.images)
    }

    fn image(name: &str, tag: &str, more: &str) -> String {
        format!("{{name: {name}, tag: '{tag}', source: 'oci:x'{more}}}")
    }

    fn refused(images: &[String], operator: &str) -> String {
        source(&images.join(", "), operator)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn places_must_be_apart() {
        let app = image("app", "1", "");
        assert!(
            source(
                &[app.clone(), image("app", "2", ""), image("app2", "1", "")].join(","),
                ""
            )
            .is_ok()
        );
        assert!(refused(&[], "").contains("`spec.images` is empty"));
        assert!(refused(&[app.clone(), app.clone()], "").contains("has `app:1` twice"));
        assert!(
            refused(
                &[app.clone(), image("x", "rc", ""), image("x", "RC", "")],
                ""
            )
            .contains(
                "has `x:RC` and `x:rc`, whose directories differ only in upper and lower case"
            )
        );
        assert!(
            refused(
                &[app.clone(), image("a", "b", ""), image("a/b", "c", "")],
                ""
            )
            .starts_with("the directory of image `a/b:c` would lie inside that of image `a:b`")
        );
        assert!(
            refused(&[app, image("a", "B", ""), image("a/b/c", "d", "")], "")
                .contains("inside that of image `a:B`")
        );
    }

    #[test]
    fn a_reference_means_one_image() {
        let with = |name: &str| image(name, "1", ", ref: 'quay.io/app:1'");
        assert_eq!(
            refused(&[with("app"), with("other")], ""),
            "images `app:1` and `other:1` have the same `ref: quay.io/app:1`; workloads could get either"
        );
    }

    #[test]
    fn platforms_are_checked_before_images_are_read() {
        for text in ["linux", "linux/", "linux/arm/v7/x", "Linux amd64"] {
            let image = image("app", "1", &format!(", platforms: ['{text}']"));
            assert!(
                refused(&[image], "")
                    .contains(&format!("`{text}` in `platforms` is not a platform"))
            );
        }
    }

    #[test]
    fn the_operators_image_is_one_of_the_images() {
        assert_eq!(
            refused(&[image("app", "2", "")], ""),
            "`spec.operator.image` is `app:1`, which is not in `spec.images`; add it there, or name one of: `app:2`"
        );
    }

    #[test]
    fn expansions_name_images() {
        let app = image("app", "1", "");
        let ok = ", args: ['--image=$(image:app)', '$(HOME) $$'], env: [{name: A, value: '$(image:app),$(image:app)'}]";
        assert!(source(&app, ok).is_ok());
        let unknown = refused(
            std::slice::from_ref(&app),
            ", args: [x, '$(image:app)$(image:other)']",
        );
        assert_eq!(
            unknown,
            "`spec.operator.args[1]`: `$(image:other)` names no image of `spec.images`; name one of: `app:1`"
        );
        let open = refused(
            std::slice::from_ref(&app),
            ", env: [{name: A, value: '$(image:app'}]",
        );
        assert_eq!(
            open,
            "`spec.operator.env.A`: `$(image:` is not closed by `)`"
        );
        let malformed = refused(
            std::slice::from_ref(&app),
            ", args: ['$(image:$(image:app))']",
        );
        assert!(
            malformed.starts_with("`spec.operator.args[0]`: ")
                && malformed.contains("`$(image:app`"),
            "{malformed}"
        );
        let two = refused(&[app, image("app", "2", "")], ", command: ['$(image:app)']");
        assert!(
            two.contains("`$(image:app)` could be each of `app:1`, `app:2`"),
            "{two}"
        );
    }

    #[test]
    fn variables_are_named_once() {
        let app = image("app", "1", "");
        let twice = refused(
            std::slice::from_ref(&app),
            ", env: [{name: A, value: x}, {name: A, value: y}]",
        );
        assert!(twice.contains("has a variable `A` twice"), "{twice}");
        assert!(refused(&[app], ", env: [{name: 'A=', value: x}]").contains("Kubernetes refuses"));
    }

    #[test]
    fn related_images_are_brought() {
        let image = image("app", "1", ", ref: 'quay.io/app:1'");
        let with = |value: &str| {
            source(
                &image,
                &format!(", env: [{{name: RELATED_IMAGE_A, value: '{value}'}}]"),
            )
        };
        for value in ["quay.io/app:1", "$(image:app)", ""] {
            assert!(with(value).is_ok(), "{value}");
        }
        assert_eq!(
            with("quay.io/app:2").unwrap_err().to_string(),
            "`spec.operator.env.RELATED_IMAGE_A` is `quay.io/app:2`, the `ref` of no image; write `$(image:NAME)`, or add the image with this `ref`"
        );
    }
}

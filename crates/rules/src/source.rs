//! Checks of `solution.yaml`, so that packing never creates an archive that validation rejects. [`check_source`] finds
//! the problems that need no image, and [`check_references`] those of the references of images. Each file of the folder
//! `source` checks one part of the document.

pub(crate) mod operator;
pub(crate) mod parameters;
pub(crate) mod prerequisites;
pub(crate) mod sets;
pub(crate) mod template;

use std::collections::BTreeSet;

use schemas::{ImagePlace, ImageReference, Operator, SolutionName, SourceImage, SourceSpec};

use crate::finding::problem::Problem;
use crate::images;

/// Returns the problems of `solution.yaml` that can be found without reading the images.
#[must_use]
pub fn check_source(solution: &SolutionName, spec: &SourceSpec) -> Vec<Problem> {
    let SourceSpec {
        images,
        operator,
        charts,
        manifests,
        ..
    } = spec;
    let places: Vec<ImagePlace> = images.iter().map(SourceImage::place).collect();
    let none = images.is_empty() && charts.is_empty() && manifests.is_empty();
    let none = none.then_some(Problem::Nothing).into_iter();
    let of_images = images::repeated(&places).chain(images::overlapping(&places));
    let of_operator = operator
        .iter()
        .flat_map(|operator| operator::operator(operator, &places));
    let needed = prerequisites::prerequisites(solution, &spec.prerequisites)
        .chain(prerequisites::rendered_outside(spec));
    let problems = none.chain(of_images).chain(of_operator).chain(needed);
    let known = images.iter().all(SourceImage::reference_is_known);
    let references = images
        .iter()
        .filter_map(|image| Some((image.place(), image.known_reference()?)));
    let of_references = check_references(operator.as_ref().filter(|_| known), references);
    problems.chain(of_references).collect()
}

/// Returns the problems of the references of images. `operator` is checked against them, and is `None` if not all
/// references are known.
pub fn check_references<'a>(
    operator: Option<&Operator>,
    references: impl Iterator<Item = (ImagePlace, &'a ImageReference)> + Clone,
) -> Vec<Problem> {
    let ambiguous = images::ambiguous(references.clone());
    let references: BTreeSet<&str> = references
        .map(|(_, reference)| reference.as_str())
        .collect();
    let operator = operator.iter();
    let related = operator.flat_map(|operator| operator::related_images(operator, &references));
    ambiguous.chain(related).collect()
}

#[cfg(test)]
mod tests {
    use schemas::SolutionSource;

    use super::*;

    fn check(images: &str, operator: &str) -> Vec<Problem> {
        let text = format!(
            "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: SolutionSource\nmetadata: {{name: demo}}\nspec:\n  version: 1.0.0\n  images: [{images}]\n  operator: {{image: {{name: app, tag: '1'}}{operator}}}\n"
        );
        check_text(&text)
    }

    fn check_text(text: &str) -> Vec<Problem> {
        let source = SolutionSource::from_slice(text.as_bytes()).unwrap();
        check_source(&source.metadata.name, &source.spec)
    }

    fn image(name: &str, tag: &str, more: &str) -> String {
        format!("{{name: {name}, tag: '{tag}', source: 'oci:x'{more}}}")
    }

    fn refused(images: &[String], operator: &str) -> String {
        one(&check(&images.join(", "), operator))
    }

    /// Returns the message of the only problem.
    fn one(problems: &[Problem]) -> String {
        let [problem] = problems else {
            panic!("{problems:?}");
        };
        problem.to_string()
    }

    #[test]
    fn images_must_be_apart() {
        let app = image("app", "1", "");
        let with = |places: &[(&str, &str)]| {
            let others = places.iter().map(|(name, tag)| image(name, tag, ""));
            refused(
                &[app.clone()].into_iter().chain(others).collect::<Vec<_>>(),
                "",
            )
        };
        let apart = [app.clone(), image("app", "2", ""), image("app2", "1", "")];
        assert_eq!(check(&apart.join(", "), ""), []);
        let nothing = check("", "").into_iter().map(|problem| problem.to_string());
        assert_eq!(
            nothing.collect::<Vec<_>>(),
            [
                "spec has no images, sets of manifests or charts: a Solution must have at least one of them",
                "spec.operator.image is `app:1`, which spec.images does not list"
            ]
        );
        assert_eq!(with(&[("app", "1")]), "spec.images lists `app:1` twice");
        assert_eq!(
            with(&[("x", "rc"), ("x", "RC")]),
            "the directories of images `x:RC` and `x:rc` differ only in case"
        );
        for (inner, outer) in [(("a/b", "c"), ("a", "b")), (("a/b/c", "d"), ("a", "B"))] {
            let (name, tag) = inner;
            assert_eq!(
                with(&[outer, inner]),
                format!(
                    "the directory of image `{name}:{tag}` would be inside that of image `{}:{}`",
                    outer.0, outer.1
                )
            );
        }
    }

    /// Returns the problems of a Solution without images and operator.
    fn imageless(spec: &str) -> Vec<Problem> {
        check_text(&format!(
            "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: SolutionSource\nmetadata: {{name: demo}}\nspec: {{version: 1.0.0{spec}}}\n"
        ))
    }

    #[test]
    fn a_solution_brings_something() {
        assert_eq!(imageless(""), [Problem::Nothing]);
        let parameters = ", parameters: {size: {type: integer}}";
        assert_eq!(imageless(parameters), [Problem::Nothing]);
        let set = ", manifests: [{name: policies, files: [policies.yaml]}]";
        assert_eq!(imageless(set), []);
    }

    #[test]
    fn charts_are_rendered_for_what_a_site_may_have() {
        let set = ", manifests: [{name: policies, files: [policies.yaml]}]";
        let with = |versions: &str| {
            let range = "prerequisites: {kubernetes: '>=1.34, <1.37'}";
            imageless(&format!("{set}, kubernetes: [{versions}], {range}"))
        };
        assert_eq!(with("'1.34', '1.36.2'"), []);
        assert_eq!(with(""), []);
        assert_eq!(
            one(&with("'1.36', '1.37'")),
            "spec.prerequisites.kubernetes: charts are rendered for 1.37, which is not in `>=1.34, <1.37`"
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
    fn the_operators_image_is_one_of_the_images() {
        assert_eq!(
            refused(&[image("app", "2", "")], ""),
            "spec.operator.image is `app:1`, which spec.images does not list"
        );
    }

    #[test]
    fn expansions_name_images() {
        let app = image("app", "1", "");
        let ok = ", args: ['--image=$(image:app)', '$(HOME) $$'], env: [{name: A, value: '$(image:app),$(image:app)'}]";
        assert_eq!(check(&app, ok), []);
        let with = |operator: &str| refused(std::slice::from_ref(&app), operator);
        assert_eq!(
            with(", args: [x, '$(image:app)$(image:other)']"),
            "spec.operator.args[1]: no image has the name `other`"
        );
        assert_eq!(
            with(", env: [{name: A, value: '$(image:app'}]"),
            "spec.operator.env.A: `$(image:` is not closed by `)`"
        );
        let malformed = with(", args: ['$(image:$(image:app))']");
        assert!(
            malformed.starts_with("spec.operator.args[0]: ") && malformed.contains("`$(image:app`"),
            "{malformed}"
        );
        let two = [app.clone(), image("app", "2", "")];
        assert_eq!(
            refused(&two, ", command: ['$(image:app)']"),
            "spec.operator.command[0]: 2 images have the name `app`"
        );
    }

    #[test]
    fn variables_are_named_once() {
        let app = [image("app", "1", "")];
        let twice = refused(&app, ", env: [{name: A, value: x}, {name: A, value: y}]");
        assert_eq!(twice, "spec.operator.env: `A` is set twice");
        for name in ["A=", "", "\u{e9}", "\\t"] {
            let named = refused(&app, &format!(", env: [{{name: \"{name}\", value: x}}]"));
            assert!(named.ends_with("` is not a valid variable name"), "{named}");
        }
    }

    #[test]
    fn related_images_are_brought() {
        let image = image("app", "1", ", ref: 'quay.io/app:1'");
        let with = |value: &str| {
            let operator = format!(", env: [{{name: RELATED_IMAGE_A, value: '{value}'}}]");
            check(&image, &operator)
        };
        for value in ["quay.io/app:1", "$(image:app)", ""] {
            assert_eq!(with(value), [], "{value}");
        }
        assert_eq!(
            one(&with("quay.io/app:2")),
            "spec.operator.env.RELATED_IMAGE_A is `quay.io/app:2`, which is not the `ref` of any image in the archive"
        );
        // The source of another image may define this reference, which is unknown before the image is read.
        let unknown = format!("{image}, {{name: other, tag: '1', source: 'oci:y'}}");
        let operator = ", env: [{name: RELATED_IMAGE_A, value: 'quay.io/app:2'}]";
        assert_eq!(check(&unknown, operator), []);
    }
}

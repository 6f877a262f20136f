//! Rules for the list of images: each image has a separate directory, and each reference denotes one image.
//! [`ImagesByName`] finds the image that a placeholder `$(image:NAME)` denotes.

use std::collections::{BTreeMap, BTreeSet};

use schemas::{ImageName, ImagePlace, ImageReference};

use crate::finding::problem::Problem;

/// The images of each name. `$(image:NAME)` denotes the only image with this name. If there are more, it denotes the
/// only one whose tag is not that of a signature or another referrer (docs/reference/format-referrers.md).
#[derive(Debug)]
pub struct ImagesByName<'a>(BTreeMap<&'a ImageName, BTreeSet<&'a ImagePlace>>);

impl<'a> ImagesByName<'a> {
    /// Groups images by their names.
    pub fn new(places: impl IntoIterator<Item = &'a ImagePlace>) -> Self {
        let mut names: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for place in places {
            names.entry(&place.name).or_default().insert(place);
        }
        Self(names)
    }

    /// Returns the image that a name denotes. The error is the number of images with this name.
    pub fn only(&self, name: &ImageName) -> Result<&'a ImagePlace, usize> {
        let places = self.0.get(name);
        let count = places.map_or(0, BTreeSet::len);
        let mut meant = places.into_iter().flatten().copied();
        if count > 1 {
            let mut images = meant.filter(|place| place.tag.subject().is_none());
            return match (images.next(), images.next()) {
                (Some(only), None) => Ok(only),
                _ => Err(count),
            };
        }
        meant.next().ok_or(count)
    }
}

/// Returns a problem for each image that is listed again.
pub fn repeated(places: &[ImagePlace]) -> impl Iterator<Item = Problem> {
    let mut seen = BTreeSet::new();
    let again = places.iter().filter(move |place| !seen.insert(*place));
    again.cloned().map(Problem::ImageTwice)
}

/// Returns the images with the same directory, or with a directory inside that of another image, ignoring case. Within
/// an archive, the format itself excludes this (`archive::tree`, and the plan of the image).
pub(crate) fn overlapping(places: &[ImagePlace]) -> Vec<Problem> {
    let places: BTreeSet<&ImagePlace> = places.iter().collect();
    let directory = |place: &ImagePlace| format!("{}/{}", place.name, place.tag).to_lowercase();
    let mut directories = BTreeMap::new();
    let mut problems = Vec::new();
    for place in &places {
        if let Some(one) = directories.insert(directory(place), *place) {
            problems.push(Problem::ImageCase(one.clone(), (*place).clone()));
        }
    }
    for inner in places {
        let path = directory(inner);
        let above = path.match_indices('/').map(|(end, _)| &path[..end]);
        let outer = above.filter_map(|above| directories.get(above));
        problems.extend(outer.map(|outer| Problem::ImageInside(inner.clone(), (*outer).clone())));
    }
    problems
}

/// Returns a problem for each reference that multiple images have.
pub(crate) fn ambiguous<'a>(
    references: impl Iterator<Item = (ImagePlace, &'a ImageReference)>,
) -> impl Iterator<Item = Problem> {
    let mut seen = BTreeMap::new();
    references.filter_map(move |(place, reference)| {
        let one = seen.insert(reference, place.clone())?;
        Some(Problem::ReferenceTwice(one, place, reference.clone()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_an_image_and_not_its_signature() {
        let sig = format!("sha256-{}.sig", "a".repeat(64));
        let places = [
            "app:1",
            &format!("app:{sig}"),
            "db:1",
            "db:2",
            &format!("db:{sig}"),
            // A signature counts if the name has no other image, as before the introduction of referrers.
            &format!("odd:{sig}"),
        ]
        .map(|place| place.parse().unwrap());
        let names = ImagesByName::new(&places);
        let only = |name: &str| names.only(&name.parse().unwrap());
        assert_eq!(only("app"), Ok(&places[0]));
        assert_eq!(only("db"), Err(3));
        assert_eq!(only("odd"), Ok(&places[5]));
        assert_eq!(only("web"), Err(0));
    }
}

//! Where a release names images.

use super::FromError;
use super::bundle::About;
use super::choose::Choice;
use super::container::Container;
use super::images::{Extent, Hint, Images, Named};
use super::notes::{Note, Weight, names, shown};
use super::objects::Objects;
use super::rights;
use crate::limits;

/// Everything that names images: the operator first, then what the release lists, its other workloads, the defaults of
/// its definitions, and its other objects.
pub(super) fn images(
    objects: &Objects<'_>,
    about: Option<&About>,
    choice: &Choice<'_>,
    container: &Container,
    notes: &mut Vec<Note>,
) -> Result<Named, FromError> {
    let mut images = Images::default();
    container.scan(&mut images, &choice.workload.title());
    for (name, image) in about.into_iter().flat_map(|about| &about.images) {
        images.scan(
            image,
            Hint::Image,
            &format!("relatedImages `{}`", shown(name)),
        );
    }
    for object in &objects.all {
        let title = object.title();
        if object.kind() == "CustomResourceDefinition" {
            if images.scan_defaults(&object.value["spec"], &title) {
                notes.push(Note::new(Weight::Decide, title, "has images among its default values, which stay as they are: the site's nodes must find these references, by a mirror or by values in the custom resources"));
            }
        } else if !rights::is_role(object) && !rights::is_binding(object) {
            images.scan_document(&object.value, extent(object.kind()), &title);
        }
        if images.len() > limits::RELEASE_IMAGES {
            let what = format!("{} images", limits::RELEASE_IMAGES);
            return Err(FromError::Weight {
                place: object.place.clone(),
                what,
            });
        }
    }
    Ok(images.named())
}

/// Kinds that run containers, or configure what does, name images in any of their texts.
fn extent(kind: &str) -> Extent {
    const ALL: [&str; 8] = [
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "ReplicaSet",
        "Job",
        "CronJob",
        "Pod",
        "ConfigMap",
    ];
    if ALL.contains(&kind) {
        Extent::All
    } else {
        Extent::Fields
    }
}

/// Which references were completed.
pub(super) fn rewritten(images: &Named) -> Option<Note> {
    let completed = images
        .rewritten
        .iter()
        .map(|(written, reference)| format!("{written} is {reference}"));
    let completed: Vec<String> = completed.collect();
    (!completed.is_empty()).then(|| {
        Note::new(
            Weight::Chosen,
            "references",
            format!(
                "without registry or tag were completed as container engines do: {}",
                names(completed.iter().map(String::as_str))
            ),
        )
    })
}

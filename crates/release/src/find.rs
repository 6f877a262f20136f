//! Where a release names images.

use crate::ReleaseError;
use crate::bundle::About;
use crate::choose::Chosen;
use crate::container::Container;
use crate::images::{DraftImages, FoundImages, Searched};
use crate::limits::RELEASE_IMAGES;
use crate::notes::{Note, Weight, names};
use crate::rights;
use manifests::reference::Hint;
use manifests::{ManifestsError, Objects, is_definition, shown};

/// Everything that names images: the operator first, then what the release lists, its other workloads, the defaults of
/// its definitions, and its other objects.
pub(crate) fn images(
    objects: &Objects<'_>,
    about: Option<&About>,
    choice: &Chosen<'_>,
    container: &Container,
    notes: &mut Vec<Note>,
) -> Result<DraftImages, ReleaseError> {
    let mut images = FoundImages::default();
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
        if is_definition(&object.value) {
            if images.scan_defaults(&object.value["spec"], &title) {
                notes.push(Note::new(Weight::Decide, title, "has images among its default values, which stay as they are: the site's nodes must find these references, by a mirror or by values in the custom resources"));
            }
        } else if !rights::is_role(object) && !rights::is_binding(object) {
            images.scan_document(&object.value, searched(object.kind()), &title);
        }
        ManifestsError::check(&object.place, images.len(), RELEASE_IMAGES, "images")?;
    }
    Ok(images.named())
}

/// Kinds that run containers, or configure what does, name images in any of their texts.
pub(crate) fn searched(kind: &str) -> Searched {
    const ALL: [&str; 10] = [
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "ReplicaSet",
        "ReplicationController",
        "PodTemplate",
        "Job",
        "CronJob",
        "Pod",
        "ConfigMap",
    ];
    if ALL.contains(&kind) {
        Searched::All
    } else {
        Searched::Fields
    }
}

/// Which images only programs ask for that an import does not run.
pub(crate) fn of_others(images: &DraftImages, choice: &Chosen<'_>) -> Option<Note> {
    let own = format!("{}, ", choice.workload.title());
    let wanted = |asker: &String| {
        asker.starts_with(&own)
            || asker.starts_with("relatedImages ")
            || asker.starts_with("CustomResourceDefinition ")
    };
    let others = images
        .images
        .iter()
        .filter(|named| !named.askers.iter().any(wanted));
    let others: Vec<String> = others
        .map(|named| named.image.place().to_string())
        .collect();
    (!others.is_empty()).then(|| {
        let names = names(others.iter().map(String::as_str));
        Note::new(Weight::Chosen, "images of other programs", format!("{names} are asked for only by what an import does not run; remove them from solution.yaml unless the site runs it otherwise"))
    })
}

/// Which references were completed.
pub(crate) fn rewritten(images: &DraftImages) -> Option<Note> {
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

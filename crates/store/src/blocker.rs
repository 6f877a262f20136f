//! Conditions in a registry that block a push or reading an archive ([`RegistryBlocker`]). The caller adds advice for
//! the user.

use registry::Refusal;
use schemars::JsonSchema;
use schemas::{Digest, ImageReference, list_names};
use serde::Serialize;

use crate::layout::PathLayout;

/// A blocker at a registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, JsonSchema)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[schemars(rename = "RegistryObstacle", title = "At a registry")]
pub enum RegistryBlocker {
    /// A repository rejects pushes.
    #[error("{words}")]
    PushRefused {
        /// The reason, from the registry's answer.
        why: Refusal,
        /// The answer and the request.
        words: String,
        /// The registry.
        host: String,
        /// The repository, without its host.
        repository: String,
    },
    /// The registry limits the depth of repository names, and some names of the archive are deeper.
    #[error(
        "{host} accepts repository names of at most {}, but {} more: {}",
        levels(*limit),
        names(repositories.len()),
        shorten_list(repositories)
    )]
    TooDeep {
        /// The registry.
        host: String,
        /// The maximum number of levels in a name, with its prefix.
        limit: usize,
        /// The repositories whose names are too deep, without their host.
        repositories: Vec<String>,
    },
    /// The project does not exist in the registry.
    #[error("the project `{project}` does not exist in {host}")]
    NoProject {
        /// The registry.
        host: String,
        /// The project.
        project: String,
    },
    /// The project has too little free space.
    #[error("the project `{project}` has {free} bytes free, but {coming} are to be pushed")]
    NoRoom {
        /// The project.
        project: String,
        /// Free bytes in the project.
        free: u64,
        /// Bytes to push.
        coming: u64,
    },
    /// The registry does not have the head of a version's archive.
    #[error(
        "cannot read the archive of {solution_id} without its ISO: the registry does not have {head}"
    )]
    NotKept {
        /// The Solution and the version.
        solution_id: String,
        /// The expected address of the head.
        head: String,
    },
    /// The registry has lost content of an archive, and there is no ISO to push it from.
    #[error("{host} no longer has all of {what}")]
    ImagesGone {
        /// The registry.
        host: String,
        /// The images, or the Solution and the version.
        what: String,
    },
    /// A read-only registry lacks content of an archive.
    #[error("{host} does not serve all of {solution_id}, and is not pushed to")]
    NotServed {
        /// The registry.
        host: String,
        /// The Solution and the version.
        solution_id: String,
    },
    /// A tag in the registry has a different digest than in the archive.
    #[error("{tag} already exists with a different digest: {found}; the archive has {ours}")]
    OtherTag {
        /// The tag, with its host and repository.
        tag: String,
        /// The digest of the tag in the registry.
        found: Digest,
        /// The digest of the tag in the archive.
        ours: Digest,
    },
    /// The registry has the images of this archive in a different layout.
    #[error("{host} has the images of {solution_id} in the layout `{found}`, not `{asked}`")]
    OtherLayout {
        /// The registry.
        host: String,
        /// The Solution and the version.
        solution_id: String,
        /// The layout that the registry records.
        found: PathLayout,
        /// The requested layout.
        asked: PathLayout,
    },
    /// The operator derives the addresses of its images from their paths, which a flat layout does not preserve.
    #[error(
        "the operator of {solution_id} finds images by their paths, which the layout `flat` does not preserve"
    )]
    OperatorNeedsPaths {
        /// The Solution and the version.
        solution_id: String,
    },
    /// Two images of the archive have the same reference.
    #[error("two different images of the archive have the reference `{reference}`")]
    SameReference {
        /// The reference.
        reference: ImageReference,
    },
    /// Images cannot be served under their original names.
    #[error(transparent)]
    #[serde(untagged)]
    Misplaced(#[from] MirrorBlocker),
}

/// The number of repositories that a message lists.
const NAMED: usize = 3;

fn levels(number: usize) -> String {
    match number {
        1 => "1 level".to_owned(),
        number => format!("{number} levels"),
    }
}

fn names(number: usize) -> String {
    match number {
        1 => "1 name of the archive has".to_owned(),
        number => format!("{number} names of the archive have"),
    }
}

/// Returns the first repositories of a list, and the number of the remaining ones.
fn shorten_list(repositories: &[String]) -> String {
    let named = repositories.iter().take(NAMED).map(String::as_str);
    let named = named.collect::<Vec<_>>().join(", ");
    match repositories.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named}, and {more} more"),
    }
}

/// The reason why images cannot be served under their original names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, JsonSchema)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[schemars(title = "Images with their original names")]
#[schemars(rename = "Misplaced")]
pub enum MirrorBlocker {
    /// Images of one registry are below multiple prefixes, but its names can be rewritten in only one way.
    #[error(
        "images of {host} are in multiple places, but k3s rewrites the names of a registry in only one way: {places}",
        places = places.join(", ")
    )]
    SeveralPrefixes {
        /// The original registry of the images.
        host: String,
        /// The places, each a registry with a prefix.
        places: Vec<String>,
    },
    /// Images of a flat layout have other names, and a container runtime can rewrite only the beginning of a name.
    #[error(
        "containerd cannot find images of a flat layout by their names at other registries: {}",
        list_names(sources.clone())
    )]
    FlatNames {
        /// The names, without their tags.
        sources: Vec<String>,
    },
    /// Images of two registries have the same path, and would be in one repository.
    #[error(
        "`{reference}` and `{other}` have the same path at two registries, and would be in one repository"
    )]
    SamePath {
        /// The reference of an image at one registry.
        reference: ImageReference,
        /// The reference of an image at another registry.
        other: ImageReference,
    },
    /// The path of a reference is reserved for images of Solutions.
    #[error("the path of the reference `{reference}` is reserved for images of Solutions")]
    ReservedPath {
        /// The reference.
        reference: ImageReference,
    },
    /// Two images have the same name, and Kustomize does not distinguish images by tag.
    #[error(
        "two different images of the archive have the name `{name}`, but Kustomize does not distinguish images by tag"
    )]
    SameImageName {
        /// The name, without its tag.
        name: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_lists_the_first_repositories_and_counts_the_others() {
        for (limit, names, expected) in [
            (
                2,
                &["a/b/c"][..],
                "at most 2 levels, but 1 name of the archive has more: a/b/c",
            ),
            (
                1,
                &["a/b", "c/d", "e/f"],
                "at most 1 level, but 3 names of the archive have more: a/b, c/d, e/f",
            ),
            (
                1,
                &["a/b", "c/d", "e/f", "g/h", "i/j"],
                "at most 1 level, but 5 names of the archive have more: a/b, c/d, e/f, and 2 more",
            ),
        ] {
            let blocker = RegistryBlocker::TooDeep {
                host: "r.test".to_owned(),
                limit,
                repositories: names.iter().map(ToString::to_string).collect(),
            };
            let expected = format!("r.test accepts repository names of {expected}");
            assert_eq!(blocker.to_string(), expected);
        }
    }

    #[test]
    fn a_misplaced_image_has_its_own_id_in_results() {
        let blocker = RegistryBlocker::from(MirrorBlocker::SameImageName {
            name: "app".to_owned(),
        });
        let shown = serde_json::to_string(&blocker).unwrap();
        assert_eq!(shown, r#"{"id":"same-image-name","name":"app"}"#);
    }
}

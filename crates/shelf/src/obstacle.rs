//! Obstacles to a push, or to reading an archive at a registry. Whoever shows one says what to do about it.

use registry::Refusal;
use schemars::JsonSchema;
use schemas::{Digest, ImageReference, named};
use serde::Serialize;

use crate::layout::PathLayout;

/// An obstacle at a registry: its words say what is the case, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, JsonSchema)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[schemars(title = "At a registry")]
pub enum RegistryObstacle {
    /// A repository takes nothing.
    #[error("{words}")]
    PushRefused {
        /// The reason that the registry's answer comes to.
        why: Refusal,
        /// The answer, and to what.
        words: String,
        /// The registry.
        host: String,
        /// The repository, without its host.
        repository: String,
    },
    /// A registry limits the levels of a repository's name, and names of the archive have more.
    #[error(
        "{host} takes repository names of at most {}, and {} more: {}",
        levels(*limit),
        names(repositories.len()),
        some(repositories)
    )]
    TooDeep {
        /// The registry.
        host: String,
        /// The most levels that a name may have, its prefix included.
        limit: usize,
        /// The repositories whose names have more, without their host.
        repositories: Vec<String>,
    },
    /// The registry has no such project.
    #[error("the project `{project}` does not exist in {host}")]
    NoProject {
        /// The registry.
        host: String,
        /// The project.
        project: String,
    },
    /// A project has no room for what is to come.
    #[error("the project `{project}` has room for {free} bytes, and {coming} are to be pushed")]
    NoRoom {
        /// The project.
        project: String,
        /// Bytes that are free in it.
        free: u64,
        /// Bytes that are to come.
        coming: u64,
    },
    /// The registry does not have the head of the archive of a version.
    #[error(
        "the archive of {solution_id} cannot be read without its medium: the registry does not have {head}"
    )]
    NotKept {
        /// The Solution and the version.
        solution_id: String,
        /// The place where its head would lie.
        head: String,
    },
    /// The registry no longer has what it had of an archive, and there is no medium to push it from.
    #[error("{host} no longer has all of {what}")]
    ImagesGone {
        /// The registry.
        host: String,
        /// The images, or the Solution and the version.
        what: String,
    },
    /// A registry that can only be read does not have all of an archive.
    #[error("{host} does not serve all of {solution_id}, and nothing is pushed to it")]
    NotServed {
        /// The registry.
        host: String,
        /// The Solution and the version.
        solution_id: String,
    },
    /// A tag names something else at the registry than in the archive.
    #[error("{tag} already exists with a different digest: {found}; the archive has {ours}")]
    OtherTag {
        /// The tag, with its host and repository.
        tag: String,
        /// The digest that it names at the registry.
        found: Digest,
        /// The digest that the archive has under it.
        ours: Digest,
    },
    /// A registry has the images of this archive in another layout.
    #[error("{host} has the images of {solution_id} in the layout `{found}`, not `{asked}`")]
    OtherLayout {
        /// The registry.
        host: String,
        /// The Solution and the version.
        solution_id: String,
        /// The layout that the registry records.
        found: PathLayout,
        /// The layout that was asked for.
        asked: PathLayout,
    },
    /// An operator composes the addresses of its images from their paths, which a flat layout does not keep.
    #[error(
        "the operator of {solution_id} finds images by their paths, which the layout `flat` does not keep"
    )]
    OperatorNeedsPaths {
        /// The Solution and the version.
        solution_id: String,
    },
    /// Workloads would ask for two images of the archive by one name.
    #[error("two different images of the archive have the reference `{reference}`")]
    SameReference {
        /// The reference.
        reference: ImageReference,
    },
    /// Images have no place under the names that are to be told.
    #[error(transparent)]
    #[serde(untagged)]
    Misplaced(#[from] Misplaced),
}

/// How many repositories are named in words.
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

/// The first of some repositories, and the number of the others.
fn some(repositories: &[String]) -> String {
    let named = repositories.iter().take(NAMED).map(String::as_str);
    let named = named.collect::<Vec<_>>().join(", ");
    match repositories.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named}, and {more} more"),
    }
}

/// The reason why images have no place under the names that are to be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, JsonSchema)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[schemars(title = "Images under their own names")]
pub enum Misplaced {
    /// Images of a registry lie below several prefixes, and its names can only be rewritten in one way.
    #[error(
        "images of {host} are in several places, and k3s rewrites a name in one way only: {places}",
        places = places.join(", ")
    )]
    SeveralPrefixes {
        /// The registry that the images are from.
        host: String,
        /// The places, each a registry with a prefix.
        places: Vec<String>,
    },
    /// Images of a flat layout have names of their own, and a container runtime can only change what stands before a name.
    #[error(
        "containerd cannot find images of a flat layout by their names at other registries: {}",
        named(sources.clone())
    )]
    FlatNames {
        /// The names, without their tags.
        sources: Vec<String>,
    },
    /// Two registries have images of one path, which would lie in one repository.
    #[error(
        "`{reference}` and `{other}` have the same path at two registries, and would lie in one repository"
    )]
    SamePath {
        /// The reference of an image at one registry.
        reference: ImageReference,
        /// The reference of an image at another registry.
        other: ImageReference,
    },
    /// The path of a reference is one that images of Solutions have.
    #[error("the path of the reference `{reference}` is one that images of Solutions have")]
    ReservedPath {
        /// The reference.
        reference: ImageReference,
    },
    /// Two different images have one name, and Kustomize knows images by their names alone.
    #[error(
        "two different images of the archive have the name `{name}`, and Kustomize tells none by its tag"
    )]
    SameImageName {
        /// The name, without its tag.
        name: String,
    },
}

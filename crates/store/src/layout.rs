//! The repositories of a Solution's images in a registry. [`PathLayout`] and [`MirrorPolicy`] form a [`Placement`].

use std::fmt;

use registry::{AddressError, RegistryAddress, RepositoryPath};
use schemars::JsonSchema;
use schemas::Digest;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The first component of mirror repositories. It cannot be a Solution id, because each id has a version with dots, so
/// mirrors never collide with the images of Solutions.
pub(crate) const BELOW: &str = "mirror";

/// The maximum length of a component that encodes a path: that of a component of an image's name.
const FLAT_COMPONENT: usize = 103;
/// The number of hex digits of the path's digest in such a component. They make it infeasible to create two paths with
/// the same component.
const FLAT_DIGEST: usize = 16;

/// The layout of a Solution's images in a registry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Layout")]
pub enum PathLayout {
    /// In the Solution's id, which operators expect; images with a `ref` are also in `mirror/<host>`.
    #[default]
    Solution,
    /// In the path of the image's `ref` at its original registry, without the host. There are no copies.
    Ref,
    /// Like `solution`, with each path as a single component: `shop-1.0.0_app-<digest>`.
    Flat,
}

/// Formats the value as users write it.
impl fmt::Display for PathLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Solution => "solution",
            Self::Ref => "ref",
            Self::Flat => "flat",
        })
    }
}

impl PathLayout {
    /// Returns the repository for a path below the prefix.
    pub(crate) fn repository(
        self,
        registry: &RegistryAddress,
        path: &str,
    ) -> Result<RepositoryPath, AddressError> {
        match self {
            Self::Flat => registry.repository(&flat(path)),
            Self::Solution | Self::Ref => registry.repository(path),
        }
    }

    /// Returns the common part of the paths of all images of another registry. The port is separated by an underscore,
    /// which no host contains.
    pub(crate) fn below(self, host: &str) -> Option<String> {
        match self {
            Self::Solution | Self::Flat => Some(format!("{BELOW}/{}", host.replace(':', "_"))),
            Self::Ref => None,
        }
    }
}

/// Returns the single component that encodes a path: its words and the beginning of its digest. The underscore
/// distinguishes it from a Solution id. A path of one component is unchanged, such as the repository of a version's
/// head.
fn flat(path: &str) -> String {
    if !path.contains('/') {
        return path.to_owned();
    }
    let mut digest = Digest::new(Sha256::digest(path).into()).hex();
    digest.truncate(FLAT_DIGEST);
    let mut words = path.replace('/', "_");
    words.truncate(FLAT_COMPONENT - 1 - FLAT_DIGEST);
    let words = words.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    format!("{words}-{digest}")
}

/// Whether a registry also has images under the names that workloads use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MirrorPolicy {
    /// Each image with a `ref` is also pushed below `mirror`.
    #[default]
    Push,
    /// No repository below `mirror` is created.
    Skip,
}

/// The repositories of a version's images in a registry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// The layout of the images.
    #[serde(default, skip_serializing_if = "schemas::is_default")]
    pub layout: PathLayout,
    /// Whether they are mirrored.
    #[serde(default, skip_serializing_if = "schemas::is_default")]
    pub mirrors: MirrorPolicy,
}

impl Placement {
    /// Checks whether images also have a second name, under which nodes find the images that workloads request.
    #[must_use]
    pub fn has_mirrors(self) -> bool {
        self.mirrors == MirrorPolicy::Push && self.layout != PathLayout::Ref
    }
}

/// An administrator's choices about the placement of a version's images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlacementChoice {
    /// The layout of the images; `None` keeps the earlier choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<PathLayout>,
    /// The choice for mirrors; `None` keeps the earlier choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mirrors: Option<MirrorPolicy>,
}

impl PlacementChoice {
    /// Returns the placement. Choices that are not made are taken from `before`.
    #[must_use]
    pub fn over(self, before: Placement) -> Placement {
        Placement {
            layout: self.layout.unwrap_or(before.layout),
            mirrors: self.mirrors.unwrap_or(before.mirrors),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use schemas::SolutionId;

    use super::*;

    #[test]
    fn a_flat_name_is_one_component_that_keeps_the_words_of_its_path() {
        // `printf shop-1.0.0/app | sha256sum`. If this changes, images that are already in registries are no longer
        // found.
        let expected = "shop-1.0.0_app-f52961787862a5be";
        assert_eq!(flat("shop-1.0.0/app"), expected);
        assert_eq!(flat(expected), expected);
        assert_eq!(flat("shop-1.0.0"), "shop-1.0.0");
        assert!(expected.parse::<SolutionId>().is_err());
    }

    #[test]
    fn paths_that_look_alike_have_different_flat_names() {
        let long = "a".repeat(200);
        let paths = [
            "shop-1.0.0/a/b",
            "shop-1.0.0/a_b",
            "shop-1.0.0_a/b",
            "mirror/quay.io/a/b",
            "mirror/quay.io_a/b",
            &format!("shop-1.0.0/{long}/a"),
            &format!("shop-1.0.0/{long}/b"),
        ];
        let names: BTreeSet<String> = paths.iter().map(|path| flat(path)).collect();
        assert_eq!(names.len(), paths.len());
    }

    #[test]
    fn a_flat_name_of_any_path_is_a_name_that_registries_take() {
        let registry: RegistryAddress = "r.test:5000/apps".parse().unwrap();
        for length in 90..200 {
            // The path may be cut after a separator.
            for path in [
                "x/".repeat(length),
                "x__".repeat(length),
                "x-.".repeat(length),
            ] {
                let path = format!("shop-1.0.0/{}x", path.replace("-.", "--"));
                let name = flat(&path);
                assert!(name.len() <= FLAT_COMPONENT, "{name}");
                let repository = registry.repository(&name).unwrap();
                assert_eq!(repository.as_str().split('/').count(), 2, "{name}");
            }
        }
    }

    #[test]
    fn a_choice_replaces_only_its_own_part_of_a_placement() {
        let before = Placement {
            layout: PathLayout::Flat,
            mirrors: MirrorPolicy::Skip,
        };
        for (layout, mirrors, expected) in [
            (None, None, (PathLayout::Flat, MirrorPolicy::Skip)),
            (
                Some(PathLayout::Ref),
                None,
                (PathLayout::Ref, MirrorPolicy::Skip),
            ),
            (
                None,
                Some(MirrorPolicy::Push),
                (PathLayout::Flat, MirrorPolicy::Push),
            ),
            (
                Some(PathLayout::Solution),
                Some(MirrorPolicy::Push),
                (PathLayout::Solution, MirrorPolicy::Push),
            ),
        ] {
            let found = PlacementChoice { layout, mirrors }.over(before);
            assert_eq!((found.layout, found.mirrors), expected);
        }
    }

    #[test]
    fn mirrors_exist_unless_they_are_skipped_or_the_layout_is_that_of_the_references() {
        for (layout, mirrors, expected) in [
            (PathLayout::Solution, MirrorPolicy::Push, true),
            (PathLayout::Solution, MirrorPolicy::Skip, false),
            (PathLayout::Flat, MirrorPolicy::Push, true),
            (PathLayout::Flat, MirrorPolicy::Skip, false),
            (PathLayout::Ref, MirrorPolicy::Push, false),
            (PathLayout::Ref, MirrorPolicy::Skip, false),
        ] {
            let placement = Placement { layout, mirrors };
            assert_eq!(placement.has_mirrors(), expected, "{placement:?}");
        }
    }

    #[test]
    fn the_images_of_another_registry_have_one_prefix_with_its_host_and_port() {
        for (layout, host, expected) in [
            (PathLayout::Solution, "quay.io", Some("mirror/quay.io")),
            (
                PathLayout::Solution,
                "r.other:5000",
                Some("mirror/r.other_5000"),
            ),
            (
                PathLayout::Flat,
                "r.other:5000",
                Some("mirror/r.other_5000"),
            ),
            (PathLayout::Ref, "quay.io", None),
        ] {
            assert_eq!(layout.below(host).as_deref(), expected, "{layout} {host}");
        }
    }

    #[test]
    fn an_unchosen_placement_is_not_stored_and_read_as_the_default() {
        let stored = serde_json::to_string(&Placement::default()).unwrap();
        assert_eq!(stored, "{}");
        assert_eq!(
            serde_json::from_str::<Placement>("{}").unwrap(),
            Placement::default()
        );
        let other = Placement {
            layout: PathLayout::Flat,
            mirrors: MirrorPolicy::Skip,
        };
        let stored = serde_json::to_string(&other).unwrap();
        assert_eq!(stored, r#"{"layout":"flat","mirrors":"skip"}"#);
        assert_eq!(serde_json::from_str::<Placement>(&stored).unwrap(), other);
        assert!(serde_json::from_str::<PlacementChoice>(r#"{"layuot":"flat"}"#).is_err());
    }
}

//! The addresses of a Solution's images in a site's registry ([`ImageMap`]), also in the formats of Kustomize and
//! Helm. Users need it for manifests that they deploy without `solution`.

use std::collections::{BTreeMap, BTreeSet};

use registry::{DOCKER_HUB, ImageLocation, Reference, RegistryAddress, RepositoryPath};
use schemars::JsonSchema;
use schemas::{Digest, ImageName, ImagePlace, ImageReference, SolutionId, Tag, yaml};
use serde::Serialize;
use serde_json::{Value, json};

use crate::blocker::{MirrorBlocker, RegistryBlocker};
use crate::error::Error;
use crate::layout::{BELOW, PathLayout};
use crate::place::main_place;
use crate::record::RecordedImage;

/// An image and its address in the site's registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MappedImage {
    /// The image in the Solution, as `NAME:TAG`.
    pub image: ImagePlace,
    /// The reference that workloads use.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<ImageReference>,
    /// The address that nodes pull from, `HOST/REPOSITORY@DIGEST`.
    pub address: String,
    /// The host of the address.
    pub registry: String,
    /// The repository of the address.
    pub repository: String,
    /// The tag in the registry; missing if the image is pushed by digest only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<Tag>,
    /// The digest of its manifest or index.
    pub digest: Digest,
}

/// The addresses of a Solution's images at a site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct ImageMap {
    /// The images.
    pub images: Vec<MappedImage>,
    #[serde(skip)]
    layout: PathLayout,
}

impl ImageMap {
    /// Returns the addresses of these images of a Solution in a registry, as nodes use them.
    pub fn new(
        id: &SolutionId,
        images: &[RecordedImage],
        registry: &RegistryAddress,
        layout: PathLayout,
    ) -> Result<Self, Error> {
        let mapped = |image: &RecordedImage| {
            let (repository, reference) = main_place(registry, layout, id, image)?;
            let (host, digest) = (registry.host(), image.digest);
            Ok::<_, Error>(MappedImage {
                image: image.image.clone(),
                reference: image.reference.clone(),
                address: format!("{host}/{repository}@{digest}"),
                registry: host.to_owned(),
                repository: repository.to_string(),
                tag: match reference {
                    Reference::Tag(tag) => Some(tag),
                    Reference::Digest(_) => None,
                },
                digest,
            })
        };
        let images = images.iter().map(mapped).collect::<Result<_, _>>()?;
        Ok(Self { images, layout })
    }

    /// Returns the map without signatures and other referrers of images, which no workload runs.
    #[must_use]
    pub fn of_workloads(mut self) -> Self {
        let images = self.images.iter().map(|image| &image.image);
        let own = images.filter(|place| place.tag.subject().is_none());
        let own: BTreeSet<ImageName> = own.map(|place| place.name.clone()).collect();
        // A tag in the form of a referrer's is kept if no other image has its name.
        self.images.retain(|MappedImage { image, .. }| {
            image.tag.subject().is_none() || !own.contains(&image.name)
        });
        self
    }

    /// Returns a blocker for each image that cannot be stored under its `ref`. Another image of the archive can have
    /// the same name. An image of another registry can have the same path, so that nodes would pull the wrong one. The
    /// path can also be reserved for images of Solutions.
    pub fn collisions(&self) -> Result<Vec<RegistryBlocker>, Error> {
        let mut found = Vec::new();
        // Only this layout stores images under the path of their `ref`.
        if self.layout != PathLayout::Ref {
            return Ok(found);
        }
        let (mut tags, mut paths) = (BTreeMap::new(), BTreeMap::new());
        for image in &self.images {
            let Some(asked) = &image.reference else {
                continue;
            };
            let location = ImageLocation::from_image_reference(asked)?;
            if is_reserved(location.repository()) {
                let reserved = MirrorBlocker::ReservedPath {
                    reference: asked.clone(),
                };
                found.push(reserved.into());
            }
            let path = location.repository().clone();
            let host = location.registry().host().to_owned();
            let (first, of) = paths.entry(path).or_insert((host, asked));
            if *first != location.registry().host() {
                let same = MirrorBlocker::SamePath {
                    reference: (*of).clone(),
                    other: asked.clone(),
                };
                found.push(same.into());
                continue;
            }
            let tag = (&image.repository, &image.tag);
            if image.tag.is_some() && *tags.entry(tag).or_insert(image.digest) != image.digest {
                found.push(RegistryBlocker::SameReference {
                    reference: asked.clone(),
                });
            }
        }
        Ok(found)
    }

    /// Returns the map if every image can be stored under its `ref`, else the first blocker as an error.
    pub fn without_collisions(self) -> Result<Self, Error> {
        match self.collisions()?.into_iter().next() {
            Some(collision) => Err(collision.into()),
            None => Ok(self),
        }
    }

    /// Returns the list `images` of a `kustomization.yaml` (kubectl.docs.kubernetes.io, "images"). Kustomize identifies
    /// an image by its name as written, without a tag, so two different images with one name are refused.
    pub fn kustomize(&self) -> Result<String, Error> {
        let mut entries: BTreeMap<String, &MappedImage> = BTreeMap::new();
        for image in &self.images {
            let Some(asked) = &image.reference else {
                continue;
            };
            for name in spellings(asked)? {
                let other = entries.insert(name, image);
                if other.is_some_and(|other| other.digest != image.digest) {
                    let name = name_of(asked).to_owned();
                    let same = MirrorBlocker::SameImageName { name };
                    return Err(RegistryBlocker::from(same).into());
                }
            }
        }
        let entry = |(name, image): (String, &MappedImage)| {
            let new = format!("{}/{}", image.registry, image.repository);
            json!({ "name": name, "newName": new, "digest": image.digest })
        };
        let entries: Vec<Value> = entries.into_iter().map(entry).collect();
        Ok(yaml::to_string(&json!({ "images": entries })))
    }

    /// Returns values for Helm: a map by the names of images in the Solution, with the tag if a name has multiple
    /// images.
    #[must_use]
    pub fn helm(&self) -> String {
        let mut names: BTreeMap<&ImageName, usize> = BTreeMap::new();
        for image in &self.images {
            *names.entry(&image.image.name).or_default() += 1;
        }
        let entry = |image: &MappedImage| {
            let name = &image.image.name;
            let key = match names[name] {
                1 => name.to_string(),
                _ => image.image.to_string(),
            };
            let mut value = json!({
                "registry": image.registry,
                "repository": image.repository,
                "digest": image.digest,
            });
            if let Some(tag) = &image.tag {
                value["tag"] = json!(tag);
            }
            if let Some(asked) = &image.reference {
                value["ref"] = json!(asked);
            }
            (key, value)
        };
        let images: BTreeMap<String, Value> = self.images.iter().map(entry).collect();
        yaml::to_string(&json!({ "images": images }))
    }
}

/// Checks whether a repository is reserved for images of Solutions, below any prefix.
fn is_reserved(repository: &RepositoryPath) -> bool {
    let mut components = repository.as_str().split('/');
    components.any(|component| component == BELOW || component.parse::<SolutionId>().is_ok())
}

/// Returns a reference as written, without tag and digest.
fn name_of(reference: &ImageReference) -> &str {
    let name = reference.as_str().split('@').next().unwrap_or_default();
    let tag = reference.tag().map(|tag| format!(":{tag}"));
    tag.and_then(|tag| name.strip_suffix(&tag)).unwrap_or(name)
}

/// Returns the names that workloads can use for the same repository: names at Docker Hub have more than one form.
fn spellings(reference: &ImageReference) -> Result<BTreeSet<String>, Error> {
    let mut all = BTreeSet::from([name_of(reference).to_owned()]);
    let location = ImageLocation::from_image_reference(reference)?;
    if location.registry().host() == DOCKER_HUB {
        let path = location.repository().as_str();
        let short = path.strip_prefix("library/").unwrap_or(path);
        for path in [path, short] {
            all.extend([path.to_owned(), format!("{DOCKER_HUB}/{path}")]);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(layout: PathLayout, images: &[(&str, &str)]) -> ImageMap {
        let image = |(number, (place, asked)): (u8, &(&str, &str))| RecordedImage {
            image: place.parse().unwrap(),
            digest: Digest::new([number; 32]),
            reference: (!asked.is_empty()).then(|| asked.parse().unwrap()),
        };
        let images: Vec<_> = (1..).zip(images).map(image).collect();
        let (id, registry) = ("shop-1.0.0".parse().unwrap(), "r.test:5000/apps");
        ImageMap::new(&id, &images, &registry.parse().unwrap(), layout).unwrap()
    }

    fn places(map: &ImageMap) -> Vec<String> {
        let tag = |image: &MappedImage| image.tag.as_ref().map_or("-", Tag::as_str).to_owned();
        let images = map.images.iter();
        images
            .map(|image| format!("{} {}", image.repository, tag(image)))
            .collect()
    }

    #[test]
    fn an_image_lies_below_its_solution_or_under_the_path_of_its_ref() {
        let pinned = format!("quay.io/org/db@{}", Digest::new([8; 32]));
        let images = [
            ("app:1", "quay.io/org/app:1.2"),
            ("db:2", &pinned),
            ("own:3", ""),
        ];
        let of = |layout| places(&map(layout, &images));
        let solution = ["app 1", "db 2", "own 3"].map(|name| format!("apps/shop-1.0.0/{name}"));
        assert_eq!(of(PathLayout::Solution), solution);
        let expected = ["org/app 1.2", "org/db -", "shop-1.0.0/own 3"];
        assert_eq!(
            of(PathLayout::Ref),
            expected.map(|place| format!("apps/{place}"))
        );
        let address = &map(PathLayout::Ref, &images).images[1].address;
        let digest = Digest::new([2; 32]);
        assert_eq!(*address, format!("r.test:5000/apps/org/db@{digest}"));
    }

    #[test]
    fn what_nodes_would_get_one_for_the_other_is_refused_by_name() {
        let collisions = |layout, asked: &[&str]| {
            let names = ["a:1", "b:1", "c:1"];
            let images: Vec<_> = names.into_iter().zip(asked.iter().copied()).collect();
            let found = map(layout, &images).collisions().unwrap();
            let kept = map(layout, &images).without_collisions();
            assert_eq!(kept.is_ok(), found.is_empty());
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let hosts = ["quay.io/org/app:1", "ghcr.io/org/app:2"];
        let [found] = &collisions(PathLayout::Ref, &hosts)[..] else {
            panic!("not one")
        };
        assert!(hosts.iter().all(|host| found.contains(host)), "{found}");
        let same = ["quay.io/org/app:1", "quay.io/org/app:1"];
        assert_eq!(collisions(PathLayout::Ref, &same).len(), 1);
        for reserved in [
            "quay.io/shop-2.0.0/web:7",
            "quay.io/apps/shop-2.0.0/web:7",
            "quay.io/mirror/quay.io/app:1",
        ] {
            assert_eq!(
                collisions(PathLayout::Ref, &[reserved]).len(),
                1,
                "{reserved}"
            );
        }
        let fine = ["quay.io/org/app:1", "quay.io/org/app:2", "nginx"];
        assert_eq!(collisions(PathLayout::Ref, &fine), [""; 0]);
        assert_eq!(collisions(PathLayout::Solution, &hosts), [""; 0]);
    }

    #[test]
    fn kustomize_knows_an_image_by_each_way_its_name_is_written() {
        let images = [
            ("app:1", "quay.io:443/org/app:1.2"),
            ("own:3", ""),
            ("web:1", "nginx"),
        ];
        let text = map(PathLayout::Solution, &images).kustomize().unwrap();
        let read: Value = yaml::from_slice(text.as_bytes()).unwrap();
        let entry = |name: &str, image: &str, number| {
            let new = format!("r.test:5000/apps/shop-1.0.0/{image}");
            json!({ "name": name, "newName": new, "digest": Digest::new([number; 32]) })
        };
        let expected = [
            entry("docker.io/library/nginx", "web", 3),
            entry("docker.io/nginx", "web", 3),
            entry("library/nginx", "web", 3),
            entry("nginx", "web", 3),
            entry("quay.io:443/org/app", "app", 1),
        ];
        assert_eq!(read, json!({ "images": expected }));
        let two = [("a:1", "quay.io/app:1"), ("a:2", "quay.io/app:2")];
        let refused = map(PathLayout::Solution, &two).kustomize().unwrap_err();
        assert!(refused.to_string().contains("`quay.io/app`"), "{refused}");
    }

    #[test]
    fn values_name_an_image_by_its_name_and_its_tag_only_if_it_must() {
        let images = [("a:1", ""), ("a:2", "nginx:1.10"), ("db:1.10", "")];
        let text = map(PathLayout::Solution, &images).helm();
        let read: Value = yaml::from_slice(text.as_bytes()).unwrap();
        let entry = |name: &str, tag: &str, number| {
            json!({
                "registry": "r.test:5000",
                "repository": format!("apps/shop-1.0.0/{name}"),
                "tag": tag,
                "digest": Digest::new([number; 32]),
            })
        };
        let mut second = entry("a", "2", 2);
        second["ref"] = json!("nginx:1.10");
        let expected =
            json!({ "a:1": entry("a", "1", 1), "a:2": second, "db": entry("db", "1.10", 3) });
        assert_eq!(read, json!({ "images": expected }));
    }
}

//! The workloads in any namespace that use images of imported versions, regardless of their creator. They are found by
//! the images in their pods: [`workloads`].

use std::collections::BTreeSet;

use kubernetes::{Cluster, Gvk, Object, ObjectRef};
use planner::vocabulary as v;
use serde_json::Value;
use store::Record;

use crate::model::blocker::Blocker;
use crate::model::error::{Error, Use};
use crate::objects::needs::check_looking;
use crate::records::inventory::WORKLOADS;

/// The fields with the images of a pod, each with the field of their status.
const CONTAINERS: [(&str, &str); 3] = [
    ("containers", "containerStatuses"),
    ("initContainers", "initContainerStatuses"),
    ("ephemeralContainers", "ephemeralContainerStatuses"),
];

/// The images of certain versions.
#[derive(Debug)]
pub(crate) struct Images {
    places: Vec<String>,
    digests: BTreeSet<String>,
    /// The prefixes of the addresses of other versions' images.
    others: Vec<String>,
}

impl Images {
    /// Returns the images of the chosen versions among all recorded ones.
    pub(crate) fn select(
        records: &[Record],
        is_chosen: impl Fn(&Record) -> bool,
    ) -> Result<Self, Error> {
        let (chosen, others): (Vec<&Record>, Vec<&Record>) =
            records.iter().partition(|record| is_chosen(record));
        let other_digests: BTreeSet<String> = digests(&others).collect();
        Ok(Self {
            places: places(&chosen)?,
            digests: digests(&chosen)
                .filter(|digest| !other_digests.contains(digest))
                .collect(),
            others: places(&others)?,
        })
    }

    /// Checks whether an image is one of these. It is if its address is below theirs. With any other address, such as
    /// that of a mirror, it must have a digest that only they have.
    fn has(&self, image: &str) -> bool {
        let is_below = |places: &[String]| places.iter().any(|place| image.starts_with(place));
        if is_below(&self.places) || is_below(&self.others) {
            return is_below(&self.places);
        }
        let digest = image.split_once('@').map(|(_, digest)| digest);
        digest.is_some_and(|digest| self.digests.contains(digest))
    }
}

/// Returns the prefixes of the addresses of images, both for pushing and for pulling.
fn places(records: &[&Record]) -> Result<Vec<String>, Error> {
    let places = records.iter().map(|record| store::own_addresses(record));
    let places = places.collect::<Result<Vec<_>, _>>()?;
    Ok(places.concat())
}

fn digests(records: &[&Record]) -> impl Iterator<Item = String> {
    let images = records.iter().flat_map(|record| &record.images);
    images.map(|image| image.digest.to_string())
}

/// Returns every object that uses these images, except for those that are leaving. Of an object and the objects that it
/// controls, only the former is returned. Adds a blocker if the user may not list them.
pub(crate) async fn workloads(
    cluster: &Cluster,
    images: &Images,
    leaving: &BTreeSet<ObjectRef>,
    blockers: &mut Vec<Blocker>,
) -> Result<Vec<Use>, Error> {
    if check_looking(cluster, blockers).await? {
        return Ok(Vec::new());
    }
    let mut found = UseSearch::new(images, leaving);
    // The kinds are ordered: objects precede those that they control.
    for (api, kind, _, pods) in WORKLOADS {
        let look = |object: Object| found.take(&object, pods);
        let kind = Gvk::new(api, kind);
        cluster.visit(&kind, None, None, look).await?;
    }
    Ok(found.uses)
}

struct UseSearch<'a> {
    images: &'a Images,
    leaving: &'a BTreeSet<ObjectRef>,
    uses: Vec<Use>,
    /// The uids of the returned and the leaving objects, and of the objects that they own.
    named: BTreeSet<String>,
}

impl<'a> UseSearch<'a> {
    fn new(images: &'a Images, leaving: &'a BTreeSet<ObjectRef>) -> Self {
        Self {
            images,
            leaving,
            uses: Vec::new(),
            named: BTreeSet::new(),
        }
    }

    fn take(&mut self, object: &Object, pods: &str) {
        let value = object.as_value();
        let keeper = controller(value);
        let is_kept = keeper.is_some_and(|keeper| self.named.contains(keeper));
        if !is_kept && !self.leaving.contains(object.reference()) {
            let asked = asked_for(value, pods);
            let image = asked.into_iter().find(|image| self.images.has(image));
            let Some(image) = image.filter(|_| !is_over(object)) else {
                return;
            };
            self.uses.push(Use {
                image: Some(image.to_owned()),
                ..Use::new(object)
            });
        }
        self.named.extend(object.uid().map(str::to_owned));
    }
}

/// Returns the images of an object. For a pending pod, only those count that its node has pulled. Until then, they are
/// names that everyone who may create pods can choose.
fn asked_for<'a>(object: &'a Value, pods: &str) -> Vec<&'a str> {
    let Some(pod) = object.pointer(pods) else {
        return Vec::new();
    };
    let waits = object["kind"] == "Pod" && object["status"]["phase"] == "Pending";
    let is_there = |statuses: &str, container: &Value| {
        let statuses = object["status"][statuses].as_array();
        let mut statuses = statuses.into_iter().flatten();
        statuses.any(|status| {
            status["name"] == container["name"] && status["imageID"].as_str() > Some("")
        })
    };
    let containers = CONTAINERS.iter().flat_map(|(list, statuses)| {
        let containers = pod[*list].as_array().into_iter().flatten();
        containers.filter(move |container| !waits || is_there(statuses, container))
    });
    let images = containers.filter_map(|container| container["image"].as_str());
    let mut images: Vec<&str> = images.collect();
    // Image volumes are mounted before the first container starts.
    if !waits || !images.is_empty() {
        let volumes = pod["volumes"].as_array().into_iter().flatten();
        images.extend(volumes.filter_map(|volume| volume["image"]["reference"].as_str()));
    }
    images
}

fn controller(object: &Value) -> Option<&str> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    let controller = owners.iter().find(|owner| owner["controller"] == true)?;
    controller["uid"].as_str()
}

/// Checks whether an object no longer runs anything: it is being deleted, has completed, is an old `ReplicaSet` of a
/// Deployment, or is the pod of an interrupted test pull.
fn is_over(object: &Object) -> bool {
    let value = object.as_value();
    let ended = || {
        let conditions = value["status"]["conditions"].as_array();
        let ends = |condition: &Value| {
            let kind = &condition["type"];
            (kind == "Complete" || kind == "Failed") && condition["status"] == "True"
        };
        conditions.into_iter().flatten().any(ends)
    };
    object.is_being_deleted()
        || match object.gvk().kind.as_str() {
            "Pod" => {
                let phase = &value["status"]["phase"];
                let proof = object.labels().contains_key(v::PULL_PROOF);
                proof || phase == "Succeeded" || phase == "Failed"
            }
            "Job" => ended(),
            "ReplicaSet" => controller(value).is_some() && value["spec"]["replicas"] == 0,
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use store::PathLayout;

    use super::*;
    use crate::records::inventory::TEMPLATE;
    use crate::records::record::tests::record;

    fn images() -> Images {
        let mut other = record("1.1.0");
        other.images[0].digest = schemas::Digest::new([4; 32]);
        of_first(&[record("1.0.0"), other])
    }

    fn of_first(records: &[Record]) -> Images {
        Images::select(records, |record| record.version.to_string() == "1.0.0").unwrap()
    }

    #[test]
    fn an_image_is_a_versions_by_its_place_or_by_a_digest_that_nobody_else_has() {
        let images = images();
        let [ours, theirs] = [3, 4].map(|byte| schemas::Digest::new([byte; 32]));
        for (image, expected) in [
            ("pull.test/shop-1.0.0/web:7".to_owned(), true),
            ("push.test/shop-1.0.0/other@sha256:1".to_owned(), true),
            ("pull.test/shop-1.0.0-rc.1/web:7".to_owned(), false),
            (format!("pull.test/shop-1.1.0/web@{ours}"), false),
            (format!("docker.io/library/web@{ours}"), true),
            (format!("docker.io/library/web@{theirs}"), false),
            ("docker.io/library/web:7".to_owned(), false),
        ] {
            assert_eq!(images.has(&image), expected, "{image}");
        }
        let shared = [record("1.0.0"), record("1.1.0")];
        let images = of_first(&shared);
        assert!(!images.has(&format!("docker.io/library/web@{ours}")));
    }

    #[test]
    fn an_image_in_a_flat_layout_is_a_versions_by_its_own_repository_too() {
        let flat = |version| {
            let mut record = record(version);
            record.placement.layout = PathLayout::Flat;
            record
        };
        let images = of_first(&[flat("1.0.0"), flat("1.1.0")]);
        let digest = schemas::Digest::new([3; 32]);
        // `printf shop-1.0.0/web | sha256sum` and the same of 1.1.0.
        let [ours, theirs] = [
            "shop-1.0.0_web-ebf74434b56fd36b",
            "shop-1.1.0_web-47e9d8047a4a8212",
        ];
        for (image, expected) in [
            (format!("pull.test/{ours}:7"), true),
            (format!("push.test/{ours}@{digest}"), true),
            (format!("pull.test/{ours}-more:7"), false),
            (format!("pull.test/{theirs}:7"), false),
            (format!("other.test/{ours}:7"), false),
            // Both versions have this digest.
            (format!("pull.test/shop_web@{digest}"), false),
        ] {
            assert_eq!(images.has(&image), expected, "{image}");
        }
    }

    fn object(kind: &str, name: &str, keeper: Option<&str>, fields: &Value) -> Object {
        let owners = keeper.map(|uid| json!([{"controller": true, "uid": uid}]));
        let mut object = json!({
            "apiVersion": "v1", "kind": kind,
            "metadata": {"name": name, "namespace": "n", "uid": name, "ownerReferences": owners},
        });
        for (field, value) in fields.as_object().unwrap() {
            object[field] = value.clone();
        }
        Object::new(object).unwrap()
    }

    fn found(objects: &[(Object, &str)]) -> Vec<String> {
        found_beside(&[], objects)
    }

    /// Returns the uses if these objects leave.
    fn found_beside(leaving: &[&Object], objects: &[(Object, &str)]) -> Vec<String> {
        let leaving = leaving
            .iter()
            .map(|object| object.reference().clone())
            .collect();
        let images = images();
        let mut found = UseSearch::new(&images, &leaving);
        for (object, pods) in objects {
            found.take(object, pods);
        }
        found.uses.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_keeps_others_is_named_alone() {
        let image = "pull.test/shop-1.0.0/web:7";
        let pod = json!({"spec": {"initContainers": [{"image": image}]}});
        let of = |replicas: u32, image: &str| json!({"spec": {"replicas": replicas, "template": {"spec": {"containers": [{"image": image}]}}}});
        let newer = "pull.test/shop-1.1.0/web:7";
        assert_eq!(
            found(&[
                (object("Deployment", "web", None, &of(0, image)), TEMPLATE),
                (
                    object("Deployment", "upgraded", None, &of(1, newer)),
                    TEMPLATE
                ),
                (
                    object("ReplicaSet", "web-1", Some("web"), &of(1, image)),
                    TEMPLATE
                ),
                (
                    object("ReplicaSet", "upgraded-1", Some("upgraded"), &of(0, image)),
                    TEMPLATE
                ),
                (object("Pod", "web-1-a", Some("web-1"), &pod), "/spec"),
                (object("Pod", "alone", None, &pod), "/spec"),
                (
                    object("Pod", "of-a-kind-nobody-knows", Some("unknown"), &pod),
                    "/spec"
                ),
            ]),
            [
                "Deployment n/web",
                "Pod n/alone",
                "Pod n/of-a-kind-nobody-knows"
            ]
        );
    }

    #[test]
    fn what_leaves_uses_nothing_and_neither_does_what_it_keeps() {
        let containers = json!([{"image": "pull.test/shop-1.0.0/web:7"}]);
        let of = json!({"spec": {"template": {"spec": {"containers": containers}}}});
        let [ours, theirs] = ["operator", "web"].map(|name| object("Deployment", name, None, &of));
        let replicas = |name: &str, keeper: &str| object("ReplicaSet", name, Some(keeper), &of);
        let all = [
            (ours.clone(), TEMPLATE),
            (theirs.clone(), TEMPLATE),
            (replicas("operator-1", "operator"), TEMPLATE),
            (replicas("web-1", "web"), TEMPLATE),
        ];
        assert_eq!(found_beside(&[&ours], &all), ["Deployment n/web"]);
        assert_eq!(found_beside(&[&ours, &theirs], &all), [""; 0]);
    }

    #[test]
    fn what_has_ended_uses_nothing() {
        let containers = json!([{"image": "pull.test/shop-1.0.0/web:7"}]);
        let job = |status: &Value| {
            let spec = json!({"template": {"spec": {"containers": containers}}});
            object("Job", "job", None, &json!({"spec": spec, "status": status}))
        };
        let pod = |phase: &str| {
            let fields = json!({"spec": {"containers": containers}, "status": {"phase": phase}});
            object("Pod", "pod", None, &fields)
        };
        let complete = json!({"conditions": [{"type": "Complete", "status": "True"}]});
        let over = [
            (job(&complete), TEMPLATE),
            (pod("Succeeded"), "/spec"),
            (pod("Failed"), "/spec"),
        ];
        assert_eq!(found(&over), [""; 0]);
        let metadata =
            json!({"name": "pull", "namespace": "n", "labels": {v::PULL_PROOF: "amd64"}});
        let proof = json!({"metadata": metadata, "spec": {"containers": containers}});
        let proof = object("Pod", "pull", None, &proof);
        assert_eq!(found(&[(proof, "/spec")]), [""; 0]);
        let suspended = json!({"conditions": [{"type": "Suspended", "status": "True"}]});
        let going_on = [(job(&suspended), TEMPLATE), (pod("Running"), "/spec")];
        assert_eq!(found(&going_on), ["Job n/job", "Pod n/pod"]);
    }

    #[test]
    fn what_a_waiting_pod_only_names_is_not_used() {
        let image = "pull.test/shop-1.0.0/web:7";
        let pod = |spec: Value, statuses: Value| {
            let mut status = statuses;
            status["phase"] = json!("Pending");
            let pod = object("Pod", "pod", None, &json!({"spec": spec, "status": status}));
            found(&[(pod, "/spec")])
        };
        let named = |name: &str, image: &str| json!([{"name": name, "image": image}]);
        let has = |name: &str, id: &str| json!([{"name": name, "imageID": id}]);
        let web = json!({"containers": named("web", image)});
        assert_eq!(pod(web.clone(), json!({})), [""; 0]);
        let waiting = json!({"containerStatuses": has("web", "")});
        assert_eq!(pod(web.clone(), waiting), [""; 0]);
        let there = json!({"containerStatuses": has("web", "sha256:1")});
        assert_eq!(pod(web, there), ["Pod n/pod"]);
        // A container with another image runs already.
        let other = |first: &str| {
            let spec = json!({
                "initContainers": named("first", first),
                "containers": named("web", image),
            });
            pod(
                spec,
                json!({"initContainerStatuses": has("first", "sha256:1")}),
            )
        };
        assert_eq!(other("busybox:1"), [""; 0]);
        assert_eq!(other(image), ["Pod n/pod"]);
        let volume = |statuses| {
            let volumes = json!([{"image": {"reference": image}}]);
            let spec = json!({"volumes": volumes, "containers": named("web", "busybox:1")});
            pod(spec, statuses)
        };
        assert_eq!(volume(json!({})), [""; 0]);
        let there = json!({"containerStatuses": has("web", "sha256:1")});
        assert_eq!(volume(there), ["Pod n/pod"]);
    }

    #[test]
    fn images_of_volumes_count() {
        let volumes = json!([{"image": {"reference": "push.test/shop-1.0.0/web:7"}}]);
        let pod = object("Pod", "pod", None, &json!({"spec": {"volumes": volumes}}));
        assert_eq!(found(&[(pod, "/spec")]), ["Pod n/pod"]);
    }
}

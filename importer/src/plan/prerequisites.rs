//! The prerequisites of a Solution: Kubernetes version, APIs, other Solutions, storage and node capacity. The entry
//! point is `Planner::check_prerequisites`, which reports all missing ones together.
//! docs/decisions/0036-prerequisites.md gives the reasons.

use std::num::NonZeroU32;

use deployer::{Cluster, Gvk, Object, ObjectRef, ServerVersion};
use schemas::{
    ApiName, FreeResources, Namespace, NeededSolution, NeededStorageClass, PlacedVersion,
    Prerequisites, SolutionSpec,
};

use crate::model::authority::Authority;
use crate::model::error::Error;
use crate::model::needed::{circle, meeting, needed_by};
use crate::model::obstacle::Obstacle;
use crate::model::unmet::Unmet;
use crate::plan::readiness::readiness;
use crate::plan::rights::ask::deny;
use crate::plan::rights::needs::Needs;
use crate::plan::room::{Room, billionths, shown};
use crate::plan::setting::Planner;

/// The annotations of a default storage class.
const DEFAULT_CLASS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

/// Returns a note on prerequisites that only a cluster administrator can check; none if all are checked.
pub(crate) fn not_looked_for(spec: &SolutionSpec, authority: &Authority) -> Option<String> {
    let needed = &spec.prerequisites;
    let of_everybody = Prerequisites {
        kubernetes: needed.kubernetes.clone(),
        api_groups: needed.api_groups.clone(),
        ..Prerequisites::default()
    };
    let is_some = matches!(authority, Authority::Namespace(_)) && *needed != of_everybody;
    is_some.then(|| {
        "the prerequisites on other Solutions, storage and nodes were not checked: this requires the rights of a cluster administrator".to_owned()
    })
}

impl Planner<'_> {
    /// Adds a blocker for each missing prerequisite, and for prerequisites of other Solutions that the new version in
    /// this namespace would no longer meet.
    pub(crate) async fn check_prerequisites(
        &self,
        namespace: &Namespace,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(), Error> {
        let needed = &self.asked.accepted.manifest().spec.prerequisites;
        let (solution, version) = (self.asked.id.name(), self.asked.id.version());
        let environment = &self.target.environment;
        let mut unmet = Vec::new();
        unmet.extend(other_kubernetes(needed, self.cluster.version()));
        for api in &needed.api_groups {
            if !is_served(self.cluster, api).await? {
                unmet.push(Unmet::NeededApi { api: api.clone() });
            }
        }
        unmet.extend(needed_by(self.state, solution, |space, running| {
            let changes = space.namespace == *namespace;
            Some(if changes { version } else { running }.clone())
        }));
        if let Authority::Cluster = self.asked.request.authority {
            for needed in &needed.solutions {
                unmet.extend(self.not_ready(needed).await?);
            }
            let solutions = &needed.solutions;
            unmet.extend(circle(self.state, environment, solution, solutions));
            let mut needs = Needs::default();
            needs.prerequisites(needed);
            let before = obstacles.len();
            deny(self.cluster, &needs, obstacles).await?;
            if obstacles.len() == before {
                unmet.extend(self.no_class(needed.storage_class.as_ref()).await?);
                // The pods of a running version already use their share of the capacity.
                let is_new = self.state.deployed(namespace, solution).is_none();
                let (all, nothing) = (&needed.free, FreeResources::default());
                let free = if is_new { all } else { &nothing };
                let nodes = needed.nodes.map_or(0, NonZeroU32::get);
                unmet.extend(self.no_room(free, nodes).await?);
            }
        }
        obstacles.extend(unmet.into_iter().map(Obstacle::from));
        Ok(())
    }

    /// Returns the blocker if another Solution is not installed or not ready.
    async fn not_ready(&self, needed: &NeededSolution) -> Result<Option<Unmet>, Error> {
        let comes = |before: &PlacedVersion| {
            before.solution == needed.name && needed.version.contains(&before.version)
        };
        // An earlier deployment of the same run installs the Solution.
        if self.asked.request.before.iter().any(comes) {
            return Ok(None);
        }
        let spaces = match meeting(self.state, &self.target.environment, needed) {
            Ok(spaces) => spaces,
            Err(unmet) => return Ok(Some(*unmet)),
        };
        let mut found = None;
        for space in spaces {
            let status = readiness(self.cluster, self.state, space, &needed.name).await?;
            let Some(status) = status.filter(|status| !status.is_ready()) else {
                return Ok(None);
            };
            found = Some(Unmet::NeededReady {
                solution: status.solution,
                version: status.version,
                environment: status.environment,
                why: status.why.unwrap_or_default(),
            });
        }
        Ok(found)
    }

    async fn no_class(&self, needed: Option<&NeededStorageClass>) -> Result<Option<Unmet>, Error> {
        const API: &str = "storage.k8s.io/v1";
        let (is_there, class) = match needed {
            None => return Ok(None),
            Some(NeededStorageClass::Name(name)) => {
                let class = ObjectRef::cluster_scoped(API, "StorageClass", name.as_str());
                let class = self.cluster.get(&class).await?;
                (class.is_some(), Some(name.clone()))
            }
            Some(NeededStorageClass::Default(_)) => {
                let classes = Gvk::new(API, "StorageClass");
                let classes = self.cluster.list(&classes, None, None).await?;
                (classes.iter().any(is_default), None)
            }
        };
        Ok((!is_there).then_some(Unmet::NeededStorageClass { class }))
    }

    /// Returns the blockers if too few nodes accept pods, or if their free capacity is too small.
    async fn no_room(&self, free: &FreeResources, nodes: u32) -> Result<Vec<Unmet>, Error> {
        let wanted = [("cpu", &free.cpu), ("memory", &free.memory)];
        let wanted = wanted.map(|(resource, needed)| Some((resource, needed.as_ref()?)));
        let wanted: Vec<_> = wanted.into_iter().flatten().collect();
        if wanted.is_empty() && nodes == 0 {
            return Ok(Vec::new());
        }
        let all = Gvk::new("v1", "Node");
        let all = self.cluster.list(&all, None, None).await?;
        let resources: Vec<&str> = wanted.iter().map(|(resource, _)| *resource).collect();
        let mut room = Room::of(&all, self.asked.request.nodes, &resources);
        let mut unmet = Vec::new();
        if room.count() < usize::try_from(nodes).unwrap_or(usize::MAX) {
            let (needed, found) = (nodes, room.count());
            unmet.push(Unmet::NeededNodes { needed, found });
        }
        if !wanted.is_empty() {
            let take = |pod: Object| room.take(&pod);
            let pods = Gvk::new("v1", "Pod");
            self.cluster.visit(&pods, None, None, take).await?;
        }
        for (resource, needed) in wanted {
            let free = room.free(resource);
            if billionths(needed.as_str()).is_none_or(|amount| free < amount) {
                unmet.push(Unmet::NeededRoom {
                    resource,
                    needed: needed.to_string(),
                    free: shown(resource, free),
                });
            }
        }
        Ok(unmet)
    }
}

/// Checks whether a storage class is the default one.
pub(crate) fn is_default(class: &Object) -> bool {
    let annotations = &class.as_value()["metadata"]["annotations"];
    DEFAULT_CLASS
        .iter()
        .any(|annotation| annotations[*annotation] == "true")
}

async fn is_served(cluster: &Cluster, api: &ApiName) -> Result<bool, Error> {
    let (api_version, kind) = api.parts();
    Ok(match kind {
        Some(kind) => cluster.serves(&Gvk::new(api_version, kind)).await?,
        None => cluster.serves_version(api_version).await?,
    })
}

/// Returns the blocker if the cluster has another version of Kubernetes. Suffixes that distributions add to the version
/// are ignored.
fn other_kubernetes(needed: &Prerequisites, version: &ServerVersion) -> Option<Unmet> {
    let text = version.text.trim_start_matches('v');
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let patch = text[..end.unwrap_or(text.len())].split('.').nth(2);
    let patch = patch
        .and_then(|number| number.parse().ok())
        .unwrap_or_default();
    let numbers = [version.major.into(), version.minor.into(), patch];
    let range = needed.kubernetes.as_ref();
    let range = range.filter(|range| !range.contains_numbers(numbers))?;
    Some(Unmet::NeededKubernetes {
        range: range.clone(),
        version: version.text.clone(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_version_of_kubernetes_is_judged_by_its_numbers() {
        let unmet = |range: &str, text: &str| {
            let needed = Prerequisites {
                kubernetes: Some(range.parse().unwrap()),
                ..Prerequisites::default()
            };
            let (major, minor) = (1, 36);
            let text = text.to_owned();
            let version = ServerVersion { major, minor, text };
            other_kubernetes(&needed, &version).map(|unmet| unmet.to_string())
        };
        for (range, text) in [
            (">=1.36", "v1.36.2"),
            (">=1.36.2, <1.37", "v1.36.2-eks-abc"),
            ("~1.36.2", "v1.36.2+k3s1"),
            ("*", "v1.36.0-rc.1"),
            ("1.36", "v1.36"),
        ] {
            assert_eq!(unmet(range, text), None, "{range} {text}");
        }
        assert_eq!(
            unmet(">=1.37", "v1.36.2-eks-abc").unwrap(),
            "Kubernetes `>=1.37` is required, but the cluster runs v1.36.2-eks-abc"
        );
        assert!(unmet("<1.36.2", "v1.36.2-rc.1").is_some());
    }

    #[test]
    fn a_storage_class_is_the_default_one_by_its_annotation() {
        let class = |annotations| {
            let metadata = json!({ "name": "fast", "annotations": annotations });
            let class = json!({ "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata });
            is_default(&Object::new(class).unwrap())
        };
        for annotation in DEFAULT_CLASS {
            assert!(class(json!({ annotation: "true" })));
            assert!(!class(json!({ annotation: "false" })));
        }
        assert!(!class(json!({})));
    }

    #[test]
    fn what_is_not_looked_for_is_said() {
        let namespace = Authority::Namespace("prod".parse().unwrap());
        let said = |text: &str, authority: &Authority| {
            let text = format!("{{version: 1.0.0, prerequisites: {text}}}");
            let spec = schemas::yaml::from_slice(text.as_bytes()).unwrap();
            not_looked_for(&spec, authority).is_some()
        };
        let of_everybody = "{kubernetes: '1', apiGroups: [v1]}";
        assert!(!said(of_everybody, &namespace));
        for text in [
            "{solutions: [{name: db, version: '1'}]}",
            "{storageClass: {default: true}}",
            "{free: {cpu: '1'}}",
            "{nodes: 1}",
        ] {
            assert!(said(text, &namespace), "{text}");
            assert!(!said(text, &Authority::Cluster), "{text}");
        }
    }
}

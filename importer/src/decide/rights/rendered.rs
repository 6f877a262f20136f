//! The rights for releases of charts. They are derived from a rendering of the charts ([`RenderedRelease`]), because
//! only a rendering shows the objects of a chart.

use std::collections::BTreeMap;

use kubernetes::{Access, Cluster, Object, ServedKind};
use planner::ReleaseEntry;

use crate::decide::deployment::Deployment;
use crate::model::error::Error;
use crate::objects::needs::Needs;

/// A rendered release of a chart as it would be installed.
#[derive(Debug)]
pub struct RenderedRelease {
    namespace: String,
    /// The objects, each with its kind as the API server names it.
    objects: Vec<(Object, ServedKind)>,
}

impl RenderedRelease {
    /// Returns the releases of a planned deployment.
    pub(crate) async fn planned(
        deployment: &Deployment,
        cluster: &Cluster,
    ) -> Result<Vec<Self>, Error> {
        let mut releases = Vec::new();
        let planned = &deployment.releases.all;
        let defined: BTreeMap<_, _> = planned
            .iter()
            .flat_map(|release| &release.objects)
            .filter_map(defined)
            .collect();
        for release in planned {
            let ReleaseEntry { namespace, .. } = &release.recorded;
            let mut objects = Vec::new();
            for object in &release.objects {
                let gvk = object.gvk();
                let own = defined.get(&(gvk.group.as_str(), gvk.kind.as_str()));
                let kind = match own {
                    Some(kind) => Some(kind.clone()),
                    None => cluster.served(gvk).await?,
                };
                objects.extend(kind.map(|kind| (object.clone(), kind)));
            }
            releases.push(Self {
                namespace: namespace.to_string(),
                objects,
            });
        }
        Ok(releases)
    }

    /// Returns the objects.
    pub(super) fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter().map(|(object, _)| object)
    }

    /// Adds the rights to install, upgrade and remove the release.
    pub(super) fn changed(&self, needs: &mut Needs) {
        let objects = self
            .objects
            .iter()
            .map(|(object, kind)| (object.reference(), kind));
        needs.release(&self.namespace, objects);
    }

    /// Adds the rights to see the release.
    pub(super) fn seen(&self, needs: &mut Needs) {
        let objects = self
            .objects
            .iter()
            .map(|(object, kind)| (object.reference(), kind));
        needs.release_seen(&self.namespace, objects);
    }
}

/// Returns the kind that a CRD defines.
fn defined(object: &Object) -> Option<((&str, &str), ServedKind)> {
    let spec = &object.as_value()["spec"];
    let text = |pointer: &str| spec.pointer(pointer)?.as_str();
    let kind = ServedKind {
        plural: text("/names/plural")?.to_owned(),
        namespaced: text("/scope")? == "Namespaced",
    };
    let is_it = object.gvk().kind == "CustomResourceDefinition";
    Some(((text("/group")?, text("/names/kind")?), kind)).filter(|_| is_it)
}

/// Returns a right that is valid wherever a release is installed. A right in another namespace becomes cluster-wide,
/// since that namespace may not exist yet and cannot contain roles then. If the environment's namespace may be any, a
/// name that contains the placeholder `any` is dropped.
pub(super) fn widened(access: &Access, here: Option<&str>, any: &str) -> Access {
    let namespace = access.namespace.as_deref();
    let is_any = |name: &String| here.is_none() && name.contains(any);
    Access {
        namespace: here
            .filter(|here| Some(*here) == namespace)
            .map(str::to_owned),
        name: access.name.clone().filter(|name| !is_any(name)),
        ..access.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_of_a_release_are_as_wide_as_the_place_is_unknown() {
        let access = |namespace: Option<&str>, name: Option<&str>| Access {
            namespace: namespace.map(str::to_owned),
            name: name.map(str::to_owned),
            ..Access::new("get", "", "services")
        };
        for (given, here, expected) in [
            (
                access(Some("prod"), Some("web")),
                Some("prod"),
                access(Some("prod"), Some("web")),
            ),
            (
                access(Some("own"), Some("web")),
                Some("prod"),
                access(None, Some("web")),
            ),
            (
                access(Some("any"), Some("web")),
                None,
                access(None, Some("web")),
            ),
            (
                access(Some("any"), Some("any-web")),
                None,
                access(None, None),
            ),
            (
                access(Some("prod"), Some("any-web")),
                Some("prod"),
                access(Some("prod"), Some("any-web")),
            ),
        ] {
            assert_eq!(widened(&given, here, "any"), expected);
        }
    }
}

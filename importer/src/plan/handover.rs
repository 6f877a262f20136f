//! The part of a rendering that a controller can apply without a plan, a consent or stored values. The
//! controller reads it from a registry, where more people can read it than may see secrets. The entry point is
//! [`RenderedManifests::hand_over`]; pure functions.

use change::vocabulary as v;
use deployer::Object;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::model::error::Error;
use crate::plan::releases::hook_events;
use crate::plan::render::{ManifestSource, RenderedManifest, RenderedManifests};

/// The Helm events of hooks that are part of an installation or upgrade. Only Helm can run hooks of other events.
const COMING: [&str; 4] = ["pre-install", "post-install", "pre-upgrade", "post-upgrade"];

/// The objects of a rendering that another program can apply, and those that it cannot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Handover {
    /// The objects to apply, in the order of the rendering.
    pub manifests: Vec<RenderedManifest>,
    /// The Secrets that are left out.
    pub secrets: Vec<LeftSecret>,
    /// The hooks of charts among the objects to apply.
    pub hooks: Vec<String>,
    /// The hooks that are left out, since they run at a removal or rollback.
    pub left_hooks: Vec<String>,
    /// The objects to apply outside the environment's namespace, without the namespace itself.
    pub beyond: Vec<String>,
}

/// A Secret with values, which is left out and must be created in the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct LeftSecret {
    /// Its namespace and its name, `NAMESPACE/NAME`.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The keys of its values.
    pub keys: Vec<String>,
}

/// The reason why another program cannot apply an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotForOthers {
    /// An object other than a Secret contains a sensitive value.
    #[error(
        "{object} contains a sensitive value that everyone with read access to the registry could read"
    )]
    Sensitive {
        /// The object.
        object: String,
    },
    /// The value differs in each rendering, and no record of the first one exists.
    #[error(
        "{object} contains a random value that differs in each rendering and would not be stored"
    )]
    Random {
        /// The object.
        object: String,
    },
    /// The templates of a chart have read an object outside the environment.
    #[error("{read}, and everyone with read access to the registry could read the result")]
    Read {
        /// The release, and the object that its templates read.
        read: String,
    },
}

impl RenderedManifests {
    /// Sorts the rendered objects. Sensitive values must be masked in the rendering. The outer error is an unreadable
    /// object. The inner one lists all objects that prevent the handover.
    pub fn hand_over(self) -> Result<Result<Handover, Vec<NotForOthers>>, Error> {
        let namespace = self.namespace.as_str();
        let reads = self.reads.into_iter();
        let mut problems: Vec<NotForOthers> =
            reads.map(|read| NotForOthers::Read { read }).collect();
        let mut handover = Handover::default();
        for mut manifest in self.manifests {
            let object = Object::new(manifest.object.clone())?;
            let name = object.reference().to_string();
            let events = match manifest.source {
                ManifestSource::Release(_) => hook_events(&object),
                _ => Vec::new(),
            };
            let comes = events.iter().any(|event| COMING.contains(&event.as_str()));
            if !events.is_empty() && !comes {
                handover.left_hooks.push(name);
                continue;
            }
            if manifest.masked && object.is_secret() {
                handover.secrets.push(LeftSecret::of(&object));
                continue;
            }
            if manifest.masked {
                problems.push(NotForOthers::Sensitive { object: name });
                continue;
            }
            if manifest.random {
                problems.push(NotForOthers::Random { object: name });
                continue;
            }
            if comes {
                handover.hooks.push(name.clone());
            }
            let is_space =
                manifest.source == ManifestSource::Environment && object.gvk().kind == "Namespace";
            if is_space {
                forget_origin(&mut manifest.object);
            } else if object.namespace() != Some(namespace) {
                handover.beyond.push(name);
            }
            handover.manifests.push(manifest);
        }
        Ok(if problems.is_empty() {
            Ok(handover)
        } else {
            Err(problems)
        })
    }
}

impl LeftSecret {
    fn of(secret: &Object) -> Self {
        let value = secret.as_value();
        let keys = ["data", "stringData"].into_iter();
        let keys = keys.filter_map(|field| value[field].as_object());
        let keys = keys.flat_map(|values| values.keys().cloned());
        Self {
            name: format!(
                "{}/{}",
                secret.namespace().unwrap_or_default(),
                secret.name()
            ),
            kind: value["type"].as_str().unwrap_or("Opaque").to_owned(),
            keys: keys.collect(),
        }
    }
}

/// Removes the annotation that makes a namespace's removal part of its environment's. The controller records no
/// environment, and a rendering after the namespace exists would not have the annotation.
fn forget_origin(space: &mut Value) {
    let annotations = space.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.remove(v::CREATED);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rendered(manifests: Vec<RenderedManifest>) -> RenderedManifests {
        RenderedManifests {
            id: "shop-1.0.0".parse().unwrap(),
            namespace: "prod".parse().unwrap(),
            pull_registry: "registry.test".parse().unwrap(),
            placement: shelf::Placement::default(),
            manifests,
            reads: Vec::new(),
        }
    }

    fn manifest(source: ManifestSource, object: Value) -> RenderedManifest {
        RenderedManifest {
            source,
            random: false,
            masked: false,
            object,
        }
    }

    fn map(name: &str, annotations: &Value) -> RenderedManifest {
        let metadata = json!({ "name": name, "namespace": "prod", "annotations": annotations });
        let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
        manifest(ManifestSource::Release("web".to_owned()), object)
    }

    fn names(handover: &Handover) -> Vec<String> {
        let name = |manifest: &RenderedManifest| {
            manifest.object["metadata"]["name"]
                .as_str()
                .map(str::to_owned)
        };
        handover.manifests.iter().filter_map(name).collect()
    }

    #[test]
    fn a_secret_is_left_out_and_named_and_one_without_values_is_not() {
        let secret = |name: &str, data: Value| {
            let metadata = json!({ "name": name, "namespace": "prod" });
            let object =
                json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data });
            manifest(ManifestSource::Set("web".to_owned()), object)
        };
        let masked = RenderedManifest {
            masked: true,
            random: true,
            ..secret("a", json!({ "password": "(secret)" }))
        };
        let token = secret("token", json!({}));
        let handover = rendered(vec![masked, token]).hand_over().unwrap().unwrap();
        assert_eq!(names(&handover), ["token"]);
        let left = LeftSecret {
            name: "prod/a".to_owned(),
            kind: "Opaque".to_owned(),
            keys: vec!["password".to_owned()],
        };
        assert_eq!(handover.secrets, [left]);
    }

    #[test]
    fn what_holds_a_sensitive_value_or_is_another_one_each_time_is_refused() {
        let masked = RenderedManifest {
            masked: true,
            ..map("a", &json!({}))
        };
        let random = RenderedManifest {
            random: true,
            ..map("b", &json!({}))
        };
        let refused = rendered(vec![masked, random, map("c", &json!({}))]);
        let sensitive = NotForOthers::Sensitive {
            object: "ConfigMap prod/a".to_owned(),
        };
        let random = NotForOthers::Random {
            object: "ConfigMap prod/b".to_owned(),
        };
        assert_eq!(refused.hand_over().unwrap(), Err(vec![sensitive, random]));
    }

    #[test]
    fn what_templates_read_elsewhere_keeps_all_from_being_handed_over() {
        let read = "the templates of the release prod/web read secrets kube-system/s".to_owned();
        let refused = RenderedManifests {
            reads: vec![read.clone()],
            ..rendered(vec![map("a", &json!({}))])
        };
        let expected = Err(vec![NotForOthers::Read { read }]);
        assert_eq!(refused.hand_over().unwrap(), expected);
    }

    #[test]
    fn hooks_of_a_removal_are_left_out() {
        let hook = |name: &str, events: &str| map(name, &json!({ "helm.sh/hook": events }));
        let all = vec![
            hook("setup", "post-upgrade, Pre-Install"),
            hook("clean", "pre-delete,post-rollback"),
            map("plain", &json!({})),
        ];
        let handover = rendered(all).hand_over().unwrap().unwrap();
        assert_eq!(names(&handover), ["setup", "plain"]);
        assert_eq!(handover.hooks, ["ConfigMap prod/setup"]);
        assert_eq!(handover.left_hooks, ["ConfigMap prod/clean"]);
    }

    #[test]
    fn what_reaches_beyond_is_named_and_a_namespace_is_the_same_once_it_is_there() {
        let space = |annotations: Value| {
            let metadata = json!({ "name": "prod", "annotations": annotations });
            let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata });
            manifest(ManifestSource::Environment, object)
        };
        let role = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "nodes" } });
        let role = manifest(ManifestSource::Operator, role);
        let mut elsewhere = map("a", &json!({}));
        elsewhere.object["metadata"]["namespace"] = json!("other");
        let new = space(json!({ v::CREATED: "true", "text": "shop" }));
        let all = vec![new, role, elsewhere, map("b", &json!({}))];
        let handover = rendered(all).hand_over().unwrap().unwrap();
        assert_eq!(handover.beyond, ["ClusterRole nodes", "ConfigMap other/a"]);
        let there = space(json!({ "text": "shop" }));
        assert_eq!(handover.manifests[0], there);
    }
}

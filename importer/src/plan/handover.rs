//! What of a rendering somebody else can apply who has no plan, no consent and nowhere to keep values: a controller that
//! takes it from a registry, where more people read it than may see secrets. Pure.

use change::vocabulary as v;
use deployer::Object;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::model::error::Error;
use crate::plan::releases::hook_events;
use crate::plan::render::{ManifestSource, RenderedManifest, RenderedManifests};

/// The events of Helm that come with an installation or an upgrade: others come with what only Helm does.
const COMING: [&str; 4] = ["pre-install", "post-install", "pre-upgrade", "post-upgrade"];

/// What somebody else can apply of a rendering, and what not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Handover {
    /// The objects to apply, in the order of the rendering.
    pub manifests: Vec<RenderedManifest>,
    /// The Secrets that are left out.
    pub secrets: Vec<LeftSecret>,
    /// The hooks of charts among the objects to apply.
    pub hooks: Vec<String>,
    /// The hooks that are left out, since they run at a removal or on a way back.
    pub left_hooks: Vec<String>,
    /// The objects to apply that lie neither in the environment's namespace nor are that.
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

/// The reason why nobody else can apply an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotForOthers {
    /// It is no Secret, and holds a value that nobody is to see.
    #[error(
        "{object} contains a sensitive value that everyone with read access to the registry could read"
    )]
    Sensitive {
        /// The object.
        object: String,
    },
    /// Each rendering is another one, and nobody keeps the first.
    #[error(
        "{object} contains a random value that differs in each rendering and would not be stored"
    )]
    Random {
        /// The object.
        object: String,
    },
    /// The templates of a chart have read an object outside of the environment.
    #[error("{read}, and everyone with read access to the registry could read the result")]
    Read {
        /// The release, and the object that its templates read.
        read: String,
    },
}

impl RenderedManifests {
    /// Sorts what is rendered. It must have been rendered with words in the place of values that nobody is to see.
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
            let comes = events.iter().any(|it| COMING.contains(&it.as_str()));
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
        let keys = keys.flat_map(|it| it.keys().cloned());
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

/// Takes the mark from a namespace by which it goes with its environment: no environment is recorded, and once the namespace
/// is there another rendering would have no mark.
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
        let name =
            |it: &RenderedManifest| it.object["metadata"]["name"].as_str().map(str::to_owned);
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

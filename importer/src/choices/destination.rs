//! The destination of a deployment: its namespace, and the registry of its images. [`record`] checks that a namespace
//! is permitted and records its origin, and [`default_namespace`] derives one from the environment's name.
//! [`PushDestination`] is the registry, from the request or from the site configuration.

use std::collections::BTreeSet;

use kubernetes::Object;
use planner::{AdoptionPolicy, vocabulary as v};
use registry::RegistryAddress;
use schemas::{EnvironmentName, Namespace};
use store::MissingImagePolicy;

use crate::model::blocker::Blocker;
use crate::model::request::LeftOpen;
use crate::records::namespace_record::{NamespaceRecord, Origin};
use crate::records::site::{HeldSite, SiteFile};
use crate::records::state::ClusterState;

/// Refuses the namespaces of Kubernetes, and the namespace of our records. ConfigMaps there have the labels that select
/// an operator's objects for removal.
pub(crate) fn check_reserved(namespace: &Namespace) -> Result<(), Blocker> {
    let name = namespace.as_str();
    if name == v::RECORDS_NAMESPACE || name == "default" || name.starts_with("kube-") {
        return Err(Blocker::NamespaceReserved {
            namespace: namespace.clone(),
        });
    }
    Ok(())
}

/// Returns a blocker for each namespace of another environment that contains one of these objects or is one of them.
/// Consent can allow objects in other namespaces, but not in these.
pub(crate) fn check_neighbours<'o>(
    state: &ClusterState,
    environment: &EnvironmentName,
    objects: impl IntoIterator<Item = &'o Object>,
) -> Vec<Blocker> {
    let place = |object: &'o Object| match (object.gvk().group.as_str(), object.gvk().kind.as_str())
    {
        ("", "Namespace") => Some(object.name()),
        _ => object.namespace(),
    };
    let places: BTreeSet<&str> = objects.into_iter().filter_map(place).collect();
    let others = state.namespaces.iter().filter(|space| {
        space.environment != *environment && places.contains(space.namespace.as_str())
    });
    others
        .map(|space| Blocker::NamespaceTaken {
            namespace: space.namespace.clone(),
            environment: space.environment.clone(),
        })
        .collect()
}

/// Returns the future record of a namespace, or the reason why it cannot belong to the environment.
pub(crate) fn record(
    known: Option<&NamespaceRecord>,
    live: Option<&Object>,
    environment: &EnvironmentName,
    namespace: &Namespace,
    adopt: AdoptionPolicy,
) -> Result<NamespaceRecord, Blocker> {
    let origin = origin(known, live, environment, namespace, adopt)?;
    let new = || NamespaceRecord::new(environment.clone(), namespace.clone());
    Ok(NamespaceRecord {
        uid: live.and_then(Object::uid).map(str::to_owned),
        origin,
        ..known.cloned().unwrap_or_else(new)
    })
}

/// Returns the origin of the namespace, or the reason why it cannot belong to the environment.
fn origin(
    known: Option<&NamespaceRecord>,
    live: Option<&Object>,
    environment: &EnvironmentName,
    namespace: &Namespace,
    adopt: AdoptionPolicy,
) -> Result<Origin, Blocker> {
    let namespace = namespace.clone();
    if live.is_some_and(Object::is_being_deleted) {
        return Err(Blocker::NamespaceGoing { namespace });
    }
    if let Some(space) = known
        && space.environment != *environment
    {
        return Err(Blocker::NamespaceTaken {
            namespace,
            environment: space.environment.clone(),
        });
    }
    match (known, live) {
        (_, None) => Ok(Origin::Created),
        (Some(space), Some(live)) if space.is_of(live) => Ok(space.origin),
        (Some(space), Some(live)) if space.made(live) => Ok(Origin::Created),
        // Another user created the namespace after the record was written. It is used, but never deleted with the
        // environment.
        (Some(space), Some(_)) if space.uid.is_none() => Ok(Origin::Adopted),
        (_, Some(_)) if adopt == AdoptionPolicy::Allow => Ok(Origin::Adopted),
        (Some(_), Some(_)) => Err(Blocker::NamespaceReplaced { namespace }),
        (None, Some(live)) => {
            let label = live.labels().get(v::ENVIRONMENT).map(ToString::to_string);
            Err(Blocker::NamespaceUnowned { namespace, label })
        }
    }
}

/// Returns the default namespace of an environment, which has its name.
///
/// # Panics
///
/// Never: both names are DNS labels.
#[must_use]
pub fn default_namespace(environment: &schemas::EnvironmentName) -> Namespace {
    environment
        .as_str()
        .parse()
        .expect("an environment's name is a DNS label, as a namespace's is")
}

/// A registry that was given for images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedRegistry {
    /// The address.
    pub address: RegistryAddress,
    /// The treatment of images that it does not have.
    pub missing: MissingImagePolicy,
}

/// The destination of images, from the request or from the site configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushDestination {
    /// The registry that images are pushed to.
    pub registry: RegistryAddress,
    /// The treatment of images that the registry does not have.
    pub missing: MissingImagePolicy,
    /// The registry that nodes pull images from, if they use another address.
    pub pull_registry: Option<RegistryAddress>,
    /// The fields that the request leaves open and the site configuration sets.
    pub from_site: BTreeSet<LeftOpen>,
}

impl PushDestination {
    /// Returns the destination with these site files, without a cluster; `None` if no registry is set.
    #[must_use]
    pub fn of_files(registry: Option<RegistryAddress>, files: &[SiteFile]) -> Option<Self> {
        let missing = MissingImagePolicy::Push;
        let named = registry.map(|address| NamedRegistry { address, missing });
        Self::of(named, None, &HeldSite::new(files.to_vec()))
    }

    /// Returns the destination; `None` if neither the request nor the site configuration sets a registry.
    #[must_use]
    pub fn of(
        named: Option<NamedRegistry>,
        pull_registry: Option<RegistryAddress>,
        site: &HeldSite,
    ) -> Option<Self> {
        let mut from_site = BTreeSet::new();
        let registry = named.or_else(|| {
            let address = site.registry()?.clone();
            from_site.insert(LeftOpen::Registry);
            let missing = MissingImagePolicy::Push;
            Some(NamedRegistry { address, missing })
        })?;
        let pull_registry = pull_registry.or_else(|| {
            // The site's pull registry is another address of the site's registry only.
            let is_sites = site.registry() == Some(&registry.address);
            let known_as = site.pull_registry().filter(|_| is_sites)?;
            from_site.insert(LeftOpen::PullRegistry);
            Some(known_as.clone())
        });
        Some(Self {
            registry: registry.address,
            missing: registry.missing,
            pull_registry,
            from_site,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::records::namespace_record::tests::namespace_record;

    #[test]
    fn nothing_lies_in_a_namespace_of_another_environment_or_is_one() {
        let state = ClusterState {
            namespaces: vec![
                namespace_record("prod", "shop"),
                namespace_record("test", "shop-test"),
            ],
            ..ClusterState::default()
        };
        let found = |api_version: &str, kind: &str, namespace: Option<&str>, name: &str| {
            let metadata = json!({ "name": name, "namespace": namespace });
            let object = json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata });
            let object = Object::new(object).unwrap();
            check_neighbours(&state, &"prod".parse().unwrap(), [&object])
        };
        let taken = || {
            vec![Blocker::NamespaceTaken {
                namespace: "shop-test".parse().unwrap(),
                environment: "test".parse().unwrap(),
            }]
        };
        assert_eq!(found("v1", "Secret", Some("shop-test"), "a"), taken());
        assert_eq!(found("v1", "Namespace", None, "shop-test"), taken());
        assert_eq!(found("v1", "Secret", Some("shop"), "shop-test"), []);
        assert_eq!(found("v1", "Namespace", None, "shop"), []);
        assert_eq!(found("a.test/v1", "Namespace", None, "shop-test"), []);
    }

    #[test]
    fn a_namespace_that_an_interrupted_change_made_is_still_the_environments_own() {
        let origin_of = |annotations: serde_json::Value| {
            let live = Object::new(
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
                    "name": "prod", "uid": "a", "annotations": annotations,
                    "labels": {v::ENVIRONMENT: "prod"},
                }}),
            )
            .unwrap();
            let known = NamespaceRecord {
                origin: Origin::Created,
                ..namespace_record("prod", "prod")
            };
            let (environment, namespace) = (&known.environment, &known.namespace);
            let record = record(
                Some(&known),
                Some(&live),
                environment,
                namespace,
                AdoptionPolicy::Refuse,
            );
            record.map(|record| (record.origin, record.uid)).unwrap()
        };
        let uid = Some("a".to_owned());
        let ours = origin_of(json!({v::CREATED: "true"}));
        assert_eq!(ours, (Origin::Created, uid.clone()));
        assert_eq!(
            origin_of(json!({})),
            (Origin::Adopted, uid),
            "others were quicker"
        );
    }
}

#[cfg(test)]
mod destination_tests {
    use super::*;
    use crate::records::site::tests::held;

    fn address(text: &str) -> RegistryAddress {
        text.parse().unwrap()
    }

    /// Returns the destination as `REGISTRY PULL-REGISTRY`, with a mark at each that is from the site configuration.
    fn destination(named: Option<&str>, pull: Option<&str>, site: &str) -> Option<String> {
        let named = named.map(|text| NamedRegistry {
            address: address(text),
            missing: MissingImagePolicy::Refuse,
        });
        let is_named = named.is_some();
        let site = held(site, "{}");
        let found = PushDestination::of(named, pull.map(address), &site)?;
        // Only a registry that was given can be one without push access.
        assert_eq!(found.missing == MissingImagePolicy::Refuse, is_named);
        let marked = |what: LeftOpen, address: &RegistryAddress| {
            let mark = if found.from_site.contains(&what) {
                "*"
            } else {
                ""
            };
            format!("{address}{mark}")
        };
        let registry = marked(LeftOpen::Registry, &found.registry);
        let pull = found.pull_registry.as_ref();
        let pull = pull.map(|pull| marked(LeftOpen::PullRegistry, pull));
        Some(
            format!("{registry} {}", pull.unwrap_or_default())
                .trim_end()
                .to_owned(),
        )
    }

    #[test]
    fn what_was_named_counts_and_the_site_names_what_was_left_open_of_its_own_registry() {
        let site = "{registry: site.test/a, pullRegistry: nodes.test/a}";
        for (named, pull, site, expected) in [
            (None, None, "{}", None),
            (None, Some("n.test"), "{}", None),
            (Some("r.test"), None, "{}", Some("r.test")),
            (Some("r.test"), Some("n.test"), "{}", Some("r.test n.test")),
            (None, None, site, Some("site.test/a* nodes.test/a*")),
            (None, Some("n.test"), site, Some("site.test/a* n.test")),
            (None, None, "{registry: site.test/a}", Some("site.test/a*")),
            (Some("r.test"), None, site, Some("r.test")),
            (Some("site.test/b"), None, site, Some("site.test/b")),
            (
                Some("site.test/a"),
                None,
                site,
                Some("site.test/a nodes.test/a*"),
            ),
            (
                Some("r.test"),
                None,
                "{pullRegistry: nodes.test}",
                Some("r.test"),
            ),
        ] {
            let found = destination(named, pull, site);
            assert_eq!(found.as_deref(), expected, "{named:?}, {pull:?}, {site}");
        }
    }
}

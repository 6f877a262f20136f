//! Where the operator works, and which namespaces the release has names for.

use std::collections::BTreeSet;

use schemas::OperatorScope;

use crate::container::Container;
use crate::rights::{AccountRoles, Bound};
use manifests::Object;

/// Where the operator works, and why.
pub(crate) fn scope(
    rights: &AccountRoles<'_>,
    container: &Container,
    own: &BTreeSet<(&str, &str)>,
) -> (OperatorScope, String) {
    let cluster = |why: String| {
        let text = format!("Cluster: {why}; the administrator accepts its rights with `--accept`");
        (OperatorScope::Cluster, text)
    };
    if let Some(what) = rights.cluster_wide(own) {
        return cluster(format!(
            "the operator's roles grant {what}, which is in no namespace"
        ));
    }
    if rights.is_everywhere() && !container.watches_own {
        return cluster("its roles are bound in the whole cluster, and no variable tells it to watch its own namespace only".to_owned());
    }
    let why = if rights.is_everywhere() {
        "Namespace: the operator is told to watch its own namespace"
    } else {
        "Namespace: no role is bound in the whole cluster"
    };
    (OperatorScope::Namespace, why.to_owned())
}

/// The namespaces of the release, which a site will call otherwise.
pub(crate) fn namespaces<'a>(
    workload: &'a Object<'_>,
    rights: &AccountRoles<'a>,
) -> BTreeSet<&'a str> {
    let reaches = rights.granted.iter().map(|granted| match granted.reach {
        Bound::Namespace(namespace) => namespace,
        Bound::Cluster | Bound::Unbound => "",
    });
    reaches
        .chain([workload.namespace()])
        .filter(|namespace| !namespace.is_empty())
        .collect()
}

//! What it comes to that versions cannot be deleted from a registry.

use importer::{Error, Unprunable};

use super::Failure;
use crate::hints;

const ALLOW: &str = "have deleting allowed in the registry's configuration (docker-registry: `storage.delete.enabled: true`), then run the same command again";
const GRANT: &str = "ask the registry's administrator for the right to delete there, or log in as somebody who has it; then run the same command again";
pub(super) const REPAIR: &str = "bring its head back with `solution registry verify ARCHIVE --repair` or another import; if nobody needs the version and nobody has its archive, have the registry's administrator delete its repositories";
const OTHER_CLUSTER: &str = "check that it is the right cluster, with `--kubeconfig` and `--context`; what really nobody needs is deleted by its name and version";
const AGAIN: &str = "run the same command again, and read what it shows";

/// What to do about what is in the way.
pub(crate) fn unprunable(why: &Unprunable) -> String {
    hints::fit(match why {
        Unprunable::Needed { id, .. } => {
            let (name, version) = (id.name(), id.version());
            format!(
                "`solution unimport {name} {version} --images` deletes it, once nothing uses it"
            )
        }
        Unprunable::Absent { registry, .. } => {
            format!("`solution registry prune --registry {registry}` lists what it keeps")
        }
        Unprunable::Unread { .. } => REPAIR.to_owned(),
        Unprunable::NoRecord { .. } => OTHER_CLUSTER.to_owned(),
        Unprunable::Changed => AGAIN.to_owned(),
    })
}

/// How a deletion ends that did not come to its end.
pub(crate) fn pruning(error: Error) -> Failure {
    let cause = match &error {
        Error::NotFreed { source, .. } => source.as_ref(),
        Error::Registry(source) => source,
        _ => return error.into(),
    };
    match cause {
        registry::Error::KeepsAll { .. } => Failure::no(error).hint(ALLOW),
        registry::Error::Denied { .. } => Failure::no(error).hint(GRANT),
        _ => error.into(),
    }
}

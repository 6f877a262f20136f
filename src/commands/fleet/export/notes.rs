//! What is worth knowing of a deployment that is handed over.

use schemas::named;

use super::planned::ExportPlan;
use super::tool::GitOpsTool;

/// What is worth knowing of a deployment.
pub(super) fn notes(tool: GitOpsTool, plan: &ExportPlan) -> Vec<String> {
    let handover = &plan.handover;
    let said = |words: String, all: &[String]| {
        let all = named(all.to_vec());
        (!all.is_empty()).then(|| format!("{words}: {all}"))
    };
    let hooks = format!("hooks {}", tool.hooks());
    let left = "not exported: hooks that run on removal or rollback".to_owned();
    let beyond = "effects outside the environment".to_owned();
    let notes = [
        said(beyond, &handover.beyond),
        said(hooks, &handover.hooks),
        said(left, &handover.left_hooks),
    ];
    let secrets = handover.secrets.iter().map(|it| {
        let (name, kind, keys) = (&it.name, &it.kind, named(it.keys.clone()));
        format!("create in the cluster: Secret {name} ({kind}) with the keys {keys}")
    });
    notes.into_iter().flatten().chain(secrets).collect()
}

//! What a Solution needs at a site, for people.

use schemas::{NeededScope, NeededSolution, NeededStorageClass, Prerequisites};

/// Everything that is needed, a line each.
pub(super) fn lines(needed: &Prerequisites) -> Vec<String> {
    let solutions = needed.solutions.iter().map(solution);
    let kubernetes = needed.kubernetes.iter();
    let kubernetes = kubernetes.map(|range| format!("Kubernetes {range}"));
    let apis = needed.api_groups.iter().map(|api| format!("API {api}"));
    let class = needed.storage_class.iter().map(|class| match class {
        NeededStorageClass::Name(name) => format!("storage class {name}"),
        NeededStorageClass::Default(_) => "a default storage class".to_owned(),
    });
    let free = [("cpu", &needed.free.cpu), ("memory", &needed.free.memory)];
    let free = free.into_iter().filter_map(|(resource, amount)| {
        let amount = amount.as_ref()?;
        Some(format!("{amount} of {resource} free"))
    });
    let nodes = needed.nodes.iter();
    let nodes = nodes.map(|count| format!("schedulable nodes: {count}"));
    let all = solutions.chain(kubernetes).chain(apis);
    all.chain(class).chain(free).chain(nodes).collect()
}

fn solution(needed: &NeededSolution) -> String {
    let (name, version) = (&needed.name, &needed.version);
    match needed.scope {
        NeededScope::Environment => format!("{name} {version} in the same environment"),
        NeededScope::Cluster => format!("{name} {version} in any environment"),
    }
}

#[cfg(test)]
mod tests {
    use schemas::yaml;

    use super::*;

    #[test]
    fn everything_that_is_needed_is_shown() {
        let needed = "{solutions: [{name: db, version: '>=1.2, <2'}, {name: cni, version: '*', scope: cluster}], \
            kubernetes: '>=1.30', apiGroups: [v1], storageClass: {name: fast}, free: {cpu: '2', memory: 4Gi}, nodes: 3}";
        let lines = lines(&yaml::from_slice(needed.as_bytes()).unwrap());
        assert_eq!(
            lines,
            [
                "db >=1.2, <2 in the same environment",
                "cni * in any environment",
                "Kubernetes >=1.30",
                "API v1",
                "storage class fast",
                "2 of cpu free",
                "4Gi of memory free",
                "schedulable nodes: 3",
            ]
        );
    }
}

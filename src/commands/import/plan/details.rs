//! The details of a plan: the sources of its values, and what is done beside the changes.

use importer::{
    LeftOpen, PlanSummary, PlannedDefault, PlannedHelm, PlannedLaterPods, PlannedParameter,
    PlannedPatch, PlannedProof, PlannedTarget, SiteValue,
};
use shelf::PathLayout;

use super::super::show::flag;
use super::lines::Lines;
use crate::args::choose;
use crate::render;

impl Lines {
    pub(super) fn details(&mut self, plan: &PlanSummary) {
        if plan.placement.layout == PathLayout::Flat {
            let words = "flat: each image has a repository directly below the prefix";
            self.row("layout", words);
        }
        if !plan.placement.has_mirrors() {
            let words = "none: nodes find images only by their addresses";
            self.row("mirrors", words);
        }
        if let Some(target) = &plan.target {
            self.of_target(target);
        }
        for default in &plan.defaults {
            self.row("default", &default_words(default));
        }
    }

    fn of_target(&mut self, target: &PlannedTarget) {
        if let Some(PlannedHelm { version, included }) = &target.helm {
            let whose = choose(
                *included,
                "included in the archive: the publisher's program",
                "this machine's",
            );
            self.row("helm", &format!("{version}, {whose}"));
        }
        if let Some(PlannedProof {
            image,
            architectures,
        }) = &target.pull_proof
        {
            let on = match architectures.as_slice() {
                [] => "a node".to_owned(),
                known => render::list(known),
            };
            self.row("proof", &format!("a pod pulls {image} on {on} first"));
        }
        for SiteValue { field, value, from } in &target.site {
            self.row("site", &format!("{field} {value} ({from})"));
        }
        for PlannedParameter { name, value, from } in &target.parameters {
            self.row("parameter", &format!("{name} {value} ({from})"));
        }
        for PlannedPatch { object, from } in &target.patches {
            self.row("patch", &format!("{object} ({from})"));
        }
        if !target.cleanup.is_empty() {
            let cleanup = render::list(&target.cleanup);
            self.row(
                "cleanup",
                &format!("applied before it is removed: {cleanup}"),
            );
        }
        if let Some(later) = &target.later_pods {
            self.later_pods(later);
        }
    }

    /// The pods that have no pull secret when they are created later, and how to log in on the nodes.
    fn later_pods(&mut self, later: &PlannedLaterPods) {
        let PlannedLaterPods {
            host,
            namespace,
            secret,
            ..
        } = later;
        let namespaces = render::list(&later.namespaces);
        self.row("login", &format!("pods created later outside of {namespaces}, or with their own ServiceAccounts, have no pull secret for {host}"));
        // The kubelet's own login is in the form of the Secret.
        self.also("to log in for all pods, put a login into /var/lib/kubelet/config.json (mode 0600) on each node; this command prints the file's content, including the password:");
        self.also(&format!("kubectl --namespace {namespace} get secret {secret} --output go-template='{{{{index .data \".dockerconfigjson\" | base64decode}}}}'"));
    }
}

/// The source of a value that was not requested; the overview has registries and the namespace themselves.
fn default_words(default: &PlannedDefault) -> String {
    let PlannedDefault { what, value, why } = default;
    match what {
        LeftOpen::Registry | LeftOpen::PullRegistry | LeftOpen::Namespace => {
            format!("{}: {why}", flag(*what))
        }
        LeftOpen::PullSecret => format!("{} {value} ({why})", flag(*what)),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::json;

    use super::super::lines::Detail;
    use super::super::summary::summary;
    use super::*;

    #[test]
    fn a_default_does_not_repeat_a_value_of_the_overview() {
        let default = |what, value: &str, why| PlannedDefault {
            what,
            value: value.to_owned(),
            why: Cow::Borrowed(why),
        };
        let mut plan = summary(&json!({}));
        plan.defaults = vec![
            default(
                LeftOpen::Namespace,
                "prod",
                "the namespace of the environment",
            ),
            default(LeftOpen::PullSecret, "login", "unchanged"),
        ];
        let mut lines = Lines::new(Detail::Full);
        lines.details(&plan);
        let expected = [
            "default   --namespace: the namespace of the environment",
            "default   --pull-secret login (unchanged)",
        ];
        assert_eq!(lines.lines, expected);
    }
}

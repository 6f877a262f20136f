//! The ids with their meanings: findings, blockers and capabilities.

use archive::Feature;
use rules::catalogue::FINDINGS;
use schemars::schema_for;
use serde_json::Value;

use super::fields::{ExplainedField, class_of, text_of};
use super::{ExplainedKind, Explanation};

/// Every id, in the order of the references.
pub(super) fn all() -> Vec<Explanation> {
    let findings = FINDINGS.iter().map(|finding| Explanation {
        id: finding.id.to_owned(),
        kind: ExplainedKind::Finding,
        class: Some(finding.severity.word().to_owned()),
        text: finding.summary.to_owned(),
        fix: Some(finding.fix.to_owned()),
        fields: Vec::new(),
    });
    let capabilities = Feature::ALL.into_iter().map(|feature| Explanation {
        id: feature.capability().to_string(),
        kind: ExplainedKind::Capability,
        class: None,
        text: capability(feature).to_owned(),
        fix: None,
        fields: Vec::new(),
    });
    let schema = schema_for!(importer::Obstacle).to_value();
    let mut blockers = Vec::new();
    add_blockers(&schema, &schema, &mut blockers);
    findings.chain(blockers).chain(capabilities).collect()
}

/// Adds the blockers of a schema of alternatives, of which some are such schemas themselves.
fn add_blockers(root: &Value, group: &Value, found: &mut Vec<Explanation>) {
    let choices = ["anyOf", "oneOf"].into_iter();
    for choice in choices.filter_map(|key| group[key].as_array()).flatten() {
        if let Some(reference) = choice["$ref"].as_str() {
            let below = root.pointer(reference.trim_start_matches('#'));
            add_blockers(root, below.unwrap_or(&Value::Null), found);
        } else if let Some(id) = choice["properties"]["id"]["const"].as_str() {
            let fields = choice["properties"].as_object().into_iter().flatten();
            let fields = fields.filter(|(name, _)| *name != "id");
            found.push(Explanation {
                id: id.to_owned(),
                kind: ExplainedKind::Blocker,
                class: None,
                text: text_of(choice),
                fix: None,
                fields: fields
                    .map(|(name, field)| ExplainedField {
                        name: name.clone(),
                        class: class_of(root, field),
                        text: text_of(field),
                    })
                    .collect(),
            });
        }
    }
}

fn capability(feature: Feature) -> &'static str {
    match feature {
        Feature::Charts => "The archive contains Helm charts.",
        Feature::ChartsAsHelm => {
            "The archive contains Helm charts with files that only Helm's own readers accept, or CRDs with a conversion webhook."
        }
        Feature::ForeignLayers => {
            "Layers of images in the archive have addresses at other places too, such as layers of Windows base images."
        }
        Feature::Manifests => {
            "The archive contains sets of manifests that are applied as they are, or parameters."
        }
        Feature::OperatorTemplate => {
            "The manifest has a template for the Deployment of the operator."
        }
        Feature::Prerequisites => {
            "The manifest has prerequisites of a deployment, or the archive has no images."
        }
        Feature::Programs => "The archive includes programs for the site, such as helm.",
        Feature::ProgramsInHead => {
            "A draft of `programs-1.0.0`: the programs are below `bin/`. Only archives that a site imported earlier have it."
        }
        Feature::Referrers => {
            "The archive contains signatures, SBOMs or other referrers that are found by the name of an image."
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_id_is_explained_once() {
        let all = all();
        let ids: BTreeSet<&str> = all.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids.len(), all.len());
        assert!(all.iter().all(|it| !it.text.is_empty()));
        for id in ["images.empty", "crd-too-new", "not-carried", "charts-1.0.0"] {
            assert!(ids.contains(id), "{id}");
        }
    }
}

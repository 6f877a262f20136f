//! The content of `solution explain` and of the manual pages: the ids of findings, blockers and capabilities with their
//! meanings, and the documents that users write. The descriptions come from the rules and the JSON Schemas, so that
//! they cannot differ from them. The schemas are compiled into the program, because sites have no access to the
//! internet.

use archive::Feature;
use clap::ValueEnum;
use clap_mangen::roff::{Roff, bold, roman};
use rules::catalogue::FINDINGS;
use schemars::schema_for;
use serde_json::Value;

use super::{ExplainedField, ExplainedKind, Explanation, class_of, explain, text_of};

/// Returns every id, in the order of the references.
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
    let schema = schema_for!(importer::Blocker).to_value();
    let mut blockers = Vec::new();
    add_blockers(&schema, &schema, &mut blockers);
    findings.chain(blockers).chain(capabilities).collect()
}

/// Adds the blockers of a schema with alternatives, some of which have alternatives themselves.
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

/// The number of nested levels of fields that a page shows. No document has more.
const LEVELS: usize = 8;

/// Returns the pages, each with its file name.
pub(in crate::commands) fn pages() -> Vec<(String, Vec<u8>)> {
    let site = "the site configuration, `site.yaml`";
    let fleet = "the fleet file, `fleet.yaml`";
    vec![
        findings(),
        document("site", site, "solution-site(1), solution-explain(1)"),
        document("fleet", fleet, "solution-fleet(1), solution-explain(1)"),
    ]
}

/// Returns the page of all ids that `solution explain` explains, in groups.
fn findings() -> (String, Vec<u8>) {
    let about = "findings, blockers and capabilities";
    let mut page = begin("solution-findings", "7", about);
    paragraph(
        &mut page,
        "DESCRIPTION",
        "The ids are stable: scripts can rely on them. `solution explain ID` prints one entry.",
    );
    let ids = all();
    for (kind, title, about) in [
        (
            ExplainedKind::Finding,
            "FINDINGS",
            "The findings of `solution validate`. `pack` and `import` report the same. An error refuses the archive; a warning does not, unless a policy of the publisher says so.",
        ),
        (
            ExplainedKind::Blocker,
            "BLOCKERS",
            "The reasons why a plan cannot be applied.",
        ),
        (
            ExplainedKind::Capability,
            "CAPABILITIES",
            "An archive requires capabilities of the program that reads it. `solution version` lists those that this version has.",
        ),
    ] {
        paragraph(&mut page, title, about);
        for explained in ids.iter().filter(|explained| explained.kind == kind) {
            entry(&mut page, &explained.id, explained);
            if let Some(fix) = &explained.fix {
                page.control("RS", []);
                page.text([roman(format!("Fix: {fix}."))]);
                page.control("RE", []);
            }
        }
    }
    paragraph(
        &mut page,
        "SEE ALSO",
        "solution-explain(1), solution-validate(1)",
    );
    finish("solution-findings", "7", &page)
}

/// Returns the page of all fields of a document.
fn document(name: &str, about: &str, see_also: &str) -> (String, Vec<u8>) {
    let page_name = format!("solution-{name}");
    let mut page = begin(&page_name, "5", about);
    let explained = explained(name);
    paragraph(&mut page, "DESCRIPTION", &explained.text);
    let fields = "A field is named by its path, without indexes of lists.";
    paragraph(&mut page, "FIELDS", fields);
    add_fields(&mut page, &explained, name, 0);
    paragraph(&mut page, "SEE ALSO", see_also);
    finish(&page_name, "5", &page)
}

fn add_fields(page: &mut Roff, above: &Explanation, document: &str, level: usize) {
    for field in &above.fields {
        let below = explained(&format!("{}.{}", above.id, field.name));
        if level < LEVELS {
            let path = below.id.trim_start_matches(document);
            entry(page, path.trim_start_matches('.'), &below);
            add_fields(page, &below, document, level + 1);
        }
    }
}

fn explained(path: &str) -> Explanation {
    explain(path).expect("a schema has the fields that it lists")
}

fn begin(name: &str, section: &str, about: &str) -> Roff {
    let mut page = Roff::new();
    let source = concat!("solution ", env!("CARGO_PKG_VERSION"));
    page.control("TH", [name, section, "", source]);
    page.control("SH", ["NAME"]);
    page.text([roman(format!("{name} - {about}"))]);
    page
}

fn finish(name: &str, section: &str, page: &Roff) -> (String, Vec<u8>) {
    let mut bytes = Vec::new();
    page.to_writer(&mut bytes)
        .expect("writing to memory does not fail");
    (format!("{name}.{section}"), bytes)
}

fn paragraph(page: &mut Roff, title: &str, text: &str) {
    page.control("SH", [title]);
    page.text([roman(text)]);
}

fn entry(page: &mut Roff, name: &str, explained: &Explanation) {
    let class = explained.class.as_ref();
    let class = class.map(|class| format!(" ({class})")).unwrap_or_default();
    page.control("TP", []);
    page.text([bold(name), roman(class)]);
    page.text([roman(explained.text.as_str())]);
}

/// A document that has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaDocument {
    /// solution.yaml, the source of an archive
    SolutionSource,
    /// site.yaml, the site configuration
    Site,
    /// fleet.yaml, the fleet file
    Fleet,
    /// The Solutions that a site imports and activates
    SolutionsConfiguration,
    /// A trust policy
    TrustPolicy,
    /// A findings policy
    FindingsPolicy,
    /// manifest.yaml in an archive
    Solution,
    /// operator.yaml, the configuration that an import gives to an operator
    OperatorConfig,
}

/// The names of the documents.
pub(in crate::commands) fn document_names() -> Vec<String> {
    let values = SchemaDocument::value_variants().iter();
    let values = values.filter_map(ValueEnum::to_possible_value);
    values.map(|value| value.get_name().to_owned()).collect()
}

/// The JSON Schema of the document of this name.
pub(in crate::commands) fn document_schema(name: &str) -> Option<&'static str> {
    let document = SchemaDocument::from_str(name, false);
    document.ok().map(SchemaDocument::text)
}

impl SchemaDocument {
    pub(in crate::commands) fn text(self) -> &'static str {
        match self {
            Self::SolutionSource => include_str!("../../../schemas/solution-source.schema.json"),
            Self::Site => include_str!("../../../schemas/site.schema.json"),
            Self::Fleet => include_str!("../../../schemas/fleet.schema.json"),
            Self::SolutionsConfiguration => {
                include_str!("../../../schemas/solutions-configuration.schema.json")
            }
            Self::FindingsPolicy => include_str!("../../../schemas/findings-policy.schema.json"),
            Self::TrustPolicy => include_str!("../../../schemas/trust-policy.schema.json"),
            Self::Solution => include_str!("../../../schemas/solution.schema.json"),
            Self::OperatorConfig => include_str!("../../../schemas/operator-config.schema.json"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rules::catalogue::FINDINGS;

    use super::*;

    #[test]
    fn every_id_is_explained_once() {
        let all = all();
        let ids: BTreeSet<&str> = all.iter().map(|explained| explained.id.as_str()).collect();
        assert_eq!(ids.len(), all.len());
        assert!(all.iter().all(|explained| !explained.text.is_empty()));
        for id in ["images.empty", "crd-too-new", "not-carried", "charts-1.0.0"] {
            assert!(ids.contains(id), "{id}");
        }
    }

    /// Returns the text of a page, without the escapes of roff.
    fn page(name: &str) -> String {
        let page = pages().into_iter().find(|(file, _)| file == name);
        String::from_utf8(page.unwrap().1)
            .unwrap()
            .replace('\\', "")
    }

    #[test]
    fn the_page_of_findings_has_every_id() {
        let page = page("solution-findings.7");
        let findings = FINDINGS.iter().map(|finding| finding.id);
        for id in findings.chain(["crd-too-new", "charts-1.0.0"]) {
            assert!(page.contains(&format!("\nfB{id}fR")), "{id}");
        }
    }

    #[test]
    fn the_pages_of_files_have_every_field() {
        for (name, deepest) in [
            ("site", "spec.workloads.set.securityContext.runAsUser"),
            ("fleet", "spec.groups.selector.matchExpressions.key"),
        ] {
            let page = page(&format!("solution-{name}.5"));
            assert!(page.contains(&format!("\nfB{deepest}fR")), "{page}");
            let mut open = vec![name.to_owned()];
            while let Some(path) = open.pop() {
                for field in explained(&path).fields {
                    let below = format!("{path}.{}", field.name);
                    let shown = below.split_once('.').unwrap().1;
                    assert!(page.contains(&format!("\nfB{shown}fR")), "{shown}");
                    open.push(below);
                }
            }
        }
    }
}

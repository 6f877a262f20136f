//! The manual pages of sections 5 and 7: ids with their meanings, and the files that users write.

use clap_mangen::roff::{Roff, bold, roman};

use super::{ExplainedKind, Explanation, catalogue, fields};

/// The levels of fields that a page shows: more than any of the files has.
const LEVELS: usize = 8;

/// The pages, each with the name of its file.
pub(in crate::commands) fn pages() -> Vec<(String, Vec<u8>)> {
    let site = "the site configuration, `site.yaml`";
    let fleet = "the fleet file, `fleet.yaml`";
    vec![
        findings(),
        document("site", site, "solution-site(1), solution-explain(1)"),
        document("fleet", fleet, "solution-fleet(1), solution-explain(1)"),
    ]
}

/// Every id that `solution explain` explains, in its groups.
fn findings() -> (String, Vec<u8>) {
    let about = "findings, blockers and capabilities";
    let mut page = begin("solution-findings", "7", about);
    paragraph(
        &mut page,
        "DESCRIPTION",
        "The ids are stable: scripts can rely on them. `solution explain ID` prints one entry.",
    );
    let ids = catalogue::all();
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

/// Every field of a file.
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
    fields::explain(path).expect("a schema has the fields that it lists")
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

#[cfg(test)]
mod tests {
    use rules::catalogue::FINDINGS;

    use super::*;

    /// The text of a page, without the escapes of roff.
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

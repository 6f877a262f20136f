//! SARIF 2.1.0 (OASIS): one run, with every rule of the catalogue and a result for each finding. It has the fields that
//! GitHub requires for uploads.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use rules::catalogue::{FINDINGS, FindingInfo};
use schemas::Digest;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use validator::{Finding, IgnoredFinding};

use super::{Checked, Review, ReviewPlace};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// The base of paths in the checkout, as GitHub names it.
const ROOT: &str = "%SRCROOT%";
/// The only fingerprint that GitHub reads.
const FINGERPRINT: &str = "primaryLocationLineHash";
/// The number of hexadecimal digits of a fingerprint. 128 bits are enough to distinguish findings.
const FINGERPRINT_LENGTH: usize = 32;

/// Returns the document.
pub(super) fn log(review: &Review<'_>) -> Value {
    let findings = review.judged.findings.iter();
    let findings = findings.map(|finding| result(review.checked, finding, None));
    let ignored = review.judged.ignored.iter();
    let ignored = ignored.map(|ignored| result(review.checked, &ignored.finding, Some(ignored)));
    let mut results: Vec<Value> = findings.chain(ignored).collect();
    number_alike(&mut results);
    let notes = review.notes.iter();
    let notes = notes.map(|note| json!({ "level": "note", "message": { "text": note } }));
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "solution",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": FINDINGS.iter().map(rule).collect::<Vec<_>>(),
            } },
            "invocations": [{
                "executionSuccessful": true,
                "toolConfigurationNotifications": notes.collect::<Vec<_>>(),
            }],
            "results": results,
        }],
    })
}

fn rule(info: &FindingInfo) -> Value {
    json!({
        "id": info.id,
        "shortDescription": { "text": info.summary },
        "fullDescription": { "text": info.summary },
        "help": { "text": info.fix },
        "defaultConfiguration": { "level": info.severity.word() },
        "properties": { "tags": [info.group()] },
    })
}

fn result(checked: Checked<'_>, finding: &Finding, ignored: Option<&IgnoredFinding>) -> Value {
    let suppressions = ignored.iter().map(|ignored| {
        let mut suppression = json!({ "kind": "external" });
        if let Some(reason) = &ignored.reason {
            suppression["justification"] = json!(reason);
        }
        suppression
    });
    json!({
        "ruleId": finding.id,
        "ruleIndex": FINDINGS.iter().position(|info| info.id == finding.id),
        "level": finding.severity.word(),
        "message": { "text": text(finding) },
        "locations": [location(checked, finding)],
        "partialFingerprints": { FINGERPRINT: fingerprint(finding) },
        "suppressions": suppressions.collect::<Vec<_>>(),
    })
}

/// Returns the problem and its place in the archive, because few tools show logical locations.
fn text(finding: &Finding) -> String {
    let (place, message) = (&finding.place, &finding.message);
    let colon = if place.is_empty() { "" } else { ": " };
    let text = format!("{place}{colon}{message}");
    // A text from an archive must not become a link, such as `[text](address)`.
    if text.contains("](") {
        return text.replace('[', "\\[").replace(']', "\\]");
    }
    text
}

fn location(checked: Checked<'_>, finding: &Finding) -> Value {
    let ReviewPlace { path, line, column } = checked.place(finding);
    let mut physical = json!({ "artifactLocation": artifact(&path) });
    if let Some(line) = line {
        physical["region"] = json!({ "startLine": line });
    }
    if let Some(column) = column {
        physical["region"]["startColumn"] = json!(column);
    }
    let mut location = json!({ "physicalLocation": physical });
    if !finding.place.is_empty() {
        location["logicalLocations"] = json!([{ "fullyQualifiedName": finding.place }]);
    }
    location
}

/// Returns the location of a path. A relative path is relative to the checkout.
fn artifact(path: &Path) -> Value {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(escaped(name.as_encoded_bytes())),
        Component::ParentDir => Some("..".to_owned()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    let parts = parts.collect::<Vec<_>>().join("/");
    if path.is_absolute() {
        return json!({ "uri": format!("file:///{parts}") });
    }
    json!({ "uri": parts, "uriBaseId": ROOT })
}

/// Escapes a name for a URI (RFC 3986). All but unreserved characters are escaped, so that no name is a scheme or a
/// query.
fn escaped(name: &[u8]) -> String {
    let escape = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(*byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    name.iter().map(escape).collect()
}

/// Appends a number to repeated fingerprints, because tools would take results with equal fingerprints for one.
fn number_alike(results: &mut [Value]) {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for result in results {
        let print = &mut result["partialFingerprints"][FINGERPRINT];
        let text = print.as_str().unwrap_or_default().to_owned();
        let count = seen.entry(text.clone()).or_default();
        *count += 1;
        if *count > 1 {
            *print = json!(format!("{text}:{count}"));
        }
    }
}

/// Returns a fingerprint that stays the same in later versions of the files, even if the finding has moved within its
/// file.
fn fingerprint(finding: &Finding) -> String {
    let mut hash = Sha256::new();
    let file = finding.source.as_ref().map_or("", |source| &source.file);
    for part in [finding.id, file, &finding.place, &finding.message] {
        hash.update(part);
        hash.update([0]);
    }
    let hash = Digest::new(hash.finalize().into());
    hash.hex()[..FINGERPRINT_LENGTH].to_owned()
}

#[cfg(test)]
mod tests {
    use rules::catalogue::practice;
    use validator::SourcePlace;

    use super::*;

    fn finding() -> Finding {
        Finding {
            id: practice::LATEST.id,
            severity: practice::LATEST.severity,
            place: "images/app/latest".to_owned(),
            message: "the tag is `latest`".to_owned(),
            source: None,
            fix: practice::LATEST.fix,
        }
    }

    fn at(file: &str, line: Option<u32>) -> Finding {
        let file = file.to_owned();
        Finding {
            source: Some(SourcePlace {
                file,
                line,
                column: None,
            }),
            ..finding()
        }
    }

    #[test]
    fn paths_are_relative_to_the_checkout_or_absolute() {
        let uri = |path: &str| artifact(Path::new(path))["uri"].clone();
        for (path, shown) in [
            ("./shop/../a b/x:y.yaml", "shop/../a%20b/x%3Ay.yaml"),
            ("../shop/solution.yaml", "../shop/solution.yaml"),
            ("/srv/é?#%/a.iso", "file:///srv/%C3%A9%3F%23%25/a.iso"),
            (".", ""),
        ] {
            assert_eq!(uri(path), shown);
        }
        assert_eq!(artifact(Path::new("a"))["uriBaseId"], ROOT);
        assert_eq!(artifact(Path::new("/a")).get("uriBaseId"), None);
    }

    #[test]
    fn a_finding_stands_in_its_file_or_in_the_one_that_it_comes_from() {
        let tree = Checked::Tree(Path::new("./shop"));
        let place = |finding: &Finding| {
            let mut it = location(tree, finding)["physicalLocation"].take();
            let uri = it["artifactLocation"]["uri"].take();
            (uri, it["region"]["startLine"].take())
        };
        let shown = |uri: &str, line: u32| (json!(uri), json!(line));
        let role = at("operator/role.yaml", Some(7));
        assert_eq!(place(&role), shown("shop/operator/role.yaml", 7));
        assert_eq!(place(&at("a.yaml", None)), shown("shop/a.yaml", 1));
        assert_eq!(place(&finding()), shown("shop/solution.yaml", 1));
        let archive = location(Checked::Archive(Path::new("shop.iso")), &role);
        let logical = &archive["logicalLocations"][0]["fullyQualifiedName"];
        assert_eq!(logical, "images/app/latest");
        let physical = &archive["physicalLocation"];
        assert_eq!(physical["artifactLocation"]["uri"], "shop.iso");
        assert_eq!(physical.get("region"), None);
    }

    #[test]
    fn a_fingerprint_stays_while_a_finding_moves() {
        let of = |file, line| fingerprint(&at(file, Some(line)));
        assert_eq!(of("a.yaml", 1), of("a.yaml", 9));
        let all = [of("a.yaml", 1), of("b.yaml", 1), fingerprint(&finding())];
        assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2]);
        assert_eq!(all[0].len(), 32);
    }

    #[test]
    fn findings_alike_are_told_apart() {
        let print = |print: &str| json!({ "partialFingerprints": { FINGERPRINT: print } });
        let mut results = ["a", "b", "a", "a"].map(print);
        number_alike(&mut results);
        assert_eq!(results, ["a", "b", "a:2", "a:3"].map(print));
    }

    #[test]
    fn an_archive_makes_no_link() {
        let said = |message: &str| {
            let (place, message) = (String::new(), message.to_owned());
            text(&Finding {
                place,
                message,
                ..finding()
            })
        };
        assert_eq!(said("spec.versions[0] is [x]"), "spec.versions[0] is [x]");
        assert_eq!(said("[here](https://x.test)"), r"\[here\](https://x.test)");
    }
}

//! Normalisation of syft's output: [`normal`]. It replaces the time of the run and random ids, and sorts all lists, so
//! that the same image has the same SBOM on every machine.

use schemas::StatementTime;
use serde_json::Value;

use crate::format::SbomFormat;

/// The prefix of the namespaces of SPDX documents. It is followed by the digest of the rest of the document, because
/// the specification requires a unique namespace for each document.
const NAMESPACE: &str = "https://solutions.metalk8s.scality.com/spdx/";

/// The lists whose order has no meaning.
const LISTS: [&str; 5] = [
    "packages",
    "files",
    "relationships",
    "components",
    "dependencies",
];

/// Returns the normalised document as compact JSON with sorted keys.
pub(crate) fn normal(format: SbomFormat, mut document: Value, time: StatementTime) -> Vec<u8> {
    for list in LISTS {
        if let Some(Value::Array(entries)) = document.get_mut(list) {
            entries.sort_by_cached_key(Value::to_string);
        }
    }
    let time = Value::from(time.to_string());
    let (own, at) = match format {
        SbomFormat::Spdx => ("documentNamespace", "/creationInfo/created"),
        SbomFormat::CycloneDx => ("serialNumber", "/metadata/timestamp"),
    };
    if let Some(said) = document.pointer_mut(at) {
        *said = time;
    }
    if let Value::Object(fields) = &mut document {
        // The id is derived from the rest of the document.
        fields.remove(own);
        let rest = files::digest(Value::Object(fields.clone()).to_string().as_bytes()).hex();
        let id = match format {
            SbomFormat::Spdx => format!("{NAMESPACE}{rest}"),
            SbomFormat::CycloneDx => format!("urn:uuid:{}", uuid(&rest)),
        };
        fields.insert(own.to_owned(), id.into());
    }
    document.to_string().into_bytes()
}

/// Derives a UUID (RFC 9562, version 8) from a digest.
fn uuid(hex: &str) -> String {
    let (time, rest) = (&hex[..8], &hex[20..32]);
    let [middle, version, variant] = [8..12, 13..16, 17..20].map(|part| &hex[part]);
    format!("{time}-{middle}-8{version}-8{variant}-{rest}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn normal_text(format: SbomFormat, document: Value) -> String {
        let bytes = normal(format, document, StatementTime::DEFAULT);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn what_differs_between_two_runs_is_gone_and_nothing_else() {
        let spdx = |lot: &str, packages: Value, name: &str| {
            let document = json!({
                "creationInfo": {"created": lot, "creators": ["Tool: syft-1", "Organization: a"]},
                "documentNamespace": lot,
                "name": name,
                "packages": packages,
            });
            normal_text(SbomFormat::Spdx, document)
        };
        let one = spdx("1", json!([{"name": "b"}, {"name": "a"}]), "app");
        assert_eq!(one, spdx("2", json!([{"name": "a"}, {"name": "b"}]), "app"));
        assert!(one.contains(r#""created":"1980-01-01T00:00:00Z","creators":["Tool: syft-1""#));
        let other = spdx("1", json!([{"name": "b"}, {"name": "a"}]), "web");
        let namespace = |text: &str| {
            let document: Value = serde_json::from_str(text).unwrap();
            document["documentNamespace"].as_str().unwrap().to_owned()
        };
        assert!(namespace(&one).starts_with(NAMESPACE));
        assert_ne!(namespace(&one), namespace(&other));
    }

    #[test]
    fn a_serial_number_is_a_uuid() {
        let cyclonedx = |lot: &str| {
            let document = json!({"serialNumber": lot, "metadata": {"timestamp": lot}});
            normal_text(SbomFormat::CycloneDx, document)
        };
        assert_eq!(cyclonedx("1"), cyclonedx("2"));
        let hex = "0123456789abcdef0123456789abcdef";
        assert_eq!(uuid(hex), "01234567-89ab-8def-8123-456789abcdef");
    }
}

//! The summary of an SBOM: the tool that created it and the number of packages ([`SbomSummary`]). It parses only the
//! fields that it needs, of SPDX and of CycloneDX documents.

use schemas::printable_within;
use serde::Deserialize;
use serde_json::Value;

use crate::error::SbomError;
use crate::format::SbomFormat;
use crate::limits;

/// The summary of an SBOM. It is not verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SbomSummary {
    /// The tools that created it, according to the document; empty if it names none.
    pub tool: String,
    /// The number of packages.
    pub packages: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SpdxDocument {
    creation_info: SpdxCreation,
    #[serde(default)]
    packages: Vec<SpdxPackage>,
}

#[derive(Deserialize)]
struct SpdxCreation {
    #[serde(default)]
    creators: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SpdxPackage {
    primary_package_purpose: Option<PackagePurpose>,
}

/// The purpose of a package. Of SPDX's purposes, `CONTAINER` designates the image itself.
#[derive(Deserialize, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
enum PackagePurpose {
    Container,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct CycloneDxDocument {
    metadata: Option<CycloneDxMetadata>,
    #[serde(default)]
    components: Vec<CycloneDxComponent>,
}

#[derive(Deserialize)]
struct CycloneDxMetadata {
    tools: Option<Value>,
}

#[derive(Deserialize)]
struct CycloneDxComponent {
    #[serde(rename = "type")]
    kind: ComponentKind,
}

/// The type of a component. All types except for these are packages.
#[derive(Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum ComponentKind {
    OperatingSystem,
    File,
    #[serde(other)]
    Package,
}

impl SbomSummary {
    /// Parses an SBOM.
    pub fn read(format: SbomFormat, bytes: &[u8]) -> Result<Self, SbomError> {
        let (tool, packages) = match format {
            SbomFormat::Spdx => {
                let document: SpdxDocument =
                    serde_json::from_slice(bytes).map_err(SbomError::Document)?;
                let creators = document.creation_info.creators.iter();
                let tools = creators.filter_map(|creator| creator.strip_prefix("Tool: "));
                let packages = document.packages.iter();
                let is_image = |package: &&SpdxPackage| {
                    package.primary_package_purpose == Some(PackagePurpose::Container)
                };
                let packages = packages.filter(|package| !is_image(package)).count();
                (tools.collect::<Vec<_>>().join(", "), packages)
            }
            SbomFormat::CycloneDx => {
                let document: CycloneDxDocument =
                    serde_json::from_slice(bytes).map_err(SbomError::Document)?;
                let tools = document.metadata.and_then(|metadata| metadata.tools);
                let packages = document
                    .components
                    .iter()
                    .filter(|component| component.kind == ComponentKind::Package)
                    .count();
                (
                    tools
                        .map(|tools| cyclonedx_tools(&tools))
                        .unwrap_or_default(),
                    packages,
                )
            }
        };
        Ok(Self {
            tool: printable_within(&tool, limits::TEXT),
            packages,
        })
    }
}

/// Joins the tools of a CycloneDX document: a list up to version 1.4, components and services in later versions.
fn cyclonedx_tools(tools: &Value) -> String {
    let list = tools.as_array().or_else(|| tools["components"].as_array());
    let tools = list.into_iter().flatten().filter_map(|tool| {
        let name = tool["name"].as_str()?;
        Some(match tool["version"].as_str() {
            Some(version) => format!("{name}-{version}"),
            None => name.to_owned(),
        })
    });
    tools.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(format: SbomFormat, text: &str) -> (String, usize) {
        let summary = SbomSummary::read(format, text.as_bytes()).unwrap();
        (summary.tool, summary.packages)
    }

    #[test]
    fn tools_and_packages_are_counted_in_both_forms() {
        let spdx = r#"{"creationInfo": {"creators": ["Organization: a", "Tool: syft-1.2"]},
            "packages": [{"name": "a"}, {"primaryPackagePurpose": "CONTAINER"}, {"primaryPackagePurpose": "LIBRARY"}]}"#;
        assert_eq!(said(SbomFormat::Spdx, spdx), ("syft-1.2".to_owned(), 2));
        let components = r#""components": [{"type": "library"}, {"type": "operating-system"}]"#;
        for tools in [
            r#"[{"vendor": "a", "name": "syft", "version": "1.2"}]"#,
            r#"{"components": [{"name": "syft", "version": "1.2"}]}"#,
        ] {
            let text = format!(r#"{{"metadata": {{"tools": {tools}}}, {components}}}"#);
            assert_eq!(
                said(SbomFormat::CycloneDx, &text),
                ("syft-1.2".to_owned(), 1)
            );
        }
        assert_eq!(said(SbomFormat::CycloneDx, "{}"), (String::new(), 0));
        let error = SbomSummary::read(SbomFormat::Spdx, b"{}").unwrap_err();
        assert!(matches!(error, SbomError::Document(_)), "{error}");
    }
}

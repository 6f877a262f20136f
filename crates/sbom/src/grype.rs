//! Runs of `grype`, which matches an SBOM against a vulnerability database, except for the vulnerabilities that VEX
//! documents exclude. The database is a local directory or archive: nothing is downloaded.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use progress::Cancel;
use schemars::JsonSchema;
use schemas::{StatementTime, printable_within};
use serde::{Deserialize, Serialize};

use crate::error::SbomError;
use crate::limits;
use crate::tool::{Tool, ToolRun};

/// The program `grype`.
#[derive(Debug)]
pub struct Grype {
    tool: Tool,
    vex: Vec<PathBuf>,
}

/// A vulnerability database in grype's format.
#[derive(Debug)]
pub struct VulnerabilityDatabase {
    directory: PathBuf,
    status: DatabaseStatus,
}

/// What a database of vulnerabilities says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all(deserialize = "camelCase"))]
pub struct DatabaseStatus {
    /// The version of its schema.
    #[serde(rename(deserialize = "schemaVersion"))]
    pub schema: String,
    /// When it was built.
    pub built: StatementTime,
}

/// How bad a vulnerability is, by the database.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all(serialize = "lowercase"))]
pub enum Rating {
    /// Critical.
    Critical,
    /// High.
    High,
    /// Medium.
    Medium,
    /// Low.
    Low,
    /// Negligible.
    Negligible,
    /// Nobody has rated it, or in a word that is not known here.
    #[serde(other)]
    Unknown,
}

/// A known vulnerability of a package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Vulnerability {
    /// How bad it is, by the database.
    pub rating: Rating,
    /// Its id.
    pub id: String,
    /// The package that has it.
    pub package: String,
    /// The version of the package.
    pub version: String,
    /// The versions that do not have it any more.
    pub fixed_in: Vec<String>,
}

#[derive(Deserialize)]
struct Matched {
    #[serde(default)]
    matches: Vec<Match>,
}

#[derive(Deserialize)]
struct Match {
    vulnerability: MatchedVulnerability,
    artifact: MatchedPackage,
}

#[derive(Deserialize)]
struct MatchedVulnerability {
    id: String,
    severity: Rating,
    fix: Option<MatchedFix>,
}

#[derive(Deserialize)]
struct MatchedFix {
    versions: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct MatchedPackage {
    name: String,
    version: String,
}

impl Grype {
    /// Checks the program at a path by asking for its version. Databases are unpacked below `scratch`.
    pub fn from_path(program: &Path, scratch: &Path) -> Result<Self, SbomError> {
        let tool = Tool::open("grype", program, scratch)?;
        let vex = Vec::new();
        Ok(Self { tool, vex })
    }

    /// The version that the program reports.
    #[must_use]
    pub fn version(&self) -> &str {
        self.tool.version()
    }

    /// Adds a VEX document. The vulnerabilities that it declares irrelevant are omitted from the results.
    pub fn add_vex(&mut self, document: &[u8]) -> Result<(), SbomError> {
        let name = format!("vex-{}.json", self.vex.len());
        let path = self.tool.write(&name, document)?;
        self.vex.push(path);
        Ok(())
    }

    /// Opens a database: an archive of a database, which is unpacked and deleted with this value, or a directory in
    /// which grype stores one.
    pub fn open(
        &self,
        database: &Path,
        cancel: Cancel<'_>,
    ) -> Result<VulnerabilityDatabase, SbomError> {
        let read = |source| files::failed(database, source);
        let given = database.canonicalize().map_err(read)?;
        let directory = if given.is_dir() {
            given
        } else {
            let directory = self.tool.path("database");
            let mut import = ToolRun::new(["db".into(), "import".into(), given.into()]);
            import.database = Some(&directory);
            import.time = limits::IMPORTING;
            self.tool.run(&import, cancel)?;
            directory
        };
        let mut status = ToolRun::new(["db".into(), "status".into()]);
        status.database = Some(&directory);
        status.flag("output", "json");
        let mut status: DatabaseStatus = self.tool.printed(&self.tool.run(&status, cancel)?)?;
        status.schema = printable_within(&status.schema, limits::TEXT);
        Ok(VulnerabilityDatabase { directory, status })
    }

    /// Returns the vulnerabilities of the packages in an SBOM without duplicates, the most severe first.
    pub fn find_vulnerabilities(
        &self,
        sbom: &[u8],
        database: &VulnerabilityDatabase,
        cancel: Cancel<'_>,
    ) -> Result<Vec<Vulnerability>, SbomError> {
        let mut document = OsString::from("sbom:");
        document.push(self.tool.write("sbom.json", sbom)?);
        let mut run = ToolRun::new([document]);
        run.database = Some(&database.directory);
        run.time = limits::MATCHING;
        run.output = limits::MATCHES_SIZE;
        run.flag("output", "json");
        for path in &self.vex {
            run.flag("vex", path);
        }
        let matched: Matched = self.tool.printed(&self.tool.run(&run, cancel)?)?;
        Ok(vulnerabilities(&matched))
    }
}

impl VulnerabilityDatabase {
    /// The version and build time of the database.
    #[must_use]
    pub fn status(&self) -> &DatabaseStatus {
        &self.status
    }
}

fn vulnerabilities(matched: &Matched) -> Vec<Vulnerability> {
    let text = |text: &str| printable_within(text, limits::TEXT);
    let found = matched.matches.iter().map(|entry| Vulnerability {
        rating: entry.vulnerability.severity,
        id: text(&entry.vulnerability.id),
        package: text(&entry.artifact.name),
        version: text(&entry.artifact.version),
        fixed_in: {
            let fix = entry.vulnerability.fix.as_ref();
            let versions = fix.and_then(|fix| fix.versions.as_deref());
            versions
                .unwrap_or_default()
                .iter()
                .map(|version| text(version))
                .collect()
        },
    });
    let mut found: Vec<Vulnerability> = found.collect();
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_sorted_by_how_bad_they_are_and_each_is_there_once() {
        let found = |severity: &str, id: &str, fix: &str| {
            format!(
                r#"{{"vulnerability": {{"id": "{id}", "severity": "{severity}", "fix": {fix}}},
                "artifact": {{"name": "a\u001b", "version": "1", "locations": null}}}}"#
            )
        };
        let matches = [
            found("Low", "CVE-1", r#"{"versions": ["2"]}"#),
            found("Critical", "CVE-2", r#"{"versions": null}"#),
            found("Dreadful", "CVE-3", "null"),
            found("Low", "CVE-1", r#"{"versions": ["2"]}"#),
        ];
        let text = format!(
            r#"{{"matches": [{}], "descriptor": {{}}}}"#,
            matches.join(",")
        );
        let found = vulnerabilities(&serde_json::from_str(&text).unwrap());
        let shown = found.iter().map(|vulnerability| {
            (
                vulnerability.rating,
                &*vulnerability.id,
                vulnerability.fixed_in.len(),
            )
        });
        let expected = [
            (Rating::Critical, "CVE-2", 0),
            (Rating::Low, "CVE-1", 1),
            (Rating::Unknown, "CVE-3", 0),
        ];
        assert!(shown.eq(expected), "{found:?}");
        assert_eq!(found[0].package, r"a\u{1b}");
    }

    #[test]
    fn the_status_of_a_database_has_its_version_and_time() {
        let status = |text: &str| serde_json::from_str::<DatabaseStatus>(text);
        let found = status(
            r#"{"schemaVersion": "v6.1.3", "from": "https://grype.anchore.io", "built": "2026-11-01T06:07:08Z", "valid": true}"#,
        );
        let found = found.unwrap();
        assert_eq!(found.schema, "v6.1.3");
        assert_eq!(found.built.to_string(), "2026-11-01T06:07:08Z");
        // Results name the field as documented, not as grype does.
        let shown = serde_json::to_value(&found).unwrap();
        let expected = serde_json::json!({"schema": "v6.1.3", "built": "2026-11-01T06:07:08Z"});
        assert_eq!(shown, expected);
        for text in [
            r#"{"built": "2026-11-01T06:07:08Z"}"#,
            r#"{"schemaVersion": "v6.1.3"}"#,
            r#"{"schemaVersion": "v6.1.3", "built": "yesterday"}"#,
            r#"{"schemaVersion": 6, "built": "2026-11-01T06:07:08Z"}"#,
        ] {
            assert!(status(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_severity_is_one_of_grypes_or_unknown() {
        let expected = [
            ("Critical", Rating::Critical, "critical"),
            ("High", Rating::High, "high"),
            ("Medium", Rating::Medium, "medium"),
            ("Low", Rating::Low, "low"),
            ("Negligible", Rating::Negligible, "negligible"),
            ("Unknown", Rating::Unknown, "unknown"),
            ("", Rating::Unknown, "unknown"),
            ("critical", Rating::Unknown, "unknown"),
        ];
        for (text, rating, shown) in expected {
            let found: Rating = serde_json::from_value(text.into()).unwrap();
            assert_eq!(found, rating, "{text}");
            assert_eq!(serde_json::to_value(found).unwrap(), shown, "{text}");
        }
        // The order of results: the most severe first.
        assert!(expected.is_sorted_by_key(|(_, rating, _)| *rating));
    }

    #[test]
    fn a_report_without_matches_has_no_vulnerabilities_and_one_with_half_a_match_is_refused() {
        let read = |text: &str| {
            let report = serde_json::from_str::<Matched>(text);
            report.map(|report| vulnerabilities(&report).len())
        };
        let complete = r#"{"vulnerability": {"id": "CVE-1", "severity": "Low"}, "artifact": {"name": "a", "version": "1"}}"#;
        for (text, expected) in [
            ("{}".to_owned(), Some(0)),
            (r#"{"matches": []}"#.to_owned(), Some(0)),
            (format!(r#"{{"matches": [{complete}]}}"#), Some(1)),
            ("null".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(read(&text).ok(), expected, "{text}");
        }
        for field in [
            r#""id": "CVE-1", "#,
            r#", "severity": "Low""#,
            r#", "version": "1""#,
        ] {
            let text = format!(r#"{{"matches": [{}]}}"#, complete.replace(field, ""));
            assert!(read(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn long_texts_of_a_report_are_cut() {
        let long = "x".repeat(limits::TEXT * 2);
        let text = format!(
            r#"{{"matches": [{{"vulnerability": {{"id": "{long}", "severity": "Low", "fix": {{"versions": ["{long}"]}}}}, "artifact": {{"name": "{long}", "version": "{long}"}}}}]}}"#
        );
        let found = vulnerabilities(&serde_json::from_str(&text).unwrap());
        let [
            Vulnerability {
                id,
                package,
                version,
                fixed_in,
                ..
            },
        ] = &found[..]
        else {
            panic!("{found:?}");
        };
        for text in [id, package, version, &fixed_in[0]] {
            assert!(text.chars().count() <= limits::TEXT + 3, "{}", text.len());
        }
    }
}

//! The archive of an imported version ([`ImportedVersion`]). It is read from the site's registry and checked in the same
//! way as its media were.

use std::path::Path;

use progress::Cancel;
use registry::{Client, RegistryAddress};
use store::Record;
use validator::{AcceptedArchive, Finding, Report};

use crate::model::error::Error;

/// An accepted archive.
#[derive(Debug)]
pub struct CheckedArchive {
    /// The archive.
    pub accepted: AcceptedArchive,
    /// The findings that do not prevent acceptance.
    pub findings: Vec<Finding>,
}

/// An imported version, with its archive.
#[derive(Debug)]
pub struct ImportedVersion {
    /// The archive.
    pub archive: CheckedArchive,
    /// The client of the registry that contains it.
    pub client: Client,
    /// The registry that contains it.
    pub registry: RegistryAddress,
    /// The name that nodes use for the registry.
    pub pull_registry: RegistryAddress,
}

impl ImportedVersion {
    /// Reads and checks the archive of a version. `client` is the client of the record's registry, and `scratch` the
    /// directory for temporary files. Returns the report if the archive is not accepted.
    pub async fn check(
        record: &Record,
        client: Client,
        scratch: &Path,
        cancel: Cancel<'static>,
    ) -> Result<Result<Self, Box<Report>>, Error> {
        let (registry, pull_registry) = (record.registry()?, record.pull_registry()?);
        let report = store::check(&client, record, scratch, cancel).await?;
        let findings = report.findings().to_vec();
        Ok(report.accept().map(|accepted| Self {
            archive: CheckedArchive { accepted, findings },
            client,
            registry,
            pull_registry,
        }))
    }
}

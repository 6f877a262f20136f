//! Helm charts from registries and chart repositories ([`oci_chart`], [`repository_chart`]) with their provenance
//! files. A chart is requested by its exact version or by a digest, and its archive is read into memory through the
//! cache.
//!
//! The index of a repository may only refer to HTTPS URLs or to registries. The archive is compared with the digest in
//! the index, and the reader of the chart compares its name and version.

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use charts::{ArtifactProblem, IndexedVersion, content, limits, provenance};
use registry::{ImageLocation, Reference, RegistryManifest, WebSite};
use schemas::{ChartPin, OciChart, RepositoryChart};

use crate::blob::BlobOrigin;
use crate::error::SourceError;
use crate::remote::{INDEX, SourceNetwork};

/// The prefix of a URL in a repository's index that refers to a chart in a registry.
const OCI: &str = "oci://";

/// Returns the archive of a chart in a registry.
pub fn oci_chart(chart: &OciChart, network: &SourceNetwork<'_>) -> Result<Vec<u8>, SourceError> {
    let artifact = Artifact::ask(chart, network)?;
    let content =
        content(&artifact.manifest.bytes).map_err(|problem| artifact.unusable(problem))?;
    network.read_small_blob(&artifact.origin, &content)
}

/// Returns the provenance file of a chart in a registry, or `None` if there is none.
pub fn oci_provenance(
    chart: &OciChart,
    network: &SourceNetwork<'_>,
) -> Result<Option<Vec<u8>>, SourceError> {
    let artifact = Artifact::ask(chart, network)?;
    let layer =
        provenance(&artifact.manifest.bytes).map_err(|problem| artifact.unusable(problem))?;
    let read = layer.map(|layer| network.read_small_blob(&artifact.origin, &layer));
    read.transpose()
}

/// The artifact of a chart in a registry.
struct Artifact {
    origin: BlobOrigin,
    manifest: RegistryManifest,
    name: PathBuf,
}

impl Artifact {
    fn ask(chart: &OciChart, network: &SourceNetwork<'_>) -> Result<Self, SourceError> {
        let reference: Reference = match &chart.pin {
            ChartPin::Version(version) => version.tag().into(),
            ChartPin::Digest(digest) => (*digest).into(),
        };
        let location = ImageLocation::from_name(&chart.repository, reference)?;
        let origin = network.origin(&location)?;
        let manifest = network.document(&origin, location.reference())?;
        Ok(Self {
            name: origin.name(location.reference()),
            origin,
            manifest,
        })
    }

    fn unusable(&self, problem: ArtifactProblem) -> SourceError {
        SourceError::Artifact(self.name.clone(), Box::new(problem))
    }
}

/// Returns the archive of a chart in a chart repository.
pub fn repository_chart(
    chart: &RepositoryChart,
    network: &SourceNetwork<'_>,
) -> Result<Vec<u8>, SourceError> {
    let (site, IndexedVersion { url, digest }) = find_in_index(chart, network)?;
    if let Some(digest) = digest
        && let Some(bytes) = network.read_cached(digest, limits::ARCHIVE_SIZE)?
    {
        return Ok(bytes);
    }
    // Some repositories only list charts in registries.
    let bytes = if let Some(chart) = url.strip_prefix(OCI) {
        oci_chart(&chart.parse()?, network)?
    } else {
        let limit = usize::try_from(limits::ARCHIVE_SIZE).unwrap_or(usize::MAX);
        network.file(&site, &url, limit)?.to_vec()
    };
    let found = files::digest(&bytes);
    match digest {
        Some(expected) if expected != found => Err(SourceError::ChartDigest { expected, found }),
        _ => {
            network.keep(&bytes)?;
            Ok(bytes)
        }
    }
}

/// Returns the provenance file of a chart in a chart repository, which is next to its archive, or `None` if there is
/// none.
pub fn repository_provenance(
    chart: &RepositoryChart,
    network: &SourceNetwork<'_>,
) -> Result<Option<Vec<u8>>, SourceError> {
    let (site, IndexedVersion { url, .. }) = find_in_index(chart, network)?;
    if let Some(chart) = url.strip_prefix(OCI) {
        return oci_provenance(&chart.parse()?, network);
    }
    match network.file(&site, &format!("{url}.prov"), limits::PROVENANCE) {
        Ok(bytes) => Ok(Some(bytes.to_vec())),
        Err(SourceError::Registry(registry::Error::Missing(..))) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the location of a chart according to the index of its repository.
fn find_in_index(
    chart: &RepositoryChart,
    network: &SourceNetwork<'_>,
) -> Result<(WebSite, IndexedVersion), SourceError> {
    let RepositoryChart { url, name, version } = chart;
    let site = network.site(url)?;
    let index = network.index(url, &site)?;
    let listed = charts::find(&index, name, version);
    let listed = listed.map_err(|source| SourceError::Index(INDEX, Box::new(source)))?;
    Ok((site, listed))
}

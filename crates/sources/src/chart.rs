//! Charts that are not on the disk: each is asked for by its whole version or a digest, and its archive comes into memory,
//! through the cache.
//!
//! What the index of a repository says is believed as far as what it names is HTTPS, or a registry; the archive is compared
//! with the digest that it gives, and whoever reads the chart compares name and version.

#[cfg(test)]
mod tests;

use charts::{Listed, content, limits};
use registry::{ImageLocation, Reference};
use schemas::{ChartPin, OciChart, RepositoryChart};

use crate::error::SourceError;
use crate::remote::{INDEX, Network};

/// The archive of a chart in a registry.
pub fn oci_chart(chart: &OciChart, network: &Network<'_>) -> Result<Vec<u8>, SourceError> {
    let reference: Reference = match &chart.pin {
        ChartPin::Version(version) => version.tag().into(),
        ChartPin::Digest(digest) => (*digest).into(),
    };
    let location = ImageLocation::at(&chart.repository, reference)?;
    let origin = network.origin(&location)?;
    let manifest = network.document(&origin, location.reference())?;
    let content = content(&manifest.bytes).map_err(|source| SourceError::Artifact {
        name: origin.name(location.reference()),
        source: Box::new(source),
    })?;
    network.small(&origin, &content)
}

/// The archive of a chart in a repository of charts.
pub fn repository_chart(
    chart: &RepositoryChart,
    network: &Network<'_>,
) -> Result<Vec<u8>, SourceError> {
    let RepositoryChart { url, name, version } = chart;
    let site = network.site(url)?;
    let index = network.index(url, &site)?;
    let listed = charts::find(&index, name, version);
    let Listed { url, digest } = listed.map_err(|source| SourceError::Index {
        file: INDEX,
        source: Box::new(source),
    })?;
    if let Some(digest) = digest
        && let Some(bytes) = network.kept(digest, limits::ARCHIVE_SIZE)?
    {
        return Ok(bytes);
    }
    // Some repositories only list what registries have.
    let bytes = if let Some(chart) = url.strip_prefix("oci://") {
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

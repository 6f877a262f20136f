//! Signatures of charts: `helm` verifies each, with the keys that its publisher trusts, before anything is rendered.

use std::path::Path;

use helm::{Helm, HelmError, Provenance, limits};
use schemas::{ChartSource, SourceChart};
use sources::SourceNetwork;
use watch::Watch;

use crate::Event;
use crate::charts::{self, LoadedChart};
use crate::error::PackError;
use crate::render::ChartRenderer;

/// Refuses charts of this directory that no key of this keyring signed. What is elsewhere is asked of `network`.
pub(crate) fn check(
    charts: &[(&SourceChart, &LoadedChart)],
    directory: &Path,
    keyring: &Path,
    renderer: &ChartRenderer,
    network: &SourceNetwork<'_>,
    watch: &Watch<'_, Event>,
) -> Result<(), PackError> {
    let keyring = files::read(keyring, limits::KEYRING)?;
    if charts.is_empty() {
        return Ok(());
    }
    let program = match renderer {
        ChartRenderer::Helm(Some(program)) => program,
        ChartRenderer::Helm(None) | ChartRenderer::Nothing => return Err(PackError::NoVerifier),
    };
    let helm = Helm::at(program).map_err(PackError::Verifier)?;
    for (source, chart) in charts {
        let release = &source.name;
        let found = read(&source.source, directory, network)?;
        let provenance = found.ok_or_else(|| {
            let (release, from) = (release.clone(), source.source.clone());
            match from {
                ChartSource::Dir(_) => PackError::SignedDirectory(release),
                from => PackError::NoProvenance { release, from },
            }
        })?;
        let signed = Provenance {
            chart: chart.bytes(),
            name: &chart.release.chart,
            version: &chart.release.version,
            provenance: &provenance,
            keyring: &keyring,
        };
        let said = helm.verify(&signed, watch.cancel);
        let said = said.map_err(|error| match error {
            HelmError::Cancelled(cancelled) => archive::WriteError::from(cancelled).into(),
            source => PackError::Unverified {
                release: release.clone(),
                source,
            },
        })?;
        (watch.tell)(Event::Verified(release.clone(), key(&said)));
    }
    Ok(())
}

/// The provenance file of a chart; none if there is none.
fn read(
    source: &ChartSource,
    directory: &Path,
    network: &SourceNetwork<'_>,
) -> Result<Option<Vec<u8>>, PackError> {
    let elsewhere = match source {
        ChartSource::Dir(_) => return Ok(None),
        ChartSource::File(file) => return charts::provenance(&directory.join(file)),
        ChartSource::Oci(chart) => sources::oci_provenance(chart, network),
        ChartSource::Repository(chart) => sources::repository_provenance(chart, network),
    };
    elsewhere.map_err(|error| PackError::no_chart(source, error))
}

/// The fingerprint in what Helm says of a key; nothing if it says it in other words.
fn key(said: &str) -> Option<String> {
    let mut lines = said.lines();
    let key = lines.find_map(|line| line.strip_prefix("Using Key With Fingerprint: "));
    let is_one = |it: &&str| !it.is_empty() && it.chars().all(|c| c.is_ascii_hexdigit());
    key.filter(is_one).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_what_helm_says() {
        let said = "Signed by: a <a@b.test>\nUsing Key With Fingerprint: 0AF1\nChart Hash Verified: sha256:0\n";
        assert_eq!(key(said).as_deref(), Some("0AF1"));
        assert_eq!(key("Using Key With Fingerprint: \u{1b}[2J"), None);
        assert_eq!(key("Using Key With Fingerprint: "), None);
        assert_eq!(key(""), None);
    }
}

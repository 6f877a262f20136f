//! The verification of signed charts. [`check`] lets `helm` verify the provenance file of each chart with the
//! publisher's keyring before any chart is rendered.

use std::path::Path;

use helm::{Helm, HelmError, Provenance, limits};
use progress::Watch;
use rules::catalogue::{FindingInfo, advice, source};
use schemas::ChartSource;
use sources::SourceNetwork;
use validator::ErrorChain;

use crate::Event;
use crate::charts::{self, LoadedChart};
use crate::error::PackError;
use crate::problems::SourceProblems;
use crate::render::ChartRenderer;

/// Adds findings for charts that no key in this keyring signed, and returns true if there are none. `network` provides
/// remote provenance files.
pub(crate) fn check(
    charts: &[LoadedChart],
    keyring: &Path,
    renderer: &ChartRenderer,
    network: &SourceNetwork<'_>,
    problems: &mut SourceProblems<'_>,
    watch: &Watch<'_, Event>,
) -> Result<bool, PackError> {
    let keyring = files::read(keyring, limits::KEYRING)?;
    if charts.is_empty() {
        return Ok(true);
    }
    let program = match renderer {
        ChartRenderer::Helm(Some(program)) => program,
        ChartRenderer::Helm(None) | ChartRenderer::Nothing => return Err(PackError::NoVerifier),
    };
    let helm = Helm::from_path(program).map_err(PackError::Verifier)?;
    let mut are_signed = true;
    for chart in charts {
        let field = format!("{}.source", chart.field);
        let provenance = match read(&chart.source, &problems.files.directory, network) {
            Err(PackError::Read(error)) => problems.read(&field, Err(error))?,
            read => Some(read?),
        };
        let verified =
            provenance.map(|bytes| verify(chart, bytes.as_deref(), &helm, &keyring, watch));
        match verified.transpose() {
            Ok(Some(key)) => (watch.tell)(Event::Verified(chart.release.name.clone(), key)),
            Ok(None) => are_signed = false,
            Err(UnsignedChart::Refused(info, words)) => {
                let message = format_args!("the chart `{}` {words}", chart.release.name);
                problems.at_field(&info, &field, message);
                are_signed = false;
            }
            Err(UnsignedChart::Failed(error)) => return Err(error),
        }
    }
    Ok(are_signed)
}

/// The reason why a chart does not count as signed.
enum UnsignedChart {
    /// The chart is at fault: the finding, and its message after the name of the chart.
    Refused(FindingInfo, String),
    /// The verification failed for another reason.
    Failed(PackError),
}

/// Verifies a chart with its provenance file, and returns the fingerprint of the key if Helm prints it.
fn verify(
    chart: &LoadedChart,
    provenance: Option<&[u8]>,
    helm: &Helm,
    keyring: &[u8],
    watch: &Watch<'_, Event>,
) -> Result<Option<String>, UnsignedChart> {
    let Some(provenance) = provenance else {
        return Err(match &chart.source {
            ChartSource::Dir(_) => {
                let words = "is a directory, and only a packaged chart can be signed";
                UnsignedChart::Refused(advice::UNPACKED, words.to_owned())
            }
            from => {
                let words = format!("is not signed: `{from}` has no provenance file");
                UnsignedChart::Refused(advice::NO_PROVENANCE, words)
            }
        });
    };
    let signed = Provenance {
        chart: chart.bytes(),
        name: &chart.release.chart,
        version: &chart.release.version,
        provenance,
        keyring,
    };
    match helm.verify(&signed, watch.cancel) {
        Ok(said) => Ok(key(&said)),
        Err(HelmError::Cancelled(cancelled)) => Err(UnsignedChart::Failed(cancelled.into())),
        Err(error @ HelmError::Failed { .. }) => {
            let error = ErrorChain(&error);
            let words = format!("is not what a key of the keyring signed: {error}");
            Err(UnsignedChart::Refused(source::SIGNATURE, words))
        }
        Err(error) => Err(UnsignedChart::Failed(PackError::Verifier(error))),
    }
}

/// Returns the provenance file of a chart; `None` if it has none.
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

/// Returns the fingerprint in the output of Helm; `None` if the output has another format.
fn key(said: &str) -> Option<String> {
    let mut lines = said.lines();
    let key = lines.find_map(|line| line.strip_prefix("Using Key With Fingerprint: "));
    let is_one =
        |digits: &&str| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit());
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

//! Verification of a chart's provenance file: [`Helm::verify`]. `helm verify` checks the signature, so users get the
//! same result with Helm itself.

use progress::Cancel;
use schemas::{ChartName, ChartVersion};

use crate::error::HelmError;
use crate::limits;
use crate::program::Helm;
use crate::run::HelmRun;

/// A signed chart with its provenance file.
#[derive(Clone, Copy, Debug)]
pub struct Provenance<'a> {
    /// The chart's archive.
    pub chart: &'a [u8],
    /// The chart's name. Together with the version, it is the name of the signed file.
    pub name: &'a ChartName,
    /// The chart's version.
    pub version: &'a ChartVersion,
    /// The provenance file.
    pub provenance: &'a [u8],
    /// The public keys in the format of `GnuPG` keyrings or exports.
    pub keyring: &'a [u8],
}

impl Helm {
    /// Verifies that one of the keys signed exactly this chart. Returns Helm's description of the key. This opens no
    /// socket.
    pub fn verify(&self, signed: &Provenance<'_>, cancel: Cancel<'_>) -> Result<String, HelmError> {
        let home = self.home()?;
        let write = |name: &str, bytes| home.write(name, bytes).map_err(|error| self.failed(error));
        // The provenance file contains the name of the signed file.
        let name = format!("{}-{}.tgz", signed.name, signed.version);
        let chart = write(&name, signed.chart)?;
        write(&format!("{name}.prov"), signed.provenance)?;
        let keyring = write("keyring", signed.keyring)?;
        let mut run = HelmRun::new(&home, "verify");
        run.time = limits::VERIFYING;
        run.arguments([chart.into()]);
        run.flag("keyring", keyring);
        let said = self.run(&run, cancel)?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }
}

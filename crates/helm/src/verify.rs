//! Whether a chart is what somebody signed.

use schemas::{ChartName, ChartVersion};
use watch::Cancel;

use crate::error::HelmError;
use crate::limits;
use crate::program::Helm;
use crate::run::HelmRun;

/// A chart, and what says who signed it.
#[derive(Clone, Copy, Debug)]
pub struct Provenance<'a> {
    /// The chart's archive.
    pub chart: &'a [u8],
    /// The chart's name; with its version it is the name of the file that was signed.
    pub name: &'a ChartName,
    /// The chart's version.
    pub version: &'a ChartVersion,
    /// The provenance file.
    pub provenance: &'a [u8],
    /// The public keys, as `GnuPG` exports or keeps them.
    pub keyring: &'a [u8],
}

impl Helm {
    /// Verifies that one of these keys signed exactly this chart, and returns what Helm says of the key. This opens no socket.
    pub fn verify(&self, signed: &Provenance<'_>, cancel: Cancel<'_>) -> Result<String, HelmError> {
        let home = self.home()?;
        let write = |name: &str, bytes| home.write(name, bytes).map_err(|it| self.failed(it));
        // The name is part of what was signed.
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

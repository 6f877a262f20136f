//! The files of plans: an envelope that several people sign, and the plan in it.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::anyhow;
use deployer::Conflicts;
use importer::{
    Adopt, Allowed, ChangeSigners, CreateEnvironment, Downgrade, ForgetSigners, Migrate, PlanFile,
    Unproved,
};
use schemas::{Envelope, EnvelopeError, PayloadType, limits};
use shelf::Replace;

use crate::failure::{self, Failure, cannot};
use crate::own::{self, Modes, Write};
use crate::{disk, render};

/// How every envelope begins; no image does.
const START: &[u8] = b"{\"payload\":\"";

/// A plan, and who signed it.
pub(crate) struct SignedPlan {
    pub(crate) envelope: Envelope,
    pub(crate) file: PlanFile,
}

/// Reads the plan in a file.
pub(crate) fn read(path: &Path) -> Result<SignedPlan, Failure> {
    let bytes = bytes(path)?;
    parse(&bytes).map_err(|error| failure::no_plan(path, error))
}

/// Reads the plan in a file, unless it is an archive, or its statement alone.
pub(crate) fn recognise(path: &Path) -> Result<Option<SignedPlan>, Failure> {
    // What cannot be read is for whoever opens the archive to say.
    if !is_envelope(path).unwrap_or(false) {
        return Ok(None);
    }
    let bytes = bytes(path)?;
    match Envelope::from_slice_of(PayloadType::Plan, &bytes) {
        Err(EnvelopeError::PayloadType(..)) => Ok(None),
        Err(_) if bytes.len() == limits::ENVELOPE_SIZE => Ok(None),
        _ => read(path).map(Some),
    }
}

fn is_envelope(path: &Path) -> io::Result<bool> {
    // Opening a pipe would wait for a writer, so look first.
    if !std::fs::metadata(path)?.is_file() {
        return Ok(false);
    }
    let mut start = [0; START.len()];
    File::open(path)?.read_exact(&mut start)?;
    Ok(start == START)
}

fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    files::read(path, limits::PLAN_SIZE as u64).map_err(Failure::unknown)
}

fn parse(bytes: &[u8]) -> anyhow::Result<SignedPlan> {
    let envelope = Envelope::from_slice_of(PayloadType::Plan, bytes)?;
    let file = PlanFile::from_slice(envelope.payload())?;
    Ok(SignedPlan { envelope, file })
}

/// Writes a plan that nobody signed yet, where there is no file. Whoever reads it sees what a dry run shows, and no
/// secret, so its mode is that of any other file.
pub(crate) fn write_new(path: &Path, file: &PlanFile) -> Result<(), Failure> {
    let envelope = Envelope::of(PayloadType::Plan, file.to_bytes());
    let envelope = envelope.map_err(|error| failure::no_plan(path, error.into()))?;
    disk::write_new(path, 0o644, &envelope.to_bytes())
}

/// Writes a plan with its signatures in the place of what it was, unless somebody else was quicker.
pub(crate) fn replace(path: &Path, was: &Envelope, envelope: &Envelope) -> Result<(), Failure> {
    if bytes(path)? != was.to_bytes() {
        let changed = anyhow!("somebody else changed `{}` in the meantime", path.display());
        return Err(Failure::unknown(changed).hint("run the same command again"));
    }
    let written = || {
        // A link stays one, and the file keeps its mode.
        let place = path.canonicalize()?;
        let mode = place.metadata()?.permissions().mode() & 0o777;
        let modes = Modes {
            file: mode,
            folder: 0o777,
        };
        own::write(&place, &envelope.to_bytes(), modes, Write::Replace)
    };
    written().map_err(cannot("write", path))
}

/// What a plan is, before what it does.
pub(crate) fn show(file: &PlanFile) {
    render::line!("plan      {}", file.id());
    render::line!("planned   {} by {}", file.at, file.by);
    let allowed = allowed(file.allowed());
    if !allowed.is_empty() {
        render::line!("allows    {}", render::list(allowed));
    }
}

/// What was allowed beyond the ordinary, as it was typed: whoever approves the plan allows it too.
fn allowed(allowed: Allowed) -> Vec<&'static str> {
    let Allowed {
        adopt,
        replace,
        signers,
        forget,
        conflicts,
        migrate,
        unproved,
        downgrade,
        create,
    } = allowed;
    let all = [
        (adopt.namespace == Adopt::Allow, "--adopt namespace"),
        (adopt.crds == Adopt::Allow, "--adopt crds"),
        (adopt.objects == Adopt::Allow, "--adopt objects"),
        (replace == Replace::Allow, "--replace"),
        (signers == ChangeSigners::Allow, "--change-signers"),
        (forget == ForgetSigners::Allow, "--forget-signers"),
        (conflicts == Conflicts::Force, "--force-conflicts"),
        (migrate == Migrate::Allow, "--migrate"),
        (unproved == Unproved::Allow, "--no-pull-proof"),
        (downgrade == Downgrade::Allow, "--allow-downgrade"),
        (create == CreateEnvironment::Allow, "--create-environment"),
    ];
    let given = all.into_iter().filter(|(given, _)| *given);
    given.map(|(_, flag)| flag).collect()
}

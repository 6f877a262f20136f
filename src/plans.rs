//! The files of plans: an envelope that several people sign, and the plan in it, of a deployment or of a fleet.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::anyhow;
use deployer::Conflicts;
use importer::{
    Adopt, Allowed, ChangeSigners, CreateEnvironment, Downgrade, FleetPlanFile, ForgetSigners,
    Migrate, PlanFile, Unproved, person,
};
use schemas::{Digest, Envelope, EnvelopeError, PayloadType, limits};
use shelf::Replace;

use crate::failure::{self, Failure, cannot};
use crate::own::{self, Modes, Write};
use crate::{disk, render};

/// How every envelope begins; no image does.
const START: &[u8] = b"{\"payload\":\"";

/// A plan, and who signed it.
pub(crate) struct SignedPlan<F> {
    pub(crate) envelope: Envelope,
    pub(crate) file: F,
}

/// A plan of either kind.
pub(crate) enum FoundPlan {
    OfDeployment(Box<SignedPlan<PlanFile>>),
    OfFleet(SignedPlan<FleetPlanFile>),
}

impl FoundPlan {
    pub(crate) fn envelope(&self) -> &Envelope {
        match self {
            Self::OfDeployment(plan) => &plan.envelope,
            Self::OfFleet(plan) => &plan.envelope,
        }
    }

    /// SHA-256 of the plan.
    pub(crate) fn id(&self) -> Digest {
        match self {
            Self::OfDeployment(plan) => plan.file.id(),
            Self::OfFleet(plan) => plan.file.id(),
        }
    }
}

/// Reads the plan of a deployment in a file.
pub(crate) fn read(path: &Path) -> Result<SignedPlan<PlanFile>, Failure> {
    match found(path)? {
        FoundPlan::OfDeployment(plan) => Ok(*plan),
        FoundPlan::OfFleet(_) => Err(other(path, "is the plan of a fleet")
            .hint("apply it with `solution fleet apply FLEET_FILE --plan FILE`")),
    }
}

/// Reads the plan of a fleet in a file.
pub(crate) fn read_of_fleet(path: &Path) -> Result<SignedPlan<FleetPlanFile>, Failure> {
    match found(path)? {
        FoundPlan::OfFleet(plan) => Ok(plan),
        FoundPlan::OfDeployment(_) => Err(other(path, "is a plan for one cluster")
            .hint("apply it with `solution apply --plan FILE`")),
    }
}

fn other(path: &Path, is: &str) -> Failure {
    Failure::no(anyhow!("`{}` {is}", path.display()))
}

/// Reads the plan in a file, unless it is an archive, or its statement alone.
pub(crate) fn recognise(path: &Path) -> Result<Option<FoundPlan>, Failure> {
    // What cannot be read is for whoever opens the archive to say.
    if !is_envelope(path).unwrap_or(false) {
        return Ok(None);
    }
    let bytes = bytes(path)?;
    match envelope(&bytes) {
        Err(EnvelopeError::PayloadType(..)) => Ok(None),
        Err(_) if bytes.len() == limits::ENVELOPE_SIZE => Ok(None),
        _ => found(path).map(Some),
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

fn found(path: &Path) -> Result<FoundPlan, Failure> {
    let bytes = bytes(path)?;
    parse(&bytes).map_err(|error| failure::no_plan(path, error))
}

fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    files::read(path, limits::FLEET_PLAN_SIZE as u64).map_err(Failure::unknown)
}

/// The envelope of a plan of either kind.
fn envelope(bytes: &[u8]) -> Result<Envelope, EnvelopeError> {
    match Envelope::from_slice_of(PayloadType::FleetPlan, bytes) {
        Err(EnvelopeError::PayloadType(..)) => Envelope::from_slice_of(PayloadType::Plan, bytes),
        envelope => envelope,
    }
}

fn parse(bytes: &[u8]) -> anyhow::Result<FoundPlan> {
    let envelope = envelope(bytes)?;
    Ok(if envelope.payload_type() == PayloadType::FleetPlan {
        let file = FleetPlanFile::from_slice(envelope.payload())?;
        FoundPlan::OfFleet(SignedPlan { envelope, file })
    } else {
        let file = PlanFile::from_slice(envelope.payload())?;
        FoundPlan::OfDeployment(Box::new(SignedPlan { envelope, file }))
    })
}

/// Writes a plan that nobody signed yet, where there is no file. Whoever reads it sees what a dry run shows, and no
/// secret, so its mode is that of any other file.
pub(crate) fn write_new(
    path: &Path,
    payload_type: PayloadType,
    payload: Vec<u8>,
) -> Result<(), Failure> {
    let envelope = Envelope::of(payload_type, payload);
    let envelope = envelope.map_err(|error| failure::no_plan(path, error.into()))?;
    disk::write_new(path, 0o644, &envelope.to_bytes())
}

/// Writes a plan with its signatures in the place of what it was, unless somebody else was quicker.
pub(crate) fn replace(path: &Path, was: &Envelope, envelope: &Envelope) -> Result<(), Failure> {
    if bytes(path)? != was.to_bytes() {
        let changed = anyhow!(
            "cannot update `{}`: another process changed it in the meantime",
            path.display()
        );
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
    let by = person(file.user.as_deref(), &file.by);
    render::line!("planned   {} by {by}", file.at);
    let allowed = allowed(file.allowed());
    if !allowed.is_empty() {
        render::line!("allows    {}", render::list(allowed));
    }
}

/// What was allowed beyond the ordinary, as it was typed: whoever approves the plan allows it too.
pub(crate) fn allowed(allowed: Allowed) -> Vec<&'static str> {
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

//! Plan files, for a deployment or for a fleet: an envelope with signatures, and the plan in it. The approvals of a
//! plan are checked here.

use std::fs::File;
use std::io::{self, Read as _};
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use importer::{
    AdoptionPolicy, ChangeSigners, CreateEnvironment, Downgrade, Exceptions, FleetPlanFile,
    ForgetSigners, Migrate, PlanFile, Unproved, person,
};
use kubernetes::ConflictPolicy;
use schemas::{Digest, Envelope, EnvelopeError, PayloadType, limits};
use signing::Trust;
use store::ReplacePolicy;

use crate::args::Output;
use crate::disk::{self, Modes, WriteMode};
use crate::failure::{self, Failure, cannot};
use crate::{keys, render};

/// The first bytes of every envelope; no image begins with them.
const START: &[u8] = b"{\"payload\":\"";

/// A plan with its signatures.
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

    /// Returns the SHA-256 of the plan.
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

/// Reads the plan in a file. None if the file is an archive, or the statement of one.
pub(crate) fn recognise(path: &Path) -> Result<Option<FoundPlan>, Failure> {
    // A file that cannot be read is reported by the code that opens the archive.
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
    // Opening a pipe would wait for a writer, so check the type first.
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

/// Parses the envelope of a plan of either kind.
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

/// Writes a new file with an unsigned plan. It contains the same as a dry run shows, and no secret, so other users may
/// read it.
pub(crate) fn write_new(
    path: &Path,
    payload_type: PayloadType,
    payload: Vec<u8>,
) -> Result<(), Failure> {
    let envelope = Envelope::unsigned(payload_type, payload);
    let envelope = envelope.map_err(|error| failure::no_plan(path, error.into()))?;
    disk::write_new(path, 0o644, &envelope.to_bytes())
}

/// Replaces a plan file with its signed version. Fails if another process has changed the file.
pub(crate) fn replace(path: &Path, was: &Envelope, envelope: &Envelope) -> Result<(), Failure> {
    if bytes(path)? != was.to_bytes() {
        let changed = anyhow!(
            "cannot update `{}`: another process changed it in the meantime",
            path.display()
        );
        return Err(Failure::unknown(changed).hint("run the same command again"));
    }
    let written = || {
        // Replace the target of a symbolic link, and keep the file's mode.
        let place = path.canonicalize()?;
        let mode = place.metadata()?.permissions().mode() & 0o777;
        let modes = Modes {
            file: mode,
            folder: 0o777,
        };
        disk::write_atomically(&place, &envelope.to_bytes(), modes, WriteMode::Replace)
    };
    written().map_err(cannot("write", path))
}

/// Shows the head of a plan file, before its changes.
pub(crate) fn show(file: &PlanFile) {
    render::line!("plan      {}", file.id());
    let by = person(file.user.as_deref(), &file.by);
    render::line!("planned   {} by {by}", file.at);
    let allowed = allowed(file.allowed());
    if !allowed.is_empty() {
        render::line!("allows    {}", render::list(allowed));
    }
}

/// Returns the allowed exceptions as flags. A person who approves the plan allows them too.
pub(crate) fn allowed(allowed: Exceptions) -> Vec<&'static str> {
    let Exceptions {
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
        (
            adopt.namespace == AdoptionPolicy::Allow,
            "--adopt namespace",
        ),
        (adopt.crds == AdoptionPolicy::Allow, "--adopt crds"),
        (adopt.objects == AdoptionPolicy::Allow, "--adopt objects"),
        (replace == ReplacePolicy::Allow, "--replace"),
        (signers == ChangeSigners::Allow, "--change-signers"),
        (forget == ForgetSigners::Allow, "--forget-signers"),
        (conflicts == ConflictPolicy::Force, "--force-conflicts"),
        (migrate == Migrate::Allow, "--migrate"),
        (unproved == Unproved::Allow, "--no-pull-proof"),
        (downgrade == Downgrade::Allow, "--allow-downgrade"),
        (create == CreateEnvironment::Allow, "--create-environment"),
    ];
    let given = all.into_iter().filter(|(given, _)| *given);
    given.map(|(_, flag)| flag).collect()
}

/// Who must have signed a plan.
#[derive(Args, Debug)]
pub(crate) struct ApprovalArguments {
    /// A public key (PEM) that must have signed the plan; may be repeated
    #[arg(long, value_name = "PUB", requires = "plan")]
    approved_by: Vec<PathBuf>,

    /// The number of --approved-by keys that must have signed [default: all]
    #[arg(long, value_name = "N", requires = "approved_by")]
    approvals: Option<NonZeroUsize>,
}

/// Verifies that all required signers have signed the plan.
pub(crate) fn check_approval(
    path: &Path,
    envelope: &Envelope,
    arguments: &ApprovalArguments,
    output: Output,
) -> Result<(), Failure> {
    let signatures = envelope.signatures().len();
    if arguments.approved_by.is_empty() {
        if signatures > 0 && output == Output::Human {
            render::note("warning: the plan's signatures are not verified without `--approved-by`");
        }
        return Ok(());
    }
    let keys = arguments.approved_by.iter().map(|path| keys::public(path));
    let keys = keys.collect::<Result<Vec<_>, _>>()?;
    let all = NonZeroUsize::new(keys.len());
    let trust = Trust::new(keys, arguments.approvals.or(all)).map_err(failure::approvers)?;
    let signers =
        signing::verify(envelope, &trust).map_err(|error| failure::not_approved(path, &error))?;
    if output == Output::Human {
        for key in signers.trusted {
            render::note!("approved by key {key}");
        }
    }
    Ok(())
}

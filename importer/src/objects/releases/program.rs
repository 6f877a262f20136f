//! The Helm program that installs charts: that of the site, or the one that the archive includes
//! (docs/decisions/0023-included-helm.md). The entry points are [`chosen`] and [`check`].

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use archive::{Architecture, Blob, Program};
use helm::{Helm, HelmError, ProgramSource};
use schemas::Digest;
use tokio::sync::Semaphore;
use validator::{AcceptedArchive, IncludedHelm};

use crate::model::blocker::{Blocker, ContentBlocker};
use crate::model::error::Error;
use crate::model::request::{Goal, HelmProgram, PlanRequest, Request, RequestContext};

/// Returns the program for a deployment's charts after checking its version, or adds a blocker. The result is cached in
/// the request.
pub(crate) async fn chosen(
    asked: &PlanRequest<'_>,
    blockers: &mut Vec<Blocker>,
) -> Result<Option<Helm>, Error> {
    if let Some(helm) = asked.helm.get() {
        return Ok(Some(helm.clone()));
    }
    let RequestContext { scratch, helm, .. } = &asked.request.context;
    let found = if asked.request.use_included_helm {
        match included(asked) {
            Ok(included) => {
                let content = content(asked, included).await?;
                let scratch = scratch.clone();
                started(move || content.copied(&scratch), &helm.turns, blockers).await?
            }
            Err(unfit) => {
                blockers.push(unfit.into());
                None
            }
        }
    } else {
        program(helm, blockers).await?
    };
    Ok(found.map(|helm| asked.helm.get_or_init(|| helm).clone()))
}

/// Checks the site's program, if the deployment of an archive needs it.
pub(crate) async fn check(
    accepted: &AcceptedArchive,
    request: &Request,
    blockers: &mut Vec<Blocker>,
) -> Result<(), Error> {
    let has_charts = !accepted.manifest().spec.charts.is_empty();
    let is_deployed = matches!(request.goal, Goal::Deployed(_));
    if has_charts && is_deployed && !request.use_included_helm {
        program(&request.context.helm, blockers).await?;
    }
    Ok(())
}

/// Returns the site's program after checking its version, or adds a blocker.
pub(crate) async fn program(
    asked: &HelmProgram,
    blockers: &mut Vec<Blocker>,
) -> Result<Option<Helm>, Error> {
    let Some(program) = asked.program.clone() else {
        blockers.push(ContentBlocker::NoHelm.into());
        return Ok(None);
    };
    let at = |program: PathBuf| Helm::from_path(&program);
    started(move || at(program), &asked.turns, blockers).await
}

/// Returns the archive's program for this machine. An unsigned one is not run. In a cluster, an unsigned archive only
/// has the rights in its plan, but a program on this machine has all rights of its user.
fn included<'a>(asked: &PlanRequest<'a>) -> Result<IncludedHelm<'a>, ContentBlocker> {
    let accepted = asked.accepted;
    if accepted.signers().is_none() {
        return Err(ContentBlocker::UnsignedHelm);
    }
    let here = Architecture::current();
    let included = here.and_then(|architecture| accepted.helm(architecture));
    included.ok_or_else(|| {
        let here = here.map_or(std::env::consts::ARCH, Architecture::as_str);
        let architecture = here.to_owned();
        ContentBlocker::NoIncludedHelm { architecture }
    })
}

/// The source of a program's content.
enum ProgramContent {
    /// A blob in the archive.
    Blob(Blob),
    /// A file that was pulled from the registry.
    Fetched(File, Program),
}

impl ProgramContent {
    fn copied(&self, scratch: &Path) -> Result<Helm, HelmError> {
        match self {
            Self::Blob(blob) => {
                let read = |buf: &mut [u8], offset| blob.read_exact_at(buf, offset);
                copied(blob.size(), blob.digest(), &read, scratch)
            }
            Self::Fetched(file, program) => {
                let read = |buf: &mut [u8], offset| file.read_exact_at(buf, offset);
                copied(program.size, program.digest, &read, scratch)
            }
        }
    }
}

fn copied(
    size: u64,
    digest: Digest,
    read: &dyn Fn(&mut [u8], u64) -> io::Result<()>,
    scratch: &Path,
) -> Result<Helm, HelmError> {
    let source = ProgramSource { size, digest, read };
    Helm::copy_from(&source, scratch)
}

/// Finds the content of a program: in the archive, or in the registry if the archive is without blobs.
async fn content(
    asked: &PlanRequest<'_>,
    included: IncludedHelm<'_>,
) -> Result<ProgramContent, Error> {
    let carried = match included {
        IncludedHelm::File(blob) => return Ok(ProgramContent::Blob(blob)),
        IncludedHelm::Image(carried) => carried,
    };
    let program = carried.program.clone();
    let listed = asked.accepted.listed();
    let elsewhere = asked.client.as_ref().filter(|_| !listed.has_blobs());
    let Some(client) = elsewhere else {
        let blob = listed.blob(&program.digest);
        let blob = blob.expect("an accepted archive lists what its images have");
        return Ok(ProgramContent::Blob(blob));
    };
    let scratch = &asked.request.context.scratch;
    let layout = asked.record.placement.layout;
    let file = store::program(client, &asked.id, layout, carried, scratch).await?;
    Ok(ProgramContent::Fetched(file, program))
}

async fn started(
    start: impl FnOnce() -> Result<Helm, HelmError> + Send + 'static,
    turns: &Semaphore,
    blockers: &mut Vec<Blocker>,
) -> Result<Option<Helm>, Error> {
    let _turn = turns.acquire().await;
    let helm = tokio::task::spawn_blocking(start).await;
    match helm.expect("a run of Helm does not panic") {
        Ok(helm) => Ok(Some(helm)),
        Err(error) => {
            let why = error.to_string();
            blockers.push(ContentBlocker::HelmUnusable { why }.into());
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_more_run_at_once_than_there_are_turns() {
        for (turns, is_alone) in [(1, true), (2, false)] {
            let turns = Semaphore::new(turns);
            let (tell, other) = channel();
            let (mut first, mut second) = (Vec::new(), Vec::new());
            let (met, meets) = channel();
            let wait = move || {
                let longest = Duration::from_millis(if is_alone { 300 } else { 60_000 });
                let comes = other.recv_timeout(longest);
                met.send(comes.is_ok()).unwrap();
                Err(HelmError::Missing(PathBuf::new()))
            };
            let begin = move || {
                // The receiver is closed if the other run has ended before this one began.
                let _ = tell.send(());
                Err(HelmError::Missing(PathBuf::new()))
            };
            let both = tokio::join!(
                started(wait, &turns, &mut first),
                started(begin, &turns, &mut second)
            );
            assert!(both.0.unwrap().is_none() && both.1.unwrap().is_none());
            assert_eq!((first.len(), second.len()), (1, 1));
            assert_eq!(meets.recv(), Ok(!is_alone));
        }
    }
}

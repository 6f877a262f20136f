//! The program that installs charts: the site's, or the one that the archive includes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use archive::{Architecture, Blob, Program};
use helm::{Helm, HelmError, ProgramSource};
use schemas::Digest;
use tokio::sync::Semaphore;
use validator::{Accepted, IncludedHelm};

use crate::model::error::Error;
use crate::model::obstacle::{Obstacle, Unfit};
use crate::model::request::{Asked, Goal, HelmFrom, HelmProgram, Request};

/// The program that a deployment's charts are installed by, once it has said its version; that there is none is in the way.
pub(crate) async fn chosen(
    asked: &Asked<'_>,
    obstacles: &mut Vec<Obstacle>,
) -> Result<Option<Helm>, Error> {
    if let Some(helm) = asked.helm.get() {
        return Ok(Some(helm.clone()));
    }
    let found = match asked.request.helm_from {
        HelmFrom::Site => program(&asked.request.helm, obstacles).await?,
        HelmFrom::Archive => match included(asked) {
            Ok(included) => {
                let content = content(asked, included).await?;
                let scratch = asked.request.scratch.clone();
                let turns = &asked.request.helm.turns;
                started(move || content.copied(&scratch), turns, obstacles).await?
            }
            Err(unfit) => {
                obstacles.push(unfit.into());
                None
            }
        },
    };
    Ok(found.map(|helm| asked.helm.get_or_init(|| helm).clone()))
}

/// Looks for the site's program where a deployment of an archive needs it.
pub(crate) async fn check(
    accepted: &Accepted,
    request: &Request,
    obstacles: &mut Vec<Obstacle>,
) -> Result<(), Error> {
    let has_charts = !accepted.manifest().spec.charts.is_empty();
    let is_deployed = matches!(request.goal, Goal::Deployed(_));
    if has_charts && is_deployed && request.helm_from == HelmFrom::Site {
        program(&request.helm, obstacles).await?;
    }
    Ok(())
}

/// The site's program, once it has said its version; that there is none is in the way.
pub(crate) async fn program(
    asked: &HelmProgram,
    obstacles: &mut Vec<Obstacle>,
) -> Result<Option<Helm>, Error> {
    let Some(program) = asked.program.clone() else {
        obstacles.push(Unfit::NoHelm.into());
        return Ok(None);
    };
    let at = |program: PathBuf| Helm::at(&program);
    started(move || at(program), &asked.turns, obstacles).await
}

/// The archive's program for this machine. One that nobody vouches for is not run: in a cluster an unsigned archive has the
/// rights that its plan shows, but a program here has all of its user's.
fn included<'a>(asked: &Asked<'a>) -> Result<IncludedHelm<'a>, Unfit> {
    let accepted = asked.accepted;
    if accepted.signers().is_none() {
        return Err(Unfit::UnsignedHelm);
    }
    let here = Architecture::here();
    let included = here.and_then(|it| accepted.helm(it));
    included.ok_or_else(|| {
        let here = here.map_or(std::env::consts::ARCH, Architecture::as_str);
        let architecture = here.to_owned();
        Unfit::NoIncludedHelm { architecture }
    })
}

/// The content of a program where it can be read.
enum ProgramContent {
    /// On the medium.
    Blob(Blob),
    /// In a file, as the registry has given it.
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
    Helm::copied(&source, scratch)
}

/// Finds the content of a program, on the medium or, where the site keeps only the head of the archive, in the registry.
async fn content(asked: &Asked<'_>, included: IncludedHelm<'_>) -> Result<ProgramContent, Error> {
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
    let scratch = &asked.request.scratch;
    let layout = asked.record.placement.layout;
    let file = shelf::program(client, &asked.id, layout, carried, scratch).await?;
    Ok(ProgramContent::Fetched(file, program))
}

async fn started(
    start: impl FnOnce() -> Result<Helm, HelmError> + Send + 'static,
    turns: &Semaphore,
    obstacles: &mut Vec<Obstacle>,
) -> Result<Option<Helm>, Error> {
    let _turn = turns.acquire().await;
    let helm = tokio::task::spawn_blocking(start).await;
    match helm.expect("a run of Helm does not panic") {
        Ok(helm) => Ok(Some(helm)),
        Err(error) => {
            let why = error.to_string();
            obstacles.push(Unfit::HelmUnusable { why }.into());
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
                // Whoever was alone waits no more.
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

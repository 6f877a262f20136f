//! The program that installs charts: the site's, or the one that the archive includes.

use std::io;
use std::path::{Path, PathBuf};

use archive::{Architecture, Blob};
use helm::{Helm, HelmError, ProgramSource};

use crate::model::error::Error;
use crate::model::obstacle::{Obstacle, Unfit};
use crate::model::request::{Asked, HelmFrom, HelmProgram};

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
            Ok(blob) => {
                let scratch = asked.request.scratch.clone();
                started(move || copied(&blob, &scratch), obstacles).await?
            }
            Err(unfit) => {
                obstacles.push(unfit.into());
                None
            }
        },
    };
    Ok(found.map(|helm| asked.helm.get_or_init(|| helm).clone()))
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
    started(move || at(program), obstacles).await
}

/// The archive's program for this machine. One that nobody vouches for is not run: in a cluster an unsigned archive has the
/// rights that its plan shows, but a program here has all of its user's.
fn included(asked: &Asked<'_>) -> Result<Blob, Unfit> {
    let accepted = asked.accepted;
    if accepted.signers().is_none() {
        return Err(Unfit::UnsignedHelm);
    }
    let here = Architecture::here();
    let blob = here.and_then(|it| accepted.helm(it));
    blob.ok_or_else(|| {
        let here = here.map_or(std::env::consts::ARCH, Architecture::as_str);
        let architecture = here.to_owned();
        Unfit::NoIncludedHelm { architecture }
    })
}

fn copied(blob: &Blob, scratch: &Path) -> Result<Helm, HelmError> {
    let read = |buf: &mut [u8], offset| -> io::Result<()> { blob.read_exact_at(buf, offset) };
    let source = ProgramSource {
        size: blob.size(),
        digest: blob.digest(),
        read: &read,
    };
    Helm::copied(&source, scratch)
}

async fn started(
    start: impl FnOnce() -> Result<Helm, HelmError> + Send + 'static,
    obstacles: &mut Vec<Obstacle>,
) -> Result<Option<Helm>, Error> {
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

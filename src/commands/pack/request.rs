//! From what was typed to what is asked for: the cache, the request.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use archive::Overwrite;
use packager::{ChartRenderer, PackRequest, Signing};
use signing::SecretKey;
use sources::{CacheOptions, ReferrerTreatment, Remote};
use tempfile::TempDir;
use validator::Judging;

use super::{Arguments, included};
use crate::args::{MirrorArguments, RegistryArguments, choose};
use crate::failure::{Failure, cannot};
use crate::{environment, helm, registries};

/// Where contents are kept.
pub(crate) enum Cache {
    /// For the next time too.
    Kept(PathBuf),
    /// Until the end.
    Passing(TempDir),
}

impl Cache {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Passing(directory) => directory.path(),
        }
    }
}

/// The cache; one that is not kept lies in `beside`.
pub(super) fn cache(arguments: &Arguments, beside: &Path) -> Result<Cache, Failure> {
    let kept = arguments.cache_dir.clone().or_else(environment::cache);
    cache_in(kept.filter(|_| !arguments.no_cache), beside)
}

/// The cache in the directory that keeps it, if there is one; else it lies in `beside`.
pub(crate) fn cache_in(kept: Option<PathBuf>, beside: &Path) -> Result<Cache, Failure> {
    if let Some(path) = kept {
        return Ok(Cache::Kept(path));
    }
    let passing = tempfile::Builder::new()
        .prefix(".solution-")
        .suffix(".cache")
        .tempdir_in(beside);
    // Its kind only: `tempfile` adds a path that nobody chose to the rest.
    let refused = |error: io::Error| cannot("write", beside)(io::Error::from(error.kind()));
    passing.map(Cache::Passing).map_err(refused)
}

/// The request, with every choice that was made.
pub(super) fn request(
    arguments: &Arguments,
    directory: &Path,
    keys: Vec<SecretKey>,
    out: &Path,
    cache: &Path,
    judging: Judging,
) -> Result<PackRequest, Failure> {
    Ok(PackRequest {
        directory: directory.to_owned(),
        output: out.to_owned(),
        // Only a check may go without both.
        signing: choose(keys.is_empty(), Signing::Unsigned, Signing::Keys(keys)),
        overwrite: overwrite(arguments),
        compression: arguments.compression.into(),
        time: environment::source_date().map_err(Failure::usage)?,
        now: environment::now().map_err(Failure::unknown)?,
        judging,
        threads: environment::threads(),
        cache: CacheOptions {
            directory: cache.to_owned(),
            unpack_limit: arguments.unpack_limit.0,
        },
        referrers: choose(
            arguments.with_referrers,
            ReferrerTreatment::Bring,
            ReferrerTreatment::Leave,
        ),
        remote: remote(&arguments.reach, &arguments.mirrors)?,
        renderer: choose(
            arguments.no_render,
            ChartRenderer::Nothing,
            ChartRenderer::Helm(helm::program(arguments.helm.as_deref())),
        ),
        keyring: arguments.keyring.clone(),
        programs: included::programs(arguments),
        documentation: included::documentation(arguments)?,
        sboms: arguments.sbom.request(),
        scratch: environment::scratch(),
    })
}

/// How what is not on the disk is reached.
pub(crate) fn remote(
    reach: &RegistryArguments,
    mirrors: &MirrorArguments,
) -> Result<Remote, Failure> {
    let mut by_host = BTreeMap::new();
    for (registry, mirror) in &mirrors.registry_mirror {
        let host = registry.known_host();
        if by_host.insert(host.to_owned(), mirror.clone()).is_some() {
            let what = format!("`--registry-mirror` sets two mirrors of the registry `{host}`");
            return Err(Failure::usage(what).hint("use `--registry-mirror` once for each registry"));
        }
    }
    Ok(Remote {
        registries: registries::options(reach)?,
        mirrors: by_host,
        certificates: registries::certificates(reach),
        logins: environment::logins(),
        engine: environment::engine(),
    })
}

/// Whether an archive that is there is replaced.
pub(super) fn overwrite(arguments: &Arguments) -> Overwrite {
    choose(arguments.force, Overwrite::Replace, Overwrite::Refuse)
}

//! Access to registries: proxies, trusted certificate authorities, client certificates, and the login files of docker
//! and podman, which logins also change. They are compatible with docker and podman, so that a user configures a
//! registry only once.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use files::ownership::{self, ResolvedPath};
use registry::{
    AuthorityError, CertificateAuthority, Client, ClientOptions, Credentials, EcrApi, EcrEndpoint,
    LoginDocument, PlainHttp, RegistryAddress, Secret, UploadJournal,
};
use sources::{CertificateFolders, CertificatePlace};

use crate::args::{CreationArguments, RegistryArguments, choose};
use crate::disk::{self, Modes, WriteMode};
use crate::failure::{self, Failure, cannot};
use crate::{environment, interrupt, render};

/// Returns the client options for all registries, without logins and client certificates.
pub(crate) fn options(arguments: &RegistryArguments) -> Result<ClientOptions, Failure> {
    let files = arguments.ca_file.iter();
    let ca = files.map(|path| {
        let pem = disk::read_text(path)?.into_bytes();
        Ok(CertificateAuthority::new(
            format!("`{}`", path.display()),
            pem,
        )?)
    });
    Ok(ClientOptions {
        ca: ca.collect::<Result<_, Failure>>()?,
        plain_http: choose(arguments.plain_http, PlainHttp::Always, PlainHttp::Loopback),
        proxies: environment::proxies(),
        listener: render::request_listener(),
        ..ClientOptions::default()
    })
}

/// Returns the client options, with a default certificate authority if the arguments name none.
pub(crate) fn options_with(
    arguments: &RegistryArguments,
    authority: impl FnOnce() -> Result<Option<CertificateAuthority>, AuthorityError>,
) -> Result<ClientOptions, Failure> {
    let mut options = options(arguments)?;
    if options.ca.is_empty() {
        options.ca.extend(authority()?);
    }
    Ok(options)
}

/// Returns the journal in which a push records its uploads, so that the next push can resume them. A user without a
/// home directory has none.
fn journal() -> Option<Arc<UploadJournal>> {
    let journal =
        |directory| UploadJournal::new(directory, disk::effective_user(), environment::clock());
    environment::uploads().map(journal).map(Arc::new)
}

/// Returns the directories with certificates of registries.
pub(crate) fn certificates(arguments: &RegistryArguments) -> CertificateFolders {
    let named = arguments.cert_dir.clone().map(CertificatePlace::Of);
    let place = named.unwrap_or_else(|| CertificatePlace::ByHost(environment::certificates()));
    CertificateFolders {
        place,
        user: disk::effective_user(),
    }
}

/// Returns the client options for one registry, without a login.
pub(crate) fn reached(
    arguments: &RegistryArguments,
    registry: &RegistryAddress,
) -> Result<ClientOptions, Failure> {
    certified(options(arguments)?, arguments, registry)
}

/// Adds the certificates of one registry to client options.
fn certified(
    mut options: ClientOptions,
    arguments: &RegistryArguments,
    registry: &RegistryAddress,
) -> Result<ClientOptions, Failure> {
    let found = certificates(arguments).find(registry.host())?;
    found.add_to(&mut options);
    Ok(options)
}

/// Returns the client of one registry, with its certificates, the login of docker or podman, and the journal of
/// uploads.
pub(crate) fn client(
    registry: &RegistryAddress,
    arguments: &RegistryArguments,
    options: ClientOptions,
) -> Result<Client, Failure> {
    let mut options = certified(options, arguments, registry)?;
    options.credentials = login(registry)?;
    options.journal = journal();
    options.stop = interrupt::cancel();
    Ok(Client::new(registry, options)?)
}

/// Returns a client that creates repositories if the user requests it.
pub(crate) fn creating_client(
    registry: &RegistryAddress,
    arguments: &RegistryArguments,
    creation: CreationArguments,
    options: ClientOptions,
) -> Result<Client, Failure> {
    let options = ClientOptions {
        repository_api: repository_api(registry, creation)?,
        ..options
    };
    client(registry, arguments, options)
}

/// Returns the API with which a registry creates repositories, if the user requests it. A registry is Amazon ECR by its
/// host name, or if the user names the endpoint of this API.
fn repository_api(
    registry: &RegistryAddress,
    creation: CreationArguments,
) -> Result<Option<EcrApi>, Failure> {
    if !creation.create_repositories {
        return Ok(None);
    }
    let named = environment::aws();
    let known = EcrEndpoint::of_registry(registry.host());
    let endpoint = match (known, &named.endpoint, &named.region) {
        (Some(known), Some(url), _) => known.with_url(url),
        (Some(known), None, _) => Ok(known),
        (None, Some(url), Some(region)) => EcrEndpoint::new(url, region),
        (None, _, _) => return Ok(None),
    };
    let endpoint = endpoint
        .map_err(|error| Failure::usage(format!("cannot use `AWS_ENDPOINT_URL_ECR`: {error}")))?;
    let (Some(access_key_id), Some(key)) = (named.access_key_id, named.secret_access_key) else {
        let none = "`--create-repositories` needs `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`";
        return Err(Failure::usage(none).hint(
            "print the variables of your profile with `aws configure export-credentials --format env`",
        ));
    };
    Ok(Some(EcrApi {
        endpoint,
        access_key_id,
        secret_access_key: Secret::new(key),
        session_token: named.session_token.map(Secret::new),
    }))
}

/// Returns the named certificate authorities as one text; none if nodes need none.
pub(crate) fn authorities(options: &ClientOptions) -> Option<String> {
    (!options.ca.is_empty()).then(|| CertificateAuthority::join(&options.ca))
}

/// Returns the login that docker or podman would use: from the first file, in podman's order, that has one for the
/// registry.
pub(crate) fn login(address: &RegistryAddress) -> Result<Credentials, Failure> {
    let found = find_login(address)?;
    Ok(found.map_or(Credentials::Anonymous, |(_, login)| login))
}

/// Returns the login of docker or podman and its file, if there is one.
pub(crate) fn find_login(
    address: &RegistryAddress,
) -> Result<Option<(PathBuf, Credentials)>, Failure> {
    let files = environment::logins().into_iter();
    for path in files.filter(|path| path.exists()) {
        let found = Credentials::from_config(disk::read_text(&path)?.as_bytes(), address)
            .with_context(|| format!("cannot use the logins in `{}`", path.display()))
            .map_err(Failure::no)?;
        if let Some(credentials) = found {
            return Ok(Some((path, credentials)));
        }
    }
    Ok(None)
}

/// The modes of login files, which only their owner can read.
const MODES: Modes = Modes {
    file: 0o600,
    folder: 0o700,
};

/// A login file, whether it exists or not.
pub(crate) struct LoginFile {
    /// The path as the user named it.
    pub(crate) path: PathBuf,
    pub(crate) document: LoginDocument,
    /// The path without symbolic links.
    place: PathBuf,
}

/// Returns the file for a new login: the named one, else the one that is searched first.
pub(crate) fn path(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = named.map(Path::to_owned).or_else(environment::login_file);
    path.ok_or_else(|| {
        Failure::unknown(anyhow!(
            "cannot find your logins: the home directory is unknown"
        ))
        .hint("set HOME, or name the login file with `--authfile`")
    })
}

/// Returns the files that are searched for logins.
pub(crate) fn paths(named: Option<&Path>) -> Vec<PathBuf> {
    named.map_or_else(environment::logins, |named| vec![named.to_owned()])
}

/// Returns the other files that contain such a login, as far as they can be read.
pub(crate) fn also_in(
    paths: &[PathBuf],
    but: &Path,
    holds: impl Fn(&LoginDocument) -> bool,
) -> Vec<PathBuf> {
    let has_one = |path: &PathBuf| {
        let bytes = disk::read(path).ok();
        let document = bytes.and_then(|bytes| LoginDocument::from_slice(&bytes).ok());
        document.is_some_and(|document| holds(&document))
    };
    let others = paths.iter().filter(|path| *path != but);
    others.filter(|path| has_one(path)).cloned().collect()
}

/// Reads a login file. A missing file is an empty one.
pub(crate) fn open(path: &Path) -> Result<LoginFile, Failure> {
    let (place, document) = read(path)
        .with_context(|| format!("cannot use the login file `{}`", path.display()))
        .map_err(failure::logins)?;
    Ok(LoginFile {
        path: path.to_owned(),
        document,
        place,
    })
}

fn read(path: &Path) -> anyhow::Result<(PathBuf, LoginDocument)> {
    let name = path
        .file_name()
        .ok_or_else(|| anyhow!("the path names no file"))?;
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let target = ownership::directory(folder.unwrap_or(Path::new(".")), disk::effective_user())?;
    let place = match target {
        ResolvedPath::There(folder) => folder.join(name),
        ResolvedPath::Missing(folder) => return Ok((folder.join(name), LoginDocument::default())),
    };
    match place.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((place, LoginDocument::default()));
        }
        _ => {}
    }
    let document = LoginDocument::from_slice(&disk::read_owned(&place, disk::SIZE)?)?;
    Ok((place, document))
}

impl LoginFile {
    /// Writes the file in one step. Only its owner can read it.
    pub(crate) fn write(&self) -> Result<(), Failure> {
        let bytes = self.document.to_bytes();
        let written = disk::write_atomically(&self.place, &bytes, MODES, WriteMode::Replace);
        written.map_err(cannot("write", &self.path))
    }
}

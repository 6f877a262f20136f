//! How registries are reached: proxies, the authorities that are trusted, client certificates, and the logins of docker
//! and podman.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use registry::{
    AuthorityError, CertificateAuthority, Client, ClientOptions, Credentials, EcrApi, EcrEndpoint,
    PlainHttp, RegistryAddress, Secret, UploadJournal,
};
use sources::{CertificateFolders, CertificatePlace};

use crate::args::{CreationArguments, RegistryArguments, choose};
use crate::failure::Failure;
use crate::{disk, environment, interrupt, own, verbose};

/// How registries are reached, without a login and without what one registry has of its own.
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
        listener: verbose::listener(),
        ..ClientOptions::default()
    })
}

/// The same, with an authority if the arguments name none.
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

/// Where a push remembers its uploads, for the next one to go on with. None for a user without a home.
fn journal() -> Option<Arc<UploadJournal>> {
    let journal = |directory| UploadJournal::new(directory, own::user(), environment::clock());
    environment::uploads().map(journal).map(Arc::new)
}

/// Where certificates of registries lie.
pub(crate) fn certificates(arguments: &RegistryArguments) -> CertificateFolders {
    let named = arguments.cert_dir.clone().map(CertificatePlace::Of);
    let place = named.unwrap_or_else(|| CertificatePlace::ByHost(environment::certificates()));
    CertificateFolders {
        place,
        user: own::user(),
    }
}

/// How one registry is reached, without a login.
pub(crate) fn reached(
    arguments: &RegistryArguments,
    registry: &RegistryAddress,
) -> Result<ClientOptions, Failure> {
    certified(options(arguments)?, arguments, registry)
}

/// How one registry is reached: the same, with the certificates that are kept for it, and without a login.
pub(crate) fn certified(
    mut options: ClientOptions,
    arguments: &RegistryArguments,
    registry: &RegistryAddress,
) -> Result<ClientOptions, Failure> {
    let found = certificates(arguments).find(registry.host())?;
    found.add_to(&mut options);
    Ok(options)
}

/// The client of one registry, with the certificates that are kept for it, the login of docker or podman, and what is
/// remembered of uploads.
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

/// The same, which creates repositories if that is asked for.
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

/// The API by which a registry creates repositories, if it has one and that is asked for. A registry is one of Amazon ECR
/// by its host, or because the place of that API is named.
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

/// The certificate authorities that were named, as one text; none if nodes need to know none.
pub(crate) fn authorities(options: &ClientOptions) -> Option<String> {
    (!options.ca.is_empty()).then(|| CertificateAuthority::join(&options.ca))
}

/// The login that docker or podman would use: the first file that has one for the registry, in podman's order.
pub(crate) fn login(address: &RegistryAddress) -> Result<Credentials, Failure> {
    let found = find_login(address)?;
    Ok(found.map_or(Credentials::Anonymous, |(_, login)| login))
}

/// The same, if there is one, and the file that it is in.
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

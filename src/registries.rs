//! How registries are reached: the authorities that are trusted, and the logins of docker and podman.

use anyhow::Context as _;
use registry::{Credentials, Options, PlainHttp, RegistryAddress};

use crate::args::{RegistryArguments, choose};
use crate::failure::Failure;
use crate::{disk, environment, verbose};

/// How registries are reached, without a login.
pub(crate) fn options(arguments: &RegistryArguments) -> Result<Options, Failure> {
    let files = arguments.ca_file.iter();
    let ca = files.map(|path| disk::read_text(path).map(String::into_bytes));
    Ok(Options {
        ca: ca.collect::<Result<_, _>>()?,
        plain_http: choose(arguments.plain_http, PlainHttp::Always, PlainHttp::Loopback),
        listener: verbose::listener(),
        ..Options::default()
    })
}

/// The certificate authorities that were named, as one text; none if nodes need to know none.
pub(crate) fn authorities(options: &Options) -> Option<String> {
    let all = options.ca.join(&b'\n');
    (!all.is_empty()).then(|| String::from_utf8_lossy(&all).into_owned())
}

/// The login that docker or podman would use: the first file that has one for the registry, in podman's order.
pub(crate) fn login(address: &RegistryAddress) -> Result<Credentials, Failure> {
    let files = environment::logins().into_iter();
    for path in files.filter(|path| path.exists()) {
        let found = Credentials::from_config(disk::read_text(&path)?.as_bytes(), address)
            .with_context(|| format!("cannot use the logins in `{}`", path.display()))
            .map_err(Failure::no)?;
        if let Some(credentials) = found {
            return Ok(credentials);
        }
    }
    Ok(Credentials::Anonymous)
}

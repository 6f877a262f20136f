//! The login at an identity provider: [`ProviderArguments`].

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use webconsole::{Impersonation, ProviderSettings, PublicUrl};

use crate::failure::Failure;
use crate::{disk, terminal};

/// The largest client secret, in bytes.
const SECRET: usize = 4096;

/// The settings of the login at an identity provider.
#[derive(Args, Debug)]
pub(super) struct ProviderArguments {
    /// Let the users of this OpenID Connect provider log in, with their own permissions
    #[arg(long, value_name = "URL", requires = "public_url")]
    issuer: Option<String>,

    /// The address of the console in browsers
    #[arg(long, value_name = "URL", requires = "issuer")]
    public_url: Option<PublicUrl>,

    /// The name of the console at the provider, which the API server accepts as an audience
    #[arg(
        long,
        value_name = "ID",
        default_value = "solution-console",
        requires = "issuer"
    )]
    client_id: String,

    /// The file with the secret of the console at the provider in its first line
    #[arg(long, value_name = "FILE", requires = "issuer")]
    client_secret_file: Option<PathBuf>,

    /// The certificate authorities of the provider (PEM) [default: those of this machine]
    #[arg(long, value_name = "FILE", requires = "issuer")]
    issuer_ca_file: Option<PathBuf>,

    /// Act on behalf of this user, if the API server does not know the provider: `oidc:` and the verified email address;
    /// may be repeated
    #[arg(long, value_name = "NAME", requires = "issuer")]
    impersonate_user: Vec<String>,

    /// Act on behalf of members of this group, too: `oidc:` and the name of the group; may be repeated
    #[arg(long, value_name = "NAME", requires = "impersonate_user")]
    impersonate_group: Vec<String>,
}

impl ProviderArguments {
    /// Returns the settings, if there is a provider.
    pub(super) fn settings(self) -> Result<Option<ProviderSettings>, Failure> {
        let (Some(issuer), Some(public_url)) = (self.issuer, self.public_url) else {
            return Ok(None);
        };
        let secret = self.client_secret_file.as_deref().map(read_secret);
        let authorities = self.issuer_ca_file.as_deref().map(disk::read);
        let impersonation = Impersonation {
            users: self.impersonate_user.into_iter().collect(),
            groups: self.impersonate_group.into_iter().collect(),
        };
        Ok(Some(ProviderSettings {
            public_url,
            issuer,
            client_id: self.client_id,
            client_secret: secret.transpose()?,
            authorities: authorities.transpose()?,
            impersonation: (!impersonation.users.is_empty()).then_some(impersonation),
        }))
    }
}

fn read_secret(path: &Path) -> Result<String, Failure> {
    let read = || -> anyhow::Result<String> {
        let file = std::fs::File::open(path)?;
        let line = terminal::first_line(file, SECRET)?;
        Ok(std::str::from_utf8(&line)?.to_owned())
    };
    let cannot = || format!("cannot read the client secret in `{}`", path.display());
    read().with_context(cannot).map_err(Failure::unknown)
}

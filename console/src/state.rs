//! The state of a console ([`Console`]), which all requests share.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::header::HOST;
use axum::http::{HeaderMap, StatusCode};
use kubernetes::{Identity, ImpersonatedUser};
use tokio::sync::Semaphore;

use crate::cookie::Cookie;
use crate::login::{Logins, RenewalError};
use crate::oidc::{self, Provider, Tokens};
use crate::problem::Problem;
use crate::program::Program;
use crate::proposals::Proposals;
use crate::public_url::PublicUrl;
use crate::runs::Runs;
use crate::secret::AccessToken;
use crate::session::Sessions;
use crate::texts;
use crate::user::User;

/// The largest number of logins that are exchanged with the identity provider at the same time.
const LOGINS: usize = 16;
/// The prefix of the names of users and groups of the identity provider, so that none of them is a name of Kubernetes.
const PREFIX: &str = "oidc:";

/// The state of a console.
#[derive(Debug)]
pub struct Console {
    pub(crate) program: Program,
    pub(crate) access: Access,
    pub(crate) runs: Runs,
    pub(crate) proposals: Proposals,
    pub(crate) sessions: Sessions,
    /// The hosts by which browsers may address the console.
    hosts: Vec<String>,
    /// The cookie with the id of the session.
    pub(crate) session: Cookie,
}

/// Who may log in.
#[derive(Debug)]
pub(crate) enum Access {
    /// The user of this machine, who knows the token.
    Token(AccessToken, Arc<User>),
    /// The users of an identity provider.
    Provider(Box<ProviderAccess>),
}

/// The login at an identity provider.
#[derive(Debug)]
pub(crate) struct ProviderAccess {
    pub(crate) provider: Arc<Provider>,
    /// The address of the first page, to which the provider returns after a logout.
    pub(crate) home: String,
    impersonation: Option<Impersonation>,
    logins: Logins,
    /// The cookie with the state of a login that has begun.
    pub(crate) attempt: Cookie,
    /// Limits the exchanges with the provider, which anyone can cause.
    pub(crate) exchanges: Semaphore,
}

/// The users and groups on whose behalf the account of the console acts. Their names begin with `oidc:`, followed by the
/// verified email address of a user or else the provider's identifier, or by the name of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impersonation {
    /// The users.
    pub users: BTreeSet<String>,
    /// The groups. Other groups of a user are ignored.
    pub groups: BTreeSet<String>,
}

/// The settings of a console for the users of an identity provider.
#[derive(Debug)]
pub struct ProviderSettings {
    /// The address of the console in browsers.
    pub public_url: PublicUrl,
    /// The address of the identity provider, as the provider itself writes it.
    pub issuer: String,
    /// The name of the console at the provider.
    pub client_id: String,
    /// The secret of the console at the provider.
    pub client_secret: Option<String>,
    /// The authorities of the provider's certificate, as PEM; those of this machine if there are none.
    pub authorities: Option<Vec<u8>>,
    /// The users on whose behalf the console acts, if the API server does not know the provider.
    pub impersonation: Option<Impersonation>,
}

impl Console {
    /// Creates a console for the users of this machine at a loopback address. Whoever knows the token can log in.
    #[must_use]
    pub fn on_loopback(program: Program, address: SocketAddr, token: AccessToken) -> Self {
        let port = address.port();
        let user = Arc::new(User::local(program.clone()));
        Self {
            program,
            access: Access::Token(token, user),
            runs: Runs::default(),
            proposals: Proposals::default(),
            sessions: Sessions::default(),
            hosts: vec![address.to_string(), format!("localhost:{port}")],
            session: Cookie::on_loopback(port),
        }
    }

    /// Creates a console for the users of an identity provider. Each of them acts with the user's own permissions.
    ///
    /// # Errors
    ///
    /// Fails if the settings of the provider cannot be used.
    pub fn with_provider(
        program: Program,
        settings: ProviderSettings,
    ) -> Result<Self, oidc::SettingsError> {
        let ProviderSettings {
            public_url,
            issuer,
            client_id,
            client_secret,
            authorities,
            impersonation,
        } = settings;
        let settings = oidc::Settings {
            issuer,
            client_id,
            client_secret,
            redirect_uri: public_url.join("/auth/callback"),
            ca: authorities,
        };
        let provider = Arc::new(Provider::new(settings, program.connect.clock)?);
        Ok(Self {
            program,
            access: Access::Provider(Box::new(ProviderAccess {
                provider,
                home: public_url.join("/"),
                impersonation,
                logins: Logins::default(),
                attempt: Cookie::of_login(),
                exchanges: Semaphore::new(LOGINS),
            })),
            runs: Runs::default(),
            proposals: Proposals::default(),
            sessions: Sessions::default(),
            hosts: vec![public_url.host().to_owned()],
            session: Cookie::of_session(),
        })
    }

    /// Returns true if the request names this console as its host.
    pub(crate) fn is_own_host(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(HOST).and_then(|value| value.to_str().ok());
        host.is_some_and(|host| self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host)))
    }
}

impl Console {
    /// Returns the problem of a request without a session. The user returns to the page after the login.
    pub(crate) fn log_in(&self, message: &str, page: &str) -> Problem {
        let problem = Problem::with_status(StatusCode::UNAUTHORIZED, message);
        match &self.access {
            Access::Token(..) => Problem {
                hints: vec![self.program.explain.log_in.to_owned()],
                ..problem
            },
            Access::Provider(_) => {
                let page: String = form_urlencoded::byte_serialize(page.as_bytes()).collect();
                Problem {
                    log_in: Some(format!("/login?next={page}")),
                    ..problem
                }
            }
        }
    }

    /// Returns the problem of a login that the identity provider or the console has refused.
    pub(crate) fn login_problem(&self, error: &oidc::Error) -> Problem {
        let causes = causes(error);
        if error.is_temporary() {
            let hints = vec![texts::CHECK_PROVIDER.to_owned()];
            return Problem::new(texts::NO_PROVIDER, causes, hints);
        }
        Problem {
            causes,
            ..self.log_in(texts::LOGIN_REFUSED, "/")
        }
    }

    /// Returns the problem of a login that cannot be renewed, and ends the session if the login has ended.
    pub(crate) fn renewal_problem(&self, headers: &HeaderMap, error: RenewalError) -> Problem {
        let error = match error {
            RenewalError::Unavailable(error) => return self.login_problem(&error),
            RenewalError::Ended(error) => error,
        };
        if let Some(id) = self.session.value(headers) {
            self.sessions.end(id);
        }
        Problem {
            causes: error.iter().flat_map(causes).collect(),
            ..self.log_in(texts::LOGIN_ENDED, "/")
        }
    }
}

/// Returns the messages of an error and of its causes.
fn causes(error: &oidc::Error) -> Vec<String> {
    let first: Option<&dyn std::error::Error> = Some(error);
    let chain = std::iter::successors(first, |error| error.source());
    chain.map(ToString::to_string).collect()
}

impl ProviderAccess {
    /// Creates the user of a session that begins with these tokens.
    pub(crate) async fn user(&self, program: &Program, tokens: Tokens) -> Result<User, Problem> {
        let impersonated = self.impersonation.as_ref();
        let impersonated = impersonated.map(|listed| listed.user(&tokens.user));
        let impersonated = impersonated.transpose()?;
        let login = self.logins.add(&self.provider, tokens).await;
        let login = login.map_err(Problem::internal)?;
        let identity = match impersonated {
            None => Identity::Token(login.bearer()),
            Some(user) => Identity::Impersonated(user),
        };
        Ok(User::logged_in(program.clone(), identity, login))
    }
}

impl Impersonation {
    /// Returns a user of the provider as the API server sees it.
    fn user(&self, user: &oidc::User) -> Result<ImpersonatedUser, Problem> {
        // Other claims may be chosen by the user.
        let name = user.verified_email.as_ref().unwrap_or(&user.subject);
        let name = format!("{PREFIX}{name}");
        if !self.users.contains(&name) {
            return Err(Problem::with_status(
                StatusCode::FORBIDDEN,
                texts::not_listed(&name),
            ));
        }
        let groups = user.groups.iter().map(|group| format!("{PREFIX}{group}"));
        let groups = groups.filter(|group| self.groups.contains(group));
        Ok(ImpersonatedUser {
            name,
            groups: groups.collect(),
        })
    }
}

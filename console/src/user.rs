//! A user of the console ([`User`]): whose permissions pages and runs have, and the plans that the user has seen.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;

use kubernetes::Identity;

use crate::login::{Login, RenewalError};
use crate::plans::Plans;
use crate::program::Program;
use crate::site::{RegistryLogin, Site};

/// A user with an open session. Nothing in it is shared with other users: neither a connection nor a plan.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) id: UserId,
    /// The site, with the permissions of this user.
    pub(crate) site: Site,
    pub(crate) plans: Plans,
    /// The login at the identity provider; none for the user of this machine.
    pub(crate) login: Option<Arc<Login>>,
}

/// The user who owns a run. Several sessions of a user have the same id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UserId {
    /// The user of this machine.
    Local,
    /// A user of the identity provider, by the provider's identifier.
    Subject(String),
}

impl User {
    /// Creates the user of this machine, with the permissions of the account and the user's own logins to registries.
    pub(crate) fn local(program: Program) -> Self {
        Self {
            id: UserId::Local,
            site: Site::new(program, RegistryLogin::User),
            plans: Plans::default(),
            login: None,
        }
    }

    /// Creates a user who has logged in at the identity provider.
    pub(crate) fn logged_in(program: Program, identity: Identity, login: Arc<Login>) -> Self {
        let mut program = program;
        program.connect.identity = identity;
        Self {
            id: UserId::Subject(login.subject.clone()),
            site: Site::new(program, RegistryLogin::Console),
            plans: Plans::default(),
            login: Some(login),
        }
    }

    /// Renews the login if it ends soon.
    pub(crate) async fn renew(&self) -> Result<(), RenewalError> {
        match &self.login {
            Some(login) => login.renew().await,
            None => Ok(()),
        }
    }

    /// Renews the login again and again, so that a run can use it.
    pub(crate) async fn stay_logged_in(&self) -> Infallible {
        match &self.login {
            Some(login) => login.stay_valid().await,
            None => pending().await,
        }
    }
}

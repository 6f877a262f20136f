//! The login of a user at the identity provider ([`Login`]). Its tokens expire within minutes, and are renewed as long
//! as the user has a session or a run.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use kubernetes::{BearerToken, InvalidToken};
use tokio::sync::Mutex;

use crate::oidc::{self, Provider, Tokens};

/// The time before the end of a token at which it is renewed, at most.
const AHEAD: Duration = Duration::from_mins(1);
/// The time between two attempts to renew a token while the provider cannot be reached.
const RETRY: Duration = Duration::from_secs(5);
/// The longest time for which a run keeps its login.
const LONGEST_RUN: Duration = Duration::from_hours(2);

/// A login at the identity provider.
#[derive(Debug)]
pub(crate) struct Login {
    provider: Arc<Provider>,
    /// The provider's identifier of the user.
    pub(crate) subject: String,
    /// The token of requests to the API server.
    bearer: BearerToken,
    held: Mutex<HeldTokens>,
}

#[derive(Debug)]
struct HeldTokens {
    tokens: Tokens,
    renew_at: SystemTime,
}

impl HeldTokens {
    fn new(tokens: Tokens, now: SystemTime) -> Self {
        let lifetime = tokens.expires.duration_since(now).unwrap_or_default();
        let renew_at = tokens.expires - AHEAD.min(lifetime / 3);
        Self { tokens, renew_at }
    }
}

/// The reason why a login cannot be renewed.
#[derive(Debug)]
pub(crate) enum RenewalError {
    /// The login has ended: the user must log in again.
    Ended(Option<oidc::Error>),
    /// The provider cannot be asked, and the token has expired.
    Unavailable(oidc::Error),
}

impl Login {
    fn new(provider: Arc<Provider>, tokens: Tokens) -> Result<Self, InvalidToken> {
        Ok(Self {
            subject: tokens.user.subject.clone(),
            bearer: BearerToken::new(&tokens.id_token)?,
            held: Mutex::new(HeldTokens::new(tokens, provider.now())),
            provider,
        })
    }

    /// Returns the user as the identity provider describes it.
    pub(crate) async fn user(&self) -> oidc::User {
        self.held.lock().await.tokens.user.clone()
    }

    /// Returns the token of requests to the API server.
    pub(crate) fn bearer(&self) -> BearerToken {
        self.bearer.clone()
    }

    /// Replaces the tokens by those of a later login of the same user.
    pub(crate) async fn replace(&self, tokens: Tokens) -> Result<(), InvalidToken> {
        let mut held = self.held.lock().await;
        self.bearer.replace(&tokens.id_token)?;
        *held = HeldTokens::new(tokens, self.provider.now());
        Ok(())
    }

    /// Renews the tokens if they end soon. Only one request at a time does this, because a provider may accept a refresh
    /// token only once.
    pub(crate) async fn renew(self: &Arc<Self>) -> Result<(), RenewalError> {
        let login = Arc::clone(self);
        // A request that is dropped half-way must not lose the new tokens.
        let renewal = tokio::spawn(async move { login.renew_now().await });
        renewal.await.unwrap_or(Err(RenewalError::Ended(None)))
    }

    async fn renew_now(&self) -> Result<(), RenewalError> {
        let mut held = self.held.lock().await;
        let now = self.provider.now();
        if now < held.renew_at {
            return Ok(());
        }
        let is_valid = now < held.tokens.expires;
        if held.tokens.refresh_token.is_none() {
            let ended = || RenewalError::Ended(None);
            return if is_valid { Ok(()) } else { Err(ended()) };
        }
        match self.provider.refresh(&held.tokens).await {
            Ok(tokens) => {
                let replaced = self.bearer.replace(&tokens.id_token);
                replaced.map_err(|_| RenewalError::Ended(None))?;
                *held = HeldTokens::new(tokens, now);
                Ok(())
            }
            Err(error) if !error.is_temporary() => Err(RenewalError::Ended(Some(error))),
            Err(_) if is_valid => Ok(()),
            Err(error) => Err(RenewalError::Unavailable(error)),
        }
    }

    /// Renews the tokens for a run, each time before they end.
    pub(crate) async fn stay_valid(self: &Arc<Self>) -> Infallible {
        let end = Instant::now() + LONGEST_RUN;
        while Instant::now() < end {
            let renew_at = self.held.lock().await.renew_at;
            let left = renew_at.duration_since(self.provider.now());
            tokio::time::sleep(left.unwrap_or_default().max(RETRY)).await;
            if let Err(RenewalError::Ended(_)) = self.renew().await {
                break;
            }
        }
        // The run goes on until its token has expired.
        pending().await
    }
}

/// The logins of all users. A user has one, even with several sessions: a provider such as Dex keeps only the newest
/// refresh token of a user, so an earlier one can no longer be renewed.
#[derive(Debug, Default)]
pub(crate) struct Logins(Mutex<HashMap<String, Weak<Login>>>);

impl Logins {
    /// Returns the login of a user, which has the given tokens from now on.
    pub(crate) async fn add(
        &self,
        provider: &Arc<Provider>,
        tokens: Tokens,
    ) -> Result<Arc<Login>, InvalidToken> {
        let mut logins = self.0.lock().await;
        logins.retain(|_, login| login.strong_count() > 0);
        let known = logins.get(&tokens.user.subject).and_then(Weak::upgrade);
        if let Some(login) = known {
            // Other users do not wait for a renewal of this login.
            drop(logins);
            login.replace(tokens).await?;
            return Ok(login);
        }
        let login = Arc::new(Login::new(Arc::clone(provider), tokens)?);
        logins.insert(login.subject.clone(), Arc::downgrade(&login));
        Ok(login)
    }
}

//! The user whose permissions a connection has ([`Identity`]). A connection can use the credentials of its account, the
//! token of another user ([`BearerToken`]), or act on behalf of another user.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use http::header::AUTHORIZATION;
use http::{HeaderValue, Request};
use kube::config::AuthInfo;

/// The user whose permissions the requests of a connection have.
#[derive(Clone, Debug, Default)]
pub enum Identity {
    /// The user of the account.
    #[default]
    Account,
    /// The user of a token. Only the address and the authority of the account are used, and none of its credentials.
    Token(BearerToken),
    /// A user on whose behalf the account acts. The API server decides whether the account may do this
    /// ([user impersonation](https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/)).
    Impersonated(ImpersonatedUser),
}

/// A user to impersonate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImpersonatedUser {
    /// The name of the user.
    pub name: String,
    /// The groups of the user. The API server adds `system:authenticated`.
    pub groups: Vec<String>,
}

/// A bearer token (RFC 6750). Its owner can replace it, for example before it expires: later requests have the new one.
/// Clones share the token.
#[derive(Clone)]
pub struct BearerToken(Arc<RwLock<HeaderValue>>);

/// A token with characters that cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the token has characters that cannot be sent in a header")]
pub struct InvalidToken;

impl BearerToken {
    /// Creates a token.
    pub fn new(token: &str) -> Result<Self, InvalidToken> {
        Ok(Self(Arc::new(RwLock::new(header(token)?))))
    }

    /// Replaces the token for all later requests.
    pub fn replace(&self, token: &str) -> Result<(), InvalidToken> {
        let header = header(token)?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = header;
        Ok(())
    }

    /// Adds the token to a request.
    fn authorize<B>(&self, request: &mut Request<B>) {
        let header = self
            .0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        request.headers_mut().insert(AUTHORIZATION, header);
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerToken")
    }
}

fn header(token: &str) -> Result<HeaderValue, InvalidToken> {
    let mut header = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| InvalidToken)?;
    header.set_sensitive(true);
    Ok(header)
}

impl Identity {
    /// Replaces the credentials of an account, as far as they are not those of this identity.
    pub(super) fn apply_to(&self, credentials: &mut AuthInfo) {
        match self {
            Self::Account => {}
            Self::Token(_) => *credentials = AuthInfo::default(),
            Self::Impersonated(user) => {
                credentials.impersonate = Some(user.name.clone());
                credentials.impersonate_groups = Some(user.groups.clone());
                credentials.impersonate_uid = None;
                credentials.impersonate_user_extra = None;
            }
        }
    }

    /// Adds the token of the user to a request, if there is one.
    pub(super) fn authorize<B>(&self, request: &mut Request<B>) {
        if let Self::Token(token) = self {
            token.authorize(request);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_replaced_for_all_clones_and_never_shown() {
        let token = BearerToken::new("first").unwrap();
        let identity = Identity::Token(token.clone());
        let sent = || {
            let mut request = Request::new(());
            identity.authorize(&mut request);
            let header = request.headers()[AUTHORIZATION].clone();
            assert!(header.is_sensitive());
            header.to_str().unwrap().to_owned()
        };
        assert_eq!(sent(), "Bearer first");
        token.replace("second").unwrap();
        assert_eq!(sent(), "Bearer second");
        assert_eq!(token.replace("a\nb"), Err(InvalidToken));
        assert_eq!(sent(), "Bearer second");
        assert_eq!(format!("{identity:?}"), "Token(BearerToken)");
    }

    #[test]
    fn the_credentials_of_the_account_are_only_used_for_its_own_user_and_for_impersonation() {
        let account = || AuthInfo {
            token_file: Some("/token".to_owned()),
            impersonate: Some("somebody".to_owned()),
            impersonate_uid: Some("1".to_owned()),
            ..AuthInfo::default()
        };
        let of = |identity: &Identity| {
            let mut credentials = account();
            identity.apply_to(&mut credentials);
            credentials
        };
        let own = of(&Identity::Account);
        assert_eq!(own.token_file.as_deref(), Some("/token"));
        assert_eq!(own.impersonate.as_deref(), Some("somebody"));
        let user = of(&Identity::Token(BearerToken::new("user").unwrap()));
        assert_eq!((user.token_file, user.impersonate), (None, None));
        let user = of(&Identity::Impersonated(ImpersonatedUser {
            name: "alice".to_owned(),
            groups: vec!["admins".to_owned()],
        }));
        assert_eq!(user.token_file.as_deref(), Some("/token"));
        assert_eq!(user.impersonate.as_deref(), Some("alice"));
        assert_eq!(user.impersonate_groups, Some(vec!["admins".to_owned()]));
        assert_eq!(user.impersonate_uid, None);
    }
}

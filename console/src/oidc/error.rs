//! The reasons why a login fails ([`Error`], [`Check`]).

use std::fmt;

/// The largest length of a text of the provider in an error, in characters.
const LONGEST: usize = 300;

/// The reason why a login or a refresh fails. No text contains a token, a code or another secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// The provider cannot be reached, or does not answer as a provider does. The same request can succeed later.
    #[error("cannot get {object} from the identity provider: {cause}")]
    Unavailable { object: Object, cause: String },
    /// The provider refused. The user must log in again.
    #[error("cannot get {object} from the identity provider: it refused with {reason}")]
    Refused { object: Object, reason: String },
    /// An answer of the provider failed a check.
    #[error("cannot accept the answer of the identity provider: {0}")]
    Unacceptable(#[from] Check),
    /// The system has no random numbers.
    #[error("cannot create a random number: {0}")]
    Random(#[from] getrandom::Error),
}

impl Error {
    /// Returns true if the same request can succeed later.
    pub(crate) fn is_temporary(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Random(_))
    }

    pub(crate) fn unavailable(object: Object, cause: &str) -> Self {
        let cause = printable(cause);
        Self::Unavailable { object, cause }
    }

    /// Returns the error for an error code of OAuth 2.0. Two of the codes ask the client to try again.
    pub(crate) fn from_code(object: Object, code: &str, description: Option<&str>) -> Self {
        let reason = match description {
            Some(description) => printable(&format!("{code}: {description}")),
            None => printable(code),
        };
        match code {
            "server_error" | "temporarily_unavailable" => Self::unavailable(object, &reason),
            _ => Self::Refused { object, reason },
        }
    }
}

/// An object that the provider is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    Configuration,
    Keys,
    Login,
    Tokens,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Configuration => "the configuration",
            Self::Keys => "the keys",
            Self::Login => "a login",
            Self::Tokens => "tokens",
        })
    }
}

/// A check that an answer of the provider failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Check {
    #[error("the configuration names another issuer")]
    ConfiguredIssuer,
    #[error("`{0}` is not an https URL")]
    Endpoint(&'static str),
    #[error(
        "the provider accepts the client secret neither as `client_secret_basic` nor as `client_secret_post`"
    )]
    ClientAuthentication,
    #[error("the login took more than 10 minutes")]
    Late,
    #[error("the state is not that of this login")]
    State,
    #[error("the callback does not name the issuer")]
    CallbackIssuer,
    #[error("the callback has no code")]
    Code,
    #[error("the answer has no ID token")]
    NoIdToken,
    #[error("there is no refresh token")]
    NoRefreshToken,
    #[error("a token or code has more than 64 KiB")]
    Size,
    #[error("the ID token is not a signed JSON Web Token with the claims of OpenID Connect")]
    Format,
    #[error("the ID token is signed with an algorithm that is not accepted for this key")]
    Algorithm,
    #[error("the ID token is signed with a key that the provider does not publish")]
    UnknownKey,
    #[error("the RSA key of the ID token must have 2048 to 8192 bits")]
    KeySize,
    #[error("the signature of the ID token is not valid")]
    Signature,
    #[error("the ID token is of another issuer")]
    Issuer,
    #[error("the ID token is for another client (`aud`)")]
    Audience,
    #[error("the ID token was issued to another client (`azp`)")]
    AuthorizedParty,
    #[error("the ID token has expired; compare the clocks of this machine and of the provider")]
    Expired,
    #[error(
        "the ID token is not valid yet; compare the clocks of this machine and of the provider"
    )]
    Early,
    #[error("the nonce of the ID token is not that of this login")]
    Nonce,
    #[error("the ID token is of another user")]
    Subject,
    #[error("the claim `{0}` of the ID token is too long or contains control characters")]
    Claim(&'static str),
    #[error("the user is in more than 500 groups")]
    Groups,
}

/// Returns the first characters of a text, without control characters.
fn printable(text: &str) -> String {
    let characters = text.chars().filter(|character| !character.is_control());
    characters.take(LONGEST).collect()
}

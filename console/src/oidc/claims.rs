//! The claims of an ID token ([`Claims`]; OpenID Connect Core 1.0, sections 2 and 5.1), and the [`User`] in them.

use std::time::{Duration, SystemTime};

use serde::Deserialize;
use serde_json::Value;

use super::error::Check;

/// The largest accepted difference between the clocks of the provider and of this machine, in seconds.
const LEEWAY: f64 = 60.0;
/// The largest number of groups.
const GROUPS: usize = 500;
/// The largest length of a claim, in bytes.
const LONGEST: usize = 1024;

/// The user who logged in, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    /// The id of the user at the issuer.
    pub(crate) subject: String,
    pub(crate) issuer: String,
    /// The email address, or else the preferred user name, or else the subject.
    pub(crate) name: String,
    /// The email address, if the provider says that it is verified.
    pub(crate) verified_email: Option<String>,
    pub(crate) groups: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts,
        }
    }
}

#[derive(Deserialize)]
struct Document {
    iss: String,
    sub: String,
    aud: OneOrMany,
    azp: Option<String>,
    exp: f64,
    iat: f64,
    nbf: Option<f64>,
    nonce: Option<String>,
    email: Option<String>,
    // Some providers write the text `false`.
    email_verified: Option<Value>,
    preferred_username: Option<String>,
    groups: Option<OneOrMany>,
}

/// The claims of an ID token for this client that is valid now.
pub(crate) struct Claims {
    pub(crate) expires: SystemTime,
    pub(crate) nonce: Option<String>,
    pub(crate) user: User,
}

impl Claims {
    /// Reads and checks claims whose signature has been verified.
    pub(crate) fn parse(
        json: &[u8],
        issuer: &str,
        client_id: &str,
        now: SystemTime,
    ) -> Result<Self, Check> {
        let document: Document = serde_json::from_slice(json).map_err(|_| Check::Format)?;
        if document.iss != issuer {
            return Err(Check::Issuer);
        }
        let expires = document.check_times(now)?;
        let audiences = document.aud.into_vec();
        if !audiences.iter().any(|audience| audience == client_id) {
            return Err(Check::Audience);
        }
        match &document.azp {
            Some(party) if party != client_id => return Err(Check::AuthorizedParty),
            None if audiences.len() > 1 => return Err(Check::AuthorizedParty),
            _ => {}
        }
        let says = |truth: bool| {
            let verified = document.email_verified.as_ref();
            verified.is_some_and(|verified| *verified == truth || *verified == *truth.to_string())
        };
        let (is_verified, is_unverified) = (says(true), says(false));
        let is_given = |text: &String| !text.is_empty();
        let email = document.email.filter(is_given).filter(|_| !is_unverified);
        let verified_email = email.clone().filter(|_| is_verified);
        let name = email.or(document.preferred_username.filter(is_given));
        let user = User {
            name: name.unwrap_or_else(|| document.sub.clone()),
            subject: document.sub,
            issuer: document.iss,
            verified_email,
            groups: document.groups.map_or_else(Vec::new, OneOrMany::into_vec),
        };
        user.check()?;
        Ok(Self {
            expires,
            nonce: document.nonce,
            user,
        })
    }
}

impl Document {
    /// Checks the times of the token, and returns its end.
    fn check_times(&self, now: SystemTime) -> Result<SystemTime, Check> {
        let now = now.duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap_or_default().as_secs_f64();
        if self.exp + LEEWAY <= now {
            return Err(Check::Expired);
        }
        if self.iat.max(self.nbf.unwrap_or(self.iat)) > now + LEEWAY {
            return Err(Check::Early);
        }
        let expires = Duration::try_from_secs_f64(self.exp).ok();
        let expires = expires.and_then(|expires| SystemTime::UNIX_EPOCH.checked_add(expires));
        expires.ok_or(Check::Format)
    }
}

impl User {
    fn check(&self) -> Result<(), Check> {
        if self.groups.len() > GROUPS {
            return Err(Check::Groups);
        }
        let texts = [("sub", &self.subject), ("name", &self.name)].into_iter();
        let mut texts = texts.chain(self.groups.iter().map(|group| ("groups", group)));
        let is_bad =
            |text: &str| text.is_empty() || text.len() > LONGEST || text.contains(char::is_control);
        match texts.find(|(_, text)| is_bad(text)) {
            Some((claim, _)) => Err(Check::Claim(claim)),
            None => Ok(()),
        }
    }
}

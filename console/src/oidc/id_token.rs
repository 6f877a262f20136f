//! The form of an ID token ([`IdToken`]): a signed JSON Web Token (RFC 7515, RFC 7519).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::Value;

use super::error::Check;
use super::keys::Signature;

/// The largest token or code, in bytes.
const LARGEST: usize = 64 * 1024;

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: String,
    /// Extensions that a reader must understand. This console understands none.
    crit: Option<Value>,
}

/// An ID token whose signature has not been verified.
pub(crate) struct IdToken<'a> {
    header: Header,
    text: &'a str,
    signature: Vec<u8>,
    /// The claims, as JSON.
    pub(crate) claims: Vec<u8>,
}

impl<'a> IdToken<'a> {
    pub(crate) fn parse(token: &'a str) -> Result<Self, Check> {
        check_size(token)?;
        let (text, signature) = token.rsplit_once('.').ok_or(Check::Format)?;
        let (header, claims) = text.split_once('.').ok_or(Check::Format)?;
        let decode = |part| URL_SAFE_NO_PAD.decode(part).map_err(|_| Check::Format);
        let header: Header = serde_json::from_slice(&decode(header)?).map_err(|_| Check::Format)?;
        if header.crit.is_some() {
            return Err(Check::Format);
        }
        Ok(Self {
            header,
            text,
            signature: decode(signature)?,
            claims: decode(claims)?,
        })
    }

    pub(crate) fn signature(&self) -> Signature<'_> {
        Signature {
            key: &self.header.kid,
            algorithm: &self.header.alg,
            text: self.text,
            bytes: &self.signature,
        }
    }
}

/// Refuses tokens and codes that are too large to be stored or sent.
pub(crate) fn check_size(token: &str) -> Result<(), Check> {
    if token.len() > LARGEST {
        return Err(Check::Size);
    }
    Ok(())
}

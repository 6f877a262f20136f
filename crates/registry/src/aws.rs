//! The API of Amazon ECR and the signatures of its requests (AWS IAM User Guide, "Create a signed AWS API request":
//! Signature Version 4).

use std::fmt::Write as _;
use std::time::SystemTime;

use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Method, Url};
use schemas::Digest;
use sha2::{Digest as _, Sha256};

use crate::credentials::Secret;

const SERVICE: &str = "ecr";

/// The API of Amazon ECR in a region, and the login to it, which is another one than that of the registry.
#[derive(Clone, Debug)]
pub struct EcrApi {
    /// The URL of the API.
    pub endpoint: String,
    /// The region, such as `eu-west-1`.
    pub region: String,
    /// The name of the key.
    pub access_key_id: String,
    /// The key.
    pub secret_access_key: Secret,
    /// The token that belongs to a temporary key.
    pub session_token: Option<Secret>,
}

/// Returns the region and the URL of the API of an ECR registry, by its host: `ACCOUNT.dkr.ecr.REGION.amazonaws.com`, with
/// `.cn` behind it in China.
#[must_use]
pub fn ecr_endpoint(host: &str) -> Option<(&str, String)> {
    let (_, rest) = host.split_once(".dkr.ecr.")?;
    let (region, domain) = rest.split_once('.')?;
    let is_known = matches!(domain, "amazonaws.com" | "amazonaws.com.cn");
    is_known.then(|| (region, format!("https://api.ecr.{region}.{domain}")))
}

impl EcrApi {
    /// Returns a signed request to the API. Fails with the reason if the URL or the login cannot be used.
    pub(crate) fn request(
        &self,
        target: &'static str,
        body: String,
        now: SystemTime,
    ) -> Result<reqwest::Request, String> {
        let url: Url = self.endpoint.parse().map_err(|_| self.unusable())?;
        let host = url.host_str().ok_or_else(|| self.unusable())?;
        let host = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let now = Timestamp::try_from(now).map_err(|_| self.unusable())?;
        let date = now.strftime("%Y%m%dT%H%M%SZ").to_string();
        let mut signed: Vec<(&'static str, &str)> = vec![
            ("content-type", "application/x-amz-json-1.1"),
            ("host", host.as_str()),
            ("x-amz-date", date.as_str()),
        ];
        if let Some(token) = &self.session_token {
            signed.push(("x-amz-security-token", token.reveal()));
        }
        signed.push(("x-amz-target", target));
        let request = canonical_request("POST", "", &signed, body.as_bytes());
        let authorization = self.authorization(SERVICE, &date, &signed, &request);
        let mut headers = HeaderMap::new();
        for (name, value) in signed.into_iter().filter(|(name, _)| *name != "host") {
            headers.insert(name, self.value(value)?);
        }
        headers.insert(AUTHORIZATION, self.value(&authorization)?);
        let mut request = reqwest::Request::new(Method::POST, url);
        *request.headers_mut() = headers;
        *request.body_mut() = Some(body.into());
        Ok(request)
    }

    fn value(&self, text: &str) -> Result<HeaderValue, String> {
        let mut value = HeaderValue::from_str(text).map_err(|_| self.unusable())?;
        value.set_sensitive(true);
        Ok(value)
    }

    fn unusable(&self) -> String {
        format!("`{}` or the login to it cannot be used", self.endpoint)
    }

    /// The value of the header `Authorization` for a request at a time, such as `20150830T123600Z`.
    fn authorization(
        &self,
        service: &str,
        time: &str,
        signed: &[(&str, &str)],
        request: &str,
    ) -> String {
        let day = time.split('T').next().unwrap_or_default();
        let scope = format!("{day}/{}/{service}/aws4_request", self.region);
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hash(request));
        let secret = format!("AWS4{}", self.secret_access_key.reveal());
        let parts = [&self.region, service, "aws4_request", &text];
        let key = mac(secret.as_bytes(), day);
        let signature = parts.iter().fold(key, |key, part| mac(&key, part));
        format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={}, Signature={}",
            self.access_key_id,
            names(signed),
            Digest::new(signature).hex()
        )
    }
}

/// A request in the form that is signed. The headers are in the order of their names, which are in lower case.
fn canonical_request(method: &str, query: &str, headers: &[(&str, &str)], body: &[u8]) -> String {
    let mut lines = String::new();
    for (name, value) in headers {
        writeln!(lines, "{name}:{}", value.trim()).expect("writing to a string never fails");
    }
    let (names, body) = (names(headers), hash(body));
    format!("{method}\n/\n{query}\n{lines}\n{names}\n{body}")
}

fn names(headers: &[(&str, &str)]) -> String {
    let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    names.join(";")
}

fn mac(key: &[u8], text: &str) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().into()
}

fn hash(bytes: impl AsRef<[u8]>) -> String {
    Digest::new(Sha256::digest(bytes).into()).hex()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_signed_as_in_the_example_of_aws() {
        // AWS General Reference, "Signature Version 4 signing process": the request to IAM that its four tasks sign.
        let api = EcrApi {
            endpoint: String::new(),
            region: "us-east-1".to_owned(),
            access_key_id: "AKIDEXAMPLE".to_owned(),
            secret_access_key: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned()),
            session_token: None,
        };
        let time = "20150830T123600Z";
        let headers = [
            (
                "content-type",
                "application/x-www-form-urlencoded; charset=utf-8",
            ),
            ("host", "iam.amazonaws.com"),
            ("x-amz-date", time),
        ];
        let query = "Action=ListUsers&Version=2010-05-08";
        let request = canonical_request("GET", query, &headers, b"");
        assert_eq!(
            hash(&request),
            "f536975d06c0309214f805bb90ccff089219ecd68b2577efef23edd43b7e1a59"
        );
        assert_eq!(
            api.authorization("iam", time, &headers, &request),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
        );
    }

    #[test]
    fn registries_of_ecr_are_known_by_their_host() {
        let api = |host| ecr_endpoint(host).map(|(_, url)| url);
        assert_eq!(
            api("1234.dkr.ecr.eu-west-1.amazonaws.com").unwrap(),
            "https://api.ecr.eu-west-1.amazonaws.com"
        );
        assert_eq!(
            api("1234.dkr.ecr.cn-north-1.amazonaws.com.cn").unwrap(),
            "https://api.ecr.cn-north-1.amazonaws.com.cn"
        );
        for other in [
            "1234.dkr.ecr.eu-west-1.amazonaws.com.evil.test",
            "quay.io",
            "1234.dkr.ecr.amazonaws.com",
        ] {
            assert_eq!(api(other), None, "{other}");
        }
    }
}

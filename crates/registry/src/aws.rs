//! The API of Amazon ECR ([`EcrApi`], [`EcrEndpoint`]) and the signatures of its requests (AWS IAM User Guide, "Create
//! a signed AWS API request": Signature Version 4). Amazon ECR does not create repositories during a push, so they are
//! created through its API.

use std::fmt::Write as _;
use std::time::SystemTime;

use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Method, Url};
use schemas::Digest;
use sha2::{Digest as _, Sha256};

use crate::address::is_loopback_host;
use crate::credentials::Secret;

const SERVICE: &str = "ecr";

/// The URL of the Amazon ECR API in a region. It is HTTPS or on this machine, so secrets may be sent to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EcrEndpoint {
    url: Url,
    region: String,
}

/// An error in the URL of the ECR API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The text is not a URL, or has a login, a query or a fragment, which requests to the API do not have.
    #[error("it is not a URL of the form `https://HOST[:PORT][/PATH]`")]
    Form,
    /// The URL is plain HTTP, so that others on the network could read the session token and change the requests.
    #[error("it is plain HTTP, which is allowed only for a host of this machine")]
    PlainHttp,
}

impl EcrEndpoint {
    /// Returns the endpoint at a URL, in a region such as `eu-west-1`.
    pub fn new(url: &str, region: &str) -> Result<Self, EndpointError> {
        let url: Url = url.parse().map_err(|_| EndpointError::Form)?;
        let host = url.host_str().unwrap_or_default();
        let has_login = !url.username().is_empty() || url.password().is_some();
        if host.is_empty() || has_login || url.query().is_some() || url.fragment().is_some() {
            return Err(EndpointError::Form);
        }
        match url.scheme() {
            "https" => {}
            "http" if is_loopback_host(host) => {}
            "http" => return Err(EndpointError::PlainHttp),
            _ => return Err(EndpointError::Form),
        }
        let region = region.to_owned();
        Ok(Self { url, region })
    }

    /// Returns the endpoint of an ECR registry by its host: `ACCOUNT.dkr.ecr.REGION.amazonaws.com`, or the same with
    /// `.cn` appended in China.
    #[must_use]
    pub fn of_registry(host: &str) -> Option<Self> {
        let (_, rest) = host.split_once(".dkr.ecr.")?;
        let (region, domain) = rest.split_once('.')?;
        let is_known = matches!(domain, "amazonaws.com" | "amazonaws.com.cn");
        let url = is_known.then(|| format!("https://api.ecr.{region}.{domain}"))?;
        Self::new(&url, region).ok()
    }

    /// Returns the region, such as `eu-west-1`.
    #[must_use]
    pub fn region(&self) -> &str {
        &self.region
    }

    /// Returns the endpoint of the same region at a different URL.
    pub fn with_url(&self, url: &str) -> Result<Self, EndpointError> {
        Self::new(url, &self.region)
    }
}

/// The API of Amazon ECR and the login to it, which differs from the login to the registry.
#[derive(Clone, Debug)]
pub struct EcrApi {
    /// The URL of the API.
    pub endpoint: EcrEndpoint,
    /// The id of the access key.
    pub access_key_id: String,
    /// The secret access key.
    pub secret_access_key: Secret,
    /// The session token of a temporary key.
    pub session_token: Option<Secret>,
}

impl EcrApi {
    /// Returns a signed request to the API. Fails with a reason if the login cannot be used.
    pub(crate) fn request(
        &self,
        target: &'static str,
        body: String,
        now: SystemTime,
    ) -> Result<reqwest::Request, String> {
        let url = self.endpoint.url.clone();
        let host = url.host_str().unwrap_or_default();
        // As in the `Host` header, the default port is omitted.
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
        let request = canonical_request("POST", url.path(), "", &signed, body.as_bytes());
        let authorization = self.authorization(SERVICE, &date, &signed, &request);
        let mut headers = HeaderMap::new();
        // The HTTP client sets the `Host` header itself.
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
        format!("the login to `{}` cannot be used", self.endpoint.url)
    }

    /// Returns the value of the `Authorization` header for a request at a time such as `20150830T123600Z`.
    fn authorization(
        &self,
        service: &str,
        time: &str,
        signed: &[(&str, &str)],
        request: &str,
    ) -> String {
        let day = time.split('T').next().unwrap_or_default();
        let scope = format!("{day}/{}/{service}/aws4_request", self.endpoint.region);
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hash(request));
        let secret = format!("AWS4{}", self.secret_access_key.reveal());
        let parts = [&self.endpoint.region, service, "aws4_request", &text];
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

/// Returns the canonical form of a request, which is signed. The path is the one that is sent. The headers must be
/// sorted by name, with names in lower case.
fn canonical_request(
    method: &str,
    path: &str,
    query: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> String {
    let mut lines = String::new();
    for (name, value) in headers {
        writeln!(lines, "{name}:{}", value.trim()).expect("writing to a string never fails");
    }
    let (path, names, body) = (encoded_path(path), names(headers), hash(body));
    format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{body}")
}

/// Encodes the path for the canonical form. All services except S3 encode the path of the request a second time.
fn encoded_path(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                encoded.push(char::from(byte));
            }
            _ => write!(encoded, "%{byte:02X}").expect("writing to a string never fails"),
        }
    }
    encoded
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

    fn api(url: &str, region: &str) -> EcrApi {
        EcrApi {
            endpoint: EcrEndpoint::new(url, region).unwrap(),
            access_key_id: "AKIDEXAMPLE".to_owned(),
            secret_access_key: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned()),
            session_token: Some(Secret::new("temporary".to_owned())),
        }
    }

    #[test]
    fn a_request_is_signed_as_in_the_example_of_aws() {
        // AWS General Reference, "Signature Version 4 signing process": the request to IAM that its four tasks sign.
        let api = api("https://iam.amazonaws.com", "us-east-1");
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
        let request = canonical_request("GET", "/", query, &headers, b"");
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
    fn the_path_of_the_endpoint_is_signed_as_it_is_sent() {
        let api = api("https://ecr.example:8443/api%20gate/./ecr", "eu-west-1");
        let now: Timestamp = "2015-08-30T12:36:00Z".parse().unwrap();
        let body = r#"{"repositoryName":"apps"}"#.to_owned();
        let request = api.request("T.CreateRepository", body, now.into());
        let request = request.unwrap();
        assert_eq!(request.url().path(), "/api%20gate/ecr");
        // Computed by an implementation of Signature Version 4 in Python, for the canonical path `/api%2520gate/ecr`.
        let signature = "6d5bcc6ffb11e655d9fe067689deaf2b2a3a89c137a2e4c63d63595fd0171d6c";
        let authorization = request.headers()[AUTHORIZATION].to_str().unwrap();
        assert!(authorization.ends_with(signature), "{authorization}");
    }

    #[test]
    fn endpoints_are_https_or_on_this_machine() {
        let error = |url| EcrEndpoint::new(url, "eu-west-1").err();
        for good in [
            "https://ecr.example",
            "https://ecr.example:8443/path",
            "http://127.0.0.1:4566",
            "http://localhost:4566/path",
            "http://[::1]:4566",
        ] {
            assert_eq!(error(good), None, "{good}");
        }
        for plain in [
            "http://ecr.example",
            "http://10.0.0.1:4566",
            "http://localhost.evil.test",
        ] {
            assert_eq!(error(plain), Some(EndpointError::PlainHttp), "{plain}");
        }
        for form in [
            "",
            "ecr.example",
            "ftp://localhost",
            "https://user@ecr.example",
            "https://ecr.example/?query",
            "https://ecr.example/#fragment",
        ] {
            assert_eq!(error(form), Some(EndpointError::Form), "{form}");
        }
    }

    #[test]
    fn registries_of_ecr_are_known_by_their_host() {
        for (host, url, region) in [
            (
                "1234.dkr.ecr.eu-west-1.amazonaws.com",
                "https://api.ecr.eu-west-1.amazonaws.com",
                "eu-west-1",
            ),
            (
                "1234.dkr.ecr.cn-north-1.amazonaws.com.cn",
                "https://api.ecr.cn-north-1.amazonaws.com.cn",
                "cn-north-1",
            ),
        ] {
            let endpoint = EcrEndpoint::of_registry(host).unwrap();
            assert_eq!(endpoint, EcrEndpoint::new(url, region).unwrap());
        }
        for other in [
            "1234.dkr.ecr.eu-west-1.amazonaws.com.evil.test",
            "quay.io",
            "1234.dkr.ecr.amazonaws.com",
        ] {
            assert_eq!(EcrEndpoint::of_registry(other), None, "{other}");
        }
    }
}

//! Addresses of images. A [`RegistryAddress`] names a registry, a [`RepositoryPath`] a repository in it, and a
//! [`Reference`] a manifest by tag or digest. [`ImageLocation`] combines the three. The grammar is the one of the OCI
//! distribution specification; references without a registry are read as container engines read them.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use schemars::JsonSchema;
use schemas::{Digest, ImageName, ImageReference, Tag};
use serde::{Deserialize, Serialize};

use crate::limits;

/// The reason why a text is not an address or a repository.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// A URL was given.
    #[error("`{0}` has a scheme: expected HOST[:PORT][/PREFIX]")]
    Scheme(String),
    /// The host is neither a DNS name nor an IP address.
    #[error("`{0}` is not a host: expected HOST[:PORT][/PREFIX]")]
    Host(String),
    /// The port is not between 1 and 65535.
    #[error("`{0}` is not a port")]
    Port(String),
    /// A component does not match the grammar of the distribution specification ("Pulling manifests").
    #[error(
        "`{0}` is not a repository: expected components of lower-case letters, digits and single separators, joined by `/`"
    )]
    Repository(String),
    /// The name is longer than registries store.
    #[error("repository `{0}` has more than {max} characters", max = limits::REPOSITORY)]
    TooLong(String),
    /// The text is not the address of a web site.
    #[error("`{0}` is not the address of a web site: expected https://HOST[:PORT][/PATH]")]
    Url(String),
    /// The tag is longer than archives and this client allow.
    #[error("tag `{0}` is too long; name the image by its digest")]
    Tag(String),
}

/// The address of a registry, `HOST[:PORT][/PREFIX]`. The prefix is prepended to the path of every repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RegistryAddress {
    host: String,
    prefix: Option<RepositoryPath>,
}

impl RegistryAddress {
    /// Returns the host and port as image references spell them.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the host as references and logins spell it: all hosts of Docker Hub become `docker.io`.
    #[must_use]
    pub fn known_host(&self) -> &str {
        known_as(&self.host)
    }

    /// Returns the prefix that is prepended to the path of every repository.
    #[must_use]
    pub fn prefix(&self) -> Option<&RepositoryPath> {
        self.prefix.as_ref()
    }

    /// Returns the repository with this path below the prefix.
    pub fn repository(&self, path: &str) -> Result<RepositoryPath, AddressError> {
        match &self.prefix {
            Some(prefix) => format!("{prefix}/{path}").parse(),
            None => path.parse(),
        }
    }

    /// Checks whether the host is this machine, by name or address. The name is not resolved.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        is_loopback_host(host_without_port(&self.host))
    }
}

/// Checks whether a host without its port is this machine, by name or address. The name is not resolved.
pub(crate) fn is_loopback_host(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn host_without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

impl FromStr for RegistryAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.contains("://") {
            return Err(AddressError::Scheme(shorten(text)));
        }
        let text = text.strip_suffix('/').unwrap_or(text);
        let (host, prefix) = match text.split_once('/') {
            Some((host, prefix)) => (host, Some(prefix.parse()?)),
            None => (text, None),
        };
        let host = check_host(host)?;
        Ok(Self { host, prefix })
    }
}

fn check_host(text: &str) -> Result<String, AddressError> {
    let refuse = || AddressError::Host(shorten(text));
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (ip, after) = rest.split_once(']').ok_or_else(refuse)?;
            ip.parse::<Ipv6Addr>().map_err(|_| refuse())?;
            let port = match after {
                "" => None,
                after => Some(after.strip_prefix(':').ok_or_else(refuse)?),
            };
            (format!("[{ip}]"), port)
        }
        None => match text.split_once(':') {
            Some((name, port)) => (name.to_owned(), Some(port)),
            None => (text.to_owned(), None),
        },
    };
    let name = name.to_ascii_lowercase();
    if !name.starts_with('[') && !is_dns_name(&name) {
        return Err(refuse());
    }
    match port {
        None => Ok(name),
        Some(port) => match port.parse::<u16>() {
            Ok(number) if number > 0 && number.to_string() == port => Ok(format!("{name}:{port}")),
            _ => Err(AddressError::Port(shorten(port))),
        },
    }
}

/// Checks whether a host is an RFC 1123 name or an IPv4 address.
fn is_dns_name(name: &str) -> bool {
    let part = |part: &str| {
        (1..=63).contains(&part.len())
            && part
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(part)
}

impl TryFrom<String> for RegistryAddress {
    type Error = AddressError;

    fn try_from(text: String) -> Result<Self, AddressError> {
        text.parse()
    }
}

impl From<RegistryAddress> for String {
    fn from(address: RegistryAddress) -> Self {
        address.to_string()
    }
}

impl fmt::Display for RegistryAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.prefix {
            Some(prefix) => write!(f, "{}/{prefix}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

/// The full path of a repository below the host, prefix included.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct RepositoryPath(String);

impl RepositoryPath {
    /// Returns the text form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RepositoryPath {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() > limits::REPOSITORY {
            return Err(AddressError::TooLong(shorten(text)));
        }
        // A component of a repository has the same grammar as a component of an image name.
        if text
            .split('/')
            .all(|part| part.parse::<ImageName>().is_ok())
        {
            Ok(Self(text.to_owned()))
        } else {
            Err(AddressError::Repository(shorten(text)))
        }
    }
}

impl fmt::Display for RepositoryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The registry of references that do not name one.
pub const DOCKER_HUB: &str = "docker.io";

/// The registry, repository and reference of an image.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageLocation {
    registry: RegistryAddress,
    repository: RepositoryPath,
    reference: Reference,
}

impl ImageLocation {
    /// Reads a reference as container engines do. A reference without a registry belongs to Docker Hub, where a single
    /// name is below `library`. A digest takes precedence over a tag, and the default tag is `latest`.
    pub fn from_image_reference(image: &ImageReference) -> Result<Self, AddressError> {
        let (name, digest) = match image.as_str().split_once('@') {
            Some((name, digest)) => (name, digest.parse::<Digest>().ok()),
            None => (image.as_str(), None),
        };
        let name = match image.tag() {
            Some(tag) => &name[..name.len() - tag.len() - 1],
            None => name,
        };
        let (host, path) = match name.split_once('/') {
            Some((host, path)) if is_registry(host) => (host, path),
            _ => (DOCKER_HUB, name),
        };
        let host = known_as(host);
        let repository = if host == DOCKER_HUB && !path.contains('/') {
            format!("library/{path}").parse()?
        } else {
            path.parse()?
        };
        let reference = if let Some(digest) = digest {
            digest.into()
        } else {
            let tag = image.tag().unwrap_or("latest");
            let refuse = |_| AddressError::Tag(shorten(tag));
            tag.parse::<Tag>().map_err(refuse)?.into()
        };
        Ok(Self {
            registry: host.parse()?,
            repository,
            reference,
        })
    }

    /// Returns the location of `HOST[:PORT]/PATH`. No part of it has a default.
    pub fn from_name(name: &str, reference: Reference) -> Result<Self, AddressError> {
        let (host, path) = name.split_once('/').unwrap_or((name, ""));
        Ok(Self {
            registry: known_as(host).parse()?,
            repository: path.parse()?,
            reference,
        })
    }

    /// Returns the location of the same content at a mirror of its registry.
    pub fn at_mirror(&self, mirror: &RegistryAddress) -> Result<Self, AddressError> {
        Ok(Self {
            registry: RegistryAddress {
                host: mirror.known_host().to_owned(),
                prefix: None,
            },
            repository: mirror.repository(self.repository.as_str())?,
            reference: self.reference.clone(),
        })
    }

    /// Returns the registry.
    #[must_use]
    pub fn registry(&self) -> &RegistryAddress {
        &self.registry
    }

    /// Returns the repository.
    #[must_use]
    pub fn repository(&self) -> &RepositoryPath {
        &self.repository
    }

    /// Returns the tag or digest that names the image in its repository.
    #[must_use]
    pub fn reference(&self) -> &Reference {
        &self.reference
    }

    /// Returns the address for which to look up a login. Logins can apply to a part of a registry.
    #[must_use]
    pub fn login(&self) -> RegistryAddress {
        RegistryAddress {
            host: self.registry.host.clone(),
            prefix: Some(self.repository.clone()),
        }
    }
}

/// Returns the host under which logins store a registry.
fn known_as(host: &str) -> &str {
    match host {
        "index.docker.io" | "registry-1.docker.io" => DOCKER_HUB,
        host => host,
    }
}

/// Checks whether the first component of a reference is a registry rather than a part of a name, by Docker's rule.
fn is_registry(component: &str) -> bool {
    component == "localhost"
        || component.contains(['.', ':'])
        || component.bytes().any(|b| b.is_ascii_uppercase())
}

/// The name of a manifest in its repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Reference {
    /// The digest of its content.
    Digest(Digest),
    /// A tag, which can move.
    Tag(Tag),
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Digest(digest) => fmt::Display::fmt(digest, f),
            Self::Tag(tag) => fmt::Display::fmt(tag, f),
        }
    }
}

impl From<Digest> for Reference {
    fn from(digest: Digest) -> Self {
        Self::Digest(digest)
    }
}

impl From<Tag> for Reference {
    fn from(tag: Tag) -> Self {
        Self::Tag(tag)
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_round_trip() {
        for text in [
            "registry.example",
            "registry.example:5000",
            "localhost:5000/a/b",
            "127.0.0.1:5000",
            "[::1]:5000/prefix",
        ] {
            assert_eq!(text.parse::<RegistryAddress>().unwrap().to_string(), text);
        }
        let upper: RegistryAddress = "Registry.Example/a/".parse().unwrap();
        assert_eq!(upper.to_string(), "registry.example/a");
        assert_eq!(upper.repository("b/c").unwrap().as_str(), "a/b/c");
    }

    #[test]
    fn other_addresses_are_refused() {
        for text in [
            "",
            "https://registry.example",
            "user@registry.example",
            "registry.example:",
            "registry.example:0",
            "registry.example:65536",
            "registry.example:+1",
            "registry.example//",
            "registry.example/A",
            "registry.example/../x",
            "registry.example?x",
            "a b",
            "[::1",
            "[::1]5000",
            "-a",
        ] {
            assert!(text.parse::<RegistryAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn references_are_read_as_engines_do() {
        let digest = format!("sha256:{}", "a".repeat(64));
        for (text, expected) in [
            ("app", "docker.io library/app latest"),
            ("org/app:1", "docker.io org/app 1"),
            ("docker.io/app:1", "docker.io library/app 1"),
            ("index.docker.io/org/app", "docker.io org/app latest"),
            ("localhost/app:1", "localhost app 1"),
            ("quay.io/org/team/app:1.2", "quay.io org/team/app 1.2"),
            ("r.example:5000/app", "r.example:5000 app latest"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        let pinned = format!("r.example/app:1@{digest}");
        assert_eq!(read(&pinned), format!("r.example app {digest}"));
    }

    fn read(text: &str) -> String {
        let location = ImageLocation::from_image_reference(&text.parse().unwrap()).unwrap();
        let login = location.login().to_string();
        assert_eq!(
            login,
            format!("{}/{}", location.registry(), location.repository())
        );
        format!(
            "{} {} {}",
            location.registry(),
            location.repository(),
            location.reference()
        )
    }

    #[test]
    fn loopback_is_known_without_a_lookup() {
        let loopback = |text: &str| text.parse::<RegistryAddress>().unwrap().is_loopback();
        assert!(loopback("localhost"));
        assert!(loopback("127.8.0.1:5000"));
        assert!(loopback("[::1]:5000"));
        assert!(!loopback("localhost.example"));
        assert!(!loopback("10.0.0.1:5000"));
    }
}

//! Certificate directories of registries in the layout of podman and docker (containers-certs.d(5)): `*.crt` are
//! certificate authorities, `NAME.cert` and `NAME.key` are a client certificate and its key.
//! [`CertificateFolders::find`] reads those of a registry.
//!
//! A user who can write to such a directory can impersonate the registry. Directories and files that other users than
//! root and the current user can change are therefore refused. A file may be a link, as authorities often are; its
//! target must be equally protected.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use files::owned::{self, OwnedError};
use files::ownership::{self, OwnershipError, ResolvedPath};
use registry::{AuthorityError, CertificateAuthority, ClientIdentity, IdentityError, Secret};

use crate::limits;

/// The certificate directories for a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificateFolders {
    /// The directories to search.
    pub place: CertificatePlace,
    /// The id of the user who runs the program. Files that other users can change are refused.
    pub user: u32,
}

/// The directories to search for certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificatePlace {
    /// The first of these directories with a subdirectory named after the registry, `HOST[:PORT]`.
    ByHost(Vec<PathBuf>),
    /// This directory for every registry.
    Of(PathBuf),
}

/// No directories.
impl Default for CertificatePlace {
    fn default() -> Self {
        Self::ByHost(Vec::new())
    }
}

/// The certificates for a registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificates {
    /// Additional authorities.
    pub authorities: Vec<CertificateAuthority>,
    /// The client certificate, and the file that contains it.
    pub identity: Option<(PathBuf, ClientIdentity)>,
}

impl Certificates {
    /// Adds the certificates to the options of a registry client.
    pub fn add_to(self, options: &mut registry::ClientOptions) {
        options.ca.extend(self.authorities);
        let identity = self.identity.map(|(_, identity)| identity);
        options.identity = identity.or_else(|| options.identity.take());
    }
}

/// The reason why the certificates of a registry cannot be used. Messages contain no part of a key.
#[derive(Debug, thiserror::Error)]
pub enum CertificatesError {
    /// The directory does not exist.
    #[error("there is no directory `{}`", .0.display())]
    Missing(PathBuf),
    /// Other users can change the directory, or its path cannot be resolved.
    #[error(transparent)]
    Path(#[from] OwnershipError),
    /// A file cannot be read, or other users can write it.
    #[error(transparent)]
    File(#[from] OwnedError),
    /// The directory cannot be read.
    #[error("cannot read `{}`", .0.display())]
    Io(PathBuf, #[source] io::Error),
    /// The directory has more files than the limit.
    #[error("`{}` has more than {max} files", .0.display(), max = limits::CERTIFICATE_FILES)]
    Many(PathBuf),
    /// The directory has multiple client certificates, so the choice is ambiguous.
    #[error("`{}` has multiple client certificates", .0.display())]
    Several(PathBuf),
    /// A file contains no authority.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// One file of a pair is missing.
    #[error("`{}` is missing: a client certificate needs both files of its pair", .0.display())]
    Half(PathBuf),
    /// A certificate and a key do not belong together.
    #[error("cannot use `{}` and its key", .0.display())]
    Identity(PathBuf, #[source] IdentityError),
}

impl CertificateFolders {
    /// Returns the certificates for a registry, given as `HOST[:PORT]` as in references.
    pub fn find(&self, host: &str) -> Result<Certificates, CertificatesError> {
        match &self.place {
            CertificatePlace::Of(folder) => {
                read(folder, self.user)?.ok_or_else(|| CertificatesError::Missing(folder.clone()))
            }
            CertificatePlace::ByHost(folders) => {
                for folder in folders {
                    if let Some(found) = read(&folder.join(host), self.user)? {
                        return Ok(found);
                    }
                }
                Ok(Certificates::default())
            }
        }
    }
}

/// Reads the certificates of a directory. Returns `None` if it does not exist.
fn read(folder: &Path, user: u32) -> Result<Option<Certificates>, CertificatesError> {
    let ResolvedPath::There(folder) = ownership::directory(folder, user)? else {
        return Ok(None);
    };
    let files = list(&folder)?;
    let with = |ending: &str| {
        let ending = ending.to_owned();
        files.iter().filter(move |file| {
            file.extension()
                .is_some_and(|extension| *extension == *ending)
        })
    };
    let authorities = with("crt").map(|file| {
        let origin = format!("`{}`", file.display());
        Ok(CertificateAuthority::new(origin, contents(file, user)?)?)
    });
    let authorities = authorities.collect::<Result<_, CertificatesError>>()?;
    let mut pairs: Vec<PathBuf> = with("cert").cloned().collect();
    // A key without a certificate is an incomplete pair and must be reported.
    pairs.extend(with("key").map(|key| key.with_extension("cert")));
    pairs.sort();
    pairs.dedup();
    let identity = match pairs.as_slice() {
        [] => None,
        [certificate] => Some(pair(certificate, &files, user)?),
        _ => return Err(CertificatesError::Several(folder)),
    };
    Ok(Some(Certificates {
        authorities,
        identity,
    }))
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, CertificatesError> {
    let failed = |source| CertificatesError::Io(folder.to_owned(), source);
    let entries = fs::read_dir(folder).map_err(failed)?;
    // One more than the limit is sufficient to detect an excess.
    let entries = entries.take(limits::CERTIFICATE_FILES + 1);
    let files = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut files = files.collect::<io::Result<Vec<_>>>().map_err(failed)?;
    if files.len() > limits::CERTIFICATE_FILES {
        return Err(CertificatesError::Many(folder.to_owned()));
    }
    files.sort();
    Ok(files)
}

/// Reads a client certificate and its key.
fn pair(
    certificate: &Path,
    files: &[PathBuf],
    user: u32,
) -> Result<(PathBuf, ClientIdentity), CertificatesError> {
    let key = certificate.with_extension("key");
    let missing = [certificate, key.as_path()]
        .into_iter()
        .find(|half| !files.iter().any(|file| file == half));
    if let Some(half) = missing {
        return Err(CertificatesError::Half(half.to_owned()));
    }
    let unusable = |source| CertificatesError::Identity(certificate.to_owned(), source);
    let text = String::from_utf8(contents(&key, user)?);
    let identity = ClientIdentity {
        certificate: contents(certificate, user)?,
        key: Secret::new(text.map_err(|_| unusable(IdentityError::NoKey))?),
    };
    identity.check().map_err(unusable)?;
    Ok((certificate.to_owned(), identity))
}

/// Reads a file or the target of a link.
fn contents(file: &Path, user: u32) -> Result<Vec<u8>, CertificatesError> {
    let failed = |source| CertificatesError::Io(file.to_owned(), source);
    let place = fs::canonicalize(file).map_err(failed)?;
    // The directory of a link's target must be protected like that of the link.
    if let Some(folder) = place.parent() {
        ownership::directory(folder, user)?;
    }
    Ok(owned::read(&place, limits::CERTIFICATE_SIZE, user)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A certificate of an authority whose key was not kept.
    const AUTHORITY: &str = "-----BEGIN CERTIFICATE-----
MIIBiTCCAS+gAwIBAgIUCgRmSKOURiXcUjZWa/d850SQtegwCgYIKoZIzj0EAwIw
GTEXMBUGA1UEAwwOYXV0aG9yaXR5LnRlc3QwIBcNMjYxMTI4MTcxODI3WhgPMjEy
NjExMDQxNzE4MjdaMBkxFzAVBgNVBAMMDmF1dGhvcml0eS50ZXN0MFkwEwYHKoZI
zj0CAQYIKoZIzj0DAQcDQgAEZxqDPh+6xzENnq4WILrdFygOmZqUCU4sX/qZJNsh
zJzdrqigsHDExGUwRSp0fxrY+bnw3jxvKQrnWrppuDIMrKNTMFEwHQYDVR0OBBYE
FPuoD2+pfyHHO4hkxB3TrPtHNLm7MB8GA1UdIwQYMBaAFPuoD2+pfyHHO4hkxB3T
rPtHNLm7MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIgRpt0yzAb
2Zk/6a6fqp/xwViovQPUTrRX4ke6xVMOYr8CIQD8qNT5curyjdizbj7pB55xkuWP
sUszW6/39oXZ1uLzaw==
-----END CERTIFICATE-----
";

    /// A directory with a subdirectory for `r.test:5000` that contains these files. Other users cannot change it.
    fn folders(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("r.test:5000");
        fs::create_dir(&folder).unwrap();
        for file in files {
            fs::write(folder.join(file), format!("{file}\n{AUTHORITY}")).unwrap();
        }
        (base, folder)
    }

    fn at(place: CertificatePlace) -> CertificateFolders {
        let user = rustix::process::geteuid().as_raw();
        CertificateFolders { place, user }
    }

    fn find(base: &Path, host: &str) -> Result<Certificates, CertificatesError> {
        let nowhere = base.join("nowhere");
        at(CertificatePlace::ByHost(vec![nowhere, base.to_owned()])).find(host)
    }

    #[test]
    fn authorities_are_those_of_the_registry_by_its_port_too() {
        let (base, folder) = folders(&["b.crt", "a.crt", "README"]);
        symlink(base.path().join("elsewhere.pem"), folder.join("c.crt")).unwrap();
        let linked = format!("linked\n{AUTHORITY}");
        fs::write(base.path().join("elsewhere.pem"), linked).unwrap();
        let found = find(base.path(), "r.test:5000").unwrap();
        let expected = ["a.crt", "b.crt", "linked"].map(|file| format!("{file}\n{AUTHORITY}"));
        assert_eq!(
            CertificateAuthority::join(&found.authorities),
            expected.join("\n")
        );
        assert_eq!(found.identity, None);
        for other in ["r.test", "r.test:5001"] {
            assert_eq!(find(base.path(), other).unwrap(), Certificates::default());
        }
        let named = at(CertificatePlace::Of(folder));
        assert_eq!(named.find("other.test").unwrap(), found);
        let missing = at(CertificatePlace::Of(base.path().join("nowhere")));
        let error = missing.find("r.test").unwrap_err();
        assert!(matches!(error, CertificatesError::Missing(_)), "{error:?}");
    }

    #[test]
    fn a_file_without_a_certificate_is_named() {
        let (base, folder) = folders(&["a.crt", "b.crt"]);
        fs::write(folder.join("b.crt"), "not PEM").unwrap();
        let error = find(base.path(), "r.test:5000").unwrap_err().to_string();
        let file = folder.join("b.crt");
        let words = format!(
            "`{}` holds no certificate (PEM) that can be used",
            file.display()
        );
        assert_eq!(error, words);
    }

    #[test]
    fn half_a_pair_and_two_pairs_are_refused() {
        for (files, expected) in [
            (&["client.cert"][..], "client.key"),
            (&["client.key"], "client.cert"),
            (&["a.cert", "b.key"], "has multiple client certificates"),
            (&["a.cert", "a.key"], "cannot use"),
        ] {
            let (base, _) = folders(files);
            let error = find(base.path(), "r.test:5000").unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn what_others_can_write_is_refused() {
        let (base, folder) = folders(&["a.crt"]);
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(&folder.join("a.crt"), 0o666);
        let error = find(base.path(), "r.test:5000").unwrap_err();
        assert!(matches!(error, CertificatesError::File(_)), "{error:?}");
        mode(&folder.join("a.crt"), 0o644);
        mode(&folder, 0o777);
        let error = find(base.path(), "r.test:5000").unwrap_err();
        assert!(matches!(error, CertificatesError::Path(_)), "{error:?}");
        mode(&folder, 0o755);
        let open = base.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::write(open.join("b.pem"), "b").unwrap();
        mode(&open, 0o777);
        symlink(open.join("b.pem"), folder.join("b.crt")).unwrap();
        let error = find(base.path(), "r.test:5000").unwrap_err();
        assert!(matches!(error, CertificatesError::Path(_)), "{error:?}");
    }
}

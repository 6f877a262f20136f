//! `solution keygen`: a key pair to sign archives with.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use serde::Serialize;
use signing::SecretKey;

use crate::args::Output;
use crate::exit::{Failure, Outcome};
use crate::render;

/// Make an Ed25519 key pair: NAME.key to sign with, NAME.pub for those who check
#[derive(Args, Debug)]
#[command(after_help = "\
The files are PKCS#8 and SubjectPublicKeyInfo in PEM; openssl reads both, and keys by
`openssl genpkey -algorithm ed25519` work the same. Keep NAME.key secret; give NAME.pub to
sites by another way than the archives.

Examples:
  solution keygen
  solution keygen release/publisher")]
pub(crate) struct Arguments {
    /// The path of the two files, without their extensions
    #[arg(default_value = "publisher", value_name = "NAME")]
    name: PathBuf,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Made {
    secret: PathBuf,
    public: PathBuf,
    key_id: String,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let with = |extension: &str| {
        let mut path = arguments.name.clone().into_os_string();
        path.push(extension);
        PathBuf::from(path)
    };
    let (secret, public) = (with(".key"), with(".pub"));
    for path in [&secret, &public] {
        if path.exists() {
            return Err(Failure::no(anyhow::anyhow!("`{}` exists", path.display()))
                .hint("keys are never overwritten: choose another name"));
        }
    }
    let key = SecretKey::generate().map_err(Failure::unknown)?;
    write(&secret, 0o600, key.to_pem().as_bytes())?;
    write(&public, 0o644, key.public().to_pem().as_bytes())?;
    let made = Made {
        secret,
        public,
        key_id: key.public().id().to_string(),
    };
    render::result(output, &made, |made| {
        render::line(format!(
            "secret key  {}   (keep it secret)",
            made.secret.display()
        ));
        render::line(format!(
            "public key  {}   (give it to those who check)",
            made.public.display()
        ));
        render::line(format!("key id      {}", made.key_id));
    });
    Ok(Outcome::Yes)
}

fn write(path: &Path, mode: u32, bytes: &[u8]) -> Result<(), Failure> {
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write()
        .with_context(|| format!("cannot write `{}`", path.display()))
        .map_err(Failure::unknown)
}

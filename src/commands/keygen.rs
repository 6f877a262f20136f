//! `solution keygen`: a key pair to sign archives with. The keys are Ed25519 keys as PEM files, which openssl can read
//! too.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use schemars::JsonSchema;
use schemas::KeyId;
use serde::Serialize;
use signing::SecretKey;

use super::give;
use crate::args::{Output, PassphraseArguments, choose};
use crate::failure::{Failure, Outcome};
use crate::{disk, keys, render};

/// Generate an Ed25519 key pair
#[derive(Args, Debug)]
#[command(after_help = "\
The command writes the secret key NAME.key and the public key NAME.pub as PEM files (PKCS#8 and \
SubjectPublicKeyInfo). Keep NAME.key secret. Give NAME.pub to sites through another channel than the archives. \
openssl reads both files, and keys by `openssl genpkey -algorithm ed25519` also work.

To change the passphrase of a key, run `openssl pkcs8 -topk8 -in KEY -out NEW-KEY`.

Examples:
  solution keygen
  solution keygen release/publisher --encrypt")]
pub(crate) struct Arguments {
    /// The path of the two key files, without extension
    #[arg(default_value = "publisher", value_name = "NAME")]
    name: PathBuf,

    /// Encrypt the secret key with a passphrase
    #[arg(long)]
    encrypt: bool,

    /// The file with the passphrase of the secret key in its first line, or `-` for standard input [default:
    /// `SOLUTION_KEY_PASSPHRASE`, else a prompt]
    #[arg(long, value_name = "FILE", requires = "encrypt")]
    passphrase_file: Option<PathBuf>,
}

/// A pair of keys.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MadeKeys {
    /// The file of the secret key.
    secret: PathBuf,
    /// The file of the public key.
    public: PathBuf,
    /// The id of the key: SHA-256 of its DER form.
    key_id: KeyId,
    /// Whether a passphrase protects the secret key.
    encrypted: bool,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let with = |extension: &str| {
        let mut path = arguments.name.clone().into_os_string();
        path.push(extension);
        PathBuf::from(path)
    };
    let (secret, public) = (with(".key"), with(".pub"));
    for path in [&secret, &public] {
        if path.exists() {
            return Err(Failure::no(anyhow!("`{}` exists", path.display()))
                .hint("choose another name: keys are never overwritten"));
        }
    }
    let key = SecretKey::generate().map_err(Failure::unknown)?;
    let pem = if arguments.encrypt {
        let from = PassphraseArguments {
            passphrase_file: arguments.passphrase_file.clone(),
        };
        let passphrase = keys::passphrase_for_new_key(&from, &secret)?;
        key.to_encrypted_pem(&passphrase)
            .map_err(Failure::unknown)?
    } else {
        key.to_pem()
    };
    disk::write_new(&secret, 0o600, pem.as_bytes())?;
    disk::write_new(&public, 0o644, key.public().to_pem().as_bytes())?;
    let made = MadeKeys {
        secret,
        public,
        key_id: key.public().id(),
        encrypted: arguments.encrypt,
    };
    Ok(give(output, &made, |made| {
        let encrypted = "encrypted; keep it and its passphrase secret";
        let keep = choose(made.encrypted, encrypted, "keep it secret");
        let (secret, public) = (made.secret.display(), made.public.display());
        render::line!("secret key  {secret}   ({keep})");
        render::line!("public key  {public}   (give it to those who verify)");
        render::line!("key id      {}", made.key_id);
    }))
}

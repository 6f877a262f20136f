//! Tests with the openssl program: it reads our keys and signatures, and we read its own.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that fails"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use schemas::{EnvelopeSignature, PAYLOAD_TYPE, PayloadType};
use signing::{KeyError, Passphrase, PublicKey, SecretKey, pre_authentication_encoding};

fn run(directory: &Path, arguments: &[&str]) -> Output {
    Command::new("openssl")
        .args(arguments)
        .current_dir(directory)
        .output()
        .expect("openssl is installed")
}

fn openssl(directory: &Path, arguments: &[&str]) {
    let output = run(directory, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {stderr}");
}

fn read(directory: &Path, name: &str) -> String {
    fs::read_to_string(directory.join(name)).unwrap()
}

#[test]
fn openssls_keys_and_signatures_are_accepted() {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path();
    openssl(
        dir,
        &["genpkey", "-algorithm", "ed25519", "-out", "secret.pem"],
    );
    openssl(
        dir,
        &["pkey", "-in", "secret.pem", "-pubout", "-out", "public.pem"],
    );
    let signed = pre_authentication_encoding(PAYLOAD_TYPE, b"statement");
    fs::write(dir.join("signed"), signed).unwrap();
    openssl(
        dir,
        &[
            "pkeyutl",
            "-sign",
            "-rawin",
            "-inkey",
            "secret.pem",
            "-in",
            "signed",
            "-out",
            "signature",
        ],
    );
    let secret = SecretKey::from_pem(&read(dir, "secret.pem")).unwrap();
    let public = PublicKey::from_pem(&read(dir, "public.pem")).unwrap();
    assert_eq!(secret.public(), public);
    assert_eq!(*secret.to_pem(), read(dir, "secret.pem"));
    assert_eq!(public.to_pem(), read(dir, "public.pem"));
    let signature = EnvelopeSignature {
        key_id: public.id(),
        bytes: fs::read(dir.join("signature")).unwrap(),
    };
    assert!(public.verifies(PayloadType::Statement, b"statement", &signature));
    assert!(!public.verifies(PayloadType::Statement, b"another", &signature));
    assert_eq!(secret.sign(PayloadType::Statement, b"statement"), signature);
}

#[test]
fn openssl_accepts_our_keys_and_signatures() {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path();
    let secret = SecretKey::generate().unwrap();
    fs::write(dir.join("secret.pem"), secret.to_pem().as_bytes()).unwrap();
    fs::write(dir.join("public.pem"), secret.public().to_pem()).unwrap();
    fs::write(
        dir.join("signature"),
        secret.sign(PayloadType::Statement, b"statement").bytes,
    )
    .unwrap();
    let signed = pre_authentication_encoding(PAYLOAD_TYPE, b"statement");
    fs::write(dir.join("signed"), signed).unwrap();
    fs::write(dir.join("other"), b"other").unwrap();
    openssl(
        dir,
        &[
            "pkey",
            "-in",
            "secret.pem",
            "-pubout",
            "-out",
            "derived.pem",
        ],
    );
    assert_eq!(read(dir, "derived.pem"), read(dir, "public.pem"));
    let verify = |file| {
        let arguments = [
            "pkeyutl",
            "-verify",
            "-rawin",
            "-pubin",
            "-inkey",
            "public.pem",
            "-in",
            file,
            "-sigfile",
            "signature",
        ];
        run(dir, &arguments).status.success()
    };
    assert!(verify("signed"));
    assert!(!verify("other"));
}

#[test]
fn openssls_other_keys_are_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path();
    for (name, arguments) in [
        (
            "ECDSA",
            &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"][..],
        ),
        (
            "RSA",
            &["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
        ),
        ("X25519", &["-algorithm", "X25519"]),
        ("Ed448", &["-algorithm", "ED448"]),
    ] {
        openssl(
            dir,
            &[&["genpkey", "-out", "secret.pem"], arguments].concat(),
        );
        openssl(
            dir,
            &["pkey", "-in", "secret.pem", "-pubout", "-out", "public.pem"],
        );
        for refused in [
            SecretKey::from_pem(&read(dir, "secret.pem")).unwrap_err(),
            PublicKey::from_pem(&read(dir, "public.pem")).unwrap_err(),
        ] {
            assert!(
                matches!(&refused, KeyError::Algorithm(found) if found == name),
                "{refused}"
            );
        }
    }
}

fn passphrase(text: &str) -> Passphrase {
    Passphrase::new(text.as_bytes().to_vec().into()).unwrap()
}

/// Creates a key with OpenSSL and encrypts it with these options of `openssl pkcs8`.
fn encrypted_by_openssl(dir: &Path, options: &[&str]) -> String {
    openssl(
        dir,
        &["genpkey", "-algorithm", "ed25519", "-out", "plain.pem"],
    );
    let topk8 = ["pkcs8", "-topk8", "-in", "plain.pem", "-out", "secret.pem"];
    openssl(
        dir,
        &[&topk8[..], &["-passout", "pass:s3cret"], options].concat(),
    );
    read(dir, "secret.pem")
}

#[test]
fn keys_that_openssl_encrypted_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path();
    for options in [
        &[][..],
        &["-v2", "aes-128-cbc"],
        &["-v2", "aes-192-cbc", "-v2prf", "hmacWithSHA512"],
        &["-v2", "aes-256-cbc", "-iter", "600000"],
        &["-scrypt"],
        &[
            "-scrypt",
            "-scrypt_N",
            "16384",
            "-scrypt_r",
            "8",
            "-scrypt_p",
            "5",
        ],
    ] {
        let pem = encrypted_by_openssl(dir, options);
        let refused = SecretKey::from_pem(&pem).unwrap_err();
        assert!(matches!(refused, KeyError::Encrypted), "{refused}");
        let secret = SecretKey::from_encrypted_pem(&pem, &passphrase("s3cret"))
            .unwrap_or_else(|error| panic!("{options:?}: {error}"));
        assert_eq!(*secret.to_pem(), read(dir, "plain.pem"), "{options:?}");
        let refused = SecretKey::from_encrypted_pem(&pem, &passphrase("S3cret")).unwrap_err();
        assert!(
            matches!(refused, KeyError::Passphrase),
            "{options:?}: {refused}"
        );
    }
}

#[test]
fn keys_that_are_encrypted_badly_are_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path();
    for (options, name) in [
        (&["-v2", "des3"][..], "1.2.840.113549.3.7"),
        (&["-v2prf", "hmacWithSHA1"], "SHA-1"),
        (&["-v1", "PBE-SHA1-3DES"], "1.2.840.113549.1.12.1.3"),
    ] {
        let pem = encrypted_by_openssl(dir, options);
        let refused = SecretKey::from_encrypted_pem(&pem, &passphrase("s3cret")).unwrap_err();
        assert!(
            matches!(&refused, KeyError::Encryption(scheme) if scheme.contains(name)),
            "{options:?}: {refused:?}"
        );
    }
    // A key of another algorithm, encrypted with the right passphrase.
    let ec = ["genpkey", "-algorithm", "ED448", "-out", "secret.pem"];
    openssl(
        dir,
        &[&ec[..], &["-aes-256-cbc", "-pass", "pass:s3cret"]].concat(),
    );
    let refused = SecretKey::from_encrypted_pem(&read(dir, "secret.pem"), &passphrase("s3cret"));
    assert!(matches!(refused, Err(KeyError::Algorithm(name)) if name == "Ed448"));
}

#[test]
fn openssl_reads_the_keys_that_we_encrypt() {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path();
    let secret = SecretKey::generate().unwrap();
    let pem = secret.to_encrypted_pem(&passphrase("s3cret")).unwrap();
    fs::write(dir.join("secret.pem"), pem.as_bytes()).unwrap();
    let decrypt = ["pkey", "-in", "secret.pem", "-out", "plain.pem", "-passin"];
    openssl(dir, &[&decrypt[..], &["pass:s3cret"]].concat());
    assert_eq!(read(dir, "plain.pem"), *secret.to_pem());
    let wrong = run(dir, &[&decrypt[..], &["pass:S3cret"]].concat());
    assert!(!wrong.status.success(), "any passphrase opens it");
}

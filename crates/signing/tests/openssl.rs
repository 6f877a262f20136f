//! The openssl program judges keys and signatures, both ways.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that fails"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use schemas::{EnvelopeSignature, PAYLOAD_TYPE};
use signing::{KeyError, PublicKey, SecretKey, pre_authentication_encoding};

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
    assert!(public.verifies(b"statement", &signature));
    assert!(!public.verifies(b"another", &signature));
    assert_eq!(secret.sign(b"statement"), signature);
}

#[test]
fn openssl_accepts_our_keys_and_signatures() {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path();
    let secret = SecretKey::generate().unwrap();
    fs::write(dir.join("secret.pem"), secret.to_pem().as_bytes()).unwrap();
    fs::write(dir.join("public.pem"), secret.public().to_pem()).unwrap();
    fs::write(dir.join("signature"), secret.sign(b"statement").bytes).unwrap();
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
    openssl(
        dir,
        &[
            "genpkey",
            "-algorithm",
            "ed25519",
            "-aes-256-cbc",
            "-pass",
            "pass:x",
            "-out",
            "secret.pem",
        ],
    );
    let refused = SecretKey::from_pem(&read(dir, "secret.pem")).unwrap_err();
    assert!(matches!(refused, KeyError::Encrypted), "{refused}");
}

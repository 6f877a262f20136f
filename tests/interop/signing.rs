//! Signing in a company with real tools: OpenSSL replaces a hardware device, a terminal asks for the passphrase, and
//! cosign verifies the envelope.

use std::path::Path;
use std::process::Command;

use crate::common::{Answer, Desk};
use crate::terminal::Terminal;
use crate::tools::{ARCHIVE, PackedArchive, SIGNING, STATEMENT, run_tool, try_tool};

/// The passphrase.
const PASSPHRASE: &str = "correct horse battery";

/// The flags that require the signatures of the publisher and of the device.
const BOTH: [&str; 6] = [
    "--key",
    "publisher.pub",
    "--key",
    "device.pub",
    "--threshold",
    "2",
];

#[test]
fn a_passphrase_is_asked_for_and_not_shown() {
    let desk = Desk::with_archive();
    let line = format!("{PASSPHRASE}\n");
    let text = Terminal::run(&desk, "solution keygen locked --encrypt", &[])
        .answer("New passphrase for locked.key: ", &line)
        .answer("The same passphrase again: ", &line)
        .wait_for_exit(0);
    assert!(!text.contains("horse"), "{text}");
    assert!(text.contains("encrypted"), "{text}");
    let sign = "solution sign example.iso --key locked.key";
    let text = Terminal::run(&desk, sign, &[])
        .answer("Passphrase for locked.key: ", "incorrect horse\n")
        .wait_for_exit(1);
    assert!(text.contains("does not decrypt the secret key"), "{text}");
    // Standard output and input need not be the terminal.
    let text = Terminal::run(&desk, &format!("{sign} </dev/null >out"), &[])
        .answer("Passphrase for locked.key: ", &line)
        .wait_for_exit(0);
    assert!(!text.contains("horse"), "{text}");
    desk.solution(&["validate", "example.iso", "--key", "locked.pub"])
        .success();
    // OpenSSL decrypts the same file with the same passphrase.
    let pass = format!("pass:{PASSPHRASE}");
    let public = ["pkey", "-in", "locked.key", "-passin", &pass, "-pubout"];
    let public = run_tool(&desk.path(""), "openssl", &public);
    assert_eq!(public, desk.read("locked.pub"));
}

#[test]
fn a_passphrase_that_is_typed_badly_makes_no_key() {
    let desk = Desk::new();
    for (first, second, words) in [
        ("one\n", "another\n", "the passphrases differ"),
        ("\n", "", "the passphrase is empty"),
    ] {
        let mut terminal = Terminal::run(&desk, "solution keygen locked --encrypt", &[])
            .answer("New passphrase for locked.key: ", first);
        if !second.is_empty() {
            terminal = terminal.answer("The same passphrase again: ", second);
        }
        let text = terminal.wait_for_exit(1);
        assert!(text.contains(words), "{text}");
        assert_eq!(desk.names(), [] as [&str; 0], "{text}");
    }
}

/// Ctrl-C at the question signs nothing, and restores the terminal's echo.
#[test]
fn a_question_can_be_refused() {
    let desk = Desk::with_archive();
    desk.write("pass", PASSPHRASE);
    let keygen = ["keygen", "locked", "--encrypt", "--passphrase-file", "pass"];
    desk.solution(&keygen).success();
    let before = desk.read("example.iso");
    let line = "trap : INT; solution sign example.iso --key locked.key; echo ended $?; stty -a";
    let text = Terminal::run(&desk, line, &[])
        .answer("Passphrase for locked.key: ", "half\x03")
        .wait_for_exit(0);
    assert!(
        text.contains("interrupted: nothing was changed") && text.contains("ended 130"),
        "{text}"
    );
    let modes: Vec<&str> = text.split_whitespace().collect();
    assert!(modes.contains(&"echo"), "the terminal stays silent: {text}");
    assert!(desk.read("example.iso") == before, "it was written to");
}

/// Returns a desk with an archive, and a key that only OpenSSL uses: `device.pem`.
fn desk_with_device() -> Desk {
    let desk = Desk::with_archive();
    let make = ["genpkey", "-algorithm", "ed25519", "-out", "device.pem"];
    run_tool(&desk.path(""), "openssl", &make);
    let public = ["pkey", "-in", "device.pem", "-pubout", "-out", "device.pub"];
    run_tool(&desk.path(""), "openssl", &public);
    desk
}

/// Signs the program's payload for a device with OpenSSL.
fn sign_outside(desk: &Desk, payload: &str, signature: &str) {
    let sign = ["pkeyutl", "-sign", "-rawin", "-inkey", "device.pem"];
    let files = ["-in", payload, "-out", signature];
    run_tool(&desk.path(""), "openssl", &[&sign[..], &files].concat());
}

#[test]
fn openssl_signs_in_place_of_a_device() {
    let desk = desk_with_device();
    let before = desk.read("example.iso");
    desk.solution(&["sign", "example.iso", "--payload-out", "payload"])
        .success();
    sign_outside(&desk, "payload", "signature");
    desk.report(&BOTH, 1);
    let attach = |file: &str| {
        let attach = ["sign", "example.iso", "--attach", file];
        desk.solution(&[&attach[..], &["--key", "device.pub"]].concat())
    };
    attach("signature").success();
    desk.report(&BOTH, 0);
    // The archive equals the one that the key itself would have signed, because Ed25519 has one signature.
    desk.write("again.iso", &before);
    desk.solution(&["sign", "again.iso", "--key", "device.pem"])
        .success();
    assert!(
        desk.read("again.iso") == desk.read("example.iso"),
        "they differ"
    );
    // A base64 signature, as key services return it, and a signature of the payload's hash, which is a common mistake.
    desk.write("example.iso", &before);
    run_tool(
        &desk.path(""),
        "sh",
        &[
            "-e",
            "-c",
            "base64 -w 60 signature | tr -d '\\n' > text; echo >> text; sha256sum payload | head -c 64 > hash",
        ],
    );
    sign_outside(&desk, "hash", "of-the-hash");
    let text = attach("of-the-hash").failure(1);
    assert!(text.contains("not its hash"), "{text}");
    attach("text").success();
    desk.report(&BOTH, 0);
}

/// Returns the commands of docs/how-to/publish/signing.md in the first block with these words.
fn lines_with(words: &str) -> String {
    let blocks = SIGNING.split("\n```\n");
    blocks
        .skip(1)
        .step_by(2)
        .find(|block| block.contains(words))
        .unwrap_or_else(|| panic!("docs/how-to/publish/signing.md has no block with `{words}`"))
        .to_owned()
}

/// Runs commands of docs/how-to/publish/signing.md on a copy of the archive, where `solution` is the program.
fn follow(desk: &Desk, lines: &str) {
    run_guide(desk, lines).success();
}

/// Returns the answer of these commands.
fn run_guide(desk: &Desk, lines: &str) -> Answer {
    let program = Path::new(env!("CARGO_BIN_EXE_solution"));
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    Answer::from_command(
        Command::new("sh")
            .args(["-e", "-c", lines])
            .current_dir(desk.path(""))
            .env("PATH", path)
            .env("SOFTHSM2_CONF", desk.path("softhsm2.conf")),
    )
}

#[test]
fn openssl_checks_a_signed_list_of_checksums() {
    let desk = Desk::new();
    desk.solution(&["keygen", "release"]).success();
    desk.write("a.deb", "a");
    follow(&desk, &lines_with("checksums sign"));
    let by_hand = lines_with("application/vnd.solutions.checksums.v1");
    follow(&desk, &by_hand);
    desk.write("a.deb", "b");
    let said = run_guide(&desk, &by_hand).failure(1);
    assert!(said.contains("a.deb: FAILED"), "{said}");
}

#[test]
fn the_guides_way_with_a_device() {
    let desk = desk_with_device();
    desk.write("shop.iso", desk.read("example.iso"));
    follow(&desk, &lines_with("-inkey device.pem"));
    desk.solution(&[&["validate", "shop.iso"], &BOTH[..]].concat())
        .success();
}

/// `SoftHSM` is a PKCS#11 device: the key is generated in it and never leaves it.
#[test]
fn the_guides_way_with_a_pkcs11_device() {
    const MODULE: &str = "/usr/lib/softhsm/libsofthsm2.so";
    let desk = Desk::with_archive();
    desk.write("shop.iso", desk.read("example.iso"));
    std::fs::create_dir(desk.path("tokens")).unwrap();
    let tokens = desk.path("tokens");
    let config = format!("directories.tokendir = {}\n", tokens.display());
    desk.write("softhsm2.conf", config);
    let pin = "--pin 123456";
    follow(
        &desk,
        &format!("softhsm2-util --init-token --free --label t --so-pin 123456 {pin}"),
    );
    let tool = format!("pkcs11-tool --module {MODULE} --login {pin}");
    follow(
        &desk,
        &format!("{tool} --keypairgen --key-type EC:edwards25519 --label publisher"),
    );
    let [payload, attach] = {
        let lines = lines_with("-inkey device.pem");
        let lines: Vec<&str> = lines.lines().collect();
        [lines[0], lines[2]].map(str::to_owned)
    };
    follow(&desk, &payload);
    let lines = lines_with("--mechanism EDDSA").replace("MODULE.so", MODULE);
    follow(&desk, &lines.replace("--login", &format!("--login {pin}")));
    follow(&desk, &attach);
    desk.solution(&[&["validate", "shop.iso"], &BOTH[..]].concat())
        .success();
}

#[test]
fn a_key_that_openssl_encrypted_packs_and_signs() {
    let desk = desk_with_device();
    desk.write("pass", format!("{PASSPHRASE}\nnot this line\n"));
    let topk8 = ["pkcs8", "-topk8", "-in", "device.pem", "-out", "locked.pem"];
    let pass = format!("pass:{PASSPHRASE}");
    let options = ["-scrypt", "-passout", &pass];
    run_tool(&desk.path(""), "openssl", &[&topk8[..], &options].concat());
    let pack = ["pack", "source", "-o", "locked.iso", "--key", "locked.pem"];
    let given = ["--passphrase-file", "pass"];
    desk.solution(&[&pack[..], &given].concat()).success();
    desk.solution(&["validate", "locked.iso", "--key", "device.pub"])
        .success();
}

/// The machine's policies, in an `/etc` that is an empty file system of this test.
#[test]
fn the_policies_of_the_machine_count_for_everybody() {
    let desk = Desk::with_archive();
    let program = env!("CARGO_BIN_EXE_solution");
    let run = |line: &str| {
        let line = format!("mount -t tmpfs -o mode=755 tmpfs /etc && cd \"$0\" && {line}");
        let line = line.replace("solution ", &format!("{program} "));
        let mut unshare = Command::new("unshare");
        let desk = desk.path("");
        unshare.args(["--mount", "--map-root-user", "--", "sh", "-e", "-c", &line]);
        Answer::from_command(unshare.arg(desk))
    };
    let add = "solution trust add acme --key publisher.pub --solutions '*' --system";
    run(&format!(
        "{add} && test -f /etc/solution/trust.d/acme.yaml && solution validate example.iso"
    ))
    .success();
    run(&format!(
        "{add} && solution trust remove acme --system && ! solution validate example.iso"
    ))
    .success();
    let text = run(&format!(
        "{add} && chmod o+w /etc/solution/trust.d && solution validate example.iso"
    ));
    let text = text.failure(1);
    assert!(
        text.contains("`/etc/solution/trust.d` is writable by other users"),
        "{text}"
    );
    // If a user's policy has the same name, or is for the same Solutions, the program refuses both.
    let text = run(&format!(
        "{add} && solution trust add acme --key publisher.pub --solutions shop"
    ))
    .failure(1);
    assert!(text.contains("two policies have the name `acme`"), "{text}");
    let text = run(&format!(
        "{add} && solution trust add mine --key publisher.pub --solutions '*'"
    ))
    .failure(1);
    assert!(text.contains("both apply to `*`"), "{text}");
}

/// Returns whether cosign accepts an envelope over a file, by this key.
fn cosign(directory: &Path, envelope: &str, key: &str, file: &str) -> bool {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/program");
    let program = Answer::from_command(Command::new(program).args(["cosign", "--path"])).success();
    let lines = SIGNING
        .split_once("cosign verify-blob-attestation")
        .expect("docs/how-to/publish/signing.md has the line")
        .1;
    let (arguments, _) = lines.split_once("```").unwrap();
    let arguments = arguments
        .replace("\\\n", " ")
        .replace("statement.dsse.json", envelope)
        .replace("publisher.pub", key)
        .replace("SHA256SUMS", file);
    let line = format!(
        "HOME=. {} verify-blob-attestation {arguments}",
        program.trim()
    );
    try_tool(directory, "sh", &["-e", "-c", &line]).good
}

/// This is the command of docs/how-to/publish/signing.md.
#[test]
fn cosign_accepts_the_envelope_and_nothing_else() {
    let packed = PackedArchive::example();
    let directory = packed.directory();
    packed.desk.solution(&["keygen", "reviewer"]).success();
    packed.desk.solution(&["keygen", "stranger"]).success();
    let root = packed.unpacked();
    std::fs::copy(root.join("SHA256SUMS"), directory.join("sums")).unwrap();
    let envelope = |name: &str| {
        let archive = packed.desk.read(ARCHIVE);
        packed.desk.write(name, &archive[STATEMENT]);
    };
    envelope("one.json");
    let sign = ["sign", ARCHIVE, "--key", "reviewer.key"];
    packed.desk.solution(&sign).success();
    envelope("two.json");
    assert!(cosign(&directory, "one.json", "publisher.pub", "sums"));
    // With multiple signatures, each key finds its own.
    for key in ["publisher.pub", "reviewer.pub"] {
        assert!(cosign(&directory, "two.json", key, "sums"), "{key}");
    }
    assert!(!cosign(&directory, "one.json", "reviewer.pub", "sums"));
    assert!(!cosign(&directory, "two.json", "stranger.pub", "sums"));
    let sums = packed.desk.read("sums");
    packed.desk.write("altered", [&sums[..], b"\n"].concat());
    assert!(!cosign(&directory, "one.json", "publisher.pub", "altered"));
    let mut altered = packed.desk.read("one.json");
    altered[40] ^= 1;
    packed.desk.write("altered.json", &altered);
    assert!(!cosign(&directory, "altered.json", "publisher.pub", "sums"));
}

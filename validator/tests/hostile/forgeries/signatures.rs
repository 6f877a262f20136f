//! Forged statements and signatures: other spellings, other archives and other signatures.

use schemas::{Digest, Envelope, EnvelopeSignature, KeyId, PayloadType};
use validator::CheckOptions;

use super::ROLE;
use crate::image::{Image, Tree};
use crate::source::Source;
use crate::subject::{ENVELOPE, envelope_text, key, options};

const STATEMENT: &str = "statement.dsse.json";

fn text() -> String {
    envelope_text(&Image::good().good).to_owned()
}

/// Returns the good envelope with one text replaced.
fn with(from: &str, to: &str) -> String {
    let text = text();
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

/// Checks that each spelling is refused at the envelope with this message.
fn refused(cases: &[(&str, String, &str)]) {
    for (name, text, words) in cases {
        let mut image = Image::good();
        image.put_envelope_text(text);
        let found = image.refused_with(&options());
        let [(id, place, message)] = found.as_slice() else {
            panic!("{name}: {found:#?}");
        };
        let expected = ("signature.envelope", STATEMENT);
        assert_eq!((id.as_str(), place.as_str()), expected, "{name}");
        assert!(message.contains(words), "{name}: {message}");
        let byte = format!("at byte {}", ENVELOPE.start);
        assert!(message.contains(&byte), "{name}: {message}");
    }
}

/// The envelope has the same meaning in other bytes, and a lenient JSON parser accepts each variant.
#[test]
fn a_re_spelled_envelope_is_refused() {
    let spelling = "is not in canonical form (order, spaces, base64 or padding differ)";
    refused(&[
        ("a space", with("{\"payload\"", "{ \"payload\""), spelling),
        (
            "a line feed",
            with(",\"signatures\"", ",\n\"signatures\""),
            spelling,
        ),
        (
            "an escaped key",
            with("\"signatures\"", "\"signature\\u0073\""),
            spelling,
        ),
        (
            "an escaped slash",
            with("application/vnd", "application\\/vnd"),
            spelling,
        ),
        ("another order of keys", payload_last(), spelling),
        ("another order of signatures", unsorted(), spelling),
        ("a tab as padding", text() + "\t", spelling),
        (
            "a byte order mark",
            format!("\u{feff}{}", text()),
            "expected value",
        ),
        (
            "text behind the end",
            text() + "      {}",
            "trailing characters",
        ),
    ]);
}

#[test]
fn an_envelope_with_another_base64_is_refused() {
    // A signature whose digits differ in the URL-safe alphabet.
    let digits = text();
    let digits = digits.split("\"sig\":\"").nth(1).unwrap();
    let digits = digits.split('"').next().unwrap();
    let url_safe = digits.replace('+', "-").replace('/', "_");
    assert_ne!(url_safe, digits);
    let malformed = "a signature of the envelope is malformed";
    refused(&[
        ("no padding", with("==\"}]", "\"}]"), malformed),
        ("the URL-safe alphabet", with(digits, &url_safe), malformed),
        ("bits left over", leftover(&text()), malformed),
        ("a line feed", with("==\"}]", "=\\n=\"}]"), malformed),
    ]);
}

#[test]
fn an_envelope_with_other_fields_is_refused() {
    let id = key().public().id().to_string();
    let field = "\"payloadType\"";
    refused(&[
        (
            "a key id in capitals",
            with(&id, &id.to_uppercase()),
            "a key id of the envelope is malformed",
        ),
        (
            "a key twice",
            with(field, "\"payload\":\"\",\"payloadType\""),
            "duplicate key `payload`",
        ),
        (
            "an unknown field",
            with(field, "\"x\":1,\"payloadType\""),
            "unknown field `x`",
        ),
        ("one signature twice", twice(), "is already signed by key"),
        (
            "another type",
            with("in-toto", "in-TOTO"),
            "not `application/vnd.in-toto+json`",
        ),
    ]);
}

fn payload_last() -> String {
    let text = text();
    let (payload, rest) = text.split_once(",\"payloadType\"").unwrap();
    let rest = rest.strip_suffix('}').unwrap();
    format!("{{\"payloadType\"{rest},{}}}", &payload[1..])
}

/// Returns an envelope with two signatures in descending order of key ids.
fn unsorted() -> String {
    let mut envelope = Image::good().envelope();
    let unknown = EnvelopeSignature {
        key_id: KeyId::new(Digest::new([0xFF; 32])),
        bytes: vec![1; 64],
    };
    envelope.add(unknown).unwrap();
    let text = String::from_utf8(envelope.to_bytes()).unwrap();
    let (head, list) = text.split_once('[').unwrap();
    let list = list.trim_end().trim_end_matches("]}");
    let (first, second) = list.split_once("},").unwrap();
    format!("{head}[{second},{first}}}]}}")
}

/// The end of the padding.
#[test]
fn a_re_spelled_end_of_the_envelope_is_refused() {
    for end in [b"\n ", b"  ", b"\r\n", b"\0\n", b"\n\n"] {
        let mut image = Image::good();
        image.put(ENVELOPE.end - 2, end);
        let found = image.refused_with(&options());
        let ids: Vec<_> = found
            .iter()
            .map(|(id, place, _)| (id.as_str(), place.as_str()))
            .collect();
        assert_eq!(ids, [("signature.envelope", STATEMENT)], "{end:?}");
    }
}

/// The last digit before the padding has four unused bits.
fn leftover(text: &str) -> String {
    let at = text.rfind("==").unwrap() - 1;
    let digit = match &text[at..=at] {
        "A" => "B",
        "Q" => "R",
        "g" => "h",
        _ => "x",
    };
    format!("{}{digit}{}", &text[..at], &text[at + 1..])
}

fn twice() -> String {
    let text = text();
    let (head, list) = text.split_once('[').unwrap();
    let signature = list.trim_end_matches("]}");
    format!("{head}[{signature},{signature}]}}")
}

fn signed_with(payload: &[u8], signatures: Vec<EnvelopeSignature>) -> Envelope {
    let mut envelope = Envelope::new(payload.to_vec()).unwrap();
    for signature in signatures {
        envelope.add(signature).unwrap();
    }
    envelope
}

fn wrong() -> String {
    let id = key().public().id();
    format!("the signature by trusted key {id} is invalid: the statement was altered after signing")
}

/// S and S + L are the same signature to a verifier that does not reduce S (RFC 8032 8.4).
#[test]
fn a_malleable_signature_is_refused() {
    /// The order of the base point (RFC 8032 5.1), little endian.
    const L: [u8; 32] = [
        0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde,
        0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
    ];
    let mut image = Image::good();
    let envelope = image.envelope();
    let mut signature = envelope.signatures().next().unwrap();
    let mut carry = 0;
    for (byte, l) in signature.bytes[32..].iter_mut().zip(L) {
        let sum = u16::from(*byte) + u16::from(l) + carry;
        (*byte, carry) = (sum.to_le_bytes()[0], sum >> 8);
    }
    assert_eq!(carry, 0, "S + L has 32 bytes");
    let malleable = signed_with(envelope.payload(), vec![signature]);
    image.put(ENVELOPE.start, &malleable.to_bytes());
    image.refused("signature.invalid", STATEMENT, &wrong());
}

#[test]
fn a_signature_of_another_statement_is_refused() {
    let mut image = Image::good();
    let other = sibling().envelope().signatures().next().unwrap();
    let forged = signed_with(image.envelope().payload(), vec![other]);
    image.put(ENVELOPE.start, &forged.to_bytes());
    image.refused("signature.invalid", STATEMENT, &wrong());
}

/// Signatures of another length that contain the correct bytes.
#[test]
fn a_signature_of_another_length_is_refused() {
    for len in [63, 65, 128] {
        let mut image = Image::good();
        let mut signature = image.envelope().signatures().next().unwrap();
        signature.bytes.resize(len, 0);
        let forged = signed_with(image.envelope().payload(), vec![signature]);
        image.put(ENVELOPE.start, &forged.to_bytes());
        image.refused("signature.invalid", STATEMENT, &wrong());
    }
}

/// Anyone may add signatures by unknown keys; they have no effect.
#[test]
fn a_strangers_signature_says_nothing() {
    let mut image = Image::good();
    let mut envelope = image.envelope();
    let stranger = signing::SecretKey::generate().unwrap();
    envelope
        .add(stranger.sign(PayloadType::Statement, envelope.payload()))
        .unwrap();
    image.put(ENVELOPE.start, &envelope.to_bytes());
    image.accepted();
}

/// Returns an archive by the same publisher with the same name, version, files and sizes, in which one word of a role
/// differs.
fn sibling() -> Image {
    let mut source = Source::good();
    source.edit(ROLE, "verbs: [get, list]", "verbs: [put, list]");
    Image::of(&source)
}

#[test]
fn a_statement_for_another_archive_is_refused() {
    let (mut image, other) = (Image::good(), sibling());
    image.put(ENVELOPE.start, &other.good[ENVELOPE]);
    let found = image.refused_with(&options());
    let [(id, place, message)] = found.as_slice() else {
        panic!("{found:#?}");
    };
    assert_eq!(
        (id.as_str(), place.as_str()),
        ("integrity.list", "CONTENTS")
    );
    let contents = other.extent(other.record(Tree::Primary, "CONTENTS").start);
    let expected = crate::source::sha256(&other.good[contents]);
    assert!(
        message.contains(&format!("expected {expected}")),
        "{message}"
    );
}

/// The statement and list of another archive: the image metadata is equal, the data is not.
#[test]
fn a_statement_and_a_list_for_another_archive_is_refused() {
    let (mut image, other) = (Image::good(), sibling());
    let contents = other.extent(other.record(Tree::Primary, "CONTENTS").start);
    image.put(ENVELOPE.start, &other.good[ENVELOPE]);
    image.put(contents.start, &other.good[contents]);
    let found = image.refused_with(&options());
    let found: Vec<_> = found
        .iter()
        .map(|(id, place, _)| (id.as_str(), place.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("integrity.damaged", "SHA256SUMS"),
            ("integrity.damaged", ROLE)
        ]
    );
}

/// A statement with another name requires another volume name.
#[test]
fn a_statement_for_another_version_is_refused() {
    let mut image = Image::good();
    let payload = String::from_utf8(image.envelope().payload().to_vec()).unwrap();
    let payload = payload.replace("1.0.0", "1.0.1").replace("1_0_0", "1_0_1");
    let mut envelope = Envelope::new(payload.into_bytes()).unwrap();
    envelope
        .add(key().sign(PayloadType::Statement, envelope.payload()))
        .unwrap();
    image.put(ENVELOPE.start, &envelope.to_bytes());
    let found = image.refused_with(&options());
    let parts = ["primary volume descriptor", "Joliet volume descriptor"];
    assert_eq!(found.len(), parts.len(), "{found:#?}");
    for ((id, _, message), part) in found.iter().zip(parts) {
        assert_eq!(id, "container.metadata");
        assert!(message.starts_with(part), "{message}");
    }
}

/// Detached signatures of another archive.
#[test]
fn signatures_beside_the_archive_for_another_one_are_refused() {
    let image = Image::good();
    let options = CheckOptions {
        detached: vec![sibling().envelope()],
        ..options()
    };
    let found = image.refused_with(&options);
    let message =
        "the signatures are for another archive: their payload is not this archive's statement";
    let [(id, place, found)] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        (id.as_str(), found.as_str()),
        ("signature.detached", message)
    );
    assert!(
        place.ends_with(".dsse.json") && !place.contains('/'),
        "{place}"
    );
}

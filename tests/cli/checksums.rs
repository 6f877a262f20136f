//! `solution checksums`: signed lists of checksums, and files that are compared with them.

use serde_json::json;

use crate::common::{Answer, Desk};

const SIGN: [&str; 5] = ["checksums", "sign", "SHA256SUMS", "--key", "release.key"];
const VERIFY: [&str; 5] = ["checksums", "verify", "SHA256SUMS", "--key", "release.pub"];
const SIGNATURES: &str = "SHA256SUMS.dsse.json";

fn list(desk: &Desk) {
    let files = ["a.deb", "b.rpm"].map(|name| {
        let digest = files::digest(&desk.read(name));
        format!("{}  {name}\n", digest.hex())
    });
    desk.write("SHA256SUMS", files.concat());
}

/// Returns a desk with two files, their list, and two key pairs. The first key has signed the list.
fn desk_with_signed_list() -> Desk {
    let desk = Desk::new();
    for name in ["release", "other"] {
        desk.solution(&["keygen", name]).success();
    }
    desk.write("a.deb", "a");
    desk.write("b.rpm", "b");
    list(&desk);
    desk.solution(&SIGN).success();
    desk
}

fn verify(desk: &Desk) -> Answer {
    desk.solution(&[&VERIFY[..], &["--output", "json"]].concat())
}

fn states(answer: &Answer) -> [String; 2] {
    ["a.deb", "b.rpm"].map(|name| {
        let answer = answer.json();
        let mut files = answer["files"].as_array().unwrap().iter();
        let file = files.find(|file| file["name"] == name).unwrap();
        file["state"].as_str().unwrap().to_owned()
    })
}

#[test]
fn files_are_as_they_were_signed() {
    let desk = desk_with_signed_list();
    let answer = verify(&desk);
    assert_eq!(states(&answer), ["same", "same"]);
    assert_eq!((answer.code, &answer.json()["valid"]), (0, &json!(true)));
    let said = desk.solution(&VERIFY).success();
    assert!(said.contains("same       a.deb\n"), "{said}");
    // A user may download only one of the files.
    std::fs::remove_file(desk.path("a.deb")).unwrap();
    let answer = verify(&desk);
    assert_eq!(states(&answer), ["missing", "same"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    std::fs::remove_file(desk.path("b.rpm")).unwrap();
    let said = desk.solution(&VERIFY).failure(1);
    assert!(said.contains("none of the files"), "{said}");
}

#[test]
fn a_file_that_differs_is_named() {
    let desk = desk_with_signed_list();
    desk.write("b.rpm", "c");
    let answer = verify(&desk);
    assert_eq!(states(&answer), ["same", "different"]);
    assert_eq!((answer.code, &answer.json()["valid"]), (1, &json!(false)));
    let said = desk.solution(&VERIFY).failure(1);
    assert!(said.contains("different  b.rpm\n"), "{said}");
    std::fs::remove_file(desk.path("b.rpm")).unwrap();
    std::fs::create_dir(desk.path("b.rpm")).unwrap();
    assert_eq!(states(&verify(&desk)), ["same", "different"]);
}

#[test]
fn a_list_that_no_key_signed_says_nothing_of_files() {
    let desk = desk_with_signed_list();
    let other = ["checksums", "verify", "SHA256SUMS", "--key", "other.pub"];
    let said = desk.solution(&other).failure(1);
    assert!(
        said.contains("has no valid signature by one of these keys"),
        "{said}"
    );
    assert!(!said.contains("a.deb"), "{said}");
    assert!(
        said.contains("\nhint: get the list and its signatures again"),
        "{said}"
    );
    // This list matches other files.
    desk.write("b.rpm", "c");
    list(&desk);
    let answer = verify(&desk);
    assert_eq!((answer.code, &answer.json()["files"]), (1, &json!([])));
    assert_eq!(answer.json()["signedBy"], json!([]));
    std::fs::remove_file(desk.path(SIGNATURES)).unwrap();
    let said = desk.solution(&VERIFY).failure(1);
    assert!(said.contains("`SHA256SUMS` is not signed"), "{said}");
}

#[test]
fn several_sign_one_list_and_never_another() {
    let desk = desk_with_signed_list();
    let other = ["checksums", "sign", "SHA256SUMS", "--key", "other.key"];
    desk.solution(&other).success();
    let both = desk.solution(&[&VERIFY[..], &["--key", "other.pub"]].concat());
    assert!(both.success().contains("valid"));
    let before = desk.read(SIGNATURES);
    let said = desk.solution(&other).failure(1);
    assert!(said.contains("already signed by key"), "{said}");
    desk.write("a.deb", "new");
    list(&desk);
    let said = desk.solution(&SIGN).failure(1);
    assert!(said.contains("belongs to another list"), "{said}");
    assert!(desk.read(SIGNATURES) == before, "it was written to");
    std::fs::remove_file(desk.path(SIGNATURES)).unwrap();
    desk.write("SHA256SUMS", "no list\n");
    let said = desk.solution(&SIGN).failure(1);
    assert!(said.contains("line 1 of the list"), "{said}");
    assert!(!desk.path(SIGNATURES).exists());
}

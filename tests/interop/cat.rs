//! `solution archive cat` at a terminal, which shows text, but never the bytes of an archive.

use archive::ArchiveFile;
use signing::SecretKey;

use crate::common::Desk;
use crate::stages;
use crate::terminal::Terminal;

#[test]
fn a_terminal_gets_text_with_escapes() {
    let desk = Desk::with_archive();
    let path = desk.path("example.iso");
    let listed = stages::list(&path);
    let files = stages::files(&listed).into_iter();
    let files = files.map(|file| match file.path.as_str() {
        "README.txt" => {
            let text = "one\ntwo \u{1b}[31m\rerror: forged\u{202e}\n";
            ArchiveFile::from_bytes(file.path, text.into())
        }
        _ => file,
    });
    let unsigned = stages::unsigned(stages::statement_info(&listed), files.collect());
    let pem = String::from_utf8(desk.read("publisher.key")).unwrap();
    let key = SecretKey::from_pem(&pem).unwrap();
    stages::write(unsigned.sign(&[key]).unwrap(), &path);
    let line = "solution archive cat example.iso README.txt";
    let text = Terminal::run(&desk, line, &[]).wait_for_exit(0);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    assert_eq!(
        lines[..2],
        ["one", r"two \u{1b}[31m\rerror: forged\u{202e}"],
        "{text}"
    );
    assert!(lines[2].starts_with("not verified:"), "{text}");
}

#[test]
fn a_terminal_gets_no_bytes() {
    let desk = Desk::with_archive();
    let listed = stages::list(&desk.path("example.iso"));
    let layer = listed.contents().entries().iter().find(|entry| {
        let bytes = listed.read(entry.path.as_str(), 1 << 30).unwrap();
        bytes.starts_with(b"\x1f\x8b") || std::str::from_utf8(&bytes).is_err()
    });
    let path = layer.expect("an image has a layer").path.to_string();
    let line = format!("solution archive cat example.iso {path}");
    let text = Terminal::run(&desk, &line, &[]).wait_for_exit(2);
    for words in ["to a terminal: it is", "hint: write it to a file"] {
        assert!(text.contains(words), "{text}");
    }
}

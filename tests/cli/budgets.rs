//! Small archives that are expensive to process: the program's effort must follow from the size of an archive. Each
//! test limits the memory to that of a small virtual machine, and the program would exceed it without its own limits.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;

use archive::{ArchiveFile, FileSource, StatementInfo, tree};
use schemas::{Digest, Document, Image, SolutionId, StatementTime};

use crate::common::{Answer, Desk};
use crate::stages;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";

/// The limit of data memory in KiB, including stacks.
const MEMORY: u32 = 128 * 1024;

fn digest(bytes: &[u8]) -> Digest {
    ArchiveFile::from_bytes("x".parse().unwrap(), bytes.to_vec()).digest
}

fn descriptor(media_type: &str, bytes: &[u8], more: &str) -> String {
    let (digest, size) = (digest(bytes), bytes.len());
    format!(r#"{{"mediaType":"{media_type}","digest":"{digest}","size":{size}{more}}}"#)
}

fn document(text: String) -> Arc<Document> {
    let bytes = text.into_bytes();
    Document::read(digest(&bytes), bytes).unwrap().0.into()
}

/// Adds an index of 4 MiB that lists one manifest for very many platforms, under `tags` tags, and a `manifest.yaml`
/// that lists each tag `listed` times.
fn write_index(desk: &Desk, tags: usize, listed: usize) {
    let config =
        br#"{"os":"linux","architecture":"arm64","rootfs":{"type":"layers","diff_ids":[]}}"#;
    let manifest = format!(
        r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}","config":{},"layers":[]}}"#,
        descriptor(CONFIG, config, "")
    );
    let child = |number| {
        let platform = format!(r#","platform":{{"os":"linux","architecture":"x{number}"}}"#);
        descriptor(MANIFEST, manifest.as_bytes(), &platform)
    };
    let children: Vec<String> = (0..18_000).map(child).collect();
    let index = format!(
        r#"{{"schemaVersion":2,"mediaType":"{INDEX}","manifests":[{}]}}"#,
        children.join(",")
    );
    let (root, child) = (document(index), document(manifest));
    let image = |tag: usize| Image {
        place: format!("a:{tag}").parse().unwrap(),
        reference: None,
        root: Arc::clone(&root),
        children: vec![Arc::clone(&child)],
        blobs: [(digest(config), config.len() as u64)].into(),
        platforms: BTreeSet::new(),
    };
    let images: Vec<Image> = (0..tags).map(image).collect();
    let info = StatementInfo {
        id: SolutionId::new("demo".parse().unwrap(), "1.0.0".parse().unwrap()).unwrap(),
        time: StatementTime::DEFAULT,
        upgrade_from: None,
        expires: None,
        requires: Vec::new(),
        optional: Vec::new(),
    };
    // The index is in memory once and hashed once.
    let config: Arc<[u8]> = config.as_slice().into();
    let blob = |_: &Digest| FileSource::Bytes(Arc::clone(&config));
    let mut files = tree::derived(&info.id, &images, blob).unwrap();
    let lines = (0..listed).map(|number| format!("  - a:{}\n", number % tags));
    let text = format!(
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: Solution\nmetadata: {{name: demo}}\nspec:\n  version: 1.0.0\n  images:\n{}",
        lines.collect::<String>()
    );
    files.push(ArchiveFile::from_bytes(
        "manifest.yaml".parse().unwrap(),
        text.into_bytes(),
    ));
    let unsigned = stages::unsigned(info, files);
    stages::write(unsigned.leave_unsigned(), &desk.path("small.iso"));
}

/// Runs the program with at most [`MEMORY`].
fn run_with_limit(desk: &Desk, arguments: &[&str]) -> Answer {
    let program = env!("CARGO_BIN_EXE_solution");
    let script = format!("ulimit -d {MEMORY} && exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    let command = command.current_dir(desk.path("")).arg("-c").arg(script);
    Answer::from_command(command.arg(program).args(arguments))
}

#[test]
fn a_small_index_under_many_tags_is_little_work() {
    let desk = Desk::new();
    write_index(&desk, 2000, 2000);
    let said = run_with_limit(&desk, &["validate", "small.iso", "--skip-signature"]);
    // There is one finding for the platforms of the index, not one for each tag.
    assert!(said.stdout.starts_with("archive id"), "{said:?}");
    assert!(said.stderr.contains("and 17980 more"), "{said:?}");
    let said = run_with_limit(&desk, &["inspect", "small.iso"]).failure(1);
    assert!(said.contains("more platforms than can be shown"), "{said}");
}

#[test]
fn an_image_that_is_listed_very_often_is_read_once() {
    let desk = Desk::new();
    write_index(&desk, 1, 100_000);
    let said = run_with_limit(&desk, &["inspect", "small.iso"]).failure(1);
    assert!(said.contains("more platforms than can be shown"), "{said}");
    let said = run_with_limit(&desk, &["validate", "small.iso", "--skip-signature"]).failure(1);
    assert!(said.contains("manifest.image-repeated"), "{said}");
}

#[test]
fn an_archive_that_is_not_in_order_is_shown_without_what_it_defines() {
    let desk = Desk::new();
    write_index(&desk, 1, 2);
    let shown = desk.solution(&["inspect", "small.iso"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(shown.stdout.contains("demo"), "{shown:?}");
    let words = "CRDs and rights cannot be shown: run `solution validate` to see the problems";
    assert!(shown.stderr.contains(words), "{shown:?}");
}

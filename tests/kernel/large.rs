//! A file over 4 GiB, which ECMA-119 records in two sections, because the length of one has 32 bits.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::common::Desk;
use crate::fuse::Serving;
use crate::machine::{Mount, boot};
use crate::tools::hex;

const MIB: u64 = 1 << 20;
const SIZE: u64 = 4097 * MIB + 5;

/// The mebibytes that the kernel reads: the first two, those at 2 GiB, those at the end of the first section (4 GiB
/// less a sector) and at 4 GiB, and the last bytes. The rest of the file is a hole.
const PIECES: [u64; 8] = [0, 1, 2047, 2048, 4094, 4095, 4096, 4097];

/// Returns a mebibyte in which every eight bytes are their own position, so that bytes from another position are
/// detected.
fn piece(number: u64) -> Vec<u8> {
    let positions = (number * MIB..).step_by(8);
    let bytes = positions.take(1 << 17).flat_map(u64::to_le_bytes);
    let end = MIB.min(SIZE - number * MIB);
    bytes.take(usize::try_from(end).unwrap()).collect()
}

/// Writes the layer, and returns its SHA-256.
fn write_layer(path: &Path) -> String {
    let file = File::create_new(path).unwrap();
    file.set_len(SIZE).unwrap();
    for number in PIECES {
        file.write_all_at(&piece(number), number * MIB).unwrap();
    }
    let mut file = File::open(path).unwrap();
    let mut buffer = vec![0; 1 << 22];
    let mut hash = Sha256::new();
    loop {
        match file.read(&mut buffer).unwrap() {
            0 => return hex(&hash.finalize()),
            read => hash.update(&buffer[..read]),
        }
    }
}

/// Writes a source whose image has one large layer, and returns the layer's SHA-256.
fn write_source(desk: &Desk) -> String {
    desk.write(
        "source/images/oci-layout",
        r#"{"imageLayoutVersion":"1.0.0"}"#,
    );
    let blobs = "source/images/blobs/sha256";
    fs::create_dir_all(desk.path(blobs)).unwrap();
    let layer = write_layer(&desk.path("layer"));
    fs::rename(desk.path("layer"), desk.path(&format!("{blobs}/{layer}"))).unwrap();
    let oci = "application/vnd.oci.image";
    let put = |kind: &str, document: &Value| {
        let bytes = document.to_string();
        let digest = hex(&Sha256::digest(&bytes));
        desk.write(&format!("{blobs}/{digest}"), &bytes);
        json!({"mediaType": format!("{oci}.{kind}.v1+json"), "digest": format!("sha256:{digest}"), "size": bytes.len()})
    };
    let rootfs = json!({"type": "layers", "diff_ids": [format!("sha256:{layer}")]});
    let config = json!({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": rootfs});
    let layers = json!([{
        "mediaType": format!("{oci}.layer.v1.tar"), "digest": format!("sha256:{layer}"), "size": SIZE,
    }]);
    let config = put("config", &config);
    let manifest = json!({
        "schemaVersion": 2, "mediaType": format!("{oci}.manifest.v1+json"), "config": config, "layers": layers,
    });
    let mut manifest = put("manifest", &manifest);
    manifest["annotations"] = json!({"org.opencontainers.image.ref.name": "large"});
    let index = json!({"schemaVersion": 2, "manifests": [manifest]});
    desk.write("source/images/index.json", index.to_string());
    desk.write(
        "source/solution.yaml",
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {name: large}
spec:
  version: 1.0.0
  images: [{name: large, tag: '1', source: 'oci:images:large'}]
",
    );
    layer
}

#[track_caller]
fn assert_large(mount: &Mount, path: &str, links: u64) {
    let name = &mount.name;
    let node = &mount.nodes[path];
    assert_eq!((node.size, node.links), (SIZE, links), "{name}: {path}");
    for number in PIECES {
        let expected = hex(&Sha256::digest(piece(number)));
        let found = &mount.pieces[&(path.to_owned(), number)];
        assert_eq!(*found, expected, "{name}: MiB {number} of {path}");
    }
}

/// The number of concurrent first opens: as many as the program's threads for the kernel, or for hashing.
const FIRST_OPENS: usize = 4;

/// Asserts that a mount answers other requests while a large file is opened. The open lasts until the file is hashed.
fn assert_answers_while_hashing(desk: &Desk, path: &str) {
    let serving = Serving::start(desk, "large.iso");
    let large = serving.directory.join(path);
    let is_open = AtomicBool::new(false);
    let mut answers = 0;
    thread::scope(|scope| {
        for _ in 0..FIRST_OPENS {
            scope.spawn(|| {
                File::open(&large).unwrap();
                is_open.store(true, Ordering::Relaxed);
            });
        }
        while !is_open.load(Ordering::Relaxed) {
            assert_ne!(fs::read_dir(large.parent().unwrap()).unwrap().count(), 0);
            answers += 1;
        }
    });
    assert!(answers > 100, "{answers}");
    serving.interrupt();
}

#[test]
fn a_file_over_4_gib_has_its_size_links_and_bytes() {
    let desk = Desk::with_key();
    let layer = write_source(&desk);
    let pack = [
        "pack",
        "source",
        "-o",
        "large.iso",
        "--key",
        "publisher.key",
    ];
    desk.solution(&pack).success();
    fs::remove_dir_all(desk.path("source")).unwrap();
    desk.solution(&["validate", "large.iso", "--key", "publisher.pub"])
        .success();
    assert_answers_while_hashing(&desk, &format!("images/large/1/{layer}"));
    let pieces = PIECES.map(|number| number.to_string()).join(",");
    let pieces = format!("pieces={pieces}");
    let words = [
        pieces.as_str(),
        "mount=sr0:ro",
        "mount=vda:ro",
        "mount=vda:ro,norock",
    ];
    for mount in boot(&desk.path("large.iso"), &words) {
        let links = if mount.name.ends_with("norock") { 1 } else { 2 };
        assert_large(&mount, &format!("images/large/1/{layer}"), links);
        assert_large(&mount, &format!("blobs/sha256/{layer}"), links);
    }
}

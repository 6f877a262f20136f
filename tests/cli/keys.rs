//! JSON keys that only some readers match: container runtimes are written in Go, and match `Layers` with `layers`.
//! `pack`, `sign`, `validate` and `import` refuse a document that two readers understand differently.

use std::collections::BTreeSet;
use std::sync::Arc;

use archive::{ArchiveFile, FileSource, tree};
use fixtures::image::ImageBuilder;
use fixtures::layout::OciLayout;
use schemas::{Digest, Document, Envelope, Image, MediaType, PayloadType};
use signing::SecretKey;

use crate::common::Desk;
use crate::stages;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

fn key(desk: &Desk) -> SecretKey {
    let pem = String::from_utf8(desk.read("publisher.key")).unwrap();
    SecretKey::from_pem(&pem).unwrap()
}

fn digest(bytes: &[u8]) -> Digest {
    ArchiveFile::from_bytes("x".parse().unwrap(), bytes.to_vec()).digest
}

fn descriptor(media_type: &str, bytes: &[u8]) -> String {
    let (digest, size) = (digest(bytes), bytes.len());
    format!(r#"{{"mediaType":"{media_type}","digest":"{digest}","size":{size}}}"#)
}

/// Returns a signed archive with one image. Its manifest and its configuration have more fields; everything else is
/// valid.
fn archive(manifest_says: &str, config_says: &str) -> Desk {
    let desk = Desk::with_archive();
    let path = desk.path("example.iso");
    let listed = stages::list(&path);
    let layer = b"a layer";
    let config = format!(
        r#"{{"os":"linux","architecture":"amd64","rootfs":{{"type":"layers","diff_ids":["{}"]}}{config_says}}}"#,
        digest(layer)
    );
    let manifest = format!(
        r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}","config":{},"layers":[{}]{manifest_says}}}"#,
        descriptor(CONFIG, config.as_bytes()),
        descriptor(LAYER, layer)
    );
    let blobs = [config.as_bytes(), layer];
    let image = Image {
        place: "app:1".parse().unwrap(),
        reference: None,
        root: Arc::new(Document {
            digest: digest(manifest.as_bytes()),
            media_type: MediaType::OciManifest,
            bytes: manifest.as_bytes().into(),
            needs: Vec::new(),
        }),
        children: Vec::new(),
        blobs: blobs.map(|blob| (digest(blob), blob.len() as u64)).into(),
        platforms: BTreeSet::new(),
    };
    let info = stages::statement_info(&listed);
    let blob = |wanted: &Digest| {
        let bytes = blobs.iter().find(|blob| digest(blob) == *wanted).unwrap();
        FileSource::Bytes(bytes.to_vec().into())
    };
    let mut files = tree::derived(&info.id, &[image], blob).unwrap();
    let text = format!(
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: Solution\nmetadata: {{name: {}, annotations: {{solutions.metalk8s.scality.com/display-name: X}}}}\nspec: {{version: {}, images: ['app:1']}}\n",
        info.id.name(),
        info.id.version()
    );
    files.push(ArchiveFile::from_bytes(
        "manifest.yaml".parse().unwrap(),
        text.into_bytes(),
    ));
    let signed = stages::unsigned(info, files).sign(&[key(&desk)]).unwrap();
    stages::write(signed, &path);
    desk
}

/// Asserts that `sign`, `validate` and `import` refuse the archive, name the key, and change nothing.
#[track_caller]
fn assert_refused(desk: &Desk, finding: &str, word: &str) {
    let before = (desk.names(), desk.read("example.iso"));
    desk.assert_refused(&[finding], &[word, "only in case"]);
    desk.solution(&["keygen", "reviewer"]).success();
    let import: [&str; 4] = ["--key", "publisher.pub", "--registry", "registry.invalid"];
    let verbs: [(&str, &[&str]); 3] = [
        ("sign", &["--key", "reviewer.key"]),
        ("sign", &["--payload-out", "payload"]),
        ("import", &import),
    ];
    for (verb, more) in verbs {
        let arguments = [&[verb, "example.iso"], more].concat();
        let said = desk.solution(&arguments).failure(1);
        assert!(
            said.contains(word) && said.contains("only in case"),
            "{said}"
        );
    }
    for name in ["reviewer.key", "reviewer.pub"] {
        std::fs::remove_file(desk.path(name)).unwrap();
    }
    assert!(
        (desk.names(), desk.read("example.iso")) == before,
        "it was touched"
    );
}

/// All other cases start from this one.
#[test]
fn keys_that_nobody_knows_and_those_of_maps_are_free() {
    let annotations = r#","annotations":{"Digest":"x","digest":"y","layers":"","Layers":""}"#;
    let config = r#","config":{"Labels":{"Env":"","env":""},"Volumes":{"/A":{},"/a":{}},"Mood":1},"mood":1.5"#;
    let desk = archive(annotations, config);
    let report = desk.report(&["--key", "publisher.pub"], 0);
    assert_eq!(report["verdict"], "accepted", "{report:#}");
    desk.solution(&["keygen", "reviewer"]).success();
    desk.solution(&["sign", "example.iso", "--key", "reviewer.key"])
        .success();
}

#[test]
fn layers_that_only_go_sees_are_refused() {
    let evil = descriptor(LAYER, b"a layer");
    for key in ["Layers", "layer\u{17f}", "LAYERS"] {
        let desk = archive(&format!(r#","{key}":[{evil}]"#), "");
        assert_refused(&desk, "images.document", &format!("`{key}`"));
    }
}

#[test]
fn a_configuration_that_go_reads_differently_is_refused() {
    for says in [
        r#","config":{"Entrypoint":["/good"],"entrypoint":["/evil"]}"#,
        r#","Config":{"Entrypoint":["/evil"]}"#,
        r#","config":{"Healthcheck":{"Test":[],"test":["CMD","/evil"]}}"#,
        r#","RootFS":{}"#,
    ] {
        let desk = archive("", says);
        let key = ["`entrypoint`", "`Config`", "`test`", "`RootFS`"];
        let key = key
            .into_iter()
            .find(|key| says.contains(&key.replace('`', "\"")));
        assert_refused(&desk, "images.config", key.unwrap());
    }
}

#[test]
fn a_statement_that_go_reads_differently_is_refused() {
    let desk = archive("", "");
    let mut image = desk.read("example.iso");
    let place = 65_536..131_072;
    let envelope = Envelope::from_slice(&image[place.clone()]).unwrap();
    let payload = String::from_utf8(envelope.payload().to_vec()).unwrap();
    let payload = payload.replacen(r#""layout":1"#, r#""layout":1,"Layout":2"#, 1);
    let mut envelope = Envelope::new(payload.into_bytes()).unwrap();
    envelope
        .add(key(&desk).sign(PayloadType::Statement, envelope.payload()))
        .unwrap();
    image[place].copy_from_slice(&envelope.to_bytes());
    desk.write("example.iso", image);
    assert_refused(&desk, "signature.statement", "`Layout`");
    let statement = desk.read("example.iso")[65_536..131_072].to_vec();
    desk.write("statement.dsse.json", statement);
    let said = desk.solution(&["sign", "statement.dsse.json", "--payload-out", "payload"]);
    assert!(said.failure(1).contains("`Layout`"));
}

/// Packs a layout in which a file has another text, and returns the output. The unchanged layout is valid.
fn pack_changed(file: fn(&Desk) -> String, from: &str, to: &str) -> String {
    let desk = Desk::with_key();
    let image = ImageBuilder::new().file("/app", "x", 0o755).build();
    let layout = OciLayout::create(desk.path("source/layout")).unwrap();
    layout
        .add(&image.into(), Some("1"))
        .unwrap()
        .finish()
        .unwrap();
    desk.write(
        "source/solution.yaml",
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {name: demo}
spec: {version: 1.0.0, images: [{name: app, tag: '1', source: 'oci:layout:1'}]}
",
    );
    let arguments = ["pack", "source", "-o", "demo.iso", "--key", "publisher.key"];
    desk.solution(&[&arguments[..], &["--check"]].concat())
        .success();
    let file = file(&desk);
    let text = String::from_utf8(desk.read(&file)).unwrap();
    assert!(text.contains(from), "{text}");
    let text = text.replacen(from, to, 1);
    // All references to its digest are updated.
    let old = file.rsplit('/').next().unwrap().to_owned();
    if old.len() == 64 {
        let (size, new) = (desk.read(&file).len(), digest(text.as_bytes()).hex());
        desk.write(&format!("source/layout/blobs/sha256/{new}"), &text);
        rename(&desk, &old, size, &new, text.len());
    } else {
        desk.write(&file, &text);
    }
    let refused = desk
        .solution(&[&arguments[..], &["--check"]].concat())
        .failure(1);
    let said = desk.solution(&arguments).failure(1);
    assert!(refused.contains("only in case"), "{refused}");
    assert!(!desk.path("demo.iso").exists());
    said
}

/// Renames a blob in the layout, and all references to it, from the bottom to the top.
fn rename(desk: &Desk, old: &str, size: usize, new: &str, new_size: usize) {
    let folder = "source/layout/blobs/sha256";
    let renamed = |text: &str| {
        let text = text.replace(old, new);
        text.replace(
            &format!(r#""size":{size}"#),
            &format!(r#""size":{new_size}"#),
        )
    };
    for entry in std::fs::read_dir(desk.path(folder)).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let bytes = desk.read(&format!("{folder}/{name}"));
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        if text.contains(old) {
            let above = renamed(&text);
            let hex = digest(above.as_bytes()).hex();
            desk.write(&format!("{folder}/{hex}"), &above);
            return rename(desk, &name, text.len(), &hex, above.len());
        }
    }
    let index = String::from_utf8(desk.read("source/layout/index.json")).unwrap();
    desk.write("source/layout/index.json", renamed(&index));
}

/// Returns the path of the blob in the layout with this text.
fn blob(desk: &Desk, with: &str) -> String {
    let folder = "source/layout/blobs/sha256";
    let mut entries = std::fs::read_dir(desk.path(folder)).unwrap();
    let found = entries.find_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let path = format!("{folder}/{name}");
        let text = String::from_utf8(desk.read(&path)).ok()?;
        text.contains(with).then_some(path)
    });
    found.unwrap()
}

#[test]
fn what_go_reads_differently_is_not_packed() {
    let said = pack_changed(
        |desk| blob(desk, "\"layers\":["),
        "\"layers\":[",
        "\"Layers\":[],\"layers\":[",
    );
    assert!(said.contains("`Layers`"), "{said}");
    let said = pack_changed(
        |desk| blob(desk, "\"diff_ids\""),
        "\"rootfs\"",
        "\"RootFs\":{},\"rootfs\"",
    );
    assert!(said.contains("`RootFs`"), "{said}");
    let index = |_: &Desk| "source/layout/index.json".to_owned();
    let said = pack_changed(index, "\"manifests\"", "\"Manifests\":[],\"manifests\"");
    assert!(said.contains("`Manifests`"), "{said}");
    let marker = |_: &Desk| "source/layout/oci-layout".to_owned();
    let said = pack_changed(
        marker,
        "{\"imageLayoutVersion\"",
        "{\"imagelayoutversion\":\"9\",\"imageLayoutVersion\"",
    );
    assert!(said.contains("`imagelayoutversion`"), "{said}");
}

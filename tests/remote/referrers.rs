//! `solution pack --with-referrers`: cosign verifies its signatures from the publisher's registry in the site's
//! registry.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::common::{Answer, Desk};
use crate::server::{Protection, Server};
use crate::serving::Serving;
use crate::setup::{image, index, large, pack, push, write_layout, write_source};

const KEY: [&str; 2] = ["--key", "publisher.pub"];
/// The image in the publisher's registry.
const APP: &str = "org/app";

/// The storage scheme of cosign's signatures.
#[derive(Clone, Copy, Debug)]
enum Scheme {
    /// As a layer of a manifest with the tag `sha256-….sig`.
    Tag,
    /// As a manifest that refers to the image.
    Referrer,
}

fn cosign(desk: &Desk, arguments: &[&str]) -> Answer {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/program");
    let program = Answer::from_command(Command::new(program).args(["cosign", "--path"])).success();
    let mut command = Command::new(program.trim());
    command.current_dir(desk.path(".")).env("HOME", ".");
    command.env("COSIGN_PASSWORD", "of the test");
    Answer::from_command(command.args(arguments))
}

fn sign(desk: &Desk, address: &str, scheme: Scheme) {
    sign_by(desk, "cosign.key", address, scheme);
}

fn sign_by(desk: &Desk, key: &str, address: &str, scheme: Scheme) {
    let format = match scheme {
        Scheme::Tag => "--new-bundle-format=false",
        Scheme::Referrer => "--new-bundle-format=true",
    };
    let offline = ["--tlog-upload=false", "--use-signing-config=false", "--yes"];
    let arguments = ["sign", "--key", key, "--allow-http-registry"];
    let arguments = [&arguments[..], &offline, &[format, address]].concat();
    cosign(desk, &arguments).success();
}

/// Returns whether cosign verifies a signature with this key.
fn cosign_verifies(desk: &Desk, address: &str, key: &str, scheme: Scheme) -> bool {
    let format = match scheme {
        Scheme::Tag => "--new-bundle-format=false",
        Scheme::Referrer => "--new-bundle-format=true",
    };
    let arguments = ["verify", "--key", key, "--allow-http-registry"];
    let offline = ["--insecure-ignore-tlog", format, address];
    cosign(desk, &[&arguments[..], &offline].concat()).code == 0
}

/// Returns a desk and a publisher's registry with an image for two architectures. Its index is signed with both
/// schemes. The image for amd64, and the signature manifest of the second scheme, are signed too.
fn desk_with_signatures() -> (Desk, Server) {
    let desk = Desk::with_key();
    let server = Server::start(&Protection::None);
    write_layout(&desk, "publisher", &index());
    push(&server, &desk.path("publisher/layout"), APP);
    for key in ["cosign", "other"] {
        let prefix = ["generate-key-pair", "--output-key-prefix", key];
        cosign(&desk, &prefix).success();
    }
    let at = |digest: &str| format!("{}/{APP}@{digest}", server.host());
    let (index, amd64) = (index(), image("amd64"));
    let index = &index.descriptor().digest;
    sign(&desk, &at(index), Scheme::Tag);
    sign(&desk, &at(index), Scheme::Referrer);
    sign(&desk, &at(&amd64.descriptor().digest), Scheme::Tag);
    let list = referrers_list(&server, APP, index);
    let bundle = list["manifests"][0]["digest"].as_str().unwrap();
    sign(&desk, &at(bundle), Scheme::Tag);
    let source = format!(
        "source: 'docker://{}/{APP}:1', ref: 'quay.example/{APP}:1'",
        server.host()
    );
    write_source(&desk, "source", &[&source]);
    (desk, server)
}

/// Returns the list of referrers under the tag of a digest.
fn referrers_list(server: &Server, repository: &str, digest: &str) -> Value {
    let tag = digest.replace(':', "-");
    let url = format!("http://{}/v2/{repository}/manifests/{tag}", server.host());
    let accept = "Accept: application/vnd.oci.image.index.v1+json";
    let mut command = Command::new("curl");
    command.args(["--silent", "--fail", "--header", accept, &url]);
    serde_json::from_str(&Answer::from_command(&mut command).success()).unwrap()
}

fn pack_with(desk: &Desk, archive: &str, more: &[&str]) -> Answer {
    let always = pack("source", archive);
    let flags = ["--with-referrers", "--output", "json"];
    desk.solution(&[&always[..], &flags, more].concat())
}

fn import(desk: &Desk, archive: &str, server: &Server, more: &[&str]) -> Answer {
    let registry = server.host();
    let to = ["--registry", &registry, "--output", "json"];
    desk.solution(&[&["push", archive][..], &KEY, &to, more].concat())
}

#[test]
fn what_is_signed_at_one_registry_is_verified_at_another() {
    let (desk, _publisher) = desk_with_signatures();
    let packed = pack_with(&desk, "shop.iso", &[]);
    assert_eq!(packed.code, 0, "{packed:?}");
    let packed = packed.json();
    assert_eq!(
        (&packed["images"], &packed["referrers"]),
        (&1.into(), &4.into())
    );
    pack_with(&desk, "again.iso", &["--no-cache"]);
    assert!(desk.read("shop.iso") == desk.read("again.iso"));
    fs::remove_file(desk.path("again.iso")).unwrap();

    let (index, amd64, arm64) = (index(), image("amd64"), image("arm64"));
    for site in [
        Server::start(&Protection::None),
        Server::third(&Protection::None),
    ] {
        let receipt = import(&desk, "shop.iso", &site, &[]);
        assert_eq!(receipt.code, 0, "{receipt:?}");
        assert_eq!(receipt.json()["referrers"], 4);
        for repository in ["shop-1.0.0/app-0", "mirror/quay.example/org/app"] {
            let at = |digest: &str| format!("{}/{repository}@{digest}", site.host());
            let all = at(&index.descriptor().digest);
            for scheme in [Scheme::Tag, Scheme::Referrer] {
                assert!(
                    cosign_verifies(&desk, &all, "cosign.pub", scheme),
                    "{all} {scheme:?}"
                );
                assert!(
                    !cosign_verifies(&desk, &all, "other.pub", scheme),
                    "{all} {scheme:?}"
                );
            }
            let bundle = referrers_list(&site, repository, &index.descriptor().digest);
            let bundle = at(bundle["manifests"][0]["digest"].as_str().unwrap());
            for signed in [at(&amd64.descriptor().digest), bundle] {
                assert!(
                    cosign_verifies(&desk, &signed, "cosign.pub", Scheme::Tag),
                    "{signed}"
                );
            }
            let never = at(&arm64.descriptor().digest);
            assert!(
                !cosign_verifies(&desk, &never, "cosign.pub", Scheme::Tag),
                "{never}"
            );
        }
        let registry = site.host();
        let at = ["--registry", &registry];
        let verify = ["registry", "verify", "shop.iso", "--output", "json"];
        let verified = desk.solution(&[&verify[..], &KEY, &at].concat());
        assert_eq!(verified.code, 0, "{verified:?}");
        // An index and two images, four referrers and their two lists, each in two repositories, and the head.
        assert_eq!(verified.json()["manifests"], 2 * (3 + 4 + 1) + 1);
        let export = ["export", "shop", "1.0.0", "-o", "again.iso", "--force"];
        desk.solution(&[&export[..], &KEY, &at].concat()).success();
        assert!(desk.read("shop.iso") == desk.read("again.iso"));
    }
}

#[test]
fn nothing_is_looked_for_unless_it_is_asked_for() {
    let (desk, _publisher) = desk_with_signatures();
    let flags = [&pack("source", "shop.iso")[..], &["--output", "json"]].concat();
    let packed = desk.solution(&flags);
    assert_eq!(packed.code, 0, "{packed:?}");
    let packed = packed.json();
    assert_eq!(
        (&packed["images"], packed.get("referrers")),
        (&1.into(), None)
    );
    let site = Server::start(&Protection::None);
    import(&desk, "shop.iso", &site, &[]);
    let index = index();
    let at = format!(
        "{}/shop-1.0.0/app-0@{}",
        site.host(),
        index.descriptor().digest
    );
    for scheme in [Scheme::Tag, Scheme::Referrer] {
        assert!(
            !cosign_verifies(&desk, &at, "cosign.pub", scheme),
            "{scheme:?}"
        );
    }
}

#[test]
fn they_are_shown_and_served() {
    let (desk, _publisher) = desk_with_signatures();
    let check = ["pack", "source", "--check", "--with-referrers"];
    let text = desk.solution(&check).success();
    assert!(
        text.contains("1 image, 4 signatures or other referrers"),
        "{text}"
    );
    let tag = index().descriptor().digest.replace(':', "-");
    assert!(
        text.contains(&format!("referrer    app-0:{tag}.sig")),
        "{text}"
    );
    assert_eq!(pack_with(&desk, "shop.iso", &[]).code, 0);
    let text = desk.solution(&["inspect", "shop.iso"]).success();
    assert!(
        text.contains("1 image, 4 signatures or other referrers"),
        "{text}"
    );
    let text = desk
        .solution(&[&["validate", "shop.iso"][..], &KEY].concat())
        .success();
    assert!(
        text.contains("1 image, 4 signatures or other referrers"),
        "{text}"
    );

    let serving = Serving::start(&desk, &["shop.iso"]);
    let digest = index().descriptor().digest.clone();
    let path = format!("/v2/shop-1.0.0/app-0/referrers/{digest}");
    let answer = serving.curl(&[], &path);
    let body = answer.split("\r\n\r\n").last().unwrap();
    let listed: Value = serde_json::from_str(body).unwrap();
    let listed = listed["manifests"].as_array().unwrap();
    assert_eq!(listed.len(), 1, "{answer}");
    assert_eq!(
        listed[0]["artifactType"],
        "application/vnd.dev.sigstore.bundle.v0.3+json"
    );
    let at = format!("{}/shop-1.0.0/app-0@{digest}", serving.host());
    for scheme in [Scheme::Tag, Scheme::Referrer] {
        assert!(
            cosign_verifies(&desk, &at, "cosign.pub", scheme),
            "{scheme:?}"
        );
        assert!(
            !cosign_verifies(&desk, &at, "other.pub", scheme),
            "{scheme:?}"
        );
    }
}

#[test]
fn signatures_of_a_whole_index_are_told_where_only_a_part_is_packed() {
    let (desk, publisher) = desk_with_signatures();
    let source = format!(
        "source: 'docker://{}/{APP}:1', platforms: [linux/amd64]",
        publisher.host()
    );
    write_source(&desk, "source", &[&source]);
    let packed = pack_with(&desk, "shop.iso", &[]);
    assert_eq!(packed.code, 0, "{packed:?}");
    let told = "2 signatures or other referrers are of the whole index";
    assert!(packed.stderr.contains(told), "{packed:?}");
    assert_eq!(packed.json()["referrers"], 1);
    let site = Server::start(&Protection::None);
    import(&desk, "shop.iso", &site, &[]);
    let amd64 = image("amd64");
    let at = format!(
        "{}/shop-1.0.0/app-0@{}",
        site.host(),
        amd64.descriptor().digest
    );
    assert!(cosign_verifies(&desk, &at, "cosign.pub", Scheme::Tag));
}

#[test]
fn a_tag_of_signatures_grows_and_is_never_cut() {
    let (desk, publisher) = desk_with_signatures();
    assert_eq!(pack_with(&desk, "shop.iso", &[]).code, 0);
    let digest = index().descriptor().digest.clone();
    let at = format!("{}/{APP}@{digest}", publisher.host());
    sign_by(&desk, "other.key", &at, Scheme::Tag);
    assert_eq!(pack_with(&desk, "more.iso", &[]).code, 0);
    let site = Server::start(&Protection::None);
    for archive in ["shop.iso", "more.iso", "shop.iso"] {
        let answer = import(&desk, archive, &site, &[]);
        assert_eq!(answer.code, 0, "{archive} {answer:?}");
    }
    let at_site = format!("{}/shop-1.0.0/app-0@{digest}", site.host());
    for key in ["cosign.pub", "other.pub"] {
        assert!(cosign_verifies(&desk, &at_site, key, Scheme::Tag), "{key}");
    }
    // Additional content is no fault, and repairs do not delete it.
    fs::remove_file(site.blob(&large()).unwrap()).unwrap();
    let registry = site.host();
    let at = ["--registry", &registry, "--output", "json"];
    let verify = [&["registry", "verify", "shop.iso"], &KEY[..], &at].concat();
    let found = desk.solution(&verify).json();
    let faults = found["faults"].as_array().unwrap();
    let is_of_layer = |fault: &Value| fault["reference"] == large();
    assert!(faults.iter().all(is_of_layer), "{found:#}");
    let repaired = desk.solution(&[&verify[..], &["--repair"]].concat());
    assert_eq!(repaired.code, 0, "{repaired:?}");
    for key in ["cosign.pub", "other.pub"] {
        assert!(cosign_verifies(&desk, &at_site, key, Scheme::Tag), "{key}");
    }
    let tag = digest.replace(':', "-");
    let path = format!("docker://{}/shop-1.0.0/app-0:{tag}.sig", site.host());
    // A document that is not a list of the same signatures counts as another image.
    write_layout(&desk, "odd", &image("arm64").into());
    let from = format!("oci:{}:1", desk.path("odd/layout").display());
    let copy = ["copy", "--quiet", "--dest-tls-verify=false", &from, &path];
    desk.run("skopeo", &copy).success();
    let refused = import(&desk, "shop.iso", &site, &[]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert_eq!(import(&desk, "shop.iso", &site, &["--replace"]).code, 0);
}

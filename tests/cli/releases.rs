//! `init --from` and a release: the name, version and directory of the source tree, and flags of earlier versions.

use std::path::{Path, PathBuf};

use fixtures::image::{Artifact, ImageBuilder};
use fixtures::layout::OciLayout;
use schemas::{ImageSource, SolutionSource};

use crate::common::Desk;

/// The command that creates a tree from the release that follows.
const FROM: [&str; 2] = ["init", "--from"];

/// Returns the path of a release in the fixtures.
pub(crate) fn release(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/releases");
    path.join(name).display().to_string()
}

/// Writes an image to the path of each source, in place of a registry.
pub(crate) fn write_images(desk: &Desk, directory: &str) -> SolutionSource {
    let path = format!("{directory}/solution.yaml");
    let mut text = String::from_utf8(desk.read(&path)).unwrap();
    let source = SolutionSource::from_slice(text.as_bytes()).unwrap();
    for (number, image) in source.spec.images.iter().enumerate() {
        let ImageSource::Docker(reference) = &image.source else {
            panic!("{image:?}");
        };
        assert_eq!(Some(reference), image.reference.as_ref());
        let layout = format!("images/{number}");
        let content = ImageBuilder::new()
            .file("/program", reference.as_str(), 0o755)
            .user(65532)
            .build();
        OciLayout::create(desk.path(&format!("{directory}/{layout}")))
            .and_then(|images| images.add(&Artifact::from(content), None))
            .and_then(OciLayout::finish)
            .unwrap();
        text = text.replace(
            &format!("source: \"{}\"", image.source),
            &format!("source: \"oci:{layout}\""),
        );
    }
    desk.write(&path, text);
    source
}

pub(crate) fn names(desk: &Desk, directory: &str) -> Vec<String> {
    let entries = std::fs::read_dir(desk.path(directory)).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn an_operator_is_no_longer_drafted_from_a_release() {
    let desk = Desk::new();
    let file = release("cert-keeper.yaml");
    for (flags, flag) in [
        (&["--as", "operator"][..], "--as operator"),
        (
            &["--as=operator", "--deployment", "cert-keeper"],
            "--as operator",
        ),
        (&["--deployment=cert-keeper"], "--deployment"),
    ] {
        let said = desk.solution(&[&["init", "--from", &file][..], flags].concat());
        let said = said.failure(2);
        for words in [
            &format!("cannot use `{flag}`: `init` packages every release unchanged"),
            &format!(
                "hint: omit `{flag}`; if the import must create an operator, write `spec.operator`"
            ),
        ] {
            assert!(said.contains(words), "{said}");
        }
        assert_eq!(desk.names(), [""; 0], "something was written");
    }
    desk.solution(&["init", "--from", &file, "--as", "manifests"])
        .success();
    let help = desk.solution(&["init", "--help"]).success();
    assert!(
        !help.contains("--as") && !help.contains("--deployment"),
        "{help}"
    );
}

#[test]
fn the_same_release_gives_the_same_tree() {
    let desk = Desk::new();
    for directory in ["one", "other"] {
        let arguments = [&release("cert-keeper.yaml"), directory, "--name", "app"];
        desk.solution(&[&FROM[..], &arguments].concat()).success();
    }
    let diff = desk.run("diff", &["--recursive", "one", "other"]);
    assert_eq!((diff.code, diff.stdout.as_str()), (0, ""));
}

#[test]
fn a_directory_is_written_only_when_it_is_empty() {
    let desk = Desk::new();
    desk.write("app/mine", "mine");
    let file = release("cert-keeper.yaml");
    let text = desk
        .solution(&[&FROM[..], &[&file, "app"]].concat())
        .failure(1);
    assert!(text.contains("`app` is not an empty directory"), "{text}");
    assert_eq!(names(&desk, "app"), ["mine"]);
    std::fs::create_dir(desk.path("empty")).unwrap();
    desk.solution(&[&FROM[..], &[&file, "empty"]].concat())
        .success();
    let text = desk
        .solution(&[&FROM[..], &[&file, "app/mine"]].concat())
        .failure(1);
    assert!(
        text.contains("`app/mine` is not an empty directory"),
        "{text}"
    );
}

#[test]
fn names_and_versions_can_be_given() {
    let desk = Desk::new();
    let file = release("cert-keeper.yaml");
    let wished = ["--name", "metrics", "--version", "1.2.3-rc.1"];
    desk.solution(&[&FROM[..], &[&file, "somewhere"], &wished].concat())
        .success();
    let source = SolutionSource::from_slice(&desk.read("somewhere/solution.yaml")).unwrap();
    assert_eq!(source.id().unwrap().to_string(), "metrics-1.2.3-rc.1");
    desk.solution(&[&FROM[..], &[&file, "shop"]].concat())
        .success();
    let source = SolutionSource::from_slice(&desk.read("shop/solution.yaml")).unwrap();
    assert_eq!(source.id().unwrap().to_string(), "shop-1.16.1");
    desk.solution(&["init", "--name", "x", "app"]).failure(2);
    desk.solution(&["init"]).failure(2);
    let missing: PathBuf = desk.path("missing.yaml");
    let missing = missing.display().to_string();
    desk.solution(&["init", "--from", &missing]).failure(1);
}

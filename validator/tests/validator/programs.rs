//! Changes to an archive that includes programs.

use archive::{Architecture, Feature, Program, program_image};
use schemas::EMPTY_CONFIG;

use crate::mistakes::Case;
use crate::source::{Image, Source, edit_bytes, sha256, single};

const HELM: &str = "programs/helm:v4.3.1";

/// Returns an image of a program for these architectures.
fn image(place: &str, architectures: &[Architecture]) -> Image {
    let bytes = |architecture: &Architecture| format!("a program for {architecture}").into_bytes();
    let contents: Vec<Vec<u8>> = architectures.iter().map(bytes).collect();
    let programs: Vec<Program> = architectures
        .iter()
        .zip(&contents)
        .map(|(architecture, bytes)| Program {
            platform: architecture.platform(),
            digest: sha256(bytes),
            size: bytes.len() as u64,
        })
        .collect();
    let made = program_image(place.parse().unwrap(), &programs);
    Image {
        place: place.to_owned(),
        reference: None,
        root: made.root.bytes.to_vec(),
        documents: made
            .children
            .iter()
            .map(|child| child.bytes.to_vec())
            .collect(),
        blobs: contents
            .into_iter()
            .chain([EMPTY_CONFIG.to_vec()])
            .collect(),
    }
}

fn include(s: &mut Source, image: Image) {
    if s.requires.is_empty() {
        s.requires = vec![Feature::Programs.capability()];
    }
    let listed = format!("images: ['{}', ", image.place);
    s.edit("manifest.yaml", "images: [", &listed);
    s.images.push(image);
}

pub(crate) const CASES: &[Case] = &[
    (
        "programs for both processors",
        |s| include(s, image(HELM, &Architecture::ALL)),
        &[],
    ),
    (
        "two programs",
        |s| {
            include(s, image(HELM, &Architecture::ALL));
            include(s, image("programs/solution:1.0.0", &[Architecture::Amd64]));
        },
        &[],
    ),
    (
        "names that format 1 gives no meaning",
        |s| {
            s.put("bin/anything", "text");
            s.optional.push("bin".to_owned());
        },
        &[],
    ),
    (
        "an image that no capability gives a meaning",
        |s| {
            s.edit("manifest.yaml", "images: [", "images: ['programs/helm:1', ");
            s.images.push(single("programs/helm:1", b"layer"));
        },
        &["practice.nested-name"],
    ),
    (
        "required in vain",
        |s| s.requires = vec![Feature::Programs.capability()],
        &["programs.capability"],
    ),
    (
        "an image that is no program",
        |s| include(s, single(HELM, b"layer")),
        &["programs.image", "practice.nested-name"],
    ),
    (
        "a program in a second version",
        |s| {
            include(s, image(HELM, &[Architecture::Amd64]));
            include(s, image("programs/helm:v4.4.0", &[Architecture::Arm64]));
        },
        &["programs.image", "practice.nested-name"],
    ),
    (
        "more programs than there can be",
        |s| {
            for number in 0..=archive::limits::PROGRAMS {
                let place = format!("programs/p{number:02}:1");
                include(s, image(&place, &[Architecture::Amd64]));
            }
        },
        &["programs.image", "practice.nested-name"],
    ),
    (
        "a name of several components",
        |s| include(s, image("programs/a/helm:v4.3.1", &[Architecture::Amd64])),
        &["programs.image", "practice.nested-name"],
    ),
    (
        "an artifact of another type",
        |s| {
            let mut image = image(HELM, &[Architecture::Amd64]);
            let before = sha256(&image.documents[0]).to_string();
            edit_bytes(
                &mut image.documents[0],
                "\"artifactType\":\"application/vnd.solutions.program.v1\"",
                "\"artifactType\":\"application/vnd.solutions.program.v2\"",
            );
            let after = sha256(&image.documents[0]).to_string();
            edit_bytes(&mut image.root, &before, &after);
            include(s, image);
        },
        &["programs.image", "practice.nested-name"],
    ),
    (
        "two programs for one processor",
        |s| {
            let mut image = image(HELM, &Architecture::ALL);
            edit_bytes(&mut image.root, "\"arm64\"", "\"amd64\"");
            include(s, image);
        },
        &["programs.image", "practice.nested-name"],
    ),
    (
        "a program in the head, as a draft had it",
        |s| {
            s.requires = vec![Feature::ProgramsInHead.capability()];
            s.put("bin/helm-linux-amd64", "a program");
        },
        &["container.draft"],
    ),
    (
        "sets of objects as a draft had them",
        |s| {
            s.carry();
            s.requires = vec!["manifests-0.1.0".parse().unwrap()];
        },
        &["container.draft"],
    ),
];

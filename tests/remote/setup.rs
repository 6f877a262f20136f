//! A desk with images, and a registry that has them too.

use std::fmt::Write as _;
use std::path::Path;

use fixtures::image::{Artifact, Format, Image, ImageBuilder, Index, Platform};
use fixtures::layer::Layer;
use fixtures::layout::OciLayout;

use crate::common::{Answer, Desk};
use crate::server::{PASSWORD, Server, USER};

/// The size of the layer for interrupted downloads.
pub(crate) const LARGE: u64 = 8 * 1024 * 1024;

/// Returns an image for one architecture: a large layer, and a layer with a file.
pub(crate) fn image(architecture: &str) -> Image {
    ImageBuilder::new()
        .platform(Platform::linux(architecture))
        .layer(Layer::random(1, LARGE))
        .file("/app", architecture, 0o755)
        .build()
}

/// Returns an image for two architectures.
pub(crate) fn index() -> Artifact {
    Index::new(Format::Oci, vec![image("amd64"), image("arm64")]).into()
}

/// Returns the digest of the large layer.
pub(crate) fn large() -> String {
    Layer::random(1, LARGE).digest().to_owned()
}

/// Writes `artifact` as the layout `DIRECTORY/layout` with the tag `1`.
pub(crate) fn write_layout(desk: &Desk, directory: &str, artifact: &Artifact) {
    let layout = OciLayout::create(desk.path(directory).join("layout")).unwrap();
    layout.add(artifact, Some("1")).unwrap().finish().unwrap();
}

/// Writes a `solution.yaml` with only images, one for each line such as `source: docker://…`.
pub(crate) fn write_source(desk: &Desk, directory: &str, images: &[&str]) {
    let mut text = "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {name: shop}
spec:
  version: 1.0.0
  images:
"
    .to_owned();
    for (number, image) in images.iter().enumerate() {
        writeln!(text, "    - {{name: app-{number}, tag: '1', {image}}}").unwrap();
    }
    desk.write(&format!("{directory}/solution.yaml"), text);
}

/// Returns a desk with `images.iso`: an index for two architectures and one of its images. `more` are further fields of
/// the first image.
pub(crate) fn desk_with_two_images(more: &str) -> Desk {
    let desk = Desk::with_key();
    write_layout(&desk, "source", &index());
    write_layout(&desk, "source/one", &image("amd64").into());
    let first = format!("source: 'oci:layout:1'{more}");
    write_source(&desk, "source", &[&first, "source: 'oci:one/layout:1'"]);
    desk.solution(&pack("source", "images.iso")).success();
    desk
}

/// The `ref` of the first image, for which an import creates a mirror.
pub(crate) const REF: &str = ", ref: 'quay.example/org/app:1.2'";

/// Copies a layout's image into a registry with skopeo, all platforms of it.
pub(crate) fn push(server: &Server, layout: &Path, repository: &str) {
    push_with(server, layout, repository, &[]);
}

/// Copies a layout's image into a registry with additional flags of skopeo.
pub(crate) fn push_with(server: &Server, layout: &Path, repository: &str, more: &[&str]) {
    let from = format!("oci:{}:1", layout.display());
    let to = format!("docker://{}/{repository}:1", server.host());
    let mut command = std::process::Command::new("skopeo");
    command.args(["copy", "--all", "--quiet", "--dest-tls-verify=false"]);
    command.args(["--dest-creds", &format!("{USER}:{PASSWORD}")]);
    Answer::from_command(command.args(more).args([&from, &to])).success();
}

/// Returns the arguments of a pack.
pub(crate) fn pack<'a>(directory: &'a str, archive: &'a str) -> Vec<&'a str> {
    vec!["pack", directory, "-o", archive, "--key", "publisher.key"]
}

/// Asserts that an archive is valid.
#[track_caller]
pub(crate) fn validate(desk: &Desk, archive: &str) {
    let arguments = ["validate", archive, "--key", "publisher.pub"];
    desk.solution(&arguments).success();
}

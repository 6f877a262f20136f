//! The cache of opened layouts and archives. Each is opened and its list read only once, even if it contains multiple
//! images.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Mutex;

use schemas::{Digest, WantedPlatform};

use super::ImageContents;
use super::docker_archive::DockerArchive;
use super::layout_files::LayoutFiles;
use super::oci::OciLayout;
use crate::compress;
use crate::context::SourceContext;
use crate::error::SourceError;
use crate::unpacking::once;

/// The layouts and archives opened so far, by path.
#[derive(Debug, Default)]
pub(super) struct OpenSources {
    layouts: Mutex<BTreeMap<PathBuf, Rc<OciLayout>>>,
    archives: Mutex<BTreeMap<PathBuf, Rc<DockerArchive>>>,
    /// The images of layouts. Multiple tags may refer to the same one.
    images: BTreeMap<LayoutImage, Rc<ImageContents>>,
}

/// The identity of an image in a layout.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LayoutImage {
    /// The layout.
    pub(super) layout: PathBuf,
    /// The document that the tag refers to.
    pub(super) root: Digest,
    /// The size and the media type in its descriptor.
    pub(super) said: (u64, String),
    /// The selected platforms.
    pub(super) platforms: Vec<WantedPlatform>,
}

impl OpenSources {
    /// Returns the layout in a directory.
    pub(super) fn directory(&self, path: PathBuf) -> Result<Rc<OciLayout>, SourceError> {
        self.layout(path, |path| Ok(LayoutFiles::Directory(path)))
    }

    /// Returns the layout in a tar.
    pub(super) fn tar(
        &self,
        path: PathBuf,
        means: &SourceContext<'_>,
    ) -> Result<Rc<OciLayout>, SourceError> {
        self.layout(path, |path| {
            Ok(LayoutFiles::Tar(compress::open_tar(&path, means)?))
        })
    }

    fn layout(
        &self,
        path: PathBuf,
        place: impl FnOnce(PathBuf) -> Result<LayoutFiles, SourceError>,
    ) -> Result<Rc<OciLayout>, SourceError> {
        once(&self.layouts, path.clone(), || {
            Ok(Rc::new(OciLayout::open(place(path)?)?))
        })
    }

    /// Returns an archive saved by an engine.
    pub(super) fn archive(
        &self,
        path: &Path,
        means: &SourceContext<'_>,
    ) -> Result<Rc<DockerArchive>, SourceError> {
        once(&self.archives, path.to_owned(), || {
            Ok(Rc::new(DockerArchive::open(path, means)?))
        })
    }

    /// Returns an image that was already collected.
    pub(super) fn image(&self, chosen: &LayoutImage) -> Option<Rc<ImageContents>> {
        self.images.get(chosen).map(Rc::clone)
    }

    pub(super) fn keep(&mut self, chosen: LayoutImage, image: &Rc<ImageContents>) {
        self.images.insert(chosen, Rc::clone(image));
    }
}

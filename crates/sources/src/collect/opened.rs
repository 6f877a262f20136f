//! Layouts and archives that several images may be taken from: each is opened, and its list of images read, once.

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
use crate::error::SourceError;
use crate::means::Means;
use crate::unpacking::once;

/// The layouts and archives that were opened so far, by path.
#[derive(Debug, Default)]
pub(super) struct OpenSources {
    layouts: Mutex<BTreeMap<PathBuf, Rc<OciLayout>>>,
    archives: Mutex<BTreeMap<PathBuf, Rc<DockerArchive>>>,
    /// The images of layouts: any number of tags may name one.
    images: BTreeMap<LayoutImage, Rc<ImageContents>>,
}

/// An image of a layout.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LayoutImage {
    /// The layout.
    pub(super) layout: PathBuf,
    /// The document that the tag names.
    pub(super) root: Digest,
    /// The size and the media type that its list gives.
    pub(super) said: (u64, String),
    /// The platforms that are taken of it.
    pub(super) platforms: Vec<WantedPlatform>,
}

impl OpenSources {
    /// The layout in a directory.
    pub(super) fn directory(&self, path: PathBuf) -> Result<Rc<OciLayout>, SourceError> {
        self.layout(path, |path| Ok(LayoutFiles::Directory(path)))
    }

    /// The layout in a tar.
    pub(super) fn tar(
        &self,
        path: PathBuf,
        means: &Means<'_>,
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

    /// Opens an archive that an engine saved.
    pub(super) fn archive(
        &self,
        path: &Path,
        means: &Means<'_>,
    ) -> Result<Rc<DockerArchive>, SourceError> {
        once(&self.archives, path.to_owned(), || {
            Ok(Rc::new(DockerArchive::open(path, means)?))
        })
    }

    /// An image that was collected already.
    pub(super) fn image(&self, chosen: &LayoutImage) -> Option<Rc<ImageContents>> {
        self.images.get(chosen).map(Rc::clone)
    }

    pub(super) fn keep(&mut self, chosen: LayoutImage, image: &Rc<ImageContents>) {
        self.images.insert(chosen, Rc::clone(image));
    }
}

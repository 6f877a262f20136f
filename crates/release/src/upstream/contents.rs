//! Classification of an archive's files by path: the manifest, the images, and the operator's definitions and roles.
//! All other files are counted for a note.

use std::collections::{BTreeMap, BTreeSet};

use iso9660::reader::{EntryKind, TreeEntry};
use schemas::{Digest, ImageName, ImagePlace, Tag};

use super::UpstreamError;

/// A file of an image.
#[derive(Debug)]
pub(super) struct ImageFile {
    /// The file in the archive. The tree has it at the same path.
    pub(super) entry: TreeEntry,
    /// The digest that the file's name states; `None` for other names.
    pub(super) digest: Option<Digest>,
}

/// The files of an archive.
#[derive(Debug, Default)]
pub(super) struct UpstreamContents {
    /// The manifest.
    pub(super) manifest: Option<TreeEntry>,
    /// The files of each image, in the layout of skopeo's `dir:` transport.
    pub(super) images: BTreeMap<ImagePlace, Vec<ImageFile>>,
    /// The operator's custom resource definitions.
    pub(super) definitions: Vec<TreeEntry>,
    /// The operator's roles.
    pub(super) roles: Option<TreeEntry>,
    /// The number of other files, by their file or directory.
    pub(super) others: BTreeMap<String, usize>,
}

impl UpstreamContents {
    /// Classifies the entries of a directory tree.
    pub(super) fn of(entries: Vec<TreeEntry>) -> Self {
        let mut contents = Self::default();
        for entry in entries {
            if entry.kind != EntryKind::Directory {
                contents.add(entry);
            }
        }
        contents.leave_out_incomplete();
        contents
    }

    fn add(&mut self, entry: TreeEntry) {
        let components: Vec<&str> = entry.path.split('/').collect();
        let is_file = entry.kind == EntryKind::File;
        match components[..] {
            [archive::MANIFEST] if is_file => self.manifest = Some(entry),
            // The registry configuration is derived from the images.
            [archive::REGISTRY_CONFIG | archive::REGISTRY_CONFIG_TEMPLATE] => {}
            ["images", name, tag, file] if is_file => match image_file(name, tag, file) {
                Some((place, digest)) => {
                    let files = self.images.entry(place).or_default();
                    files.push(ImageFile { entry, digest });
                }
                None => self.leave_out(&entry.path),
            },
            // Upstream ignores files with other names.
            ["operator", "deploy", "crds", name] if is_file && name.ends_with("_crd.yaml") => {
                self.definitions.push(entry);
            }
            _ if is_file && entry.path == archive::ROLE => self.roles = Some(entry),
            ["images" | "operator", ..] => self.leave_out(&entry.path),
            [first, _, ..] => {
                let directory = format!("{first}/");
                self.leave_out(&directory);
            }
            _ => self.leave_out(&entry.path),
        }
    }

    fn leave_out(&mut self, path: &str) {
        *self.others.entry(path.to_owned()).or_default() += 1;
    }

    /// Removes images without a manifest. Upstream's registry does not serve them either.
    fn leave_out_incomplete(&mut self) {
        let is_manifest = |file: &ImageFile| file.entry.path.ends_with("/manifest.json");
        let incomplete = self
            .images
            .extract_if(.., |_, files| !files.iter().any(is_manifest));
        let others = incomplete
            .map(|(place, files)| (archive::image_directory(&place).to_string(), files.len()));
        self.others.extend(others);
    }

    /// Fails if the files together have more bytes than the archive. Hard links to one content count once.
    ///
    /// Directory records may point to overlapping extents, so a small image could otherwise expand to any size.
    pub(super) fn refuse_more_than(&self, size: u64) -> Result<(), UpstreamError> {
        let files = self.images.values().flatten();
        let distinct: BTreeSet<(u64, u64)> = files
            .filter_map(|file| Some((file.entry.extents.first()?.offset, file.entry.size)))
            .collect();
        let images = distinct.iter().map(|(_, size)| *size);
        let definitions = self.definitions.iter().map(|entry| entry.size);
        let bytes = images.chain(definitions).fold(0, u64::saturating_add);
        if bytes > size {
            return Err(UpstreamError::Overlap(bytes));
        }
        Ok(())
    }
}

/// Returns the image of a file, and the digest that its name states. Returns `None` for names that no image has.
fn image_file(name: &str, tag: &str, file: &str) -> Option<(ImagePlace, Option<Digest>)> {
    let place = ImagePlace {
        name: name.parse::<ImageName>().ok()?,
        tag: tag.parse::<Tag>().ok()?,
    };
    let hex = file.strip_suffix(".manifest.json").unwrap_or(file);
    let digest = Digest::from_hex(hex).ok();
    let is_signature = file
        .strip_prefix("signature-")
        .is_some_and(|number| number.len() < 4 && number.bytes().all(|byte| byte.is_ascii_digit()));
    let is_known = digest.is_some() || is_signature || matches!(file, "manifest.json" | "version");
    is_known.then_some((place, digest))
}

#[cfg(test)]
mod tests {
    use iso9660::reader::FileExtent;

    use super::*;

    fn blob(fill: u8, offset: u64, size: u64) -> TreeEntry {
        TreeEntry {
            path: format!("images/app/1/{}", Digest::new([fill; 32]).hex()),
            kind: EntryKind::File,
            mode: None,
            links: None,
            size,
            extents: vec![FileExtent { offset, size }],
        }
    }

    #[test]
    fn files_that_lie_on_each_other_are_no_more_than_the_archive() {
        let mut manifest = blob(0, 0, 10);
        manifest.path = "images/app/1/manifest.json".to_owned();
        let of = |more: [TreeEntry; 2]| {
            let [one, two] = more;
            UpstreamContents::of(vec![manifest.clone(), one, two])
        };
        let linked = of([blob(1, 2048, 2000), blob(2, 2048, 2000)]);
        assert!(linked.refuse_more_than(2010).is_ok());
        assert!(linked.refuse_more_than(2009).is_err());
        let overlapping = of([blob(1, 2048, 2000), blob(2, 2048, 1999)]);
        let error = overlapping.refuse_more_than(4000).unwrap_err();
        assert!(matches!(error, UpstreamError::Overlap(4009)), "{error}");
    }
}

//! The walk over all directories: [`TreeWalk`]. It keeps a list of directories to read instead of recursing.

use std::collections::HashSet;

use super::identity::{kind, name};
use super::medium::MeteredMedium;
use super::record::{RawRecord, is_safe};
use super::susp::{RockRidge, skip_from_sp};
use super::volume::Volumes;
use super::{EntryKind, FileExtent, ImageReadError, NameSource, TreeEntry};
use crate::ReadAt;
use crate::format::{SECTOR_SIZE, SectorRun, byte_offset};
use crate::limits::Limits;

/// A directory that is still to be read.
#[derive(Debug)]
struct Directory {
    path: String,
    depth: usize,
    place: SectorRun,
}

impl Directory {
    fn root(place: SectorRun) -> Self {
        Self {
            path: String::new(),
            depth: 0,
            place,
        }
    }

    fn bad(&self, offset: u64) -> impl Fn(&'static str) -> ImageReadError {
        move |problem| ImageReadError::Record {
            directory: self.path.clone(),
            offset,
            problem,
        }
    }
}

/// A file whose next record must be its next section.
#[derive(Debug)]
struct OpenFile {
    identifier: Vec<u8>,
    sections: usize,
    entry: TreeEntry,
}

/// The state of a walk, with the remaining parts of the limits.
pub(super) struct TreeWalk<'a, R> {
    medium: MeteredMedium<'a, R>,
    limits: &'a Limits,
    /// The number of bytes to skip in System Use areas.
    skip: usize,
    name_bytes_left: usize,
    seen: HashSet<u32>,
    pending: Vec<Directory>,
    entries: Vec<TreeEntry>,
}

impl<'a, R: ReadAt> TreeWalk<'a, R> {
    pub(super) fn new(image: &'a R, size: u64, limits: &'a Limits) -> Self {
        Self {
            medium: MeteredMedium::new(image, size, limits.metadata_bytes),
            limits,
            skip: 0,
            name_bytes_left: limits.name_bytes,
            seen: HashSet::new(),
            pending: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// Chooses Rock Ridge if the root's first record announces it, otherwise Joliet if the image has a Joliet tree.
    pub(super) fn choose_names(&mut self, volumes: &Volumes) -> Result<NameSource, ImageReadError> {
        let root = Directory::root(volumes.primary_root);
        let offset = byte_offset(root.place.lba);
        let sector = self.medium.sector(root.place.lba, &root.path)?;
        let record =
            RawRecord::parse(&sector[..usize::from(sector[0])]).map_err(root.bad(offset))?;
        // Without SP, the System Use area does not follow SUSP, even if its bytes look like Rock Ridge (SUSP 5.3).
        if let Some(skip) = skip_from_sp(record.system_use)
            && self
                .rock_ridge(record.system_use, &root, offset)?
                .is_announced
        {
            self.skip = skip;
            return Ok(NameSource::RockRidge);
        }
        Ok(if volumes.joliet_root.is_some() {
            NameSource::Joliet
        } else {
            NameSource::Primary
        })
    }

    /// Reads all directories. Returns the entries sorted by path, and refuses duplicates.
    pub(super) fn run(
        mut self,
        root: SectorRun,
        names: NameSource,
    ) -> Result<Vec<TreeEntry>, ImageReadError> {
        self.push_directory(Directory::root(root))?;
        while let Some(directory) = self.pending.pop() {
            self.read_directory(&directory, names)?;
        }
        self.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        match self
            .entries
            .windows(2)
            .find(|pair| pair[0].path == pair[1].path)
        {
            None => Ok(self.entries),
            Some(pair) => Err(ImageReadError::Duplicate(pair[0].path.clone())),
        }
    }

    fn push_directory(&mut self, directory: Directory) -> Result<(), ImageReadError> {
        let Directory { path, depth, place } = &directory;
        self.medium.check_extent(path, *place)?;
        if *depth > self.limits.depth {
            return Err(too_much("levels of directories", path, self.limits.depth));
        }
        if self.seen.len() >= self.limits.directories {
            return Err(too_much("directories", path, self.limits.directories));
        }
        // The first sector identifies a directory, so this finds cycles and directories with two parents.
        if !self.seen.insert(place.lba) {
            return Err(ImageReadError::DirectoryTwice {
                path: path.clone(),
                offset: byte_offset(place.lba),
            });
        }
        self.pending.push(directory);
        Ok(())
    }

    fn read_directory(
        &mut self,
        directory: &Directory,
        names: NameSource,
    ) -> Result<(), ImageReadError> {
        let mut open = None;
        let sectors = u64::from(directory.place.size).div_ceil(SECTOR_SIZE);
        for lba in (u64::from(directory.place.lba)..)
            .take_while(|lba| lba - u64::from(directory.place.lba) < sectors)
        {
            let sector = self.medium.sector(low32(lba), &directory.path)?;
            let mut used = 0;
            // A length of zero ends the records of a sector (ECMA-119 6.8.1.1).
            while let Some(len) = sector
                .get(used)
                .map(|&len| usize::from(len))
                .filter(|&len| len > 0)
            {
                let offset = lba * SECTOR_SIZE + used as u64;
                let bytes = sector
                    .get(used..used + len)
                    .ok_or("the record crosses a sector");
                let record = bytes
                    .and_then(RawRecord::parse)
                    .map_err(directory.bad(offset))?;
                if !record.is_self_or_parent() {
                    self.read_record(directory, offset, &record, names, &mut open)?;
                }
                used += len;
            }
        }
        match open {
            None => Ok(()),
            Some(_) => Err(directory.bad(byte_offset(directory.place.lba))(
                "the last section of a file is missing",
            )),
        }
    }

    fn read_record(
        &mut self,
        directory: &Directory,
        offset: u64,
        record: &RawRecord<'_>,
        names: NameSource,
        open: &mut Option<OpenFile>,
    ) -> Result<(), ImageReadError> {
        // The records of a file's sections are consecutive and have the same identifier.
        let mut file = match open.take() {
            Some(file) if file.identifier != record.identifier || record.is_directory => {
                return Err(directory.bad(offset)(
                    "the next section of a file is missing",
                ));
            }
            Some(file) => file,
            None => match self.new_entry(directory, offset, record, names)? {
                None => return Ok(()),
                Some(entry) => OpenFile {
                    identifier: record.identifier.to_vec(),
                    sections: 0,
                    entry,
                },
            },
        };
        if file.entry.kind == EntryKind::File {
            self.add_section(&mut file, record.place)?;
        }
        if record.more_sections {
            *open = Some(file);
        } else {
            self.entries.push(file.entry);
        }
        Ok(())
    }

    /// Creates the entry for a directory or for the first record of a file; none for a relocated directory, which is
    /// listed under its child link.
    fn new_entry(
        &mut self,
        directory: &Directory,
        offset: u64,
        record: &RawRecord<'_>,
        names: NameSource,
    ) -> Result<Option<TreeEntry>, ImageReadError> {
        let found = match names {
            NameSource::RockRidge => self.rock_ridge(
                record.system_use.get(self.skip..).unwrap_or_default(),
                directory,
                offset,
            )?,
            NameSource::Joliet | NameSource::Primary => RockRidge::default(),
        };
        // The directory is listed under the path of its child link instead.
        if found.is_relocated {
            return Ok(None);
        }
        if self.entries.len() >= self.limits.entries {
            return Err(too_much("entries", &directory.path, self.limits.entries));
        }
        let name = name(record, &found, names).filter(|name| is_safe(name));
        let name = name
            .ok_or("the name is empty, too long, not text or not safe")
            .map_err(directory.bad(offset))?;
        let path = self.join(directory, &name)?;
        let kind = kind(record, &found).map_err(directory.bad(offset))?;
        if let EntryKind::Symlink(target) = &kind {
            self.count_name_bytes(&path, target.len())?;
        }
        if kind == EntryKind::Directory {
            let place = found
                .child
                .map_or(Ok(record.place), |lba| self.relocated(&path, lba))?;
            self.push_directory(Directory {
                path: path.clone(),
                depth: directory.depth + 1,
                place,
            })?;
        }
        Ok(Some(TreeEntry {
            path,
            kind,
            mode: found.mode,
            links: found.links,
            size: 0,
            extents: Vec::new(),
        }))
    }

    fn join(&mut self, directory: &Directory, name: &str) -> Result<String, ImageReadError> {
        let path = match directory.path.as_str() {
            "" => name.to_owned(),
            parent => format!("{parent}/{name}"),
        };
        if path.len() > self.limits.path_len {
            return Err(too_much(
                "bytes of a path",
                &directory.path,
                self.limits.path_len,
            ));
        }
        self.count_name_bytes(&path, path.len())?;
        Ok(path)
    }

    fn count_name_bytes(&mut self, path: &str, len: usize) -> Result<(), ImageReadError> {
        let left = self.name_bytes_left.checked_sub(len);
        self.name_bytes_left =
            left.ok_or_else(|| too_much("bytes of names", path, self.limits.name_bytes))?;
        Ok(())
    }

    fn add_section(&self, file: &mut OpenFile, place: SectorRun) -> Result<(), ImageReadError> {
        let OpenFile {
            sections, entry, ..
        } = file;
        *sections += 1;
        if *sections > self.limits.sections {
            return Err(too_much(
                "sections of a file",
                &entry.path,
                self.limits.sections,
            ));
        }
        // An empty section has no bytes, so its sector is not checked.
        if place.size == 0 {
            return Ok(());
        }
        self.medium.check_extent(&entry.path, place)?;
        let (offset, size) = (byte_offset(place.lba), u64::from(place.size));
        entry.size += size;
        match entry.extents.last_mut() {
            Some(last) if last.offset + last.size == offset => last.size += size,
            _ => entry.extents.push(FileExtent { offset, size }),
        }
        Ok(())
    }

    /// Returns the sectors of a relocated directory (RRIP 4.1.5.1), from the directory's record of itself.
    fn relocated(&mut self, path: &str, lba: u32) -> Result<SectorRun, ImageReadError> {
        let sector = self.medium.sector(lba, path)?;
        let bad = |problem| ImageReadError::Record {
            directory: path.to_owned(),
            offset: byte_offset(lba),
            problem,
        };
        let record = RawRecord::parse(&sector[..usize::from(sector[0])]).map_err(bad)?;
        if record.identifier == [0] && record.place.lba == lba {
            Ok(record.place)
        } else {
            Err(bad(
                "the record of a relocated directory does not name itself",
            ))
        }
    }

    /// Parses all System Use entries of a record, including its continuation areas.
    fn rock_ridge(
        &mut self,
        area: &[u8],
        directory: &Directory,
        offset: u64,
    ) -> Result<RockRidge, ImageReadError> {
        let mut found = RockRidge::default();
        let mut next = found.read_area(area).map_err(directory.bad(offset))?;
        for _ in 0..self.limits.continuations {
            let Some(area) = next else { return Ok(found) };
            let sector = self.medium.sector(area.lba, &directory.path)?;
            let area = &sector[area.offset..area.offset + area.len];
            next = found.read_area(area).map_err(directory.bad(offset))?;
        }
        match next {
            None => Ok(found),
            Some(_) => Err(directory.bad(offset)("too many continuation areas")),
        }
    }
}

/// Converts the sector number of a directory that was checked to be inside the medium. A medium above 8 TiB cannot be
/// addressed anyway.
fn low32(lba: u64) -> u32 {
    u32::try_from(lba).unwrap_or(u32::MAX)
}

fn too_much(what: &'static str, path: &str, limit: usize) -> ImageReadError {
    ImageReadError::Limit {
        what,
        path: path.to_owned(),
        limit: limit as u64,
    }
}

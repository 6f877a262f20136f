//! Enumeration of every byte of an image that is not file data, in ascending order and each once:
//! [`ImagePlan::visit_metadata`]. Writing and comparison are both based on it, so that they cannot disagree about the
//! bytes of an image.

use std::borrow::Cow;

use crate::format::{self, DescriptorFields, SECTOR_LEN, SECTOR_SIZE, byte_offset};
use crate::geometry::{DESCRIPTORS_LBA, Extent, HEAD_LBA, ImagePlan, PATH_TABLES};
use crate::records::record_start;
use crate::region::{ByteOrder, ImagePart, Region, RegionBytes, TreeKind};

/// The approximate size of the pieces in which records are emitted, so that a large directory is never entirely in
/// memory.
const CHUNK: usize = 32 * SECTOR_LEN;

type Visitor<'v, E> = &'v mut dyn FnMut(Region<'_>) -> Result<(), E>;

impl ImagePlan {
    /// Calls `visit` with every run of bytes that is not file data. The runs are ascending, do not overlap, and cover
    /// the whole image together with [`ImagePlan::extents`].
    pub fn visit_metadata<E>(&self, visit: Visitor<'_, E>) -> Result<(), E> {
        self.visit_descriptors(visit)?;
        let head_end = self.geometry.path_tables[0].lba;
        // The contents before the path tables are those of the head.
        let head = self
            .extents
            .partition_point(|extent| extent.offset < byte_offset(head_end));
        self.visit_gaps(&self.extents[..head], byte_offset(head_end), visit)?;
        for (tree, order) in PATH_TABLES {
            self.visit_path_table(tree, order, visit)?;
        }
        self.visit_directories(TreeKind::Primary, visit)?;
        let mut area = format::er();
        area.resize(SECTOR_LEN, 0);
        let offset = byte_offset(self.geometry.continuation);
        visit(Region {
            offset,
            bytes: RegionBytes::Bytes(&area),
            part: ImagePart::ContinuationArea,
        })?;
        self.visit_directories(TreeKind::Joliet, visit)?;
        self.visit_data_area(&self.extents[head..], visit)
    }

    fn visit_descriptors<E>(&self, visit: Visitor<'_, E>) -> Result<(), E> {
        zeros(
            0,
            byte_offset(DESCRIPTORS_LBA),
            ImagePart::SystemArea,
            visit,
        )?;
        let mut offset = byte_offset(DESCRIPTORS_LBA);
        let mut put = |sector: &[u8], part| {
            let region = Region {
                offset,
                bytes: RegionBytes::Bytes(sector),
                part,
            };
            offset += SECTOR_SIZE;
            visit(region)
        };
        for tree in [TreeKind::Primary, TreeKind::Joliet] {
            put(
                &format::volume_descriptor(&self.descriptor_fields(tree), &self.volume),
                ImagePart::Descriptor(tree),
            )?;
        }
        put(&format::terminator(), ImagePart::Terminator)?;
        zeros(offset, byte_offset(HEAD_LBA), ImagePart::Reserved, visit)
    }

    fn descriptor_fields(&self, tree: TreeKind) -> DescriptorFields {
        let table = |order| self.geometry.path_table(tree, order);
        DescriptorFields {
            tree,
            sectors: u32::try_from(self.geometry.image_size / SECTOR_SIZE)
                .expect("images are below 8 TiB"),
            path_table_size: table(ByteOrder::Little).size,
            path_table_l: table(ByteOrder::Little).lba,
            path_table_m: table(ByteOrder::Big).lba,
            root: self.tree.dirs[0].place(tree),
        }
    }

    fn visit_path_table<E>(
        &self,
        tree: TreeKind,
        order: ByteOrder,
        visit: Visitor<'_, E>,
    ) -> Result<(), E> {
        let place = self.geometry.path_table(tree, order);
        let mut chunks = SectorChunks::new(
            byte_offset(place.lba),
            ImagePart::PathTable { tree, order },
            visit,
        );
        self.path_table_records(tree, order, &mut |record| chunks.append(record))?;
        chunks.finish()
    }

    fn visit_directories<E>(&self, tree: TreeKind, visit: Visitor<'_, E>) -> Result<(), E> {
        for &dir in self.geometry.directories(tree) {
            let path = Cow::Borrowed(self.tree.directory_path(&self.files, dir as usize));
            let offset = byte_offset(self.tree.dirs[dir as usize].place(tree).lba);
            let mut chunks = SectorChunks::new(offset, ImagePart::Directory { tree, path }, visit);
            self.directory_records(dir as usize, tree, &mut |record| {
                chunks.start_record(record.len());
                chunks.append(record)
            })?;
            chunks.finish()?;
        }
        Ok(())
    }

    /// Visits the zero block, the gaps between the contents of the body, and the tail.
    fn visit_data_area<E>(&self, body: &[Extent], visit: Visitor<'_, E>) -> Result<(), E> {
        let start = byte_offset(self.geometry.zero_block);
        let first = body
            .first()
            .map_or(start + SECTOR_SIZE, |extent| extent.offset);
        zeros(start, first, ImagePart::ZeroBlock, visit)?;
        let end = body.last().map_or(first, |extent| {
            (extent.offset + extent.size).next_multiple_of(SECTOR_SIZE)
        });
        self.visit_gaps(body, end, visit)?;
        zeros(end, self.geometry.image_size, ImagePart::Tail, visit)
    }

    /// Visits the gap after each of these contents, up to the next one, and after the last one up to `end`.
    fn visit_gaps<E>(&self, extents: &[Extent], end: u64, visit: Visitor<'_, E>) -> Result<(), E> {
        let next_offsets = extents
            .iter()
            .skip(1)
            .map(|extent| extent.offset)
            .chain([end]);
        for (extent, next) in extents.iter().zip(next_offsets) {
            let part = ImagePart::Padding {
                after: Cow::Borrowed(self.path_of(extent)),
            };
            zeros(extent.offset + extent.size, next, part, visit)?;
        }
        Ok(())
    }
}

fn zeros<E>(start: u64, end: u64, part: ImagePart<'_>, visit: Visitor<'_, E>) -> Result<(), E> {
    if start == end {
        return Ok(());
    }
    visit(Region {
        offset: start,
        bytes: RegionBytes::Zeros(end - start),
        part,
    })
}

/// A collector that passes records on in pieces of whole sectors.
struct SectorChunks<'a, 'v, E> {
    buffer: Vec<u8>,
    offset: u64,
    part: ImagePart<'a>,
    visit: Visitor<'v, E>,
}

impl<'a, 'v, E> SectorChunks<'a, 'v, E> {
    fn new(offset: u64, part: ImagePart<'a>, visit: Visitor<'v, E>) -> Self {
        Self {
            buffer: Vec::new(),
            offset,
            part,
            visit,
        }
    }

    /// Fills the current sector with zeros if a record of this length would cross its end.
    fn start_record(&mut self, len: usize) {
        self.buffer.resize(record_start(self.buffer.len(), len), 0);
    }

    fn append(&mut self, record: &[u8]) -> Result<(), E> {
        self.buffer.extend_from_slice(record);
        if self.buffer.len() < CHUNK {
            Ok(())
        } else {
            self.hand_over(CHUNK)
        }
    }

    /// Emits the remaining records, padded to a whole sector.
    fn finish(mut self) -> Result<(), E> {
        let len = self.buffer.len().next_multiple_of(SECTOR_LEN);
        self.buffer.resize(len, 0);
        if len == 0 {
            Ok(())
        } else {
            self.hand_over(len)
        }
    }

    fn hand_over(&mut self, len: usize) -> Result<(), E> {
        let bytes = RegionBytes::Bytes(&self.buffer[..len]);
        (self.visit)(Region {
            offset: self.offset,
            bytes,
            part: self.part.clone(),
        })?;
        self.buffer.drain(..len);
        self.offset += len as u64;
        Ok(())
    }
}

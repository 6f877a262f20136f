//! Forged volume descriptors and path tables, which are alternative entry points into the image.

use crate::image::{Image, JOLIET, PRIMARY, TERMINATOR, Tree};
use crate::subject::SECTOR;

const RESERVED: &str = "reserved sectors before the first file";
const TERMINATORS: &str = "volume descriptor set terminator";

/// Adds a descriptor before the terminator, which moves to the next sector.
fn with_descriptor(descriptor: &[u8]) -> Image {
    let mut image = Image::good();
    image.swap(TERMINATOR, TERMINATOR + SECTOR, SECTOR);
    image.put(TERMINATOR, descriptor);
    image
}

fn descriptor(kind: u8) -> Vec<u8> {
    let mut descriptor = vec![0; SECTOR];
    descriptor[0] = kind;
    descriptor[1..7].copy_from_slice(b"CD001\x01");
    descriptor
}

/// A second Joliet tree: some readers use the first one, some the last.
#[test]
fn an_extra_supplementary_descriptor_is_refused() {
    let image = Image::good();
    let mut copy = image.good[JOLIET..TERMINATOR].to_vec();
    let operator = image.directory(Tree::Joliet, "operator").start / SECTOR;
    copy[158..166].copy_from_slice(&crate::image::both32(operator));
    let image = with_descriptor(&copy);
    image.seen().unwrap();
    image.refused_at(&[TERMINATORS, RESERVED]);
}

/// ISO 9660:1999: type 2 and version 2, with separate names.
#[test]
fn an_enhanced_descriptor_is_refused() {
    let mut copy = Image::good().good[PRIMARY..JOLIET].to_vec();
    copy[0] = 2;
    copy[6] = 2;
    let image = with_descriptor(&copy);
    image.seen().unwrap();
    image.refused_at(&[TERMINATORS, RESERVED]);
}

#[test]
fn a_second_primary_descriptor_is_refused() {
    let image = Image::good();
    let image = with_descriptor(&image.good[PRIMARY..JOLIET]);
    image.seen().unwrap();
    image.refused_at(&[TERMINATORS, RESERVED]);
}

#[test]
fn a_partition_descriptor_is_refused() {
    let image = with_descriptor(&descriptor(3));
    image.seen().unwrap();
    image.refused_at(&[TERMINATORS, RESERVED]);
}

/// El Torito: the boot record follows the primary descriptor, and its catalog is in the tail.
#[test]
fn a_boot_record_is_refused() {
    let mut image = Image::good();
    let catalog = image.tail();
    image
        .bytes
        .copy_within(JOLIET..TERMINATOR + SECTOR, TERMINATOR);
    let mut boot = descriptor(0);
    boot[7..30].copy_from_slice(b"EL TORITO SPECIFICATION");
    let sector = u32::try_from(catalog / SECTOR).unwrap();
    boot[71..75].copy_from_slice(&sector.to_le_bytes());
    image.put(JOLIET, &boot);
    let mut entries = vec![0; 64];
    entries[0] = 1;
    entries[28..32].copy_from_slice(&[0xAA, 0x55, 0x55, 0xAA]);
    entries[32] = 0x88;
    image.put(catalog, &entries);
    image.seen().unwrap();
    image.refused_at(&[
        "Joliet volume descriptor",
        TERMINATORS,
        RESERVED,
        "zeros at the end",
    ]);
}

#[test]
fn descriptors_without_an_end_are_refused() {
    let mut image = Image::good();
    image.bytes[TERMINATOR] = 3;
    image.seen().unwrap_err();
    image.refused_at(&[TERMINATORS]);
}

/// Returns the offset of a directory's record in a path table, and its recorded location.
fn path_record(image: &Image, table: usize, name: &[u8]) -> usize {
    let found = image.good[table..table + SECTOR]
        .windows(name.len())
        .position(|window| window == name);
    table + found.unwrap() - 6
}

/// Readers that use path tables instead of directories see another directory: first only readers of the L table, then
/// all.
#[test]
fn path_tables_that_name_another_directory_are_refused() {
    let good = Image::good();
    let tables = [
        (
            good.le32(PRIMARY + 140) * SECTOR,
            b"OPERATOR".to_vec(),
            "primary path table L",
        ),
        (
            be32(&good, PRIMARY + 148) * SECTOR,
            b"OPERATOR".to_vec(),
            "primary path table M",
        ),
        (
            good.le32(JOLIET + 140) * SECTOR,
            crate::image::ucs2("operator"),
            "Joliet path table L",
        ),
        (
            be32(&good, JOLIET + 148) * SECTOR,
            crate::image::ucs2("operator"),
            "Joliet path table M",
        ),
    ];
    let mut all = Image::good();
    for (number, (table, name, part)) in tables.iter().enumerate() {
        let tree = Tree::BOTH[number / 2];
        let images = u32::try_from(good.directory(tree, "images").start / SECTOR).unwrap();
        let place = match number % 2 {
            0 => images.to_le_bytes(),
            _ => images.to_be_bytes(),
        };
        let mut image = Image::good();
        for image in [&mut image, &mut all] {
            let record = path_record(image, *table, name);
            image.put(record, &place);
        }
        image.seen().unwrap();
        image.refused_at(&[part]);
    }
    all.refused_at(&tables.map(|(_, _, part)| part));
}

fn be32(image: &Image, at: usize) -> usize {
    let number = u32::from_be_bytes(image.bytes[at..at + 4].try_into().unwrap());
    usize::try_from(number).unwrap()
}

/// The optional occurrence of a path table, which no writer creates and some readers use.
#[test]
fn an_optional_path_table_is_refused() {
    let mut image = Image::good();
    let (tail, table) = (image.tail(), image.le32(PRIMARY + 140) * SECTOR);
    let copy = image.good[table..table + SECTOR].to_vec();
    image.put(tail, &copy);
    let sector = u32::try_from(tail / SECTOR).unwrap();
    image.put(PRIMARY + 144, &sector.to_le_bytes());
    image.put(PRIMARY + 152, &sector.to_be_bytes());
    image.refused_at(&["primary volume descriptor", "zeros at the end"]);
}

#[test]
fn a_path_table_elsewhere_is_refused() {
    let mut image = Image::good();
    let (tail, table) = (image.tail(), image.le32(PRIMARY + 140) * SECTOR);
    let copy = image.good[table..table + SECTOR].to_vec();
    image.put(tail, &copy);
    let sector = u32::try_from(tail / SECTOR).unwrap();
    image.put(PRIMARY + 140, &sector.to_le_bytes());
    image.refused_at(&["primary volume descriptor", "zeros at the end"]);
}

/// A volume with one different name: desktops show it, and scripts search for it.
#[test]
fn another_volume_name_is_refused() {
    for descriptor in [PRIMARY, JOLIET] {
        let mut image = Image::good();
        image.bytes[descriptor + 41] = b'Z';
        let part = match descriptor {
            PRIMARY => "primary volume descriptor",
            _ => "Joliet volume descriptor",
        };
        image.refused_at(&[part]);
    }
}

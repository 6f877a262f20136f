//! Tar files, as `docker-archive:` and `oci-archive:` read them in place. With any headers, a file that is found is
//! inside the archive and on a block, and is found again by the same name.
//!
//! The fuzzer decides the headers. The target mostly corrects their checksums and the lengths in extended headers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use solution_fuzz::Choices;
use sources::tar::Entries;

const BLOCK: usize = 512;

/// Files, links, directories, extended headers of both kinds, and entries that readers of images ignore.
const KINDS: &[u8] = b"000112255xxLKgS34679\0DMVNA";

const KEYS: [&str; 8] = [
    "path",
    "path",
    "linkpath",
    "size",
    "GNU.sparse.major",
    "GNU.sparse.name",
    "mtime",
    "hdrcharset",
];

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices::new(bytes);
    let (tar, names) = tar(&mut choices);
    let Ok(entries) = Entries::of_bytes(&tar) else {
        return;
    };
    for name in names {
        let Ok(Some(extent)) = entries.find(&name) else {
            continue;
        };
        assert!(extent.offset + extent.size <= tar.len() as u64);
        assert!(extent.offset.is_multiple_of(BLOCK as u64) && extent.offset > 0);
        let again = entries.find(&format!("./{name}"));
        let same = again.is_ok_and(|found| found == Some(extent));
        assert!(same, "{name} is another file as ./{name}");
    }
});

/// Returns a tar, and the names in it.
fn tar(choices: &mut Choices<'_>) -> (Vec<u8>, Vec<String>) {
    let (mut tar, mut names) = (Vec::new(), Vec::new());
    while !choices.is_empty() {
        let kind = KINDS[usize::from(choices.byte()) % KINDS.len()];
        let len = usize::from(choices.byte() % 32);
        let name = choices.bytes(len);
        names.extend(std::str::from_utf8(name).map(ToOwned::to_owned));
        let len = usize::from(choices.byte() % 32);
        let link = choices.bytes(len);
        let data = match kind {
            b'x' | b'g' => extended(choices, &mut names),
            b'L' | b'K' | b'0' | b'7' => {
                let len = usize::from(choices.byte());
                choices.bytes(len).to_vec()
            }
            _ => Vec::new(),
        };
        tar.extend(header(choices, kind, name, link, data.len()));
        let filled = data.len().next_multiple_of(BLOCK);
        tar.extend(&data);
        tar.resize(tar.len() + filled - data.len(), 0);
    }
    if tar.len() > BLOCK && tar[BLOCK - 1] == 1 {
        tar.truncate(tar.len() - BLOCK / 2);
    }
    (tar, names)
}

fn extended(choices: &mut Choices<'_>, names: &mut Vec<String>) -> Vec<u8> {
    let mut data = Vec::new();
    for _ in 0..1 + choices.byte() % 3 {
        let key = KEYS[usize::from(choices.byte()) % KEYS.len()];
        let len = usize::from(choices.byte() % 64);
        let value = choices.bytes(len);
        names.extend(std::str::from_utf8(value).map(ToOwned::to_owned));
        // The length includes its own digits.
        let rest = key.len() + value.len() + 3;
        let mut len = rest + 1;
        while len.to_string().len() + rest != len {
            len += 1;
        }
        if choices.byte() > 250 {
            len = choices.below(1000);
        }
        data.extend(format!("{len} {key}=").bytes());
        data.extend(value);
        data.push(b'\n');
    }
    data
}

fn header(choices: &mut Choices<'_>, kind: u8, name: &[u8], link: &[u8], len: usize) -> Vec<u8> {
    let mut block = vec![0; BLOCK];
    block[..name.len()].copy_from_slice(name);
    block[156] = kind;
    block[157..157 + link.len()].copy_from_slice(link);
    let magic: &[u8] = match choices.byte() % 3 {
        0 => b"ustar\x0000",
        1 => b"ustar  \0",
        _ => b"",
    };
    block[257..257 + magic.len()].copy_from_slice(magic);
    match choices.byte() {
        // A binary length, as GNU tar writes it for large files; random bytes; a prefix of the name.
        248 => {
            block[124] = 0x80 | choices.byte();
            block[128..132].copy_from_slice(&choices.number().to_be_bytes());
        }
        249 => {
            let any = choices.bytes(12);
            block[124..124 + any.len()].copy_from_slice(any);
        }
        250 => {
            let prefix = choices.bytes(20);
            block[345..345 + prefix.len()].copy_from_slice(prefix);
            block[124..135].copy_from_slice(format!("{len:011o}").as_bytes());
        }
        251 => block[BLOCK - 1] = 1,
        _ => block[124..135].copy_from_slice(format!("{len:011o}").as_bytes()),
    }
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    let sum = sum + 8 * u32::from(b' ') + u32::from(choices.byte() == 255);
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

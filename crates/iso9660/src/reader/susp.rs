//! System Use entries (SUSP 1.12) and the Rock Ridge fields (RRIP 1.12) in them: [`RockRidge`] collects those of one
//! record. Lengths are checked against the area, and the size of names and link targets is limited, because all of it
//! is untrusted.

use super::record::both32;
use crate::format::SECTOR_LEN;

/// The identifiers of Rock Ridge in ER entries, in its versions.
const ROCK_RIDGE_IDS: [&[u8]; 3] = [b"RRIP_1991A", b"IEEE_P1282", b"IEEE_1282"];

const NM_CONTINUE: u8 = 0x01;
const NM_SPECIAL: u8 = 0x06;
const SL_CONTINUE: u8 = 0x01;
const SL_CURRENT: u8 = 0x02;
const SL_PARENT: u8 = 0x04;
const SL_ROOT: u8 = 0x08;

/// The maximum size of a name or link target in bytes: longer ones are of no use to any reader.
const MAX_TEXT: usize = 4096;

/// The continuation of a System Use area.
#[derive(Debug, Clone, Copy)]
pub(super) struct Continuation {
    pub(super) lba: u32,
    pub(super) offset: usize,
    pub(super) len: usize,
}

/// The fields collected from the entries of one record.
#[derive(Debug, Default)]
pub(super) struct RockRidge {
    pub(super) mode: Option<u32>,
    pub(super) links: Option<u32>,
    pub(super) name: Option<Vec<u8>>,
    pub(super) target: Option<Vec<u8>>,
    /// The sector of the relocated directory that this entry represents (CL).
    pub(super) child: Option<u32>,
    /// True for the relocated directory itself, which is listed under its child link instead (RE).
    pub(super) is_relocated: bool,
    /// True if an ER entry announces Rock Ridge.
    pub(super) is_announced: bool,
    /// True if the last component of the target continues in the next one.
    is_component_open: bool,
}

/// Returns the number of bytes to skip in each System Use area, if `area`, the first one of the root, starts with SP
/// (SUSP 5.3).
pub(super) fn skip_from_sp(area: &[u8]) -> Option<usize> {
    match area {
        [b'S', b'P', 7, 1, 0xBE, 0xEF, skip, ..] => Some(usize::from(*skip)),
        _ => None,
    }
}

impl RockRidge {
    /// Parses one area. Returns its continuation, if it has one.
    pub(super) fn read_area(
        &mut self,
        mut area: &[u8],
    ) -> Result<Option<Continuation>, &'static str> {
        let mut next = None;
        while let [first, second, len, _, ..] = *area {
            let len = usize::from(len);
            if len < 4 || len > area.len() {
                // Padding, or bytes that are not System Use entries: both end the area (SUSP 4).
                return if first == 0 {
                    Ok(next)
                } else {
                    Err("a System Use entry does not fit into its area")
                };
            }
            let (entry, rest) = area.split_at(len);
            let body = &entry[4..];
            match &[first, second] {
                b"ST" => return Ok(next),
                b"CE" => next = Some(continuation(body)?),
                b"PX" => self.read_px(body)?,
                b"NM" => self.read_nm(body)?,
                b"SL" => self.read_sl(body)?,
                b"CL" => self.child = Some(both32(body).ok_or("a bad child link")?),
                b"RE" => self.is_relocated = true,
                b"ER" => self.is_announced |= announces_rock_ridge(body),
                b"ZF" | b"SF" => return Err("compressed and sparse files are not supported"),
                _ => {}
            }
            area = rest;
        }
        Ok(next)
    }

    fn read_px(&mut self, body: &[u8]) -> Result<(), &'static str> {
        let number = |start: usize| body.get(start..).and_then(both32).ok_or("a bad PX entry");
        self.mode = Some(number(0)?);
        self.links = Some(number(8)?);
        Ok(())
    }

    fn read_nm(&mut self, body: &[u8]) -> Result<(), &'static str> {
        let (&flags, text) = body.split_first().ok_or("a bad NM entry")?;
        // The entry is for the current or the parent directory and contains no name.
        if flags & NM_SPECIAL != 0 {
            return Ok(());
        }
        if flags & !NM_CONTINUE != 0 {
            return Err("a bad NM entry");
        }
        append_limited(self.name.get_or_insert_default(), text)
    }

    fn read_sl(&mut self, body: &[u8]) -> Result<(), &'static str> {
        let (_, mut components) = body.split_first().ok_or("a bad SL entry")?;
        let target = self.target.get_or_insert_default();
        while let [flags, len, rest @ ..] = components {
            let (text, rest) = rest
                .split_at_checked(usize::from(*len))
                .ok_or("a bad SL entry")?;
            let is_first = target.is_empty() || target == b"/";
            if !is_first && !self.is_component_open {
                append_limited(target, b"/")?;
            }
            match flags & !SL_CONTINUE {
                0 => append_limited(target, text)?,
                SL_CURRENT => append_limited(target, b".")?,
                SL_PARENT => append_limited(target, b"..")?,
                SL_ROOT if target.is_empty() => append_limited(target, b"/")?,
                _ => return Err("a bad SL entry"),
            }
            self.is_component_open = flags & SL_CONTINUE != 0;
            components = rest;
        }
        if components.is_empty() {
            Ok(())
        } else {
            Err("a bad SL entry")
        }
    }
}

fn append_limited(out: &mut Vec<u8>, text: &[u8]) -> Result<(), &'static str> {
    if out.len() + text.len() > MAX_TEXT {
        return Err("a name or link target of more than 4096 bytes");
    }
    out.extend_from_slice(text);
    Ok(())
}

/// Parses CE. A continuation area must be within one sector; Linux requires this too.
fn continuation(body: &[u8]) -> Result<Continuation, &'static str> {
    let number = |start: usize| body.get(start..).and_then(both32).ok_or("a bad CE entry");
    let (lba, offset, len) = (number(0)?, number(8)?, number(16)?);
    let within = |value: u32| {
        usize::try_from(value)
            .ok()
            .filter(|&value| value <= SECTOR_LEN)
    };
    match within(offset).zip(within(len)) {
        Some((offset, len)) if offset + len <= SECTOR_LEN => Ok(Continuation { lba, offset, len }),
        _ => Err("a continuation area that crosses a sector"),
    }
}

fn announces_rock_ridge(body: &[u8]) -> bool {
    let [len, _, _, _, text @ ..] = body else {
        return false;
    };
    text.get(..usize::from(*len))
        .is_some_and(|id| ROCK_RIDGE_IDS.contains(&id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(area: &[u8]) -> Result<RockRidge, &'static str> {
        let mut found = RockRidge::default();
        found.read_area(area).map(|_| found)
    }

    #[test]
    fn a_name_may_come_in_pieces() {
        let found = read(b"NM\x07\x01\x01abNM\x06\x01\x00c\0").unwrap();
        assert_eq!(found.name.unwrap(), b"abc");
        assert_eq!(
            read(b"NM\x05\x01\x02").unwrap().name,
            None,
            "the current directory"
        );
    }

    #[test]
    fn link_targets_are_put_together() {
        let target =
            |sl: &[u8]| read(sl).map(|found| String::from_utf8(found.target.unwrap()).unwrap());
        assert_eq!(
            target(b"SL\x0E\x01\x00\x08\x00\x00\x01a\x00\x02bc").unwrap(),
            "/a/bc"
        );
        assert_eq!(
            target(b"SL\x0B\x01\x00\x04\x00\x01\x01x\x01SL\x08\x01\x00\x00\x01y").unwrap_err(),
            "a bad SL entry"
        );
        assert_eq!(
            target(b"SL\x0A\x01\x00\x04\x00\x01\x01xSL\x08\x01\x00\x00\x01y").unwrap(),
            "../xy"
        );
    }

    #[test]
    fn an_endless_target_is_refused() {
        let mut found = RockRidge::default();
        let area = [b"SL\xFF\x01\x00\x00\xF8".as_slice(), &[b'a'; 248]].concat();
        let problem = (0..100).find_map(|_| found.read_area(&area).err());
        assert_eq!(
            problem,
            Some("a name or link target of more than 4096 bytes")
        );
    }

    #[test]
    fn entries_must_fit() {
        assert_eq!(
            read(b"NM\x20\x01\x00a").unwrap_err(),
            "a System Use entry does not fit into its area"
        );
        assert_eq!(
            read(b"NM\x00\x01").unwrap_err(),
            "a System Use entry does not fit into its area"
        );
        assert!(read(b"\0\0\0\0\0").is_ok(), "padding");
        assert!(
            read(b"ST\x04\x01NM\x00\x00").is_ok(),
            "nothing after ST is read"
        );
    }

    #[test]
    fn continuation_areas_stay_in_a_sector() {
        let ce = |offset: u32, len: u32| {
            let mut out = vec![b'C', b'E', 28, 1];
            for value in [7, offset, len] {
                out.extend_from_slice(&u32::to_le_bytes(value));
                out.extend_from_slice(&u32::to_be_bytes(value));
            }
            RockRidge::default().read_area(&out)
        };
        assert_eq!(ce(2000, 48).unwrap().unwrap().lba, 7);
        for (offset, len) in [(2000, 49), (u32::MAX, 1), (1, u32::MAX), (2049, 0)] {
            assert_eq!(
                ce(offset, len).unwrap_err(),
                "a continuation area that crosses a sector"
            );
        }
    }
}

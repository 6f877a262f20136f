//! The timestamp of an image and its two encodings (ECMA-119 8.4.26.1 and 9.1.5). All times in an image are the same,
//! so that its bytes do not depend on the time of the build.

/// Seconds since 1970-01-01T00:00:00Z, from 1980-01-01 to the end of 2099.
///
/// FAT and ZIP cannot represent earlier times. Later times are in a century that programs with two-digit years
/// misinterpret; directory records store the years since 1900 in one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

/// A time outside 1980-01-01T00:00:00Z to 2099-12-31T23:59:59Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("time {0} (seconds since 1970) is not between 1980-01-01 and 2099-12-31 UTC")]
pub struct TimestampOutOfRange(pub u64);

const SECONDS_PER_DAY: u64 = 86_400;

impl Timestamp {
    /// 1980-01-01T00:00:00Z, the earliest time and the default if no better one is known.
    pub const EARLIEST: Self = Self(315_532_800);
    /// 2099-12-31T23:59:59Z.
    pub const LATEST: Self = Self(4_102_444_799);

    /// Converts a Unix time, if it is in range.
    pub fn from_unix_seconds(seconds: u64) -> Result<Self, TimestampOutOfRange> {
        if (Self::EARLIEST.0..=Self::LATEST.0).contains(&seconds) {
            Ok(Self(seconds))
        } else {
            Err(TimestampOutOfRange(seconds))
        }
    }

    /// Returns the seconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn unix_seconds(self) -> u64 {
        self.0
    }

    /// Encodes the 7 bytes of directory records and of Rock Ridge's TF (ECMA-119 9.1.5), in UTC.
    pub(crate) fn short(self) -> [u8; 7] {
        let (year, [month, day, hour, minute, second]) = self.civil();
        let year = u8::try_from(year - 1900).expect("years end at 2099, which is 199 from 1900");
        [year, month, day, hour, minute, second, 0]
    }

    /// Encodes the 17 bytes of volume descriptors (ECMA-119 8.4.26.1), in UTC.
    pub(crate) fn long(self) -> [u8; 17] {
        let (year, [month, day, hour, minute, second]) = self.civil();
        let digits = format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}00");
        let mut bytes = [0; 17];
        bytes[..16].copy_from_slice(digits.as_bytes());
        bytes
    }

    /// Returns the calendar date and time: the year, then month, day, hour, minute and second.
    fn civil(self) -> (u16, [u8; 5]) {
        let (mut days, seconds) = (self.0 / SECONDS_PER_DAY, self.0 % SECONDS_PER_DAY);
        let mut year = 1970;
        while days >= days_in_year(year) {
            days -= days_in_year(year);
            year += 1;
        }
        let mut month = 1;
        while days >= days_in_month(year, month) {
            days -= days_in_month(year, month);
            month += 1;
        }
        let day = small(days + 1);
        let [hour, minute, second] = [seconds / 3600, seconds / 60 % 60, seconds % 60].map(small);
        (year, [month, day, hour, minute, second])
    }
}

fn small(value: u64) -> u8 {
    u8::try_from(value).expect("days, hours, minutes and seconds are below 60")
}

fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in_year(year: u16) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_in_month(year: u16, month: u8) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spells_known_times() {
        // From `date -u -d @N`.
        for (seconds, text) in [
            (315_532_800, "1980010100000000"),
            (951_782_399, "2000022823595900"),
            (951_782_400, "2000022900000000"),
            (1_709_251_199, "2024022923595900"),
            (1_795_181_701, "2026112013350100"),
            (4_102_444_799, "2099123123595900"),
        ] {
            let time = Timestamp::from_unix_seconds(seconds).unwrap();
            assert_eq!(&time.long()[..16], text.as_bytes(), "{seconds}");
            assert_eq!(time.long()[16], 0, "UTC");
        }
        let time = Timestamp::from_unix_seconds(1_795_181_701).unwrap();
        assert_eq!(time.short(), [126, 11, 20, 13, 35, 1, 0]);
        assert_eq!(Timestamp::LATEST.short(), [199, 12, 31, 23, 59, 59, 0]);
    }

    #[test]
    fn refuses_times_that_some_reader_cannot_show() {
        for seconds in [0, 315_532_799, 4_102_444_800, u64::MAX] {
            assert_eq!(
                Timestamp::from_unix_seconds(seconds),
                Err(TimestampOutOfRange(seconds))
            );
        }
    }
}

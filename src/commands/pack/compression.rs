//! The compression of layers that `solution pack` applies.

use clap::ValueEnum;

/// The compression of layers that are not compressed.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum Compression {
    /// No compression
    #[default]
    None,
    /// For all container engines
    Gzip,
    /// Smaller, and faster to unpack
    Zstd,
}

impl From<Compression> for sources::Compression {
    fn from(compression: Compression) -> Self {
        match compression {
            Compression::None => Self::None,
            Compression::Gzip => Self::Gzip,
            Compression::Zstd => Self::Zstd,
        }
    }
}

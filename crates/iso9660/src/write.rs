//! Writing of a plan's metadata. The caller writes the data into [`ImagePlan::extents`].

use std::io;

use crate::{ImagePlan, RegionBytes, WriteAt};

/// Writes every region that is not all zeros. `out` must read as zeros where nothing was written, for example a new
/// file whose length was set to [`ImagePlan::image_size`].
pub fn write_metadata(plan: &ImagePlan, out: &impl WriteAt) -> io::Result<()> {
    plan.visit_metadata(&mut |region| match region.bytes {
        RegionBytes::Bytes(bytes) => out.write_all_at(bytes, region.offset),
        RegionBytes::Zeros(_) => Ok(()),
    })
}

//! The ISO 9660 profile: plan, writer, comparison and bounded reader.

//! The one program: arguments, one request, one call, one rendering.
fn main() {}

//! The files of the program: the style sheet and the script. Their names contain a digest of their content, so that
//! browsers can cache them forever.

use std::sync::LazyLock;

use crate::secret;

const STYLE: &str = include_str!("../assets/console.css");
const SCRIPT: &str = include_str!("../assets/console.js");

/// The path of the style sheet.
pub(crate) static STYLE_PATH: LazyLock<String> = LazyLock::new(|| path(STYLE, "css"));
/// The path of the script.
pub(crate) static SCRIPT_PATH: LazyLock<String> = LazyLock::new(|| path(SCRIPT, "js"));

fn path(content: &str, extension: &str) -> String {
    let digest = secret::digest(content);
    let digest = u64::from_be_bytes(digest[..8].try_into().expect("these are 8 of 32 bytes"));
    format!("/assets/console-{digest:016x}.{extension}")
}

/// Returns the content type and the content of a file, by its path.
pub(crate) fn find(path: &str) -> Option<(&'static str, &'static str)> {
    if path == *STYLE_PATH {
        Some(("text/css; charset=utf-8", STYLE))
    } else if path == *SCRIPT_PATH {
        Some(("text/javascript; charset=utf-8", SCRIPT))
    } else {
        None
    }
}

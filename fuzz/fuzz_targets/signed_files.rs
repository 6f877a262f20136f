//! A hostile publisher's files: a manifest, roles, a definition, an image manifest and a configuration with any
//! content. The check always ends with findings.
#![no_main]

use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use solution_fuzz::{Scratch, Texts, report, write};
use validator::ArchiveVerdict;

fn path() -> &'static PathBuf {
    static PLACE: OnceLock<Scratch> = OnceLock::new();
    let place = PLACE.get_or_init(|| {
        let place = Scratch::new();
        write(&place.path, &Texts::good());
        assert_eq!(report(&place.path).findings(), []);
        place
    });
    &place.path
}

fuzz_target!(|bytes: &[u8]| {
    write(path(), &Texts::split(bytes));
    let report = report(path());
    if report.verdict() == ArchiveVerdict::Accepted {
        let accepted = report
            .accept()
            .expect("an accepted archive comes with its proof");
        assert_eq!(accepted.images().len(), 1);
    }
});

//! The statement: an accepted statement is read back as the same after writing. Unknown fields are ignored.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schemas::Statement;

fuzz_target!(|bytes: &[u8]| {
    let Ok(statement) = Statement::from_slice(bytes) else {
        return;
    };
    let written = statement.to_bytes();
    let again = Statement::from_slice(&written).expect("what is written can be read");
    assert_eq!(again, statement);
    assert_eq!(again.to_bytes(), written);
});

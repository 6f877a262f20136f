//! What it comes to that an archive cannot be written again from a registry.

use importer::Error;

use super::{Answer, Failure, Judge as _, Outcome};

/// How many missing contents are named.
const NAMED: usize = 10;
const BRING_BACK: &str = "import the archive once more from its medium, which pushes what is missing, or get it from another site; bytes that the registry keeps though they are damaged have to be removed from its storage first";

/// The three ways in which it ends.
pub(super) fn failure(error: Error) -> Failure {
    match &error {
        Error::Lacking(lacking) => {
            let words = lacking.iter().take(NAMED).map(ToString::to_string);
            let mut words: Vec<String> = words.collect();
            if let more @ 1.. = lacking.len() - words.len() {
                words.push(format!("and {more} more"));
            }
            let failure = Failure::no(error).hint(BRING_BACK);
            words.into_iter().fold(failure, Failure::because)
        }
        Error::Unfetched(unfetched) => match unfetched.source.answer() {
            Answer(Outcome::No, _) => Failure::no(error).hint(BRING_BACK),
            answer => Failure::judged(answer, error),
        },
        Error::Write(cause) => Failure::judged(cause.answer(), error),
        _ => Failure::unknown(error),
    }
}

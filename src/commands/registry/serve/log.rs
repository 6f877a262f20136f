//! The log of a server: served archives on standard output, problems on standard error, and one JSON object a line for
//! programs. Each archive is logged when it is first served, and when it is left out.

use std::path::Path;

use schemars::JsonSchema;
use schemas::{Digest, Referrers, StatementTime};
use serde::Serialize;
use serve::{AccessRecord, Event};
use validator::AcceptedArchive;

use crate::args::Output;
use crate::failure::Failure;
use crate::{environment, render};

/// The output of the log.
#[derive(Debug)]
pub(super) struct Log {
    output: Output,
    access: bool,
}

/// The event.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "event")]
pub(crate) enum ServeLogLine<'a> {
    /// It takes connections now.
    Listening {
        /// Where it listens.
        url: &'a str,
    },
    /// An archive was verified, and is served.
    #[serde(rename_all = "camelCase")]
    Serving {
        /// The path of the archive.
        archive: String,
        /// SHA-256 of the signed statement.
        archive_id: Digest,
        /// The name of the Solution.
        solution: String,
        /// The version of the Solution.
        version: String,
        /// How many images it has.
        images: usize,
        /// Signatures and other referrers of images, if there are any.
        #[serde(skip_serializing_if = "schemas::is_default")]
        referrers: usize,
    },
    /// An archive is not served.
    LeftOut {
        /// The path of the archive.
        archive: String,
        /// The problem and its cause.
        reasons: Vec<String>,
    },
    /// Archives could not be inspected, or connections could not be accepted. Served archives are still served.
    Failed {
        /// The problem and its cause.
        reasons: Vec<String>,
    },
    /// A request was answered (`--access-log`).
    #[serde(rename_all = "camelCase")]
    Access {
        /// When it came; null if the clock is wrong.
        time: Option<StatementTime>,
        /// The address and port of the client.
        peer: String,
        /// The method.
        method: &'a str,
        /// The target; of a long one the first 1024 characters.
        target: &'a str,
        /// The status of the answer.
        status: u16,
        /// Bytes that were sent behind the head.
        bytes: u64,
        /// How long it took.
        milliseconds: u64,
        /// Why the answer was not sent to its end.
        #[serde(skip_serializing_if = "Option::is_none")]
        broken: Option<String>,
    },
    /// A blob was not served (`--verify-reads`).
    Unfit {
        /// The digest of the blob.
        digest: &'a Digest,
        /// The problem and its cause.
        reasons: Vec<String>,
    },
}

impl Log {
    pub(super) fn new(output: Output, access: bool) -> Self {
        Self { output, access }
    }

    pub(super) fn listening(&self, url: &str) {
        self.say(&ServeLogLine::Listening { url }, || {
            render::line!("listening at {url}");
        });
    }

    pub(super) fn serving(&self, path: &Path, accepted: &AcceptedArchive) {
        let id = &accepted.statement().predicate.id;
        let (images, referrers) = Referrers::count(accepted.images());
        let said = ServeLogLine::Serving {
            archive: path.display().to_string(),
            archive_id: accepted.archive_id(),
            solution: id.name().to_string(),
            version: id.version().to_string(),
            images,
            referrers,
        };
        self.say(&said, || {
            let images = render::images(images, referrers);
            render::line!("serving {id} of `{}`: {images}", path.display());
        });
    }

    pub(super) fn left_out(&self, path: &Path, failure: &Failure) {
        let said = ServeLogLine::LeftOut {
            archive: path.display().to_string(),
            reasons: failure.lines().collect(),
        };
        self.say(&said, || {
            render::note!("`{}` is left out", path.display());
            failure.lines().for_each(render::note);
        });
    }

    /// Logs that archives could not be checked. The server continues with the previous content.
    pub(super) fn failed(&self, failure: &Failure) {
        let reasons = failure.lines().collect();
        self.say(&ServeLogLine::Failed { reasons }, || {
            failure.lines().for_each(render::note);
        });
    }

    pub(super) fn tell(&self, event: &Event<'_>) {
        match event {
            Event::Access(access) if self.access => self.access(access),
            Event::Access(_) => {}
            Event::Unfit(digest, unfit) => {
                let reasons = reasons(*unfit);
                let why = reasons.join(": ");
                self.say(&ServeLogLine::Unfit { digest, reasons }, || {
                    render::note!("error: {digest} is not served: {why}");
                });
            }
            Event::NoRoom(error) => {
                let reasons = reasons(*error);
                self.say(&ServeLogLine::Failed { reasons }, || {
                    render::note!("error: cannot accept connections: {error}");
                });
            }
        }
    }

    fn access(&self, access: &AccessRecord<'_>) {
        let time = environment::now().ok();
        let said = ServeLogLine::Access {
            time,
            peer: access.peer.to_string(),
            method: access.method,
            target: access.target,
            status: access.status,
            bytes: access.bytes,
            milliseconds: access.milliseconds(),
            broken: access.broken.map(ToString::to_string),
        };
        self.say(&said, || {
            let time = time.map_or_else(|| "-".to_owned(), |time| time.to_string());
            let broken = access.broken.map(|error| format!(" broken: {error}"));
            render::line!(
                "{time} {} \"{} {}\" {} {} {} ms{}",
                access.peer,
                access.method,
                access.target,
                access.status,
                access.bytes,
                access.milliseconds(),
                broken.unwrap_or_default()
            );
        });
    }

    fn say(&self, said: &ServeLogLine<'_>, human: impl FnOnce()) {
        render::result(self.output, said, |_| human());
    }
}

/// Returns an error with its causes.
fn reasons(error: &(dyn std::error::Error + 'static)) -> Vec<String> {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect()
}

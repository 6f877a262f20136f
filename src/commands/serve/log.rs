//! What a server says while it runs: what is served on standard output, what is wrong on standard error, and for programs
//! one JSON object a line.

use std::path::Path;

use schemas::{Digest, Referrers, StatementTime};
use serde::Serialize;
use serve::{Access, Event};
use validator::Accepted;

use crate::args::Output;
use crate::environment;
use crate::failure::Failure;
use crate::render;

/// Where it is said.
#[derive(Debug)]
pub(super) struct Log {
    output: Output,
    access: bool,
}

/// What is said, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase", tag = "event")]
enum Said<'a> {
    Listening {
        url: &'a str,
    },
    #[serde(rename_all = "camelCase")]
    Serving {
        archive: String,
        archive_id: Digest,
        solution: String,
        version: String,
        images: usize,
        #[serde(skip_serializing_if = "schemas::is_default")]
        referrers: usize,
    },
    LeftOut {
        archive: String,
        reasons: Vec<String>,
    },
    Failed {
        reasons: Vec<String>,
    },
    #[serde(rename_all = "camelCase")]
    Access {
        time: Option<StatementTime>,
        peer: String,
        method: &'a str,
        target: &'a str,
        status: u16,
        bytes: u64,
        milliseconds: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        broken: Option<String>,
    },
    Unfit {
        digest: &'a Digest,
        reasons: Vec<String>,
    },
}

impl Log {
    pub(super) fn new(output: Output, access: bool) -> Self {
        Self { output, access }
    }

    pub(super) fn listening(&self, url: &str) {
        self.say(&Said::Listening { url }, || {
            render::line!("listening at {url}");
        });
    }

    pub(super) fn serving(&self, path: &Path, accepted: &Accepted) {
        let id = &accepted.statement().predicate.id;
        let (images, referrers) = Referrers::count(accepted.images());
        let said = Said::Serving {
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
        let said = Said::LeftOut {
            archive: path.display().to_string(),
            reasons: failure.lines().collect(),
        };
        self.say(&said, || {
            render::note!("`{}` is left out", path.display());
            failure.lines().for_each(render::note);
        });
    }

    /// Archives could not be looked at: what was served goes on.
    pub(super) fn failed(&self, failure: &Failure) {
        let reasons = failure.lines().collect();
        self.say(&Said::Failed { reasons }, || {
            failure.lines().for_each(render::note);
        });
    }

    pub(super) fn tell(&self, event: &Event<'_>) {
        match event {
            Event::Access(access) if self.access => self.access(access),
            Event::Access(_) => {}
            Event::Unfit(digest, unfit) => {
                let reasons = reasons(*unfit);
                self.say(&Said::Unfit { digest, reasons }, || {
                    let reasons = self::reasons(*unfit).join(": ");
                    render::note!("error: {digest} is not served: {reasons}");
                });
            }
            Event::NoRoom(error) => {
                let reasons = reasons(*error);
                self.say(&Said::Failed { reasons }, || {
                    render::note!("error: no connection can be taken at the moment: {error}");
                });
            }
        }
    }

    fn access(&self, access: &Access<'_>) {
        let time = environment::now().ok();
        let said = Said::Access {
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

    fn say(&self, said: &Said<'_>, human: impl FnOnce()) {
        render::result(self.output, said, |_| human());
    }
}

/// An error, and what has caused it.
fn reasons(error: &(dyn std::error::Error + 'static)) -> Vec<String> {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect()
}

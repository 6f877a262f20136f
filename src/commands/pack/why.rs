//! `solution pack --why IMAGE`: all that names an image.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use packager::{Event, EvidenceReason, ImageEvidence};

use super::watch;
use crate::progress::Bar;
use crate::render;

/// What names the image that was asked for, if one was.
pub(super) struct Why<'a> {
    image: Option<&'a str>,
    /// Whether a chart was rendered, so that its images are known.
    rendered: AtomicBool,
    /// A chart may be loaded twice, so each place is kept once.
    found: Mutex<BTreeSet<ImageEvidence>>,
}

impl<'a> Why<'a> {
    pub(super) fn new(image: Option<&'a str>) -> Self {
        Self {
            image,
            rendered: AtomicBool::new(false),
            found: Mutex::default(),
        }
    }

    /// Shows one event, and keeps what names the image.
    pub(super) fn show(&self, bar: &Bar, event: Event) {
        if matches!(event, Event::Rendering(_)) {
            self.rendered.store(true, Ordering::Relaxed);
        }
        match event {
            Event::Named(evidence) => {
                if self.image.is_some_and(|image| evidence.is_about(image)) {
                    self.found
                        .lock()
                        .expect("no holder panics")
                        .insert(evidence);
                }
            }
            event => watch::show(bar, event),
        }
    }

    /// Says all that was kept.
    pub(super) fn tell(&self) {
        let Some(image) = self.image else {
            return;
        };
        let found = self.found.lock().expect("no holder panics");
        if !self.rendered.load(Ordering::Relaxed) {
            render::note!("cannot find `{image}`: no chart was rendered");
        } else if found.is_empty() {
            render::note!("no chart names `{image}`");
        }
        for evidence in found.iter() {
            let ImageEvidence {
                place, reference, ..
            } = evidence;
            let reason = reason(evidence.reason);
            render::note!("`{reference}` is named by {place}: {reason}");
        }
    }
}

fn reason(reason: EvidenceReason) -> &'static str {
    use packager::Mention;

    match reason {
        EvidenceReason::Text(Mention::Container) => {
            "it is the image of a container or an image volume"
        }
        EvidenceReason::Text(Mention::Name) => {
            "the name of the field, the variable or the flag indicates an image"
        }
        EvidenceReason::Text(Mention::Address) => "the text has a registry and a tag or a digest",
        EvidenceReason::Text(Mention::Known) => {
            "the text has a tag or a digest, and its repository is in the values, a list or another object"
        }
        EvidenceReason::Parts => "the fields are its parts",
        EvidenceReason::Default => "it is a default value of the definition",
        EvidenceReason::Annotation => "the annotation lists it",
        EvidenceReason::Value => "the value has the repository, but no rendered object has it",
    }
}

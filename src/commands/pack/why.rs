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
    /// Whether the evidence of all images is kept.
    keeps_all: bool,
    /// Whether a chart was rendered, so that its images are known.
    rendered: AtomicBool,
    /// A chart may be loaded twice, so each place is kept once.
    found: Mutex<BTreeSet<ImageEvidence>>,
}

impl<'a> Why<'a> {
    pub(super) fn new(image: Option<&'a str>, keeps_all: bool) -> Self {
        Self {
            image,
            keeps_all,
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
                if self.keeps_all || self.is_asked(&evidence) {
                    self.found
                        .lock()
                        .expect("no holder panics")
                        .insert(evidence);
                }
            }
            event => watch::show(bar, event),
        }
    }

    fn is_asked(&self, evidence: &ImageEvidence) -> bool {
        self.image.is_some_and(|image| evidence.is_about(image))
    }

    /// Returns all evidence that was kept.
    pub(super) fn evidence(&self) -> Vec<ImageEvidence> {
        let found = self.found.lock().expect("no holder panics");
        found.iter().cloned().collect()
    }

    /// Says all that was asked for.
    pub(super) fn tell(&self) {
        let Some(image) = self.image else {
            return;
        };
        let found = self.found.lock().expect("no holder panics");
        if !self.rendered.load(Ordering::Relaxed) {
            render::note!("cannot find `{image}`: no chart was rendered");
        } else if !found.iter().any(|evidence| self.is_asked(evidence)) {
            render::note!("no chart names `{image}`");
        }
        for evidence in found.iter().filter(|evidence| self.is_asked(evidence)) {
            let reference = &evidence.reference;
            render::note!("`{reference}` is named by {}", in_words(evidence));
        }
    }
}

/// The place that names an image, and why it counts.
pub(super) fn in_words(evidence: &ImageEvidence) -> String {
    format!("{}: {}", evidence.place, reason(evidence.reason))
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

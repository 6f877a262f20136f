//! What decides about objects before the API server keeps them, for as long as a test wants it: left behind, it would decide
//! for every other test.

use std::process::Command;

use crate::common::Answer;
use crate::site::Site;

/// Policies and webhooks that are there until this is dropped.
pub(crate) struct Admission {
    objects: String,
}

impl Admission {
    /// Makes these objects.
    pub(crate) fn of(site: &Site, objects: &str) -> Self {
        let file = "admission.yaml";
        site.desk.write(file, objects);
        let made = Self {
            objects: site.desk.path(file).to_str().unwrap().to_owned(),
        };
        made.kubectl("apply").success();
        made
    }

    fn kubectl(&self, verb: &str) -> Answer {
        Answer::of(Command::new("kubectl").args([verb, "--filename", &self.objects]))
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.kubectl("delete");
    }
}

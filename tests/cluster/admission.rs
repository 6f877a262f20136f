//! Admission policies and webhooks that exist only during one test. If they were left behind, they would affect every
//! other test.

use std::process::Command;

use crate::common::Answer;
use crate::site::Site;

/// Policies and webhooks that are removed on drop.
pub(crate) struct Admission {
    objects: String,
}

impl Admission {
    /// Creates these objects.
    pub(crate) fn create(site: &Site, objects: &str) -> Self {
        let file = "admission.yaml";
        site.desk.write(file, objects);
        let made = Self {
            objects: site.desk.path(file).to_str().unwrap().to_owned(),
        };
        made.kubectl("apply").success();
        made
    }

    fn kubectl(&self, verb: &str) -> Answer {
        Answer::from_command(Command::new("kubectl").args([verb, "--filename", &self.objects]))
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.kubectl("delete");
    }
}

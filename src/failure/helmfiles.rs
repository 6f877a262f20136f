//! What the errors of helmfiles come to.

use release::{HelmfileError, HelmfileProblem};

use super::{Answer, Judge, NO, no};

impl Judge for HelmfileError {
    fn answer(&self) -> Answer {
        use HelmfileProblem as Problem;
        match self.problem {
            Problem::Releases(_) => no(
                "select some of the releases with `--helmfile-selector`, and create multiple Solutions",
            ),
            Problem::Fields(_) => no(
                "write these settings as `values`, and remove those that only configure Helmfile; put a hook that the application needs into its chart",
            ),
            Problem::Twice => no(
                "give each its own name, or leave one of two releases out with `installed: false`",
            ),
            Problem::Version(_) => no(
                "write the tested version; list the versions in a repository with `helm search repo --versions`",
            ),
            Problem::Chart(_) => no(
                "list its repository with its `url`, or download the chart with its dependencies and write its path: `./DIR` or a `.tgz`",
            ),
            Problem::Login => {
                no("remove it from there, and store it with `solution registry login`")
            }
            Problem::Values(_) => no("download each file, and write its path"),
            Problem::Secret => no(
                "remove these values, for example with a separate environment for `--helmfile-environment`, and let the chart use a Secret that is created at the site: an archive must not contain secrets",
            ),
            Problem::Need(_) => no("add the release, select it too, or remove it from `needs`"),
            Problem::Condition(_) => no("write `installed: true` or `installed: false` instead"),
            Problem::Yaml(_) | Problem::Form(_) | Problem::Empty | Problem::Name(..) => NO,
        }
    }
}

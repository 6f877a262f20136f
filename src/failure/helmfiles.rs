//! What the errors of helmfiles come to.

use release::{HelmfileError, HelmfileProblem};

use super::{Answer, Judge, NO, no};

impl Judge for HelmfileError {
    fn answer(&self) -> Answer {
        use HelmfileProblem as Problem;
        match self.problem {
            Problem::Releases(_) => no(
                "choose a part of them with `--helmfile-selector`, and make several Solutions of it",
            ),
            Problem::Fields(_) => no(
                "write what these set as `values`, and leave out what only says how Helmfile runs; a hook that the application needs goes into its chart",
            ),
            Problem::Twice => no(
                "give each a name of its own; of two releases, one can be left out by `installed: false`",
            ),
            Problem::Version(_) => no(
                "write the version that was tested; `helm search repo --versions` lists those of a repository",
            ),
            Problem::Chart(_) => no(
                "list its repository with its `url`; or download the chart, with its dependencies in it, and write its path: `./DIR` or a `.tgz`",
            ),
            Problem::Login => no(
                "take it out of there; `solution registry login` writes it where it is looked for",
            ),
            Problem::Values(_) => no("name each file by its path, after downloading it"),
            Problem::Secret => no(
                "an archive must hold no secrets: have the chart use a Secret that is made at the site, and take these values out, for example in an environment of their own, which `--helmfile-environment` names",
            ),
            Problem::Need(_) => no("add the release, choose it too, or take it out of `needs`"),
            Problem::Condition(_) => no("write `installed: true` or `installed: false` instead"),
            Problem::Yaml(_) | Problem::Form(_) | Problem::Empty | Problem::Name(..) => NO,
        }
    }
}

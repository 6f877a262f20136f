//! What the errors of helmfiles come to.

use release::{HelmfileError, HelmfileProblem};

use super::{Answer, Judge, NO, no};

/// Whoever runs Helmfile can have it do all that is not done here.
const BUILD: &str = "`helmfile build --embed-values > helmfile-built.yaml`, run beside it, writes it without templates: look through that file for secrets, and give it with `--from`";

const APART: &str = "make several Solutions of it, each of a part of its releases";

impl Judge for HelmfileError {
    fn answer(&self) -> Answer {
        use HelmfileProblem as Problem;
        match self.problem {
            Problem::Gotmpl
            | Problem::TemplateAt(_)
            | Problem::Template(_)
            | Problem::ValuesTemplate(_)
            | Problem::Documents(_) => no(BUILD),
            Problem::TooMany { .. } | Problem::Releases(_) => no(APART),
            Problem::Fields(_) => no(
                "write what these set as `values`, and leave out what only says how Helmfile runs; a hook that the application needs goes into its chart",
            ),
            Problem::Twice => no(
                "give each a name of its own; of two releases, one can be left out by `installed: false`",
            ),
            Problem::NoVersion | Problem::Range(_) => no(
                "write the version that was tested; `helm search repo --versions` lists those of a repository",
            ),
            Problem::Repository(_) => {
                no("list it with its `url`; the path of a directory on this disk begins with `./`")
            }
            Problem::Chart(_) => no(
                "download the chart, with its dependencies in it, and write its path: `./DIR` or a `.tgz`",
            ),
            Problem::Login => {
                no("take it out of there; `solution login` writes it where it is looked for")
            }
            Problem::ValuesElsewhere(_) => no("name each file by its path, after downloading it"),
            Problem::Secret => no(
                "an archive must hold no secrets: have the chart use a Secret that is made at the site, and take these values out",
            ),
            Problem::Need(_) => no("add the release, or take it out of `needs`"),
            Problem::Condition(_) => no(
                "write `installed: true` or `installed: false` instead, or give what `helmfile build` writes, which says how it stands",
            ),
            Problem::Yaml(_)
            | Problem::Empty
            | Problem::Form { .. }
            | Problem::NoMapping
            | Problem::Missing(_)
            | Problem::Name(..) => NO,
        }
    }
}

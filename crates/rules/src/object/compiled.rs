//! Checks of packaged objects by compiling them again. A difference shows that an object was not compiled, and the
//! remarks show text that may not be valid at a site.

use manifests::{CompileQuestion, Compiler, Remark};
use serde_json::Value;

use crate::finding::problem::Problem;

/// Returns the problems of an object that should have been compiled with these images and namespaces.
#[must_use]
pub fn compiled(compiler: &Compiler<'_>, document: &Value) -> Vec<Problem> {
    let mut again = document.clone();
    let remarks = compiler.compile(&mut again);
    let parts: Vec<Problem> = manifests::image_parts(document)
        .into_iter()
        .filter(|parts| remarks.iter().all(|remark| remark.path != parts.path))
        .map(|parts| Problem::ImageInParts(Box::new(parts)))
        .collect();
    let mut problems: Vec<Problem> = remarks.into_iter().filter_map(problem).collect();
    problems.extend(parts);
    if again != *document {
        problems.push(Problem::NotCompiled);
    }
    problems
}

fn problem(Remark { path, what, .. }: Remark) -> Option<Problem> {
    Some(match what {
        CompileQuestion::Missing(reference) => Problem::MissingImage(path, reference),
        CompileQuestion::Mentioned(reference) => Problem::MentionedImage(path, reference),
        CompileQuestion::Repository(placeholder) => Problem::MentionedRepository(path, placeholder),
        CompileQuestion::Namespace(unclear) => Problem::MentionedNamespace(path, Box::new(unclear)),
        // The check of placeholders reports these, together with all other invalid placeholders.
        CompileQuestion::Placeholder(_) => return None,
    })
}

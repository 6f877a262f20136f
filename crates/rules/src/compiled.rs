//! Checks of objects by compiling them again: whether each was compiled, and what is left that a site may not have.

use manifests::{CompileQuestion, Compiler, Remark};
use serde_json::Value;

use super::Problem;

/// Returns what is left in an object that was compiled with these images and namespaces.
#[must_use]
pub fn compiled(compiler: &Compiler<'_>, document: &Value) -> Vec<Problem> {
    let mut again = document.clone();
    let remarks = compiler.compile(&mut again);
    let parts = manifests::image_parts(document).into_iter();
    let parts = parts.filter(|parts| remarks.iter().all(|remark| remark.path != parts.path));
    let parts: Vec<Problem> = parts
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
        // Found with all others that mean nothing.
        CompileQuestion::Placeholder(_) => return None,
    })
}

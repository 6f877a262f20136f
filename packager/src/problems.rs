//! The findings of a source tree. [`SourceProblems`] collects them with their files and lines, so that one run reports
//! all of them.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use files::ReadError;
use rules::catalogue::{FindingInfo, Severity, advice, manifests as of_manifests, source};
use rules::{Problem, field_pointer, source_pointer};
use schemas::yaml::YamlError;
use schemas::{ManifestError, SourceSpec};
use sources::FailedImage;
use validator::{ErrorChain, Findings};

use ::manifests::ManifestsError;

use crate::error::{PackError, RefusedSource};
use crate::missing_images::MissingImage;
use crate::source_files::{SOLUTION, SourceDocument, SourceFiles};

/// The findings of completed stages, which later stages extend.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceFaults {
    findings: Findings,
    missing: Vec<MissingImage>,
}

/// The collection of findings during a stage.
#[derive(Debug)]
pub(crate) struct SourceProblems<'a> {
    pub(crate) files: &'a SourceFiles,
    found: SourceFaults,
}

impl<'a> SourceProblems<'a> {
    pub(crate) fn new(files: &'a SourceFiles) -> Self {
        Self::continue_from(files, SourceFaults::default())
    }

    /// Continues the collection after earlier findings.
    pub(crate) fn continue_from(files: &'a SourceFiles, found: SourceFaults) -> Self {
        Self { files, found }
    }

    /// Returns true if there are no findings.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.findings.is_empty()
    }

    /// Returns the findings for the next stage.
    pub(crate) fn into_faults(self) -> SourceFaults {
        self.found
    }

    /// Returns an error if there are findings.
    pub(crate) fn refuse(self) -> Result<(), PackError> {
        if self.is_empty() {
            return Ok(());
        }
        Err(self.refused())
    }

    /// Returns the error with all findings.
    pub(crate) fn refused(self) -> PackError {
        let SourceFaults { findings, missing } = self.found;
        PackError::RefusedSource(Box::new(RefusedSource {
            findings: findings.into_sorted(),
            missing,
        }))
    }

    /// Returns the error for an unreadable `solution.yaml`. No other check is possible then.
    pub(crate) fn unreadable(mut self, error: &ManifestError) -> PackError {
        let files = self.files;
        let document = SourceDocument::first(SOLUTION);
        let mut add = |advice, pointer: &str| {
            let info = source::YAML.with_fix(advice);
            let source = || files.value(&document, pointer);
            self.found.findings.add_in(&info, source, error);
        };
        match error {
            ManifestError::Yaml(yaml) => {
                let info = source::YAML.with_fix(advice::of_cause(yaml.cause()));
                self.at_yaml(&info, Path::new(SOLUTION), yaml);
            }
            ManifestError::Kind { .. } => add(advice::KIND, "/kind"),
            ManifestError::Id(_) => add(advice::ID, "/metadata/name"),
        }
        self.refused()
    }

    /// Adds a finding at a field of `solution.yaml`, such as `spec.images[0]`.
    pub(crate) fn at_field(&mut self, info: &FindingInfo, field: &str, message: impl fmt::Display) {
        let files = self.files;
        let document = SourceDocument::first(SOLUTION);
        let source = || files.value(&document, &field_pointer(field));
        self.found.findings.add_in(info, source, message);
    }

    /// Adds a finding for a file, with a line if it is known.
    pub(crate) fn at_file(
        &mut self,
        info: &FindingInfo,
        path: &Path,
        line: Option<u64>,
        message: impl fmt::Display,
    ) {
        let files = self.files;
        self.found
            .findings
            .add_in(info, || files.file(path, line), message);
    }

    /// Adds a finding for invalid YAML in a file.
    pub(crate) fn at_yaml(&mut self, info: &FindingInfo, path: &Path, error: &YamlError) {
        let files = self.files;
        let source = || files.yaml(path, error);
        self.found
            .findings
            .add_in(info, source, error.without_place());
    }

    /// Adds a finding for a whole document.
    pub(crate) fn at_document(
        &mut self,
        info: &FindingInfo,
        document: &SourceDocument,
        message: impl fmt::Display,
    ) {
        let files = self.files;
        self.found
            .findings
            .add_in(info, || files.value(document, ""), message);
    }

    /// Adds problems of `solution.yaml`.
    pub(crate) fn of_source(
        &mut self,
        problems: impl IntoIterator<Item = Problem>,
        spec: &SourceSpec,
    ) {
        let files = self.files;
        let document = SourceDocument::first(SOLUTION);
        for problem in problems {
            let source = || files.value(&document, &source_pointer(&problem, spec));
            self.found
                .findings
                .add_in(problem.source_finding(), source, &problem);
        }
    }

    /// Adds the problems of a document that are errors. The check of the draft archive reports the other ones.
    pub(crate) fn of_document(
        &mut self,
        problems: impl IntoIterator<Item = Problem>,
        document: &SourceDocument,
    ) {
        let files = self.files;
        for problem in problems.into_iter().filter(is_error) {
            let source = || files.value(document, &problem.pointer());
            self.found
                .findings
                .add_in(problem.source_finding(), source, &problem);
        }
    }

    /// Adds the problems that are errors in a file with several documents.
    pub(crate) fn of_documents(
        &mut self,
        problems: impl IntoIterator<Item = Problem>,
        path: &Path,
    ) {
        let files = self.files;
        for problem in problems.into_iter().filter(is_error) {
            let source = || files.place_in_file(&files.relative_path(path), &problem);
            self.found
                .findings
                .add_in(problem.source_finding(), source, &problem);
        }
    }

    /// Adds an image that an object in this document needs and that `spec.images` does not list.
    pub(crate) fn image(&mut self, missing: MissingImage, document: &SourceDocument) {
        let MissingImage {
            reference, pointer, ..
        } = &missing;
        let files = self.files;
        let message = format_args!("{pointer} is `{reference}`, which spec.images does not list");
        let source = || files.value(document, pointer);
        self.found.findings.add_in(&source::IMAGE, source, message);
        self.found.missing.push(missing);
    }

    /// Adds an image that the chart at this field needs and that `spec.images` does not list.
    pub(crate) fn image_of_chart(&mut self, missing: MissingImage, field: &str) {
        let MissingImage {
            reference,
            place,
            pointer,
        } = &missing;
        let message =
            format_args!("{place}: {pointer} is `{reference}`, which spec.images does not list");
        self.at_field(&source::IMAGE, field, message);
        self.found.missing.push(missing);
    }

    /// Adds an image that cannot be read from its source.
    pub(crate) fn source_of_image(&mut self, failed: &FailedImage, spec: &SourceSpec) {
        let FailedImage { place, from, error } = failed;
        let index = spec.images.iter().position(|image| image.place() == *place);
        let field = index.map(|index| format!("spec.images[{index}].source"));
        let field = field.unwrap_or_else(|| "spec.images".to_owned());
        let error = ErrorChain(error.as_ref());
        let message = format_args!("cannot take image `{place}` from `{from}`: {error}");
        self.at_field(&source::IMAGE_SOURCE, &field, message);
    }

    /// Resolves a path in a field. Paths must stay inside the source directory, so that the directory can be moved and
    /// shared.
    pub(crate) fn resolve_path(&mut self, field: &str, path: &Path) -> Option<PathBuf> {
        let inside = |component| matches!(component, Component::Normal(_) | Component::CurDir);
        if path.components().all(inside) && !path.as_os_str().is_empty() {
            return Some(self.files.directory.join(path));
        }
        let path = path.display();
        let message = format_args!("{field} is `{path}`, which is outside the directory");
        self.at_field(&source::PATH, field, message);
        None
    }

    /// Returns the bytes of a file that a field names. A missing, special or too large file is a finding; other I/O
    /// errors are returned.
    pub(crate) fn read<T>(
        &mut self,
        field: &str,
        read: Result<T, ReadError>,
    ) -> Result<Option<T>, PackError> {
        let error = match read {
            Ok(read) => return Ok(Some(read)),
            Err(error) => error,
        };
        let below = |path: &Path| self.files.relative_path(path);
        let (info, message) = match &error {
            ReadError::Io(path, _) if error.is_missing() => {
                let message = format!("{field} names `{}`, which does not exist", below(path));
                (&source::MISSING, message)
            }
            ReadError::Io(..) => return Err(error.into()),
            ReadError::Kind(path) => {
                let message = format!("{field}: `{}` is not a regular file", below(path));
                (&source::FILE, message)
            }
            ReadError::Size { path, size, limit } => {
                let path = below(path);
                let message =
                    format!("{field}: `{path}` has {size} bytes; at most {limit} are read");
                (&source::FILE, message)
            }
        };
        self.at_field(info, field, message);
        Ok(None)
    }

    /// Adds a finding for files of a set that cannot be read.
    pub(crate) fn add_unreadable(
        &mut self,
        field: &str,
        error: ManifestsError,
    ) -> Result<(), PackError> {
        match error {
            ManifestsError::Read(error) => self.read::<()>(field, Err(error)).map(drop),
            error => {
                self.at_field(&source::FILE, field, format_args!("{field}: {error}"));
                Ok(())
            }
        }
    }

    /// Adds a finding for files of a set that are not objects.
    pub(crate) fn add_unparsed(&mut self, error: &ManifestsError) {
        match error {
            ManifestsError::Yaml(place, source) => {
                let file = Path::new(place.file());
                if source.place().is_some() {
                    self.at_yaml(&of_manifests::YAML, file, source);
                } else {
                    let line = u64::try_from(place.line()).ok();
                    self.at_file(&of_manifests::YAML, file, line, source);
                }
            }
            ManifestsError::Stream(file, source) => {
                self.at_file(&of_manifests::YAML, Path::new(file), None, source);
            }
            ManifestsError::Weight { place, what } => {
                let message = format_args!("from here on the set has more than {what}");
                self.at_document(&of_manifests::BUDGET, &place.into(), message);
            }
            ManifestsError::Twice { one, other, what } => {
                let message = format_args!("defines {what}, as {one} does differently");
                self.at_document(&of_manifests::REPEATED, &other.into(), message);
            }
            ManifestsError::Read(_)
            | ManifestsError::Directory { .. }
            | ManifestsError::Chart(_)
            | ManifestsError::Packed(_) => {
                self.at_field(&source::FILE, "spec.manifests", error);
            }
        }
    }
}

fn is_error(problem: &Problem) -> bool {
    problem.source_finding().severity == Severity::Error
}

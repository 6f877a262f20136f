//! Source trees that package a release unchanged: its files byte for byte, and a `solution.yaml` with its images and
//! namespaces. [`carry`] drafts the tree; [`UnchangedRelease`] is the analysed release, which updates also use.

use std::collections::BTreeMap;
use std::path::Path;

use manifests::{ManifestFile, ManifestFiles, ManifestObject, ManifestObjects, ManifestsError};
use schemas::{
    Phase, SetName, SolutionId, SolutionSource, SourceNamespace, SourceSet, Strategy, Version,
};

use crate::contents::ReleaseObjects;
use crate::images::DraftImages;
use crate::notes;
use crate::paths::{self, MANIFESTS, NOTES, SOURCE};
use crate::{
    InitOptions, ReleaseError, SourceTree, decisions, empty_source, identity, namespaces, write,
};

/// A release with its identity, images, namespaces and notes.
pub(crate) struct UnchangedRelease {
    pub(crate) id: SolutionId,
    /// The version that the release declares. It differs from that of `id` if the user chose another.
    pub(crate) version: Version,
    pub(crate) images: DraftImages,
    /// The release's own namespaces.
    pub(crate) own: Vec<SourceNamespace>,
    pub(crate) notes: Vec<crate::Note>,
    /// The release's files, by path in the tree.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

/// Drafts a source tree with the unchanged files of a release. The tree has a copy of itself, from which later updates
/// are merged.
///
/// # Errors
///
/// Fails if the files cannot be parsed, if there is no valid name or version, and if the result does not meet the rules
/// for a Solution.
pub fn carry(release: &ManifestFiles, options: &InitOptions) -> Result<SourceTree, ReleaseError> {
    let mut tree = UnchangedRelease::of(release, options)?.tree(&release.name)?;
    let copies = tree.files.iter();
    let copies: Vec<_> = copies
        .map(|(path, bytes)| (paths::draft(path), bytes.clone()))
        .collect();
    tree.files.extend(copies);
    tree.files
        .insert(paths::draft("README"), write::DRAFT.into());
    Ok(tree)
}

impl UnchangedRelease {
    /// Analyses a release.
    pub(crate) fn of(release: &ManifestFiles, options: &InitOptions) -> Result<Self, ReleaseError> {
        let mut objects = manifests::parse(&release.files)?;
        refuse_bundle(&objects)?;
        let mut notes = decisions::of_files(release, &objects);
        let files = files(release, !objects.kindless.is_empty())?;
        let starters = rules::starters(objects.all.iter().map(|object| &object.value)).into_iter();
        let starters: Vec<String> = starters.map(str::to_owned).collect();
        let contents = ReleaseObjects::of(std::mem::take(&mut objects.all));
        let main = namespaces::own(&contents, None);
        let main = main.first().map_or("", |namespace| namespace.name.as_str());
        let candidates = identity::of_release(&contents, main);
        let version = candidates.version();
        let id = candidates.choose(options)?;
        let own = namespaces::own(&contents, Some(id.name()));
        let images = contents.images()?;
        notes.extend(decisions::of_objects(&contents, &images, &own));
        let started =
            (!starters.is_empty()).then(|| notes::started(starters.iter().map(String::as_str)));
        notes.extend(started);
        Ok(Self {
            version: version.unwrap_or_else(|| id.version().clone()),
            id,
            images,
            own,
            notes,
            files,
        })
    }

    /// Returns the tree, without the copy for updates. `called` is the name of the release.
    pub(crate) fn tree(&self, called: &str) -> Result<SourceTree, ReleaseError> {
        let source = self.source();
        let mut files = self.files.clone();
        if !self.notes.is_empty() {
            let notes = write::undecided(&self.id, write::RELEASE, called, &self.notes);
            files.insert(NOTES.to_owned(), notes);
        }
        let text = write::carried(&source, &self.images, called)?;
        files.insert(SOURCE.to_owned(), text);
        Ok(SourceTree {
            id: self.id.clone(),
            source,
            files,
            notes: self.notes.clone(),
            named_by: self.images.named_by(),
        })
    }

    fn source(&self) -> SolutionSource {
        let set = SourceSet {
            name: set_name(self.id.name().as_str()),
            files: vec![MANIFESTS.into()],
            namespaces: self.own.clone(),
            patches: Vec::new(),
            pod_templates: Vec::new(),
            needs: Vec::new(),
            strategy: Strategy::Managed,
            when: None,
            phase: Phase::Install,
        };
        let mut source = empty_source(&self.id);
        source.spec.images = self.images.sources();
        source.spec.manifests = vec![set];
        source
    }
}

/// Fails if the release is a bundle for the Operator Lifecycle Manager.
fn refuse_bundle(objects: &ManifestObjects<'_>) -> Result<(), ReleaseError> {
    let is_bundle = |object: &&ManifestObject<'_>| {
        object.group() == "operators.coreos.com" && object.kind() == "ClusterServiceVersion"
    };
    let bundle = objects.all.iter().find(is_bundle);
    bundle.map_or(Ok(()), |object| {
        Err(ReleaseError::Bundle(object.place.clone()))
    })
}

/// Returns the Solution's name if it is valid for a manifest set, else `release`.
fn set_name(name: &str) -> SetName {
    name.parse()
        .unwrap_or_else(|_| "release".parse().expect("`release` is a DNS label"))
}

/// Returns the release's files by path in the tree. Files that hold only documents without a kind are left out, because
/// `pack` rejects these.
fn files(
    release: &ManifestFiles,
    kindless: bool,
) -> Result<BTreeMap<String, Vec<u8>>, ManifestsError> {
    let mut files = BTreeMap::new();
    for file in &release.files {
        let idle = kindless && {
            let objects = manifests::parse(std::slice::from_ref(file))?;
            objects.all.is_empty() && !objects.kindless.is_empty()
        };
        if !idle {
            files.insert(path(file), file.bytes.clone());
        }
    }
    Ok(files)
}

/// Returns the path of a file in the tree, with an extension that `pack` reads. A `kustomization.*` file gets another
/// one, because `pack` would not read it as a manifest.
fn path(file: &ManifestFile) -> String {
    let name = file.name.as_str();
    let extension = Path::new(name)
        .extension()
        .and_then(|extension| extension.to_str());
    let end = match extension {
        Some("yaml" | "yml" | "json") if !name.starts_with("kustomization.") => "",
        _ => ".yaml",
    };
    format!("{MANIFESTS}/{name}{end}")
}

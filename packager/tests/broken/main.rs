//! Tests of broken source trees. For each tree, `pack` reports one finding with its file and line, and accepts the tree
//! after the recommended fix.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod tree;
mod trees;

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use archive::Overwrite;
use fixtures::image::{ImageBuilder, Platform};
use fixtures::layout::OciLayout;
use packager::{ChartRenderer, PackError, PackRequest, Signing, preview};
use progress::{Cancel, Watch};
use rules::catalogue::FINDINGS;
use schemas::StatementTime;
use sources::{CacheOptions, Compression, Remote};
use validator::Finding;

use self::trees::{Broken, TREES};

/// The findings that need Helm. The tests of charts and of their signatures produce them.
const OF_HELM: [&str; 3] = ["source.address", "source.rendering", "source.signature"];

fn findings(tree: &Path) -> Vec<Finding> {
    let request = PackRequest {
        directory: tree.to_owned(),
        output: tree.join("../out.iso"),
        overwrite: Overwrite::Refuse,
        compression: Compression::None,
        signing: Signing::Unsigned,
        time: StatementTime::DEFAULT,
        now: StatementTime::DEFAULT,
        threads: NonZeroUsize::MIN,
        cache: CacheOptions {
            directory: tree.join("../cache"),
            unpack_limit: sources::UNPACK_LIMIT,
        },
        with_referrers: false,
        remote: Remote::default(),
        renderer: ChartRenderer::Nothing,
        keyring: None,
        programs: Vec::new(),
        documentation: None,
        sboms: None,
        scratch: tree.to_owned(),
        judging: validator::FindingRules::default(),
    };
    match preview(&request, &Watch::silent(Cancel::never())) {
        Ok(preview) => preview.judged.findings,
        Err(PackError::RefusedSource(refused)) => refused.findings,
        Err(error) => panic!("{error:?}"),
    }
}

/// Returns all findings except those about missing signatures.
fn of_tree(tree: &Path) -> Vec<Finding> {
    let mut findings = findings(tree);
    findings.retain(|finding| !matches!(finding.id, "signature.unsigned" | "signature.skipped"));
    findings
}

fn check(tree: &Path, broken: &Broken) -> Option<String> {
    tree::write(tree);
    broken.edit.apply(tree);
    let said = of_tree(tree);
    // An invalid name may be reported as such, together with its consequences.
    let in_file =
        |finding: &Finding| finding.source.as_ref().map(|place| &*place.file) == Some(broken.file);
    let is_alone = said.len() == 1 || said.iter().all(in_file);
    let finding = said.iter().find(|finding| finding.id == broken.id);
    let Some(finding) = finding.filter(|_| is_alone) else {
        return Some(format!("{broken:?}\n  says {said:?}"));
    };
    let source = finding.source.clone();
    let text = fs::read_to_string(tree.join(broken.file)).unwrap();
    let line = source
        .as_ref()
        .and_then(|place| place.line)
        .map_or("", |line| {
            let line = usize::try_from(line).unwrap();
            text.lines().nth(line - 1).unwrap_or("no such line").trim()
        });
    let file = source.map(|place| place.file);
    let is_at = line.starts_with(broken.line) && line.is_empty() == broken.line.is_empty();
    if file.as_deref() != Some(broken.file) || !is_at {
        return Some(format!("{broken:?}\n  says {finding:?}\n  of `{line}`"));
    }
    broken.mend.apply(tree);
    let left = of_tree(tree);
    (!left.is_empty()).then(|| format!("{broken:?}\n  is not mended: {left:?}"))
}

/// Creates the valid tree with its images.
fn make(tree: &Path) {
    for name in ["operator", "web"] {
        let image = ImageBuilder::new().platform(Platform::linux("amd64"));
        let image = image.file("/app", name, 0o755).build();
        let layout = OciLayout::create(tree.join("images").join(name)).unwrap();
        layout.add(&image.into(), None).unwrap().finish().unwrap();
    }
    tree::write(tree);
}

/// A publisher who fixes one fault must not find the next one only in the next run.
#[test]
fn what_several_stages_find_is_told_in_one_run() {
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    make(&tree);
    for (file, from, to) in [
        (
            "solution.yaml",
            "source: oci:images/web",
            "source: oci:images/none",
        ),
        ("solution.yaml", "value: info", "value: $(image:none)"),
        (
            "web.yaml",
            "image: r.test/web:1.0.0",
            "image: r.test/other:1",
        ),
    ] {
        let path = tree.join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replace(from, to)).unwrap();
    }
    let told = of_tree(&tree);
    let ids: Vec<&str> = told.iter().map(|finding| finding.id).collect();
    let expected = ["manifest.expansion", "source.image", "source.image-source"];
    assert_eq!(
        BTreeSet::from_iter(ids),
        BTreeSet::from(expected),
        "{told:?}"
    );
    assert_eq!(told.len(), 3, "each is told once: {told:?}");
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_mended_by_what_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    make(&tree);
    assert_eq!(of_tree(&tree), []);
    let failed: Vec<String> = TREES
        .iter()
        .filter_map(|broken| check(&tree, broken))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let ids: BTreeSet<&str> = TREES.iter().map(|broken| broken.id).collect();
    let of_sources = FINDINGS.iter().filter(|info| info.group() == "source");
    let untold = of_sources.filter(|info| !ids.contains(info.id) && !OF_HELM.contains(&info.id));
    assert_eq!(untold.map(|info| info.id).collect::<Vec<_>>(), [""; 0]);
    let groups = ids.iter().filter_map(|id| id.split('.').next());
    let groups: BTreeSet<&str> = groups.collect();
    for group in [
        "source",
        "manifest",
        "images",
        "operator",
        "manifests",
        "charts",
    ] {
        assert!(groups.contains(group), "{group}");
    }
}

//! Tests of the signature rules, the contents of reports, and the contents of accepted archives.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use progress::{Cancel, Progress, Watch};
use schemas::{PayloadType, SolutionId, StatementTime, TrustPolicy, TrustSpec, TrustedKey};
use signing::{Policies, Policy, SecretKey, Trust};
use validator::{
    AllowUnsigned, ArchiveVerdict, CheckDepth, CheckOptions, Report, SignaturePolicy, TrustedKeys,
    check,
};

use crate::archives::{Archive, ids, key, options};
use crate::source::{CRD, MANIFEST, Source, child, id, index, sha256};

/// The findings that the tests below produce.
pub(crate) const PRODUCED: &[&str] = &[
    "signature.unsigned",
    "signature.untrusted",
    "signature.threshold",
    "signature.detached",
    "signature.skipped",
    "signature.allowed-unsigned",
    "signature.expired",
];

fn trusting(keys: &[&SecretKey], threshold: usize) -> CheckOptions {
    let keys = keys.iter().map(|key| key.public()).collect();
    CheckOptions {
        signatures: SignaturePolicy::Check {
            trust: Some(
                Trust::new(keys, NonZeroUsize::new(threshold))
                    .unwrap()
                    .into(),
            ),
            allow_unsigned: None,
        },
        ..options()
    }
}

fn allowing(id: SolutionId) -> CheckOptions {
    CheckOptions {
        signatures: SignaturePolicy::Check {
            trust: None,
            allow_unsigned: Some(AllowUnsigned(id)),
        },
        ..options()
    }
}

/// Returns a policy with one key for these Solutions.
fn policy(name: &str, solutions: &str, key: &SecretKey) -> Policy {
    let spec = TrustSpec {
        solutions: vec![solutions.parse().unwrap()],
        threshold: None,
        keys: vec![TrustedKey {
            comment: None,
            pem: key.public().to_pem(),
        }],
    };
    Policy::new(&TrustPolicy::new(name.parse().unwrap(), spec)).unwrap()
}

fn by_policies(policies: Vec<Policy>) -> CheckOptions {
    CheckOptions {
        signatures: SignaturePolicy::Check {
            trust: Some(TrustedKeys::Policies(Policies::new(policies).unwrap())),
            allow_unsigned: None,
        },
        ..options()
    }
}

fn unsigned() -> Archive {
    Archive::unsigned(Source::good().unsigned())
}

/// Checks that the report has exactly this finding and verdict; returns its message.
fn only(report: &Report, id: &str, verdict: ArchiveVerdict) -> String {
    assert_eq!(ids(report), [id], "{:#?}", report.findings());
    assert_eq!(report.verdict(), verdict);
    report.findings()[0].message.clone()
}

#[test]
fn the_policy_for_the_solution_decides() {
    let archive = Archive::signed(&Source::good());
    let stranger = SecretKey::generate().unwrap();
    let name = id().name().to_string();
    let report = archive.report_with(&by_policies(vec![
        policy("all", "*", &stranger),
        policy("mine", &name, key()),
    ]));
    assert_eq!(report.verdict(), ArchiveVerdict::Accepted);
    let judged = report.summary().judged.as_ref().unwrap();
    assert_eq!(judged.policy.as_ref().unwrap().as_str(), "mine");
    assert_eq!((judged.keys, judged.threshold), (1, 1));
    // The publisher's key is trusted for all other Solutions, but not for this one.
    let report = archive.report_with(&by_policies(vec![
        policy("all", "*", key()),
        policy("mine", &name, &stranger),
    ]));
    only(&report, "signature.untrusted", ArchiveVerdict::Refused);
    assert!(report.summary().signers.is_empty());
    let report = archive.report_with(&by_policies(vec![policy("other", "other", key())]));
    let message = only(&report, "signature.untrusted", ArchiveVerdict::Refused);
    assert!(
        message.contains(&format!("no policy of this site covers `{name}`")),
        "{message}"
    );
    assert_eq!(report.summary().judged, None);
}

#[test]
fn an_accepted_archive_gives_everything_the_import_needs() {
    let archive = Archive::signed(&Source::good());
    for depth in [CheckDepth::Everything, CheckDepth::Documents] {
        let options = CheckOptions { depth, ..options() };
        let accepted = archive.report_with(&options).accept().unwrap();
        assert_eq!(accepted.statement().predicate.id, id());
        assert_eq!(accepted.archive_id(), sha256(archive.envelope().payload()));
        assert_eq!(accepted.signers().unwrap().trusted, [key().public().id()]);
        assert_eq!(accepted.manifest().spec.images.len(), 2);
        assert_eq!(
            accepted.crds()[0].document["spec"]["names"]["kind"],
            "Server"
        );
        assert_eq!(accepted.roles().len(), 2);
        let [operator, server] = accepted.images() else {
            panic!("{:?}", accepted.images());
        };
        assert_eq!(operator.documents().count(), 1);
        assert_eq!(server.place.to_string(), "server:1.0.0");
        assert_eq!(
            server.reference.as_ref().unwrap().as_str(),
            "registry.example.test/org/server:1"
        );
        assert_eq!(server.root.media_type.as_str(), crate::source::INDEX);
        assert_eq!(server.root.digest, sha256(&server.root.bytes));
        assert_eq!(server.documents().count(), 3);
        let platforms: Vec<String> = server.platforms.iter().map(ToString::to_string).collect();
        assert_eq!(platforms, ["linux/amd64", "linux/arm64"]);
        let layer = sha256(b"layer for arm64");
        assert_eq!(server.blobs[&layer], 15);
        let mut bytes = [0; 15];
        accepted
            .blob(&layer)
            .unwrap()
            .read_exact_at(&mut bytes, 0)
            .unwrap();
        assert_eq!(&bytes, b"layer for arm64");
        assert!(accepted.blob(&sha256(b"nowhere")).is_none());
    }
}

#[test]
fn an_accepted_archive_gives_charts_and_their_definitions() {
    let mut source = Source::good();
    let own = source.text(CRD);
    let other = own.replace("servers", "others").replace("Server", "Other");
    let both = format!("{own}---\n{other}");
    source.chart(&[("crds/a.yaml", &both), ("charts/_a/crds/a.yaml", "x")]);
    let accepted = Archive::signed(&source).report().accept().unwrap();
    let found = accepted.crds().iter();
    let found = found.map(|definition| {
        (
            definition.path.as_str(),
            &definition.document["metadata"]["name"],
        )
    });
    let found: Vec<_> = found
        .map(|(path, name)| (path, name.as_str().unwrap()))
        .collect();
    let tgz = "charts/web/chart.tgz";
    let expected = [(CRD, "servers.example.test"), (tgz, "others.example.test")];
    assert_eq!(found, expected);
    let [chart] = accepted.charts() else {
        panic!("{:?}", accepted.charts());
    };
    assert_eq!(chart.release, accepted.manifest().spec.charts[0]);
    assert_eq!(chart.archive, source.files[tgz]);
    assert_eq!(chart.digest, sha256(&chart.archive));
    let tag = &chart.values["image"]["tag"];
    assert_eq!(tag, "$(image.tag:server)");
}

#[test]
fn an_accepted_archive_gives_definitions_that_a_webhook_converts_with_their_chart() {
    let mut source = Source::good();
    let own = source.text(CRD);
    let other = own.replace("servers", "others").replace("Server", "Other");
    let webhook = "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: a, namespace: b}}}}\n";
    let converted = other.replace("  scope:", &format!("{webhook}  scope:"));
    source.chart(&[("crds/a.yaml", &format!("{own}---\n{converted}"))]);
    source.requires = vec!["charts-1.1.0".parse().unwrap()];
    let accepted = Archive::signed(&source).report().accept().unwrap();
    let [shared] = accepted.crds() else {
        panic!("{:?}", accepted.crds());
    };
    assert_eq!(shared.path.as_str(), CRD);
    let name = |definition: &validator::PackagedDefinition| {
        definition.document["metadata"]["name"].clone()
    };
    let converted: Vec<_> = accepted.converted_crds().map(name).collect();
    assert_eq!(converted, ["others.example.test"]);
    let of_chart: Vec<_> = accepted.charts()[0].definitions.iter().map(name).collect();
    assert_eq!(of_chart, converted);
}

#[test]
fn a_document_that_is_named_twice_is_there_once() {
    let mut source = Source::good();
    let image = &mut source.images[1];
    let first = child(MANIFEST, &image.documents[0], "amd64");
    let second = child(MANIFEST, &image.documents[1], "arm64");
    image.root = index(&[first.clone(), second, first]);
    let accepted = Archive::signed(&source).report().accept().unwrap();
    assert_eq!(accepted.images()[1].documents().count(), 3);
}

/// Layers are verified while they are pushed; the check verifies everything else.
#[test]
fn documents_can_be_checked_without_reading_layers() {
    let options = CheckOptions {
        depth: CheckDepth::Documents,
        ..options()
    };
    for (text, found) in [
        ("layer for arm64", &[][..]),
        ("kind: Solution", &["integrity.damaged"]),
        ("kind: ClusterRole", &["integrity.damaged"]),
        ("\"rootfs\"", &["integrity.damaged"]),
    ] {
        let archive = Archive::signed(&Source::good());
        let bytes = archive.bytes();
        let at = bytes
            .windows(text.len())
            .position(|window| window == text.as_bytes());
        let archive = archive.put(at.unwrap(), b"#");
        assert_eq!(ids(&archive.report_with(&options)), found, "{text}");
    }
}

#[test]
fn nobody_vouches_for_unsigned_archives() {
    only(
        &unsigned().report(),
        "signature.unsigned",
        ArchiveVerdict::Refused,
    );
    let other = SolutionId::new("example".parse().unwrap(), "1.0.1".parse().unwrap()).unwrap();
    let message = only(
        &unsigned().report_with(&allowing(other)),
        "signature.unsigned",
        ArchiveVerdict::Refused,
    );
    assert!(message.contains("only example-1.0.1"), "{message}");
    let report = unsigned().report_with(&allowing(id()));
    only(
        &report,
        "signature.allowed-unsigned",
        ArchiveVerdict::Accepted,
    );
    assert!(report.accept().unwrap().signers().is_none());
}

#[test]
fn allowing_an_unsigned_archive_allows_no_signature_that_is_not_trusted() {
    let archive = Archive::signed(&Source::good());
    let message = only(
        &archive.report_with(&allowing(id())),
        "signature.untrusted",
        ArchiveVerdict::Refused,
    );
    assert!(message.contains(&key().public().id().short()), "{message}");
}

#[test]
fn the_threshold_counts_trusted_keys() {
    let [second, stranger] = [(); 2].map(|()| SecretKey::generate().unwrap());
    let archive = Archive::signed_by(Source::good().unsigned(), &[key(), &stranger]);
    let message = only(
        &archive.report_with(&trusting(&[key(), &second], 2)),
        "signature.threshold",
        ArchiveVerdict::Refused,
    );
    assert!(
        message.starts_with("signed by 1 of 2 trusted keys: by key "),
        "{message}"
    );
    assert!(message.contains(&key().public().id().short()), "{message}");
    assert!(
        message.contains(&stranger.public().id().short()),
        "{message}"
    );
    only(
        &archive.report_with(&trusting(&[&second], 1)),
        "signature.untrusted",
        ArchiveVerdict::Refused,
    );
    let report = archive.report_with(&trusting(&[key(), &second], 1));
    assert_eq!(report.summary().signers, [key().public().id()]);
    assert_eq!(report.verdict(), ArchiveVerdict::Accepted);
}

#[test]
fn nothing_of_an_archive_without_trusted_signature_is_interpreted() {
    let mut source = Source::good();
    source.put("manifest.yaml", "[");
    let stranger = SecretKey::generate().unwrap();
    let report = Archive::signed_by(source.unsigned(), &[&stranger]).report();
    only(&report, "signature.untrusted", ArchiveVerdict::Refused);
    assert_eq!(report.summary().solution, None);
    assert_eq!(report.summary().files, None);
}

#[test]
fn skipping_signatures_checks_the_rest_and_accepts_nothing() {
    let options = CheckOptions {
        signatures: SignaturePolicy::Skip,
        ..options()
    };
    let report = unsigned().report_with(&options);
    only(&report, "signature.skipped", ArchiveVerdict::Unvouched);
    let report = report.accept().unwrap_err();
    assert_eq!(report.summary().images, Some(2));
    let mut source = Source::good();
    source.remove(crate::source::CRD);
    source.edit("manifest.yaml", "name: example\n", "name: other\n");
    let report = Archive::signed(&source).report_with(&options);
    assert_eq!(ids(&report), ["signature.skipped", "manifest.identity"]);
    assert!(report.accept().is_err());
}

#[test]
fn signatures_beside_the_archive_count_when_they_are_about_it() {
    let archive = unsigned();
    let mut detached = archive.envelope();
    detached
        .add(key().sign(PayloadType::Statement, detached.payload()))
        .unwrap();
    let mut other = schemas::Envelope::new(b"{}".to_vec()).unwrap();
    other
        .add(key().sign(PayloadType::Statement, other.payload()))
        .unwrap();
    let with = |envelope| CheckOptions {
        detached: vec![envelope],
        ..options()
    };
    let report = archive.report_with(&with(detached));
    assert_eq!(ids(&report), [""; 0]);
    assert!(report.accept().is_ok());
    only(
        &archive.report_with(&with(other)),
        "signature.detached",
        ArchiveVerdict::Refused,
    );
}

#[test]
fn expiry_warns_only() {
    let time = |text: &str| Some(text.parse::<StatementTime>().unwrap());
    let mut source = Source::good();
    source.expires = time("2030-01-01T00:00:00Z");
    let archive = Archive::signed(&source);
    let at = |now| archive.report_with(&CheckOptions { now, ..options() });
    assert_eq!(ids(&at(None)), [""; 0]);
    assert_eq!(ids(&at(time("2030-01-01T00:00:00Z"))), [""; 0]);
    let message = only(
        &at(time("2030-01-01T00:00:01Z")),
        "signature.expired",
        ArchiveVerdict::Accepted,
    );
    assert!(message.contains("2030-01-01"), "{message}");
}

#[test]
fn damage_is_told_in_words_that_help() {
    let archive = Archive::signed(&Source::good());
    let bytes = archive.bytes();
    let layer = b"layer for arm64";
    let at = bytes
        .windows(layer.len())
        .position(|window| window == layer)
        .unwrap();
    let report = archive.put(at, b"L").report();
    let finding = &report.findings()[0];
    let expected = format!(
        "is not what key {} signed: damaged or altered",
        key().public().id().short()
    );
    assert_eq!(finding.message, expected);
    assert!(
        finding.place.ends_with(&sha256(layer).hex()),
        "{}",
        finding.place
    );
    assert!(
        finding
            .fix
            .contains("again from the source; if it fails again, treat it as tampering")
    );
}

/// The JSON fields are a stable interface for scripts.
#[test]
fn the_report_as_json() {
    let mut source = Source::good();
    source.edit("manifest.yaml", "display-name", "name");
    let archive = Archive::signed(&source);
    let report = archive.report();
    let json = serde_json::to_value(&report).unwrap();
    let expected = serde_json::json!({
        "archive": archive.path(),
        "archiveId": sha256(archive.envelope().payload()),
        "solution": "example",
        "version": "1.0.0",
        "signers": [key().public().id().to_string()],
        "judged": {"policy": null, "keys": 1, "threshold": 1},
        "size": archive.bytes().len(),
        "bytesBehind": 0,
        "files": report.summary().files.unwrap(),
        "images": 2,
        "findings": [{
            "id": "practice.display-name",
            "severity": "warning",
            "place": "manifest.yaml",
            "message": "metadata.annotations has no solutions.metalk8s.scality.com/display-name",
            "fix": "add the annotation solutions.metalk8s.scality.com/display-name",
        }],
        "verdict": "accepted",
    });
    assert_eq!(json, expected);
}

#[test]
fn what_cannot_be_found_out_is_no_finding() {
    let missing = tempfile::tempdir().unwrap().path().join("none.iso");
    let cancelled = AtomicBool::new(true);
    let watch = Watch::silent(Cancel::from_flag(&cancelled));
    let error = check(&missing, &options(), &watch).unwrap_err();
    assert!(error.to_string().starts_with("cannot open"), "{error}");
    let archive = Archive::signed(&Source::good());
    for depth in [CheckDepth::Everything, CheckDepth::Documents] {
        let options = CheckOptions { depth, ..options() };
        let error = check(&archive.path(), &options, &watch).unwrap_err();
        assert_eq!(error.to_string(), "interrupted");
    }
    let directory = tempfile::tempdir().unwrap();
    let report = check(directory.path(), &options(), &watch).unwrap();
    only(&report, "container.not-iso", ArchiveVerdict::Refused);
}

#[test]
fn progress_ends_with_all_bytes() {
    let seen: Mutex<Vec<Progress>> = Mutex::default();
    let archive = Archive::signed(&Source::good());
    let watch = Watch {
        tell: &|progress| seen.lock().unwrap().push(progress),
        cancel: Cancel::never(),
    };
    check(&archive.path(), &options(), &watch).unwrap();
    let seen = seen.into_inner().unwrap();
    let last = seen.iter().map(|progress| progress.done).max().unwrap();
    assert!(
        seen.iter().all(|progress| progress.total == last),
        "{seen:?}"
    );
}

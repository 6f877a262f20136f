//! Tests of all findings. They change one good archive, written by the packing stages, in many named ways. Each change
//! must produce exactly the expected findings, and together they produce every finding of the catalogue.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod archives;
mod charts;
mod cluster;
mod mistakes;
mod prerequisites;
mod programs;
mod sets;
mod source;
mod stages;
mod statements;
mod tampering;
mod templates;

use std::collections::BTreeSet;

use archives::{Archive, ids};
use rules::catalogue::FINDINGS;
use source::Source;
use validator::ArchiveVerdict;

/// Findings that a small archive cannot produce. Unit tests produce them.
const TESTED_BESIDE_THE_CODE: [&str; 5] = [
    "charts.budget",
    "images.budget",
    "manifests.budget",
    "operator.budget",
    "programs.size",
];

#[test]
fn mistakes_of_publishers_are_found() {
    let tables = [
        mistakes::MANIFESTS,
        mistakes::IMAGES,
        mistakes::OPERATORS,
        cluster::CASES,
        sets::CASES,
        charts::CASES,
        programs::CASES,
        templates::CASES,
        prerequisites::CASES,
    ];
    for (name, change, expected) in tables.concat() {
        let mut source = Source::good();
        change(&mut source);
        let report = Archive::signed(&source).report();
        assert_eq!(ids(&report), expected, "{name}: {:#?}", report.findings());
    }
}

#[test]
fn tampering_is_found() {
    let good = Archive::signed(&Source::good()).bytes();
    for (name, change, expected) in tampering::CASES {
        let mut bytes = good.clone();
        change(&mut bytes);
        let report = Archive::from_bytes(&bytes).report();
        assert_eq!(ids(&report), *expected, "{name}: {:#?}", report.findings());
        let verdict = if expected.is_empty() {
            ArchiveVerdict::Accepted
        } else {
            ArchiveVerdict::Refused
        };
        assert_eq!(report.verdict(), verdict, "{name}");
    }
}

/// No byte may change: each one belongs to a statement, a signature, metadata or data.
#[test]
fn every_flipped_byte_is_found() {
    let mut bytes = Archive::signed(&Source::good()).bytes();
    let (mut random, length) = (1_u64, bytes.len());
    for _ in 0..100 {
        // Knuth's MMIX generator; any fixed sequence is sufficient.
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let at = usize::try_from(random >> 33).unwrap() % length;
        bytes[at] ^= 0x20;
        let report = Archive::from_bytes(&bytes).report();
        assert_eq!(report.verdict(), ArchiveVerdict::Refused, "byte {at}");
        bytes[at] ^= 0x20;
    }
}

#[test]
fn signed_nonsense_is_found() {
    for (name, archive, expected) in statements::CASES {
        let report = archive().report();
        assert_eq!(ids(&report), *expected, "{name}: {:#?}", report.findings());
    }
}

#[test]
fn foreign_layers_are_accepted_where_the_statement_requires_readers_to_know_of_them() {
    let mut source = Source::good();
    mistakes::elsewhere(&mut source);
    source.requires = vec![archive::Feature::ForeignLayers.capability()];
    let report = Archive::signed(&source).report();
    assert!(ids(&report).is_empty(), "{:#?}", report.findings());
}

#[test]
fn every_finding_has_a_case() {
    let tables = [
        mistakes::MANIFESTS,
        mistakes::IMAGES,
        mistakes::OPERATORS,
        cluster::CASES,
        sets::CASES,
        charts::CASES,
        programs::CASES,
        templates::CASES,
        prerequisites::CASES,
    ];
    let mistakes = tables.concat().into_iter().flat_map(|(_, _, ids)| ids);
    let produced: BTreeSet<&str> = mistakes
        .chain(tampering::CASES.iter().flat_map(|(_, _, ids)| *ids))
        .chain(statements::CASES.iter().flat_map(|(_, _, ids)| *ids))
        .chain(stages::PRODUCED)
        .copied()
        .chain(TESTED_BESIDE_THE_CODE)
        .collect();
    // The packager tests the findings about source trees, and `tests/interop` has a vulnerability database.
    let others = ["source", "vulnerabilities"];
    let all = FINDINGS
        .iter()
        .filter(|info| !others.contains(&info.group()));
    let all: BTreeSet<&str> = all.map(|info| info.id).collect();
    assert_eq!(produced, all);
}

//! The definitions of custom resources of an archive: those of the operator, and behind them those in `crds/` of its charts,
//! which an import applies in the same way. All of them share the budgets of the operator's files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use archive::OpenError;
use charts::{Chart, ChartFile};
use schemas::{ArchivePath, ContentsEntry, Digest, DocumentCost};
use serde_json::Value;

use crate::files::ListedFiles;
use crate::finding::Findings;
use rules::Problem;
use rules::catalogue::FindingInfo;
use rules::catalogue::charts::{BUDGET, DEFINITION, DEFINITION_METADATA};

/// A custom resource definition, with the file it stands in.
#[derive(Clone, Debug, PartialEq)]
pub struct CarriedDefinition {
    /// The file of the definition; that of the chart where it stands in one.
    pub path: ArchivePath,
    /// The document.
    pub document: Value,
}

/// The definitions that were read so far, and what they cost.
#[derive(Debug, Default)]
pub struct CarriedDefinitions {
    list: Vec<CarriedDefinition>,
    /// The position of each name in the list.
    places: BTreeMap<String, usize>,
    /// Bytes of the files.
    size: u64,
    cost: DocumentCost,
    /// The charts that were looked at, since several releases may have the same; with the names of their definitions that a
    /// webhook converts.
    charts: BTreeMap<Digest, BTreeSet<String>>,
}

/// The definitions of an archive, by who owns them in a cluster.
#[derive(Debug)]
pub(crate) struct OwnedDefinitions {
    /// Those that all environments share.
    pub(crate) shared: Vec<CarriedDefinition>,
    /// Those of each chart that a webhook converts: one environment owns each.
    pub(crate) of_charts: BTreeMap<Digest, Arc<[CarriedDefinition]>>,
}

impl CarriedDefinitions {
    /// Starts with those of the operator, of whose files this is the size and the cost.
    pub(crate) fn of_operator(list: Vec<CarriedDefinition>, size: u64, cost: DocumentCost) -> Self {
        let mut places = BTreeMap::new();
        for (place, definition) in list.iter().enumerate() {
            let name = rules::definition_name(&definition.document);
            // That two files define the same is a finding already.
            places.extend(name.map(|name| (name.to_owned(), place)));
        }
        Self {
            list,
            places,
            size,
            cost,
            charts: BTreeMap::new(),
        }
    }

    /// All of them.
    pub(crate) fn list(&self) -> &[CarriedDefinition] {
        &self.list
    }

    /// Whether a webhook converts one of a chart, which earlier readers refuse.
    #[must_use]
    pub fn are_converted(&self) -> bool {
        self.charts.values().any(|converted| !converted.is_empty())
    }

    pub(crate) fn into_owned(self) -> OwnedDefinitions {
        let named = |name: &String| self.list[self.places[name]].clone();
        let of_charts = self.charts.iter();
        let of_charts = of_charts.map(|(chart, names)| (*chart, names.iter().map(named).collect()));
        let of_charts = of_charts.collect();
        let is_shared = |it: &CarriedDefinition| !rules::converts_by_webhook(&it.document);
        let shared = self.list.into_iter().filter(is_shared).collect();
        OwnedDefinitions { shared, of_charts }
    }

    /// Adds those of the chart in this file, after they were judged.
    pub(crate) fn add_chart(
        &mut self,
        entry: &ContentsEntry,
        chart: &Chart,
        files: &ListedFiles<'_>,
        findings: &mut Findings,
    ) -> Result<(), OpenError> {
        if !self.begin(entry.digest) {
            return Ok(());
        }
        for file in chart.definition_files() {
            files.go_on()?;
            let mut tell = |info: &'static FindingInfo, words: String| {
                findings.add(info, &entry.path, words);
            };
            if let Err(problem) = self.add_file(&entry.path, entry.digest, file, &mut tell) {
                let message = format_args!("with those of crds/, {problem}");
                findings.add(&BUDGET, &entry.path, message);
                break;
            }
        }
        Ok(())
    }

    /// Judges those of a chart that will be in this file. There may be no archive yet.
    pub fn judge_chart(
        &mut self,
        path: &ArchivePath,
        digest: Digest,
        chart: &Chart,
    ) -> Vec<(&'static FindingInfo, String)> {
        let mut found = Vec::new();
        if !self.begin(digest) {
            return found;
        }
        for file in chart.definition_files() {
            let mut tell = |info, words| found.push((info, words));
            if let Err(problem) = self.add_file(path, digest, file, &mut tell) {
                found.push((&BUDGET, format!("with those of crds/, {problem}")));
                break;
            }
        }
        found
    }

    /// Whether a chart is one that was not looked at yet.
    fn begin(&mut self, chart: Digest) -> bool {
        let is_new = !self.charts.contains_key(&chart);
        self.charts.entry(chart).or_default();
        is_new
    }

    /// Adds those of one file, unless all files together hold too much.
    fn add_file(
        &mut self,
        path: &ArchivePath,
        chart: Digest,
        file: ChartFile<'_>,
        tell: &mut impl FnMut(&'static FindingInfo, String),
    ) -> Result<(), Problem> {
        self.size = self.size.saturating_add(file.bytes.len() as u64);
        self.check_budget()?;
        let documents = match charts::read_documents(file.bytes) {
            Ok(documents) => documents,
            Err(error) => {
                tell(&DEFINITION, format!("{}: {error}", file.path));
                return Ok(());
            }
        };
        for document in &documents {
            self.cost.add(document);
        }
        self.check_budget()?;
        for (number, document) in (1..).zip(documents) {
            let tell = |info, words: &dyn std::fmt::Display| {
                tell(info, format!("{}, document {number}: {words}", file.path));
            };
            self.add(path, chart, document, tell);
        }
        self.check_budget()
    }

    /// Adds a document, unless it is none that an import applies. Helm would take the first of several of one name; which
    /// one that is, nobody who reads the charts can tell.
    fn add(
        &mut self,
        path: &ArchivePath,
        chart: Digest,
        document: Value,
        mut tell: impl FnMut(&'static FindingInfo, &dyn std::fmt::Display),
    ) {
        let name = rules::definition_name(&document);
        if let Some(name) = name.filter(|_| rules::converts_by_webhook(&document)) {
            let converted = self.charts.entry(chart).or_default();
            converted.insert(name.to_owned());
        }
        let known = name.and_then(|name| Some((name, &self.list[*self.places.get(name)?])));
        if let Some((name, first)) = known {
            if first.document != document {
                let first = match &first.path {
                    there if there == path => "before",
                    there => there.as_str(),
                };
                let words = format_args!("defines `{name}` differently than {first}");
                tell(&DEFINITION, &words);
            }
            return;
        }
        for problem in rules::definition_of_chart(&document) {
            tell(info(&problem), &problem);
        }
        if let Some(name) = name.map(ToOwned::to_owned) {
            self.places.insert(name, self.list.len());
            let path = path.clone();
            self.list.push(CarriedDefinition { path, document });
        }
    }

    fn check_budget(&self) -> Result<(), Problem> {
        rules::check_files(self.list.len(), self.size)?;
        rules::check_cost(self.cost)
    }
}

/// Returns the finding of a chart with such a problem in `crds/`.
fn info(problem: &Problem) -> &'static FindingInfo {
    match problem {
        Problem::Withheld(_) => &DEFINITION_METADATA,
        _ => &DEFINITION,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use schemas::{Contents, yaml};
    use watch::Cancel;

    use super::*;
    use crate::files::ReadProblem;
    use rules::limits::{OPERATOR_DEFINITIONS, OPERATOR_FILES};

    fn definition(name: &str) -> String {
        format!(
            "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: {name}.c.test}}, \
             spec: {{group: c.test, scope: Cluster, names: {{plural: {name}, kind: K{name}}}, versions: \
             [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]}}}}"
        )
    }

    /// Adds so many charts, all with these files and each with a digest of its own, and gives what is found.
    fn found(
        definitions: &mut CarriedDefinitions,
        count: u8,
        files: &[(&str, String)],
    ) -> Vec<String> {
        let metadata = (
            "Chart.yaml",
            "{apiVersion: v2, name: web, version: 1.0.0}".to_owned(),
        );
        let files = [metadata].into_iter().chain(files.iter().cloned());
        let files = files.map(|(path, text)| (path.to_owned(), text.into_bytes()));
        let archive = charts::package(&files.collect::<BTreeMap<_, _>>()).unwrap();
        let chart = Chart::read(&archive).unwrap();
        let contents = Contents::new(Vec::new()).unwrap();
        let read = |path: &str, _| -> Result<_, ReadProblem> { panic!("{path} was read") };
        let files = ListedFiles::new(&contents, &read, Cancel::never());
        let mut findings = Findings::default();
        for number in 0..count {
            let entry = ContentsEntry {
                path: format!("charts/web{number}/chart.tgz").parse().unwrap(),
                size: 0,
                digest: Digest::new([number; 32]),
            };
            let added = definitions.add_chart(&entry, &chart, &files, &mut findings);
            added.unwrap();
        }
        let findings = findings.into_sorted().into_iter();
        let words = findings.map(|it| format!("{} {}: {}", it.id, it.place, it.message));
        words.collect()
    }

    fn over(words: &str) -> Vec<String> {
        vec![format!(
            "charts.budget charts/web0/chart.tgz: with those of crds/, {words}"
        )]
    }

    #[test]
    fn all_files_together_have_one_budget() {
        let one = [("crds/a.yaml", definition("as"))];
        let size = OPERATOR_FILES - one[0].1.len() as u64;
        let mut full = CarriedDefinitions::of_operator(Vec::new(), size, DocumentCost::default());
        assert_eq!(found(&mut full, 1, &one), [""; 0]);
        let mut full =
            CarriedDefinitions::of_operator(Vec::new(), size + 1, DocumentCost::default());
        let words = over("the files have 67108865 bytes; at most 67108864 are read");
        assert_eq!(found(&mut full, 1, &one), words);
        let definitions = (0..OPERATOR_DEFINITIONS).map(|number| CarriedDefinition {
            path: "operator/a".parse().unwrap(),
            document: yaml::from_slice(definition(&format!("x{number}")).as_bytes()).unwrap(),
        });
        let list = definitions.collect();
        let mut full = CarriedDefinitions::of_operator(list, 0, DocumentCost::default());
        let known = [("crds/a.yaml", definition("x7"))];
        assert_eq!(found(&mut full, 1, &known), [""; 0]);
        let mut list = full.list;
        assert_eq!(list.len(), OPERATOR_DEFINITIONS);
        let mut full =
            CarriedDefinitions::of_operator(list.split_off(0), 0, DocumentCost::default());
        let words = over("there are 10001 CRDs; at most 10000 are read");
        assert_eq!(found(&mut full, 1, &one), words);
    }

    #[test]
    fn what_the_files_hold_is_bounded() {
        let values = format!("[{}]", "0,".repeat(200_000));
        let paths = (0..11).map(|number| format!("crds/{number}.yaml"));
        let paths: Vec<String> = paths.collect();
        let files = paths.iter().map(|path| (path.as_str(), values.clone()));
        let files: Vec<_> = files.collect();
        let words = found(&mut CarriedDefinitions::default(), 1, &files);
        let budget = over("the files hold more than 2000000 values");
        assert_eq!(words.first(), budget.first(), "{words:#?}");
        let aliases = format!("[&a {}{}]", "x".repeat(1_000_000), ", *a".repeat(39));
        let files = [("crds/a.yaml", aliases.clone()), ("crds/b.yaml", aliases)];
        let words = found(&mut CarriedDefinitions::default(), 1, &files);
        let budget = over("the files hold more than 67108864 bytes of text");
        assert_eq!(words.first(), budget.first(), "{words:#?}");
    }

    #[test]
    fn a_definition_that_several_charts_have_is_taken_once() {
        let one = [("crds/a.yaml", definition("as"))];
        let mut definitions = CarriedDefinitions::default();
        assert_eq!(found(&mut definitions, 3, &one), [""; 0]);
        let size = definitions.size;
        // Releases of one chart cost no more than one.
        assert_eq!(found(&mut definitions, 3, &one), [""; 0]);
        assert_eq!(definitions.size, size);
        let mut list = definitions.list;
        assert_eq!(list.len(), 1);
        list[0].path = "operator/a".parse().unwrap();
        let mut definitions = CarriedDefinitions::of_operator(list, 0, DocumentCost::default());
        let other = definition("as").replace("scope: Cluster", "scope: Namespaced");
        let other = format!("{}\n---\n{other}", definition("bs"));
        assert_eq!(
            found(&mut definitions, 1, &[("crds/b.yaml", other)]),
            [
                "charts.definition charts/web0/chart.tgz: crds/b.yaml, document 2: defines `as.c.test` differently than operator/a"
            ]
        );
    }
}

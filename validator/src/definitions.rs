//! The custom resource definitions of an archive: those of the operator, and those in `crds/` of its charts, which an
//! import applies in the same way. [`PackagedDefinitions`] collects and checks them. All share the limits for files of
//! the operator.

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

/// A custom resource definition and its file.
#[derive(Clone, Debug, PartialEq)]
pub struct PackagedDefinition {
    /// The file of the definition, or the chart that contains it.
    pub path: ArchivePath,
    /// The document of the definition.
    pub document: Value,
}

/// The definitions that were read so far, and their cost.
#[derive(Debug, Default)]
pub struct PackagedDefinitions {
    list: Vec<PackagedDefinition>,
    /// The index of each definition in `list`, by name.
    places: BTreeMap<String, usize>,
    /// The total size of the files in bytes.
    size: u64,
    cost: DocumentCost,
    /// The charts that were checked, with the names of their definitions that use webhook conversion. Several releases
    /// may have the same chart.
    charts: BTreeMap<Digest, BTreeSet<String>>,
}

/// The definitions of an archive, grouped by their owner in a cluster.
#[derive(Debug)]
pub(crate) struct OwnedDefinitions {
    /// The definitions that all environments share.
    pub(crate) shared: Vec<PackagedDefinition>,
    /// The definitions of each chart that use webhook conversion. One environment owns each of them.
    pub(crate) of_charts: BTreeMap<Digest, Arc<[PackagedDefinition]>>,
}

impl PackagedDefinitions {
    /// Creates the collection with the definitions of the operator, and the size and cost of their files.
    pub(crate) fn of_operator(
        list: Vec<PackagedDefinition>,
        size: u64,
        cost: DocumentCost,
    ) -> Self {
        let mut places = BTreeMap::new();
        for (place, definition) in list.iter().enumerate() {
            let name = rules::definition_name(&definition.document);
            // Two files that define the same resource are already a finding.
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

    /// Returns all definitions.
    pub(crate) fn list(&self) -> &[PackagedDefinition] {
        &self.list
    }

    /// Returns true if a definition of a chart uses webhook conversion. Earlier versions refuse such archives.
    #[must_use]
    pub fn are_converted(&self) -> bool {
        self.charts.values().any(|converted| !converted.is_empty())
    }

    pub(crate) fn into_owned(self) -> OwnedDefinitions {
        let named = |name: &String| self.list[self.places[name]].clone();
        let of_charts = self.charts.iter();
        let of_charts = of_charts.map(|(chart, names)| (*chart, names.iter().map(named).collect()));
        let of_charts = of_charts.collect();
        let is_shared =
            |definition: &PackagedDefinition| !rules::converts_by_webhook(&definition.document);
        let shared = self.list.into_iter().filter(is_shared).collect();
        OwnedDefinitions { shared, of_charts }
    }

    /// Checks and adds the definitions of a chart in the archive.
    pub(crate) fn add_chart(
        &mut self,
        entry: &ContentsEntry,
        chart: &Chart,
        files: &ListedFiles<'_>,
        findings: &mut Findings,
    ) -> Result<(), OpenError> {
        if !self.register_chart(entry.digest) {
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

    /// Checks and adds the definitions of a chart before the archive exists. `path` is the chart's future path.
    pub fn judge_chart(
        &mut self,
        path: &ArchivePath,
        digest: Digest,
        chart: &Chart,
    ) -> Vec<(&'static FindingInfo, String)> {
        let mut found = Vec::new();
        if !self.register_chart(digest) {
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

    /// Registers a chart. Returns false if it was checked already.
    fn register_chart(&mut self, chart: Digest) -> bool {
        let is_new = !self.charts.contains_key(&chart);
        self.charts.entry(chart).or_default();
        is_new
    }

    /// Checks and adds the definitions in one file. Returns an error if all files together exceed a limit.
    fn add_file(
        &mut self,
        path: &ArchivePath,
        chart: Digest,
        file: ChartFile<'_>,
        tell: &mut impl FnMut(&'static FindingInfo, String),
    ) -> Result<(), Problem> {
        // The size is checked before the file is parsed, and the cost before its documents are checked.
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

    /// Checks and adds a document. If several charts define the same resource, all definitions must be equal: Helm
    /// would install the first one that it comes to, and a reader of the charts cannot predict which one that is.
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
            self.list.push(PackagedDefinition { path, document });
        }
    }

    fn check_budget(&self) -> Result<(), Problem> {
        rules::check_files(self.list.len(), self.size)?;
        rules::check_cost(self.cost)
    }
}

/// Returns the kind of finding for a problem in `crds/` of a chart.
fn info(problem: &Problem) -> &'static FindingInfo {
    match problem {
        Problem::Withheld(_) => &DEFINITION_METADATA,
        _ => &DEFINITION,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use progress::Cancel;
    use schemas::{Contents, yaml};

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

    /// Adds `count` charts with these files and different digests, and returns the findings.
    fn found(
        definitions: &mut PackagedDefinitions,
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
        let words = findings
            .map(|finding| format!("{} {}: {}", finding.id, finding.place, finding.message));
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
        let mut full = PackagedDefinitions::of_operator(Vec::new(), size, DocumentCost::default());
        assert_eq!(found(&mut full, 1, &one), [""; 0]);
        let mut full =
            PackagedDefinitions::of_operator(Vec::new(), size + 1, DocumentCost::default());
        let words = over("the files have 67108865 bytes; at most 67108864 are read");
        assert_eq!(found(&mut full, 1, &one), words);
        let definitions = (0..OPERATOR_DEFINITIONS).map(|number| PackagedDefinition {
            path: "operator/a".parse().unwrap(),
            document: yaml::from_slice(definition(&format!("x{number}")).as_bytes()).unwrap(),
        });
        let list = definitions.collect();
        let mut full = PackagedDefinitions::of_operator(list, 0, DocumentCost::default());
        let known = [("crds/a.yaml", definition("x7"))];
        assert_eq!(found(&mut full, 1, &known), [""; 0]);
        let mut list = full.list;
        assert_eq!(list.len(), OPERATOR_DEFINITIONS);
        let mut full =
            PackagedDefinitions::of_operator(list.split_off(0), 0, DocumentCost::default());
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
        let words = found(&mut PackagedDefinitions::default(), 1, &files);
        let budget = over("the files hold more than 2000000 values");
        assert_eq!(words.first(), budget.first(), "{words:#?}");
        let aliases = format!("[&a {}{}]", "x".repeat(1_000_000), ", *a".repeat(39));
        let files = [("crds/a.yaml", aliases.clone()), ("crds/b.yaml", aliases)];
        let words = found(&mut PackagedDefinitions::default(), 1, &files);
        let budget = over("the files hold more than 67108864 bytes of text");
        assert_eq!(words.first(), budget.first(), "{words:#?}");
    }

    #[test]
    fn a_definition_that_several_charts_have_is_taken_once() {
        let one = [("crds/a.yaml", definition("as"))];
        let mut definitions = PackagedDefinitions::default();
        assert_eq!(found(&mut definitions, 3, &one), [""; 0]);
        let size = definitions.size;
        // Several releases of one chart count once.
        assert_eq!(found(&mut definitions, 3, &one), [""; 0]);
        assert_eq!(definitions.size, size);
        let mut list = definitions.list;
        assert_eq!(list.len(), 1);
        list[0].path = "operator/a".parse().unwrap();
        let mut definitions = PackagedDefinitions::of_operator(list, 0, DocumentCost::default());
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

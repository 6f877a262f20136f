//! Insertion of cluster UIDs into the text of a fleet's file. [`pinned`] edits single lines, so that comments and
//! formatting are preserved, and checks that the result parses to the intended fleet.

use std::collections::BTreeMap;

use schemas::{ClusterName, ClusterUid};

use crate::FleetFile;

/// The error of a cluster whose UID cannot be inserted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot pin the cluster `{cluster}` on line {line}: write `uid: {uid}` next to its name")]
pub struct Unpinnable {
    /// The cluster.
    pub cluster: ClusterName,
    /// The line with its name.
    pub line: u64,
    /// The UID to insert.
    pub uid: ClusterUid,
}

/// Returns the text of a file with UIDs added to these clusters, which have none. The keys are indexes into `clusters`.
///
/// # Errors
///
/// Fails with the first cluster for which an edit of its line would not give the intended fleet. The user has to add
/// its UID.
pub fn pinned(
    file: &FleetFile,
    text: &str,
    uids: &BTreeMap<usize, ClusterUid>,
) -> Result<String, Unpinnable> {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    // Added lines move all later ones, so the last cluster is edited first.
    for (at, uid) in uids.iter().rev() {
        let cluster = &file.spec().clusters[*at].name;
        let line = file.line(&format!("/spec/clusters/{at}/name"));
        let place = usize::try_from(line).unwrap_or(0).checked_sub(1);
        let found = place.and_then(|place| lines.get_mut(place));
        let written =
            found.and_then(|line| with_uid(line, cluster, uid).map(|changed| *line = changed));
        written.ok_or_else(|| unpinnable(file, *at, uid))?;
    }
    let written = lines.concat();
    if is_pinned(file, &written, uids) {
        return Ok(written);
    }
    // The combined text is not as intended. Single insertions find the cluster that causes it.
    for (at, uid) in uids.iter().filter(|_| uids.len() > 1) {
        pinned(file, text, &BTreeMap::from([(*at, uid.clone())]))?;
    }
    match uids.first_key_value() {
        Some((at, uid)) => Err(unpinnable(file, *at, uid)),
        None => Ok(written),
    }
}

/// Returns whether a text parses to the fleet of the file with these UIDs and no other change.
fn is_pinned(file: &FleetFile, text: &str, uids: &BTreeMap<usize, ClusterUid>) -> bool {
    let mut expected = file.document().clone();
    for (at, uid) in uids {
        expected.spec.clusters[*at].uid = Some(uid.clone());
    }
    let read = FleetFile::read(file.name(), text.as_bytes());
    read.is_ok_and(|read| *read.document() == expected)
}

fn unpinnable(file: &FleetFile, at: usize, uid: &ClusterUid) -> Unpinnable {
    Unpinnable {
        cluster: file.spec().clusters[at].name.clone(),
        line: file.line(&format!("/spec/clusters/{at}/name")),
        uid: uid.clone(),
    }
}

/// Returns a line with a UID after the name of a cluster: in flow style on the same line, else on a new line.
fn with_uid(line: &str, cluster: &ClusterName, uid: &ClusterUid) -> Option<String> {
    let is_key = |at: &usize| !line[..*at].ends_with(|c: char| c.is_alphanumeric());
    let keys = line.match_indices("name:").map(|(at, _)| at);
    let mut keys = keys.filter(is_key);
    let (key, end) = keys.find_map(|key| Some((key, key + name_end(&line[key..], cluster)?)))?;
    let (head, rest) = line.split_at(end);
    if rest.trim_start().starts_with([',', '}']) {
        return Some(format!("{head}, uid: {uid}{rest}"));
    }
    let is_over = rest.trim().is_empty() || rest.trim_start().starts_with('#');
    is_over.then(|| {
        let indent = " ".repeat(key);
        let end = if rest.ends_with('\n') { "" } else { "\n" };
        format!("{head}{rest}{end}{indent}uid: {uid}\n")
    })
}

/// Returns the end of a cluster's name in a text that begins with its key. Returns `None` for another name.
fn name_end(text: &str, cluster: &ClusterName) -> Option<usize> {
    let value = text.strip_prefix("name:")?.trim_start();
    let begin = text.len() - value.len();
    let bare = value.trim_start_matches(['\'', '"']);
    let rest = bare.strip_prefix(cluster.as_str())?;
    let quoted = rest
        .strip_prefix(['\'', '"'])
        .filter(|_| bare.len() < value.len());
    let rest = quoted.unwrap_or(rest);
    let is_whole = rest.is_empty() || rest.starts_with([',', '}', ' ', '\r', '\n']);
    is_whole.then(|| begin + value.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionFleet
metadata: {name: shops}
";

    fn pin(spec: &str, at: &[usize]) -> Result<String, Unpinnable> {
        let text = format!("{HEAD}{spec}");
        let file = FleetFile::read("fleet.yaml", text.as_bytes()).unwrap();
        let uid = |at: &usize| {
            format!("0000000{at}-0000-4000-8000-000000000000")
                .parse()
                .unwrap()
        };
        let uids = at.iter().map(|at| (*at, uid(at))).collect();
        let pinned = pinned(&file, &text, &uids)?;
        Ok(pinned.strip_prefix(HEAD).unwrap().to_owned())
    }

    #[test]
    fn a_uid_stands_beside_the_name_and_all_else_stays_as_it_was_typed() {
        let spec = "spec:
  clusters:
    # The first one.
    - name: paris   # of 2019
      context: a
    - {name: 'berlin', context: b}   # in one line
    - context: c
      name: \"rome\"
    - name: oslo";
        let expected = "spec:
  clusters:
    # The first one.
    - name: paris   # of 2019
      uid: 00000000-0000-4000-8000-000000000000
      context: a
    - {name: 'berlin', uid: 00000001-0000-4000-8000-000000000000, context: b}   # in one line
    - context: c
      name: \"rome\"
      uid: 00000002-0000-4000-8000-000000000000
    - name: oslo
      uid: 00000003-0000-4000-8000-000000000000
";
        assert_eq!(pin(spec, &[0, 1, 2, 3]).unwrap(), expected);
    }

    #[test]
    fn each_is_pinned_on_the_line_of_its_name_and_where_there_is_none_it_is_said() {
        let spec = "spec:\n  clusters: [{name: a, context: b}, {context: c, name:\n      d}]\n";
        let refused = pin(spec, &[1]).unwrap_err();
        assert_eq!(refused.cluster.as_str(), "d");
        let both = "spec:\n  clusters: [{name: aa}, {name: a}]\n";
        let uid = |at| format!("uid: 0000000{at}-0000-4000-8000-000000000000");
        let expected = format!(
            "spec:\n  clusters: [{{name: aa, {}}}, {{name: a, {}}}]\n",
            uid(0),
            uid(1)
        );
        assert_eq!(pin(both, &[0, 1]).unwrap(), expected);
    }
}

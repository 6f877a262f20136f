//! What several clusters have in common, told once, with the clusters that have it.

use std::collections::BTreeSet;

use crate::render;

/// A text, and the clusters that have it, by their places among those that were folded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Folded<T> {
    pub(super) text: T,
    pub(super) clusters: BTreeSet<usize>,
}

/// Folds the texts of several clusters: each keeps its place between its neighbours, and what is equal stands once. What only
/// some have at a place stands there in the order of the clusters.
pub(super) fn fold<T: PartialEq>(of_clusters: Vec<Vec<T>>) -> Vec<Folded<T>> {
    let mut folded: Vec<Folded<T>> = Vec::new();
    for (cluster, texts) in of_clusters.into_iter().enumerate() {
        let (mut next, mut own) = (0, Vec::new());
        for text in texts {
            let same = folded[next..].iter().position(|it| it.text == text);
            if let Some(ahead) = same {
                let at = next + ahead;
                folded[at].clusters.insert(cluster);
                next = at + own.len() + 1;
                folded.splice(at..at, own.drain(..));
            } else {
                let clusters = BTreeSet::from([cluster]);
                own.push(Folded { text, clusters });
            }
        }
        folded.append(&mut own);
    }
    folded
}

impl<T> Folded<T> {
    /// Returns the clusters that have it, as ` [paris, rome]`; nothing if all do.
    pub(super) fn whose(&self, names: &[&str]) -> String {
        if self.clusters.len() == names.len() {
            return String::new();
        }
        let those = |with: bool| {
            let all = names.iter().enumerate();
            let those = all.filter(|(at, _)| self.clusters.contains(at) == with);
            render::list(those.map(|(_, name)| name))
        };
        if self.clusters.len() * 2 > names.len() {
            format!(" [all but {}]", those(false))
        } else {
            format!(" [{}]", those(true))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(of_clusters: &[&str]) -> Vec<String> {
        let names = ["a", "b", "c", "d"];
        let texts = of_clusters.iter();
        let texts = texts.map(|it| it.split_whitespace().collect()).collect();
        let all = fold::<&str>(texts);
        let names = &names[..of_clusters.len()];
        all.iter()
            .map(|it| format!("{}{}", it.text, it.whose(names)))
            .collect()
    }

    #[test]
    fn what_is_equal_stands_once_and_what_differs_beside_it() {
        let all = folded(&[
            "plan pool=1 deploy end",
            "plan pool=2 deploy end",
            "plan pool=2 end",
        ]);
        assert_eq!(
            all,
            [
                "plan",
                "pool=1 [a]",
                "pool=2 [all but a]",
                "deploy [all but c]",
                "end"
            ]
        );
    }

    #[test]
    fn what_stands_twice_in_one_cluster_stands_twice() {
        assert_eq!(folded(&["x y x", "x y x"]), ["x", "y", "x"]);
        assert_eq!(folded(&["x y x", "x y"]), ["x", "y", "x [a]"]);
        assert_eq!(folded(&["x"]), ["x"]);
        assert_eq!(folded(&[]), [""; 0]);
    }
}

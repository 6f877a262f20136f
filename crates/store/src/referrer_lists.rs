//! Comparison of the lists under the tags of referrers, such as signatures. Clients only append to these lists.

use std::collections::BTreeSet;

use registry::{Client, Reference, RepositoryPath};
use schemas::Tag;
use serde_json::Value;

use crate::error::Error;

/// The relation between the list under a referrer's tag and the list to be stored there. Such lists only grow, because
/// clients append their signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListRelation {
    /// The existing list is a subset of the list to be stored.
    Fewer,
    /// The existing list contains the entire list to be stored, and more.
    More,
    /// The tag refers to a different list, or not to a list.
    Others,
}

impl ListRelation {
    pub(crate) fn compare(there: &[u8], ours: &[u8]) -> Self {
        let (Some(there), Some(ours)) = (list_entries(there), list_entries(ours)) else {
            return Self::Others;
        };
        if there.is_subset(&ours) {
            Self::Fewer
        } else if ours.is_subset(&there) {
            Self::More
        } else {
            Self::Others
        }
    }
}

/// Returns the entries of a list: the layers of a cosign signature manifest, or the manifests of a referrers index.
/// Entries are compared as a whole, because signatures can differ in an annotation only.
fn list_entries(document: &[u8]) -> Option<BTreeSet<String>> {
    let document: Value = serde_json::from_slice(document).ok()?;
    let listed = document.get("layers").or(document.get("manifests"))?;
    let listed = listed.as_array()?.iter();
    Some(listed.map(Value::to_string).collect())
}

/// Compares the manifest under a reference in a registry with the one to be stored.
pub(crate) async fn lists(
    client: &Client,
    repository: &RepositoryPath,
    reference: &Reference,
    ours: &[u8],
) -> Result<ListRelation, Error> {
    let is_list = |tag: &Tag| tag.subject().is_some();
    if !matches!(reference, Reference::Tag(tag) if is_list(tag)) {
        return Ok(ListRelation::Others);
    }
    let there = client.manifest(repository, reference).await?;
    Ok(there.map_or(ListRelation::Fewer, |there| {
        ListRelation::compare(&there.bytes, ours)
    }))
}

#[cfg(test)]
mod tests {
    use schemas::Digest;

    use super::*;

    fn list(signatures: &[&str], config: u8) -> Vec<u8> {
        let digest = |number| Digest::new([number; 32]);
        let layer = |signature: &&str| {
            let of = digest(1);
            format!(r#"{{"digest":"{of}","annotations":{{"signature":"{signature}"}}}}"#)
        };
        let layers: Vec<String> = signatures.iter().map(layer).collect();
        let (config, layers) = (digest(config), layers.join(","));
        format!(r#"{{"config":{{"digest":"{config}"}},"layers":[{layers}]}}"#).into_bytes()
    }

    #[test]
    fn lists_of_signatures_only_grow() {
        let one = list(&["a"], 7);
        // All signatures of an image are about the same bytes, and the configuration is derived from them.
        for (there, ours, expected) in [
            (&one, &list(&["a", "b"], 8), ListRelation::Fewer),
            (&list(&["a", "b"], 8), &one, ListRelation::More),
            (
                &list(&["a", "c"], 9),
                &list(&["a", "b"], 8),
                ListRelation::Others,
            ),
            (&b"{}".to_vec(), &one, ListRelation::Others),
        ] {
            assert_eq!(ListRelation::compare(there, ours), expected);
        }
    }
}

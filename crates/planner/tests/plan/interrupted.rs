//! After an interruption at any write, running the change again gives the same result as an uninterrupted run, and
//! objects of other owners stay untouched.

use std::collections::BTreeMap;

use kubernetes::Object;
use planner::{DesiredObject, vocabulary as v};
use proptest::collection::btree_map;
use proptest::prelude::*;
use serde_json::json;

use crate::model::{Ended, KINDS, PARTS, Site, content, desired, in_order, object};

/// The objects of a version: by kind and name, their part and content.
type Version = BTreeMap<(usize, usize), (usize, u8)>;

/// The names of objects. Versions use the first three, and other owners any of them.
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

fn version() -> impl Strategy<Value = Version> {
    btree_map((0..KINDS.len(), 0..3usize), (0..3usize, 0..2u8), 0..10)
}

fn objects(version: &Version) -> Vec<DesiredObject> {
    let objects = version.iter().map(|((kind, name), (part, content))| {
        let part = part.checked_sub(1).map(|part| PARTS[part]);
        desired((*kind, NAMES[*name]), part, *content)
    });
    in_order(objects.collect())
}

/// Objects of other owners: of another Solution, without an owner, or only labelled as the Solution's. Volume claims
/// with the label are left out: they are accepted as the Solution's, since they are kept at a removal.
fn strangers() -> impl Strategy<Value = BTreeMap<(usize, usize), usize>> {
    let strangers = btree_map((1..6usize, 1..NAMES.len()), 0..3usize, 0..4);
    strangers.prop_map(|mut strangers: BTreeMap<(usize, usize), usize>| {
        strangers
            .retain(|(kind, _), whose| KINDS[*kind].1 != "PersistentVolumeClaim" || *whose < 2);
        strangers
    })
}

fn stranger((kind, name): (usize, usize), whose: usize) -> Object {
    let labels = [
        json!({ v::SOLUTION: "other" }),
        json!({}),
        json!({ v::SOLUTION: "shop" }),
    ];
    object((kind, NAMES[name]), &labels[whose], 7)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_interrupted_change_is_completed_by_running_it_again(
        first in version(),
        second in version(),
        strangers in strangers(),
        (jobs_are_gone, stops_after) in (any::<bool>(), 0..20usize),
    ) {
        let mut site = Site::default();
        for (what, whose) in &strangers {
            site.put(&stranger(*what, *whose));
        }
        let of_others = site.objects.clone();
        let (first, second) = (objects(&first), objects(&second));
        if site.deploy(&first, None).is_err() {
            // An object of another owner blocks the change, and nothing was written.
            prop_assert_eq!(&site.objects, &of_others);
            return Ok(());
        }
        if jobs_are_gone {
            site.objects.retain(|reference, _| reference.gvk.kind != "Job" || of_others.contains_key(reference));
        }
        let (mut straight, mut interrupted) = (site.clone(), site.clone());
        let led = straight.deploy(&second, None);
        if let Err(Ended::Refused(_)) = led {
            prop_assert_eq!(straight.shape(), site.shape());
            return Ok(());
        }
        let plan = site.plan(&second);
        let ended = interrupted.deploy(&second, Some(stops_after));
        if ended == Err(Ended::Stopped) {
            let mut taken_back = interrupted.clone();
            taken_back.take_back(&plan);
            for (reference, live) in &site.objects {
                if reference.gvk.kind != "Job" {
                    prop_assert_eq!(content(&taken_back.objects[reference]), content(live));
                }
            }
            for reference in taken_back.objects.keys() {
                let stays = ["Namespace", "PersistentVolumeClaim"];
                let is_before = site.objects.contains_key(reference);
                prop_assert!(is_before || stays.contains(&reference.gvk.kind.as_str()), "{reference}");
            }
        }
        prop_assert!(matches!(ended, Ok(()) | Err(Ended::Stopped)), "{ended:?}");
        prop_assert_eq!(interrupted.deploy(&second, None), Ok(()));
        prop_assert_eq!(interrupted.shape(), straight.shape());
        for site in [&mut straight, &mut interrupted] {
            for (reference, stranger) in &of_others {
                prop_assert_eq!(site.objects.get(reference), Some(stranger));
            }
            for entry in &site.inventory.entries {
                let live = site.objects.get(&entry.reference());
                if let Some(live) = live {
                    prop_assert_eq!(entry.uid.as_deref(), live.uid(), "{}", live.reference());
                }
            }
            prop_assert!(site.plan(&second).keeps_all(), "once more would change something");
            prop_assert_eq!(site.deploy(&[], None), Ok(()));
            let left = site.objects.iter().filter(|(reference, _)| !of_others.contains_key(reference));
            for (left, _) in left {
                let kinds = ["Namespace", "PersistentVolumeClaim"];
                prop_assert!(kinds.contains(&left.gvk.kind.as_str()), "{left} stays");
            }
        }
    }
}

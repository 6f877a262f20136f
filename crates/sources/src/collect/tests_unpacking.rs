//! Unpacking: once per file, concurrently, and within the limits.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use fixtures::saved::{self, Names, Saved};
use progress::{Cancel, ProgressSink, Watch};
use schemas::SourceImage;

use super::session::CollectSession;
use super::tests::{here, means, source_image};
use super::tests_archive::{Bench, gzip, layers, text, two_images};
use super::tests_registry::images;
use super::{collect, collect_one};
use crate::cache::Cache;
use crate::context::SourceContext;
use crate::unpacking::UnpackSession;
use crate::{Event, FailedImage, SourceError};

#[test]
fn compressed_archives_are_unpacked_once() {
    let bench = Bench::new();
    bench.save("a.tar", &two_images()[..1], Names::Directories);
    let plain = bench.collect("docker-archive:a.tar").unwrap();
    let packed = gzip(&fs::read(bench.path("a.tar")).unwrap());
    fs::write(bench.path("a.tgz"), &packed).unwrap();
    for _ in 0..2 {
        let collected = bench.collect("docker-archive:a.tgz").unwrap();
        assert_eq!(collected.contents.root, plain.contents.root);
        assert_eq!(layers(&collected), layers(&plain));
        // The content of the cache is verified.
        let path = &here(&collected.contents.blobs[0]).path;
        assert!(path.starts_with(bench.path("cache/contents")));
        let mut bytes = fs::read(path).unwrap();
        bytes[5000] ^= 1;
        fs::write(path, bytes).unwrap();
    }
    fs::write(bench.path("a.tgz"), &packed[..packed.len() - 9]).unwrap();
    assert!(
        bench
            .refused("docker-archive:a.tgz")
            .starts_with("cannot read `DIR/a.tgz`")
    );
    for (magic, program) in [
        (&b"\xfd7zXZ\0"[..], "xz"),
        (b"BZh91", "bzip2"),
        (b"\x28\xb5\x2f\xfd__", "zstd"),
    ] {
        fs::write(bench.path("a.tgz"), magic).unwrap();
        let message = bench.refused("docker-archive:a.tgz");
        assert_eq!(
            message,
            format!(
                "`DIR/a.tgz` is compressed with {program}; unpack it first with `{program} -dk`"
            )
        );
    }
}

/// Collects images within these limits, and returns the error.
fn within(bench: &Bench, sources: &[&str], unpacking: UnpackSession) -> Result<(), SourceError> {
    let cache = Cache::new(&bench.path("cache"));
    let watch = Watch::silent(Cancel::never());
    let means = means(&cache, unpacking, &watch);
    sources.iter().try_for_each(|source| {
        let image = source_image(source);
        let (base, session) = (bench.0.path(), &mut CollectSession::new());
        collect_one(base, &image, &means, session).map(drop)
    })
}

/// Returns the files in the cache after an unpacking was stopped.
fn left_in(bench: &Bench) -> Vec<PathBuf> {
    let below = |name: &str| {
        let entries = fs::read_dir(bench.path("cache").join(name)).unwrap();
        entries.map(|entry| entry.unwrap().path())
    };
    let mut left: Vec<PathBuf> = below("contents").collect();
    left.extend(below("new"));
    left.extend(below("derived"));
    left
}

#[test]
fn all_that_is_unpacked_counts_towards_one_limit_and_a_file_counts_once() {
    let bench = Bench::new();
    let mut sizes = Vec::new();
    for (name, image) in ["one.tgz", "two.tgz"].iter().zip(two_images()) {
        bench.save("a.tar", &[image], Names::Directories);
        let tar = fs::read(bench.path("a.tar")).unwrap();
        let packed = gzip(&tar);
        fs::write(bench.path(name), &packed).unwrap();
        sizes.push((tar.len() as u64, packed.len() as u64));
    }
    let (one, two) = ("docker-archive:one.tgz", "docker-archive:two.tgz");
    let all = sizes[0].0 + sizes[1].0;
    let start = |limit| {
        fs::remove_dir_all(bench.path("cache")).unwrap_or_default();
        UnpackSession::leaving(0, limit)
    };
    let sources = [one, one, two, one, two];
    assert!(within(&bench, &sources, start(all)).is_ok());
    let error = within(&bench, &sources, start(all - 1)).unwrap_err();
    let (unpacked, packed) = (sizes[1].0 - 1, sizes[1].1);
    let path = bench.path("two.tgz").display().to_string();
    assert_eq!(
        error.to_string(),
        format!(
            "`{path}` has {packed} bytes, and unpacks to more than {unpacked}; all sources together may unpack to {}",
            all - 1
        )
    );
    // Complete content is kept: one content and its note.
    assert_eq!(left_in(&bench).len(), 2);
}

/// Three archives that must be unpacked, with their unpacked sizes. One of them has two images and a copy.
fn packed_archives(bench: &Bench) -> (Vec<SourceImage>, Vec<u64>) {
    let mut sizes = Vec::new();
    for (name, seed) in [("a", 2), ("b", 3), ("c", 4)] {
        let content = text(seed);
        let image = Saved {
            tags: Vec::new(),
            layers: vec![saved::layer(name, &content[..300_000])],
            comment: name.to_owned(),
        };
        bench.save("plain.tar", &[image], Names::Directories);
        let tar = fs::read(bench.path("plain.tar")).unwrap();
        fs::write(bench.path(&format!("{name}.tgz")), gzip(&tar)).unwrap();
        sizes.push(tar.len() as u64);
    }
    fs::copy(bench.path("a.tgz"), bench.path("copy.tgz")).unwrap();
    let names = ["a", "b", "c", "a", "copy"];
    let sources = names.map(|name| format!("docker-archive:{name}.tgz"));
    (images(&sources), sizes)
}

fn by_lanes<T>(
    bench: &Bench,
    lanes: usize,
    limit: u64,
    tell: ProgressSink<'_, Event>,
    use_means: impl FnOnce(&SourceContext<'_>) -> T,
) -> T {
    fs::remove_dir_all(bench.path("cache")).unwrap_or_default();
    let cache = Cache::new(&bench.path("cache"));
    let watch = Watch {
        tell,
        cancel: Cancel::never(),
    };
    use_means(&SourceContext {
        threads: NonZeroUsize::new(lanes).unwrap(),
        ..means(&cache, UnpackSession::leaving(0, limit), &watch)
    })
}

#[test]
fn archives_are_unpacked_side_by_side_and_give_the_same() {
    let bench = Bench::new();
    let (images, _) = packed_archives(&bench);
    let (seen, changed) = (Mutex::new(BTreeSet::new()), Condvar::new());
    // No thread continues before two threads have reported progress.
    let together = |event: Event| {
        if let Event::Preparing(_) = event {
            let mut seen = seen.lock().unwrap();
            seen.insert(format!("{:?}", std::thread::current().id()));
            changed.notify_all();
            let alone = |seen: &mut BTreeSet<String>| seen.len() < 2;
            let waited = changed.wait_timeout_while(seen, Duration::from_mins(1), alone);
            assert!(!waited.unwrap().1.timed_out(), "one after the other");
        }
    };
    let roots = |lanes, tell: ProgressSink<'_, Event>| {
        by_lanes(&bench, lanes, u64::MAX, tell, |means| {
            let collected = collect(bench.0.path(), &images, means).unwrap();
            let roots = collected.iter().map(|image| image.contents.root.digest);
            roots.collect::<Vec<_>>()
        })
    };
    assert_eq!(roots(4, &together), roots(1, &|_| ()));
}

#[test]
fn the_first_archive_in_order_that_fails_is_told_whichever_is_unpacked_first() {
    let bench = Bench::new();
    let (images, sizes) = packed_archives(&bench);
    let told = |lanes, limit| {
        by_lanes(&bench, lanes, limit, &|_| (), |means| {
            let collected = collect(bench.0.path(), &images, means);
            let told = |failed: Vec<FailedImage>| {
                (failed[0].place.to_string(), failed[0].error.to_string())
            };
            collected.map(|images| images.len()).map_err(told)
        })
    };
    let (one, two) = (sizes[0], sizes[0] + sizes[1]);
    let all = two + sizes[2];
    for (limit, expected) in [
        (0, "app-0"),
        (one - 1, "app-0"),
        (one, "app-1"),
        (two, "app-2"),
    ] {
        let error = told(4, limit).unwrap_err();
        assert_eq!(error.0, format!("{expected}:1.0"), "{limit}");
        assert_eq!(error, told(1, limit).unwrap_err());
    }
    assert_eq!((told(4, all), told(4, all - 1)), (Ok(5), told(1, all - 1)));
    // The error of a damaged archive is reported before errors of later ones, although they are detected earlier.
    let broken = fs::read(bench.path("b.tgz")).unwrap();
    fs::write(bench.path("b.tgz"), &broken[..broken.len() / 2]).unwrap();
    fs::write(bench.path("c.tgz"), "no archive").unwrap();
    assert_eq!(told(4, all).unwrap_err().0, "app-1:1.0");
}

#[test]
fn a_file_that_unpacks_to_very_much_stops_at_the_limit_and_leaves_nothing() {
    const LIMIT: u64 = 3_000_000;
    let bench = Bench::new();
    let member = gzip(&vec![0; 1 << 20]);
    fs::write(bench.path("bomb.tgz"), member.repeat(1000)).unwrap();
    let error = within(
        &bench,
        &["docker-archive:bomb.tgz"],
        UnpackSession::leaving(0, LIMIT),
    );
    let SourceError::UnpackLimit {
        unpacked, limit, ..
    } = error.unwrap_err()
    else {
        panic!("another error")
    };
    assert_eq!((unpacked, limit), (LIMIT, LIMIT));
    assert_eq!(left_in(&bench), Vec::<PathBuf>::new());
}

#[test]
fn unpacking_stops_before_the_disk_is_full() {
    let bench = Bench::new();
    fs::write(bench.path("a.tgz"), gzip(&[0; 1000])).unwrap();
    let never = UnpackSession::leaving(u64::MAX, u64::MAX);
    let error = within(&bench, &["docker-archive:a.tgz"], never).unwrap_err();
    assert!(
        matches!(&error, SourceError::UnpackSpace { unpacked: 0, cache, .. } if *cache == bench.path("cache")),
        "{error}"
    );
    assert_eq!(left_in(&bench), Vec::<PathBuf>::new());
}

#[test]
fn an_archive_of_many_images_is_hashed_and_unpacked_once() {
    let bench = Bench::new();
    bench.save("a.tar", &two_images()[..1], Names::Directories);
    let packed = gzip(&fs::read(bench.path("a.tar")).unwrap());
    fs::write(bench.path("a.tgz"), packed).unwrap();
    let image = source_image("docker-archive:a.tgz");
    let steps = AtomicUsize::new(0);
    let watch = Watch {
        tell: &|_| _ = steps.fetch_add(1, Ordering::Relaxed),
        cancel: Cancel::never(),
    };
    let cache = Cache::new(&bench.path("cache"));
    let collect = |means: &SourceContext<'_>| {
        collect_one(bench.0.path(), &image, means, &mut CollectSession::new()).unwrap();
    };
    let one = means(&cache, UnpackSession::new(u64::MAX), &watch);
    collect(&one);
    let first = steps.load(Ordering::Relaxed);
    assert!(first > 5, "{first}");
    for _ in 0..50 {
        collect(&one);
    }
    assert_eq!(steps.load(Ordering::Relaxed), first);
    // A new pack reads the file again, because the earlier result may have been damaged and discarded.
    fs::remove_dir_all(bench.path("cache/contents")).unwrap();
    fs::create_dir(bench.path("cache/contents")).unwrap();
    collect(&means(&cache, UnpackSession::new(u64::MAX), &watch));
}

/// A saved image with layers that all have this content, under one name.
fn save_layers(bench: &Bench, layer: &[u8], stored: &[u8], number: usize) {
    let image = Saved {
        layers: vec![layer.to_vec(); number],
        ..Saved::default()
    };
    let mut tar = tar::Builder::new(Vec::new());
    let mut add = |name: &str, bytes: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        tar.append_data(&mut header, name, bytes).unwrap();
    };
    let layers = vec!["\"layer\""; number].join(",");
    let list = format!(r#"[{{"Config":"config","RepoTags":null,"Layers":[{layers}]}}]"#);
    add("config", &image.config());
    add("layer", stored);
    add("manifest.json", list.as_bytes());
    fs::write(bench.path("a.tar"), tar.into_inner().unwrap()).unwrap();
}

#[test]
fn layers_that_are_only_compared_count_too_and_each_is_unpacked_once() {
    let bench = Bench::new();
    let layer = saved::layer("zeros", &vec![0; 3_000_000]);
    let size = layer.len() as u64;
    let source = ["docker-archive:a.tar"; 2];
    for stored in [gzip(&layer), zstd::bulk::compress(&layer, 1).unwrap()] {
        save_layers(&bench, &layer, &stored, 50);
        assert!(within(&bench, &source, UnpackSession::leaving(0, size)).is_ok());
        let error = within(&bench, &source, UnpackSession::leaving(0, size - 1)).unwrap_err();
        assert!(
            matches!(error, SourceError::UnpackLimit { packed, unpacked, .. } if (packed, unpacked) == (stored.len() as u64, size - 1)),
            "{error}"
        );
    }
}

#[test]
fn unpacking_ends_when_the_user_wants_it() {
    let bench = Bench::new();
    save_layers(&bench, b"x", &gzip(b"").repeat(1000), 1);
    fs::write(bench.path("a.tgz"), gzip(&[0; 1000])).unwrap();
    let cancelled = AtomicBool::new(true);
    let watch = Watch::silent(Cancel::from_flag(&cancelled));
    for source in ["docker-archive:a.tar", "docker-archive:a.tgz"] {
        let cache = Cache::new(&bench.path("cache"));
        let means = means(&cache, UnpackSession::new(u64::MAX), &watch);
        let image = source_image(source);
        let collected = collect_one(bench.0.path(), &image, &means, &mut CollectSession::new());
        assert!(matches!(collected, Err(SourceError::Interrupted(_))));
    }
}

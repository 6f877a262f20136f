use std::os::unix::fs::{PermissionsExt as _, symlink};

use registry::{BlobSink as _, SinkRefusal};
use tempfile::TempDir;

use super::*;

const LIMIT: u64 = 1000;

fn cache() -> (TempDir, OpenCache) {
    let directory = tempfile::tempdir().unwrap();
    let cache = OpenCache::open(&directory.path().join("a/b"), LIMIT).unwrap();
    (directory, cache)
}

fn begin(cache: &OpenCache, content: &[u8]) -> PartialDownload {
    let begun = cache.begin_content(files::digest(content), content.len() as u64);
    begun.unwrap().expect("it does not exist")
}

fn put(cache: &OpenCache, content: &[u8]) -> PathBuf {
    let mut partial = begin(cache, content);
    partial.write(content).unwrap();
    partial.finish().unwrap();
    find(cache, content).expect("it was just put")
}

fn find(cache: &OpenCache, content: &[u8]) -> Option<PathBuf> {
    let found = cache.find(files::digest(content), content.len() as u64);
    found.map(|here| here.path)
}

fn files_below(directory: &Path) -> usize {
    let names = [PARTIAL, NEW].map(|name| directory.join(name));
    names
        .iter()
        .map(|path| fs::read_dir(path).unwrap().count())
        .sum()
}

#[test]
fn what_was_put_is_found_until_it_is_discarded() {
    let (_directory, cache) = cache();
    assert_eq!(find(&cache, b"content"), None);
    let path = put(&cache, b"content");
    assert_eq!(fs::read(&path).unwrap(), b"content");
    assert_eq!(find(&cache, b"content"), Some(path));
    assert_eq!(cache.find(files::digest(b"other"), 7), None);
    let digest = files::digest(b"content");
    assert!(cache.begin_content(digest, 7).unwrap().is_none());
    assert_eq!(files_below(&cache.directory), 0);
    cache.discard(digest);
    assert_eq!(find(&cache, b"content"), None);
    assert_eq!(put(&cache, b""), find(&cache, b"").unwrap());
}

#[test]
fn a_file_of_another_size_and_a_link_are_no_content() {
    let (directory, cache) = cache();
    let path = put(&cache, b"content");
    fs::write(&path, b"conten").unwrap();
    assert_eq!(find(&cache, b"content"), None);
    let outside = directory.path().join("outside");
    fs::write(&outside, b"content").unwrap();
    symlink(&outside, &path).unwrap();
    assert_eq!(find(&cache, b"content"), None);
    assert_eq!(fs::read(&outside).unwrap(), b"content");
    // Nothing is written through a link either.
    let hex = files::digest(b"content").hex();
    symlink(
        &outside,
        cache.directory.join(PARTIAL).join(format!("{hex}.0")),
    )
    .unwrap();
    assert!(matches!(
        cache.begin_content(files::digest(b"content"), 7),
        Err(CacheError::Io(..))
    ));
}

#[test]
fn what_was_begun_goes_on_where_it_ended() {
    let (_directory, cache) = cache();
    let mut partial = begin(&cache, b"content");
    partial.write(b"con").unwrap();
    drop(partial);
    let mut partial = begin(&cache, b"content");
    assert_eq!(partial.position(), 3);
    partial.write(b"tent").unwrap();
    partial.finish().unwrap();
    let path = find(&cache, b"content").unwrap();
    assert_eq!(fs::read(path).unwrap(), b"content");
}

#[test]
fn a_wrong_beginning_is_fetched_again() {
    let (_directory, cache) = cache();
    begin(&cache, b"content").write(b"CON").unwrap();
    let mut partial = begin(&cache, b"content");
    partial.write(b"tent").unwrap();
    let found = files::digest(b"CONtent");
    assert!(matches!(partial.finish(), Err(SinkRefusal::Digest(actual)) if actual == found));
    assert_eq!(partial.position(), 0);
    drop(partial);
    assert_eq!(begin(&cache, b"content").position(), 0);
    // A partial file that is too long is discarded, and a source that cannot resume starts again.
    begin(&cache, b"content").write(b"con").unwrap();
    let hex = files::digest(b"content").hex();
    fs::write(
        cache.directory.join(PARTIAL).join(format!("{hex}.0")),
        b"content and more",
    )
    .unwrap();
    let mut partial = begin(&cache, b"content");
    assert_eq!(partial.position(), 0);
    partial.write(b"x").unwrap();
    partial.restart().unwrap();
    partial.write(b"content").unwrap();
    assert!(partial.finish().is_ok());
}

#[test]
fn more_than_the_content_has_is_not_written() {
    let (_directory, cache) = cache();
    let mut partial = begin(&cache, b"content");
    partial.write(b"content").unwrap();
    assert!(
        partial
            .write(b"!")
            .unwrap_err()
            .to_string()
            .contains("more than the 7 bytes")
    );
    assert!(partial.finish().is_ok());
}

#[test]
fn two_that_fetch_one_content_do_not_wait_for_each_other() {
    let (_directory, cache) = cache();
    let mut one = begin(&cache, b"content");
    one.write(b"con").unwrap();
    let mut other = begin(&cache, b"content");
    assert_eq!(other.position(), 0);
    other.write(b"content").unwrap();
    other.finish().unwrap();
    one.write(b"tent").unwrap();
    one.finish().unwrap();
    let path = find(&cache, b"content").unwrap();
    assert_eq!(fs::read(path).unwrap(), b"content");
    assert_eq!(files_below(&cache.directory), 0);
}

#[test]
fn what_is_made_gets_its_name_at_the_end() {
    let (_directory, cache) = cache();
    let (mut one, mut other) = (cache.create().unwrap(), cache.create().unwrap());
    one.write_all(b"one").unwrap();
    other.write_all(b"other").unwrap();
    let made = one.finish().unwrap();
    assert_eq!((made.digest, made.size), (files::digest(b"one"), 3));
    assert_eq!(find(&cache, b"one"), Some(made.path));
    drop(other);
    assert_eq!(find(&cache, b"other"), None);
    // The remains of a killed process do not become part of later content.
    fs::write(cache.directory.join(NEW).join("0"), b"left").unwrap();
    assert_eq!(
        cache.create().unwrap().finish().unwrap().digest,
        files::digest(b"")
    );
    assert_eq!(files_below(&cache.directory), 0);
}

#[test]
fn a_recipe_gives_what_it_gave_and_a_damaged_note_nothing() {
    let (_directory, cache) = cache();
    let mut new = cache.create().unwrap();
    new.write_all(b"compressed").unwrap();
    let made = new.finish().unwrap();
    assert_eq!(cache.find_derived("gzip 6 a"), None);
    cache.remember("gzip 6 a", &made).unwrap();
    assert_eq!(cache.find_derived("gzip 6 a"), Some(made.clone()));
    assert_eq!(cache.find_derived("gzip 6 b"), None);
    let note = cache
        .directory
        .join(DERIVED)
        .join(files::digest(b"gzip 6 a").hex());
    let text = fs::read_to_string(&note).unwrap();
    fs::write(&note, text.replacen(" 10 ", " 11 ", 1)).unwrap();
    assert_eq!(cache.find_derived("gzip 6 a"), None);
    fs::write(&note, &text).unwrap();
    cache.discard(made.digest);
    assert_eq!(cache.find_derived("gzip 6 a"), None);
}

#[test]
fn the_longest_unused_goes_first_and_nothing_while_others_use_the_cache() {
    let (_directory, cache) = cache();
    let contents = [[1; 400], [2; 400], [3; 400]];
    for (content, used) in contents.iter().zip([20, 10, 30]) {
        let path = put(&cache, content);
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(used);
        File::open(path).unwrap().set_modified(time).unwrap();
    }
    let made = LocalBlob::whole_file(files::digest(&contents[0]), 400, PathBuf::new());
    cache.remember("first", &made).unwrap();
    // This content was used, so it is newer than the first.
    assert!(find(&cache, &contents[1]).is_some());
    let directory = cache.directory.clone();
    let other = OpenCache::open(&directory, LIMIT).unwrap();
    cache.close().unwrap();
    assert!(
        contents
            .iter()
            .all(|content| other.content(files::digest(content)).exists())
    );
    other.close().unwrap();
    let cache = OpenCache::open(&directory, LIMIT).unwrap();
    let left = contents.map(|content| find(&cache, &content).is_some());
    assert_eq!(left, [false, true, true]);
    assert_eq!(fs::read_dir(directory.join(DERIVED)).unwrap().count(), 0);
}

#[test]
fn threads_that_write_the_same_leave_it_once() {
    let (_directory, cache) = cache();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                if let Some(mut partial) = cache.begin_content(files::digest(b"shared"), 6).unwrap()
                {
                    let offset = usize::try_from(partial.position()).unwrap();
                    partial.write(&b"shared"[offset..]).unwrap();
                    partial.finish().unwrap();
                }
            });
        }
    });
    assert_eq!(
        fs::read(find(&cache, b"shared").unwrap()).unwrap(),
        b"shared"
    );
    assert_eq!(files_below(&cache.directory), 0);
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn opened(directory: &Path) -> Result<OpenCache, String> {
    OpenCache::open(directory, LIMIT).map_err(|error| {
        let CacheError::Exposed(_, source) = error else {
            panic!("{error}")
        };
        source.to_string()
    })
}

#[test]
fn a_cache_that_others_could_write_to_is_refused() {
    let (directory, cache) = cache();
    let path = cache.directory.clone();
    drop(cache);
    let own = [CONTENTS, PARTIAL, NEW, DERIVED].map(|name| path.join(name));
    let above = [directory.path().join("a"), path.clone()];
    for exposed in above.iter().chain(&own) {
        for bad in [0o770, 0o707] {
            mode(exposed, bad);
            let expected = format!(
                "`{}` is writable by other users (mode 0{bad:o})",
                exposed.display()
            );
            assert_eq!(opened(&path).unwrap_err(), expected);
        }
        mode(exposed, 0o700);
    }
    // A directory that is writable for all users may contain the cache, but may not be the cache.
    mode(&directory.path().join("a"), 0o1777);
    assert!(opened(&path).is_ok());
    assert!(opened(&directory.path().join("a/new")).is_ok());
    mode(&path, 0o1777);
    assert!(opened(&path).unwrap_err().contains("(mode 1777)"));
}

#[test]
fn a_cache_of_another_user_is_refused() {
    let (_directory, cache) = cache();
    // Root's cache counts as another user's: its content cannot be replaced.
    let other = OpenCache::open_as(&cache.directory, LIMIT, cache.user + 1);
    let Err(CacheError::Exposed(_, source)) = other else {
        panic!("{other:?}")
    };
    let words = format!("belongs to user {}", cache.user);
    assert!(source.to_string().ends_with(&words), "{source}");
}

#[test]
fn a_link_leads_to_the_cache_and_no_link_is_part_of_it() {
    let (directory, cache) = cache();
    let content = put(&cache, b"content");
    symlink(&cache.directory, directory.path().join("link")).unwrap();
    let linked = opened(&directory.path().join("link")).unwrap();
    assert_eq!(find(&linked, b"content"), Some(content));
    let notes = cache.directory.join(DERIVED);
    fs::rename(&notes, directory.path().join("elsewhere")).unwrap();
    symlink(directory.path().join("elsewhere"), &notes).unwrap();
    assert!(OpenCache::open(&cache.directory, LIMIT).is_err());
}

/// The two ways in which others can control a file: its mode and its owner.
fn exposed_ways() -> [fn(&mut OpenCache, &Path); 2] {
    [|_, path| mode(path, 0o602), |cache, _| cache.user += 1]
}

#[test]
fn a_file_that_others_could_have_written_counts_as_absent() {
    for expose in exposed_ways() {
        let (_directory, mut cache) = cache();
        let mut new = cache.create().unwrap();
        new.write_all(b"made").unwrap();
        let made = new.finish().unwrap();
        cache.remember("recipe", &made).unwrap();
        expose(&mut cache, &made.path);
        assert_eq!(cache.find_derived("recipe"), None);
        assert_eq!(find(&cache, b"made"), None);
        assert!(
            !made.path.exists(),
            "it is removed, so that it can be made anew"
        );
    }
}

#[test]
fn a_note_that_others_could_have_written_says_nothing() {
    let (_directory, cache) = cache();
    let mut new = cache.create().unwrap();
    new.write_all(b"made").unwrap();
    let made = new.finish().unwrap();
    cache.remember("recipe", &made).unwrap();
    let note = cache.note("recipe");
    mode(&note, 0o620);
    assert_eq!(cache.find_derived("recipe"), None);
    mode(&note, 0o600);
    assert_eq!(cache.find_derived("recipe"), Some(made.clone()));
    let elsewhere = cache.directory.join("elsewhere");
    fs::rename(&note, &elsewhere).unwrap();
    symlink(&elsewhere, &note).unwrap();
    assert_eq!(cache.find_derived("recipe"), None);
    cache.remember("recipe", &made).unwrap();
    assert_eq!(cache.find_derived("recipe"), Some(made));
}

#[test]
fn a_beginning_that_others_could_have_written_is_begun_anew() {
    let (_directory, cache) = cache();
    begin(&cache, b"content").write(b"con").unwrap();
    let hex = files::digest(b"content").hex();
    let partial = cache.directory.join(PARTIAL).join(format!("{hex}.0"));
    mode(&partial, 0o606);
    let mut partial = begin(&cache, b"content");
    assert_eq!(partial.position(), 0);
    partial.write(b"content").unwrap();
    partial.finish().unwrap();
    let path = find(&cache, b"content").unwrap();
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
}

#[test]
fn what_a_killed_process_was_making_goes_when_the_cache_is_closed() {
    let (_directory, cache) = cache();
    let kept = put(&cache, b"content");
    begin(&cache, b"partial").write(b"par").unwrap();
    for name in ["0", "7", "scratch-x"] {
        fs::write(cache.directory.join(NEW).join(name), [0; 10]).unwrap();
    }
    let directory = cache.directory.clone();
    cache.close().unwrap();
    assert_eq!(fs::read_dir(directory.join(NEW)).unwrap().count(), 0);
    assert_eq!(fs::read_dir(directory.join(PARTIAL)).unwrap().count(), 1);
    assert!(kept.exists());
}

//! Checks whether other users could change the target of a path: [`directory`].
//!
//! A file that only its owner can write is still exposed if another user can rename a directory above it or replace one
//! of them by a link. The path is therefore resolved component by component, as the kernel does it. Every directory
//! from `/` down and every link must belong to root or to the user, and no other user may have write access to these
//! directories. Directories with the sticky bit, such as `/tmp`, are an exception: only owners can rename their
//! entries, so it suffices that the next component belongs to the user or to root. Only root and the user can change a
//! path that passes, so it cannot change between check and use.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use crate::limits;

/// The property that allows another user to change a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// It belongs to the user with this id.
    Owner(u32),
    /// Its mode allows other users to write to it.
    Mode(u32),
}

impl fmt::Display for Exposure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(owner) => write!(f, "belongs to user {owner}"),
            Self::Mode(mode) => write!(f, "is writable by other users (mode {mode:04o})"),
        }
    }
}

/// The reason why a path is not known to be safe from other users.
#[derive(Debug, thiserror::Error)]
pub enum OwnershipError {
    /// The operating system reported an error.
    #[error("cannot inspect `{}`", .0.display())]
    Io(PathBuf, #[source] io::Error),
    /// Another user could change the target of the path.
    #[error("`{}` {how}", path.display())]
    Exposed {
        /// The directory or link that the user could change.
        path: PathBuf,
        /// The property that allows this.
        how: Exposure,
    },
    /// A link to a missing target. It is not treated as missing, because its creator intended some target.
    #[error("`{}` is a dangling link", .0.display())]
    Dangling(PathBuf),
    /// The path leads through too many links, for example a circle.
    #[error("`{}` leads through more than {max} links", .0.display(), max = limits::PATH_LINKS)]
    Links(PathBuf),
    /// A file where a directory is needed.
    #[error("`{}` is not a directory", .0.display())]
    NotADirectory(PathBuf),
}

/// The target of a path after resolving all links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolvedPath {
    /// An existing directory.
    There(PathBuf),
    /// A path that does not exist.
    Missing(PathBuf),
}

/// Returns the property of a file with this owner and mode that allows users other than `owners` to change it.
#[must_use]
pub fn exposure(owner: u32, mode: u32, owners: &[u32]) -> Option<Exposure> {
    if !owners.contains(&owner) {
        return Some(Exposure::Owner(owner));
    }
    (mode & 0o022 != 0).then_some(Exposure::Mode(mode & 0o7777))
}

/// Resolves the path of a directory, and checks that only root and the user with this id can change it and every
/// directory above it.
pub fn directory(path: &Path, user: u32) -> Result<ResolvedPath, OwnershipError> {
    PathWalk::new(path, user, &read_facts)?.follow(path)
}

/// The attributes of a file system entry.
#[derive(Clone, Copy, Debug)]
struct Facts {
    kind: ComponentKind,
    owner: u32,
    mode: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ComponentKind {
    Directory,
    Link,
    Other,
}

fn read_facts(path: &Path) -> io::Result<Facts> {
    path.symlink_metadata().map(|metadata| (&metadata).into())
}

impl From<&Metadata> for Facts {
    fn from(metadata: &Metadata) -> Self {
        let kind = if metadata.is_dir() {
            ComponentKind::Directory
        } else if metadata.is_symlink() {
            ComponentKind::Link
        } else {
            ComponentKind::Other
        };
        Self {
            kind,
            owner: metadata.uid(),
            mode: metadata.mode(),
        }
    }
}

/// A component that is not resolved yet.
struct PathComponent {
    name: OsString,
    /// The link whose target contains the component.
    link: Option<PathBuf>,
}

struct PathWalk<'a> {
    look: &'a dyn Fn(&Path) -> io::Result<Facts>,
    user: u32,
    /// The directory that is resolved so far, without links.
    at: PathBuf,
    /// The remaining components, in reverse order.
    components: Vec<PathComponent>,
    links: usize,
}

impl<'a> PathWalk<'a> {
    fn new(
        path: &Path,
        user: u32,
        look: &'a dyn Fn(&Path) -> io::Result<Facts>,
    ) -> Result<Self, OwnershipError> {
        let mut walk = Self {
            look,
            user,
            at: PathBuf::from("/"),
            components: Vec::new(),
            links: 0,
        };
        walk.push(path, None);
        if path.is_relative() {
            let here = Path::new(".");
            let here = fs::canonicalize(here).map_err(|error| failed(here, error))?;
            walk.push(&here, None);
        }
        Ok(walk)
    }

    fn push(&mut self, path: &Path, link: Option<&Path>) {
        let names = path.components().rev().filter_map(|component| {
            let name = match component {
                Component::Normal(name) => name.to_owned(),
                Component::ParentDir => OsString::from(".."),
                _ => return None,
            };
            let link = link.map(Path::to_owned);
            Some(PathComponent { name, link })
        });
        self.components.extend(names);
    }

    fn follow(mut self, path: &Path) -> Result<ResolvedPath, OwnershipError> {
        self.check_parent(self.facts(&self.at)?)?;
        while let Some(component) = self.components.pop() {
            // `at` contains no links, so its parent is the parent in the text of the path.
            if component.name == ".." {
                self.at.pop();
                continue;
            }
            let next = self.at.join(&component.name);
            let facts = match self.facts(&next) {
                Err(OwnershipError::Io(_, source)) if source.kind() == io::ErrorKind::NotFound => {
                    return self.missing(next, component);
                }
                facts => facts?,
            };
            match facts.kind {
                ComponentKind::Directory => {
                    self.at = next;
                    self.check_parent(facts)?;
                }
                ComponentKind::Link => self.enter_link(path, &next, facts)?,
                ComponentKind::Other => return Err(OwnershipError::NotADirectory(next)),
            }
        }
        let facts = self.facts(&self.at)?;
        self.check(&self.at, facts.owner, facts.mode)?;
        Ok(ResolvedPath::There(self.at))
    }

    fn facts(&self, path: &Path) -> Result<Facts, OwnershipError> {
        (self.look)(path).map_err(|error| failed(path, error))
    }

    fn check(&self, path: &Path, owner: u32, mode: u32) -> Result<(), OwnershipError> {
        exposure(owner, mode, &[0, self.user]).map_or(Ok(()), |how| {
            Err(OwnershipError::Exposed {
                path: path.to_owned(),
                how,
            })
        })
    }

    /// Checks a directory that contains the next component. The owner of that component is checked next, so a sticky
    /// directory may be writable.
    fn check_parent(&self, facts: Facts) -> Result<(), OwnershipError> {
        const STICKY: u32 = 0o1000;
        let mode = if facts.mode & STICKY == 0 {
            facts.mode
        } else {
            0
        };
        self.check(&self.at, facts.owner, mode)
    }

    /// Continues with the target of a link. The mode of a link is not checked, because links cannot be written.
    fn enter_link(&mut self, path: &Path, link: &Path, facts: Facts) -> Result<(), OwnershipError> {
        self.check(link, facts.owner, 0)?;
        self.links += 1;
        if self.links > limits::PATH_LINKS {
            return Err(OwnershipError::Links(path.to_owned()));
        }
        let target = fs::read_link(link).map_err(|error| failed(link, error))?;
        // The root directory was checked at the start of the walk.
        if target.is_absolute() {
            self.at = PathBuf::from("/");
        }
        self.push(&target, Some(link));
        Ok(())
    }

    fn missing(
        self,
        path: PathBuf,
        component: PathComponent,
    ) -> Result<ResolvedPath, OwnershipError> {
        // The missing component is part of a link's target.
        if let Some(link) = component.link {
            return Err(OwnershipError::Dangling(link));
        }
        let rest = self
            .components
            .into_iter()
            .rev()
            .map(|component| component.name);
        Ok(ResolvedPath::Missing(
            rest.fold(path, |path, name| path.join(name)),
        ))
    }
}

fn failed(path: &Path, source: io::Error) -> OwnershipError {
    OwnershipError::Io(path.to_owned(), source)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use tempfile::TempDir;

    use super::*;

    /// A user id that belongs neither to root nor to the user who runs the test.
    const STRANGER: u32 = 54_321;

    /// A directory `a/b/c` that the tests modify.
    struct Bench(TempDir);

    impl Bench {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            fs::create_dir_all(directory.path().join("a/b/c")).unwrap();
            let bench = Self(directory);
            for name in ["a", "a/b", "a/b/c"] {
                bench.mode(name, 0o755);
            }
            bench
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn mode(&self, name: &str, mode: u32) {
            fs::set_permissions(self.path(name), Permissions::from_mode(mode)).unwrap();
        }

        /// Resolves a path as if another user owned the entry with this name. The directories above the bench are
        /// treated as root's, independent of the location of the test's files.
        fn follow(&self, name: &str, foreign: Option<&str>) -> Result<ResolvedPath, String> {
            let user = rustix::process::geteuid().as_raw();
            let look = |path: &Path| {
                let facts = read_facts(path)?;
                if self.0.path().starts_with(path) && path != self.0.path() {
                    return Ok(Facts {
                        owner: 0,
                        mode: 0o755,
                        ..facts
                    });
                }
                let is_foreign = foreign.is_some_and(|name| path == self.path(name));
                let owner = if is_foreign { STRANGER } else { facts.owner };
                Ok(Facts { owner, ..facts })
            };
            let path = self.path(name);
            let place = PathWalk::new(&path, user, &look).and_then(|walk| walk.follow(&path));
            let here = self.0.path().display().to_string();
            place.map_err(|error| error.to_string().replace(&here, "DIR"))
        }
    }

    #[test]
    fn only_the_owners_change_what_nobody_else_may_write() {
        for (owner, mode, owners, expected) in [
            (0, 0o644, &[0, 0][..], None),
            (0, 0o644, &[0, 1000], None),
            (1000, 0o100_600, &[0, 1000], None),
            (1000, 0o644, &[0, 0], Some(Exposure::Owner(1000))),
            (1001, 0o600, &[0, 1000], Some(Exposure::Owner(1001))),
            (0, 0o700, &[1000], Some(Exposure::Owner(0))),
            (0, 0o664, &[0, 0], Some(Exposure::Mode(0o664))),
            (0, 0o646, &[0, 0], Some(Exposure::Mode(0o646))),
            (1000, 0o041_777, &[0, 1000], Some(Exposure::Mode(0o1777))),
        ] {
            let found = exposure(owner, mode, owners);
            assert_eq!(found, expected, "{owner} {mode:o} {owners:?}");
        }
    }

    #[test]
    fn nobody_else_may_write_to_a_directory_or_to_one_above_it() {
        let bench = Bench::new();
        let there = Ok(ResolvedPath::There(bench.path("a/b/c")));
        for name in ["a", "a/b", "a/b/c"] {
            for mode in [0o775, 0o757] {
                bench.mode(name, mode);
                let expected = format!("`DIR/{name}` is writable by other users (mode 0{mode:o})");
                assert_eq!(bench.follow("a/b/c", None), Err(expected));
            }
            bench.mode(name, 0o755);
            assert_eq!(bench.follow("a/b/c", None), there);
            let expected = format!("`DIR/{name}` belongs to user {STRANGER}");
            assert_eq!(bench.follow("a/b/c", Some(name)), Err(expected));
        }
    }

    #[test]
    fn a_sticky_directory_may_be_above_what_is_ours_and_is_not_ours_itself() {
        let bench = Bench::new();
        bench.mode("a/b", 0o1777);
        let there = Ok(ResolvedPath::There(bench.path("a/b/c")));
        assert_eq!(bench.follow("a/b/c", None), there);
        let missing = Ok(ResolvedPath::Missing(bench.path("a/b/d")));
        assert_eq!(bench.follow("a/b/d", None), missing);
        let foreign = format!("`DIR/a/b/c` belongs to user {STRANGER}");
        assert_eq!(bench.follow("a/b/c", Some("a/b/c")), Err(foreign));
        let shared = "`DIR/a/b` is writable by other users (mode 1777)".to_owned();
        assert_eq!(bench.follow("a/b", None), Err(shared));
    }

    #[test]
    fn what_is_missing_lies_below_what_nobody_else_may_write_to() {
        let bench = Bench::new();
        let missing = Ok(ResolvedPath::Missing(bench.path("a/x/y/z")));
        assert_eq!(bench.follow("a/b/../x/y/z", None), missing);
        bench.mode("a", 0o777);
        let expected = "`DIR/a` is writable by other users (mode 0777)".to_owned();
        assert_eq!(bench.follow("a/x/y/z", None), Err(expected));
    }

    #[test]
    fn links_are_followed_and_everything_on_their_way_is_checked() {
        let bench = Bench::new();
        symlink("b/../b/c", bench.path("a/relative")).unwrap();
        symlink(bench.path("a/relative"), bench.path("absolute")).unwrap();
        let there = Ok(ResolvedPath::There(bench.path("a/b/c")));
        assert_eq!(bench.follow("absolute", None), there);
        assert_eq!(bench.follow("absolute/../c", None), there);
        for name in ["absolute", "a/relative", "a/b", "a/b/c"] {
            let expected = format!("`DIR/{name}` belongs to user {STRANGER}");
            assert_eq!(bench.follow("absolute", Some(name)), Err(expected));
        }
        bench.mode("a/b", 0o770);
        let expected = "`DIR/a/b` is writable by other users (mode 0770)".to_owned();
        assert_eq!(bench.follow("absolute", None), Err(expected));
    }

    #[test]
    fn links_that_lead_nowhere_or_in_circles_are_not_taken_for_missing() {
        let bench = Bench::new();
        symlink("gone/further", bench.path("a/dangling")).unwrap();
        symlink("circle", bench.path("a/circle")).unwrap();
        symlink("b", bench.path("a/link")).unwrap();
        fs::write(bench.path("a/file"), "").unwrap();
        for (path, expected) in [
            ("a/dangling", "`DIR/a/dangling` is a dangling link"),
            ("a/dangling/x", "`DIR/a/dangling` is a dangling link"),
            (
                "a/circle",
                "`DIR/a/circle` leads through more than 40 links",
            ),
            ("a/file", "`DIR/a/file` is not a directory"),
            ("a/file/x", "`DIR/a/file` is not a directory"),
        ] {
            assert_eq!(bench.follow(path, None), Err(expected.to_owned()));
        }
        let missing = Ok(ResolvedPath::Missing(bench.path("a/b/x")));
        assert_eq!(bench.follow("a/link/x", None), missing);
    }

    #[test]
    fn a_relative_path_begins_here() {
        let here = fs::canonicalize(".").unwrap();
        let look = |path: &Path| {
            read_facts(path).map(|facts| Facts {
                owner: 0,
                mode: 0o755,
                ..facts
            })
        };
        let path = Path::new("src/../no-such-directory");
        let walk = PathWalk::new(path, 0, &look).unwrap();
        let missing = ResolvedPath::Missing(here.join("no-such-directory"));
        assert_eq!(walk.follow(path).unwrap(), missing);
    }
}

//! Shells and `man` read the files that packages install.

use crate::common::Desk;

#[test]
fn zsh_takes_the_completion_for_the_program() {
    let desk = Desk::installed();
    let ask = "autoload -Uz compinit && compinit -D -u && source $PWD/bin/share/zsh/site-functions/_solution && echo $_comps[solution]";
    // Without the user's startup files.
    let answer = desk.run("zsh", &["-f", "-c", ask]);
    assert_eq!(answer.stderr, "", "{answer:?}");
    assert_eq!(answer.success(), "_solution\n");
}

#[test]
fn fish_completes_verbs_and_options() {
    let desk = Desk::installed();
    for (line, candidate) in [
        ("solution unim", "unimport"),
        ("solution environment cr", "create"),
        ("solution pack --compr", "--compression"),
    ] {
        let ask = format!(
            "source bin/share/fish/vendor_completions.d/solution.fish; complete -C '{line}'"
        );
        let answer = desk.run("fish", &["--no-config", "-c", &ask]);
        assert_eq!(answer.stderr, "", "{answer:?}");
        let text = answer.success();
        let (given, about) = text.split_once('\t').unwrap();
        assert_eq!(given, candidate, "{text}");
        assert!(!about.trim().contains('\n'), "{text}");
    }
}

#[test]
fn man_shows_every_page_without_a_warning() {
    let desk = Desk::installed();
    let sections = [("man1", 20), ("man5", 2), ("man7", 1)];
    let pages = sections.into_iter().flat_map(|(section, at_least)| {
        let pages = std::fs::read_dir(desk.path("bin/share/man").join(section)).unwrap();
        let pages: Vec<_> = pages.map(|page| page.unwrap().path()).collect();
        assert!(pages.len() >= at_least, "{pages:?}");
        pages
    });
    for page in pages {
        let path = page.to_str().unwrap();
        let answer = desk.run("man", &["--warnings", "--local-file", path]);
        assert_eq!(answer.stderr, "", "{answer:?}");
        let text = answer.success();
        let name = page.file_stem().unwrap().to_str().unwrap();
        assert!(text.contains(&format!("\nNAME\n       {name} ")), "{text}");
    }
}

//! Trust policies, which name the accepted keys if a command line has none.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use crate::common::{Answer, Desk};

/// The folder of the desk user's policies.
const FOLDER: &str = ".config/solution/trust.d";

fn trust(desk: &Desk, arguments: &[&str]) -> Answer {
    desk.solution(&[&["trust"], arguments].concat())
}

fn validate(desk: &Desk) -> Answer {
    desk.solution(&["validate", "example.iso"])
}

/// Returns the arguments that trust the publisher for these Solutions.
fn acme_policy(solutions: &str) -> [&str; 6] {
    [
        "add",
        "acme",
        "--key",
        "publisher.pub",
        "--solutions",
        solutions,
    ]
}

/// Returns a desk with an archive, and a policy `acme` that trusts the publisher's key for these Solutions.
fn desk_with_policy(solutions: &str) -> Desk {
    let desk = Desk::with_archive();
    let add = acme_policy(solutions);
    trust(&desk, &add).success();
    desk
}

#[test]
fn a_policy_takes_the_place_of_a_key() {
    let desk = Desk::with_archive();
    let text = validate(&desk).failure(2);
    assert!(text.contains("solution trust add"), "{text}");
    let add = acme_policy("exam*");
    let text = trust(&desk, &add).failure(2);
    assert!(text.contains("PREFIX-*"), "{text}");
    let add = acme_policy("example");
    let added = trust(
        &desk,
        &[&add[..], &["--comment", "Acme's \"release\" key"]].concat(),
    );
    let text = added.success();
    let id = desk
        .solution(&["inspect", "example.iso", "--output", "json"])
        .json()["signatures"][0]
        .clone();
    assert!(
        text.contains(id.as_str().unwrap()),
        "the whole id is shown: {text}"
    );
    let text = validate(&desk).success();
    assert!(
        text.contains("policy acme: 1 of 1 key signed, 1 needed"),
        "{text}"
    );
    let report = desk.report(&[], 0);
    assert_eq!(report["judged"]["policy"], "acme", "{report:#}");
    let list = trust(&desk, &["list", "--output", "json"]).json();
    assert_eq!(list["policies"][0]["name"], "acme");
    assert_eq!(list["policies"][0]["solutions"][0], "example");
    assert_eq!(list["policies"][0]["keys"][0]["id"], id);
    assert_eq!(
        list["policies"][0]["keys"][0]["comment"],
        "Acme's \"release\" key"
    );
    let text = trust(&desk, &add).failure(1);
    assert!(
        text.contains("exists") && text.contains("--extend"),
        "{text}"
    );
    let shown = trust(&desk, &["remove", "acme", "--dry-run"]).success();
    assert!(shown.contains("nothing was changed"), "{shown}");
    validate(&desk).success();
    trust(&desk, &["remove", "acme"]).success();
    validate(&desk).failure(2);
    assert_eq!(
        trust(&desk, &["list", "--output", "json"]).json(),
        serde_json::json!({"schemaVersion": "1", "policies": []})
    );
}

#[test]
fn a_policy_counts_for_its_solutions_only_and_the_closest_one_counts() {
    let desk = desk_with_policy("acme-*");
    let report = desk.report(&[], 1);
    assert_eq!(report["findings"][0]["id"], "signature.untrusted");
    assert!(
        report
            .to_string()
            .contains("no policy of this site covers `example`"),
        "{report:#}"
    );
    // A key on the command line replaces the policies.
    desk.report(&["--key", "publisher.pub"], 0);
    desk.solution(&["keygen", "other"]).success();
    let add = ["add", "all", "--key", "publisher.pub", "--solutions", "*"];
    trust(&desk, &add).success();
    desk.report(&[], 0);
    // The policy with the more specific pattern counts, even if it is stricter.
    let add = [
        "add",
        "strict",
        "--key",
        "publisher.pub",
        "--key",
        "other.pub",
        "--solutions",
        "example",
    ];
    let text = trust(&desk, &add).failure(2);
    assert!(text.contains("--threshold"), "{text}");
    trust(&desk, &[&add[..], &["--threshold", "2"]].concat()).success();
    let report = desk.report(&[], 1);
    assert_eq!(
        report["findings"][0]["id"], "signature.threshold",
        "{report:#}"
    );
    assert_eq!(report["judged"]["policy"], "strict", "{report:#}");
    let text = validate(&desk).failure(1);
    assert!(
        text.contains("policy strict: 2 of 2 keys must have signed"),
        "{text}"
    );
    desk.solution(&["sign", "example.iso", "--key", "other.key"])
        .success();
    desk.report(&[], 0);
    // Neither pattern is more specific, so the choice would be arbitrary.
    let add = ["add", "tie", "--key", "other.pub", "--solutions", "example"];
    let text = trust(&desk, &add).failure(1);
    assert!(
        text.contains("`strict` and `tie` both apply to `example`"),
        "{text}"
    );
    assert!(!desk.path(FOLDER).join("tie.yaml").exists());
    fs::copy(
        desk.path(FOLDER).join("strict.yaml"),
        desk.path(FOLDER).join("tie.yaml"),
    )
    .unwrap();
    let text = validate(&desk).failure(1);
    assert!(
        text.contains("tie.yaml") && text.contains("names must be equal"),
        "{text}"
    );
}

/// The policy of docs/how-to/publish/signing.md, which a user writes manually.
#[test]
fn the_guides_policy_is_one() {
    let guide = include_str!("../../docs/how-to/publish/signing.md");
    let (_, policy) = guide.split_once("\n```yaml\n").unwrap();
    let (policy, _) = policy.split_once("```").unwrap();
    let desk = Desk::with_archive();
    desk.write(&format!("{FOLDER}/board.yaml"), policy);
    let list = trust(&desk, &["list", "--output", "json"]).json();
    assert_eq!(
        (
            &list["policies"][0]["name"],
            &list["policies"][0]["threshold"]
        ),
        (&"board".into(), &2.into())
    );
    assert_eq!(list["policies"][0]["keys"].as_array().unwrap().len(), 2);
    let report = desk.report(&[], 1);
    assert_eq!(report["judged"]["policy"], "board", "{report:#}");
    // `trust add` extends the policy in the same form.
    let add = [
        "add",
        "board",
        "--key",
        "publisher.pub",
        "--extend",
        "--comment",
        "us",
    ];
    trust(&desk, &add).success();
    let text = String::from_utf8(desk.read(&format!("{FOLDER}/board.yaml"))).unwrap();
    let public = String::from_utf8(desk.read("publisher.pub")).unwrap();
    for line in public.lines() {
        assert!(text.contains(&format!("\n        {line}\n")), "{text}");
    }
    assert!(text.contains("security review"), "{text}");
}

#[test]
fn keys_are_changed_one_by_one() {
    let desk = desk_with_policy("*");
    for name in ["next", "third"] {
        desk.solution(&["keygen", name]).success();
    }
    let extend = ["add", "acme", "--key", "next.pub", "--extend"];
    let text = trust(&desk, &extend).failure(2);
    assert!(text.contains("--threshold"), "{text}");
    trust(&desk, &[&extend[..], &["--threshold", "1"]].concat()).success();
    let text = trust(&desk, &[&extend[..], &["--threshold", "1"]].concat()).failure(2);
    assert!(text.contains("is given twice"), "{text}");
    desk.report(&[], 0);
    let keys = |desk: &Desk| {
        let list = trust(desk, &["list", "--output", "json"]).json();
        let keys = list["policies"][0]["keys"].as_array().unwrap().clone();
        keys.iter()
            .map(|key| key["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let ids = keys(&desk);
    assert_eq!(ids.len(), 2);
    let text = trust(&desk, &["remove", &ids[0][..7]]).failure(1);
    assert!(text.contains("8 characters"), "{text}");
    let remove = ["remove", &ids[0][..12], "--dry-run"];
    trust(&desk, &remove).success();
    assert_eq!(keys(&desk), ids);
    trust(&desk, &remove[..2]).success();
    assert_eq!(keys(&desk), ids[1..]);
    let report = desk.report(&[], 1);
    assert_eq!(report["findings"][0]["id"], "signature.untrusted");
    // Removing the last key requires removing its policy.
    let text = trust(&desk, &["remove", &ids[1][..12]]).failure(1);
    assert!(text.contains("remove the whole policy"), "{text}");
    let text = trust(&desk, &["remove", "nothing"]).failure(1);
    assert!(text.contains("no policy has the name `nothing`"), "{text}");
    let extend = ["add", "nobody", "--key", "third.pub", "--extend"];
    trust(&desk, &extend).failure(1);
}

#[test]
fn what_others_could_have_written_ends_the_command() {
    let desk = desk_with_policy("*");
    let folder = desk.path(FOLDER);
    let file = folder.join("acme.yaml");
    let mode = |path: &std::path::Path, mode| {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    let refused = |words: &[&str]| {
        for command in [validate(&desk), trust(&desk, &["list"])] {
            let text = command.failure(1);
            for word in words {
                assert!(text.contains(word), "`{word}` is not in: {text}");
            }
        }
    };
    for (path, good) in [(&file, 0o644), (&folder, 0o755)] {
        for bad in [good | 0o020, good | 0o002] {
            mode(path, bad);
            refused(&[&format!("`{}` is writable by other users", path.display())]);
        }
        mode(path, good);
        desk.report(&[], 0);
    }
    // A user with write access to a parent folder can replace the policies.
    for above in [".config/solution", ".config", ""] {
        let path = desk.path(above);
        for bad in [0o775, 0o757] {
            mode(&path, bad);
            let shown = path.display().to_string();
            let shown = shown.trim_end_matches('/');
            let words = format!("`{shown}` is writable by other users (mode 0{bad:o})");
            refused(&[&words, "chmod go-w"]);
        }
        mode(&path, 0o1777);
        desk.report(&[], 0);
        mode(&path, 0o755);
    }
    let text = fs::read(&file).unwrap();
    for name in ["acme.yml", "acme.yaml~", "README", "Acme.yaml"] {
        let other = folder.join(name);
        fs::write(&other, &text).unwrap();
        refused(&[name, "does not have the name of a policy"]);
        fs::remove_file(other).unwrap();
    }
    let link = folder.join("link.yaml");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    refused(&["link.yaml", "is a link"]);
    fs::remove_file(&link).unwrap();
    fs::create_dir(&link).unwrap();
    refused(&["link.yaml", "is not a file"]);
    fs::remove_dir(&link).unwrap();
    let good = String::from_utf8(text).unwrap();
    for (bad, words) in [
        (good.replace("threshold", "treshold"), "trust policy"),
        (good.replacen("keys:", "keyz:", 1), "keyz"),
        (
            good.replacen("BEGIN PUBLIC", "BEGIN PRIVATE", 1),
            "key 1 of policy `acme`",
        ),
        (good.clone() + &"#".repeat(70_000), "65536 bytes"),
        (String::new(), "trust policy"),
    ] {
        if bad == good {
            continue;
        }
        fs::write(&file, bad).unwrap();
        refused(&["acme.yaml", words]);
    }
    // Files of editors are ignored, and an unreadable policy can be removed.
    fs::write(folder.join(".acme.yaml.swp"), "x").unwrap();
    trust(&desk, &["remove", "acme"]).success();
    trust(&desk, &["list"]).success();
}

#[test]
fn the_folder_follows_the_users_own_choice() {
    let desk = Desk::with_archive();
    let run = |arguments: &[&str], config: &str| {
        Answer::from_command(
            desk.command()
                .args(arguments)
                .env("XDG_CONFIG_HOME", config),
        )
    };
    let chosen = desk.path("chosen");
    let chosen = chosen.to_str().unwrap();
    let add = [
        "trust",
        "add",
        "acme",
        "--key",
        "publisher.pub",
        "--solutions",
        "*",
    ];
    run(&add, chosen).success();
    assert!(desk.path("chosen/solution/trust.d/acme.yaml").exists());
    run(&["validate", "example.iso"], chosen).success();
    // A relative path is ignored (XDG Base Directory Specification).
    run(&["validate", "example.iso"], "chosen").failure(2);
    let mode = fs::metadata(desk.path("chosen/solution/trust.d/acme.yaml")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o644);
}

/// Returns the line that names the searched folders.
fn searched_folders(answer: &Answer) -> &str {
    let mut lines = answer.stderr.lines();
    let line = lines.find_map(|line| line.find("looked for policies in ").map(|at| &line[at..]));
    line.unwrap_or_else(|| panic!("{answer:?}"))
}

#[test]
fn which_folders_were_read_is_said_also_when_there_is_none() {
    let desk = Desk::with_archive();
    let folder = desk.path(FOLDER);
    let shown = folder.display();
    let import = ["import", "example.iso", "--registry", "127.0.0.1:1"];
    let told = |found: &str| {
        let expected = format!(", {shown} ({found})");
        for command in [
            validate(&desk),
            trust(&desk, &["list"]),
            desk.solution(&import),
        ] {
            let line = searched_folders(&command);
            assert!(
                line.starts_with("looked for policies in /etc/solution/trust.d ("),
                "{line}"
            );
            assert!(line.ends_with(&expected), "{line}");
        }
    };
    told("no such directory");
    fs::create_dir_all(&folder).unwrap();
    told("empty");
    trust(&desk, &acme_policy("example")).success();
    told("1 policy");
    let mut other = acme_policy("*");
    other[1] = "other";
    trust(&desk, &other).success();
    told("2 policies");
    let report = desk.report(&[], 0);
    let folders = report["policyFolders"].as_array().unwrap();
    assert_eq!(folders.len(), 2, "{report:#}");
    assert_eq!(folders[0]["path"], "/etc/solution/trust.d");
    assert_eq!(
        (&folders[1]["path"], &folders[1]["policies"]),
        (&shown.to_string().into(), &2.into())
    );
    // With a key, no policy is read.
    let report = desk.report(&["--key", "publisher.pub"], 0);
    assert!(report.get("policyFolders").is_none(), "{report:#}");
}

#[test]
fn a_folder_may_be_a_link_and_one_that_leads_nowhere_is_not_taken_for_none() {
    let desk = desk_with_policy("*");
    fs::rename(desk.path(FOLDER), desk.path("site")).unwrap();
    let text = validate(&desk).failure(2);
    assert!(text.contains("(no such directory)"), "{text}");
    std::os::unix::fs::symlink("../../site", desk.path(FOLDER)).unwrap();
    desk.report(&[], 0);
    fs::set_permissions(desk.path("site"), Permissions::from_mode(0o777)).unwrap();
    let text = validate(&desk).failure(1);
    assert!(text.contains("site` is writable by other users"), "{text}");
    fs::remove_dir_all(desk.path("site")).unwrap();
    for command in [validate(&desk), trust(&desk, &["list"])] {
        let text = command.failure(1);
        assert!(text.contains("is a dangling link"), "{text}");
    }
}

/// Returns the home directory of the test's user from /etc/passwd.
fn home_of_the_database() -> Option<String> {
    let user = rustix::process::geteuid().as_raw().to_string();
    let database = fs::read_to_string("/etc/passwd").unwrap();
    let mut lines = database
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    let fields = lines.find(|fields| fields.len() == 7 && fields[2] == user)?;
    Some(fields[5].to_owned())
}

#[test]
fn without_home_the_user_database_says_where_policies_are() {
    let desk = Desk::with_archive();
    for home in [None, Some(""), Some("relative")] {
        let mut command = desk.command();
        command.env_remove("HOME").args(["trust", "list"]);
        home.map(|home| command.env("HOME", home));
        let answer = Answer::from_command(&mut command);
        if let Some(home) = home_of_the_database() {
            let folder = format!("{home}/{FOLDER} (");
            assert!(searched_folders(&answer).contains(&folder), "{answer:?}");
        } else {
            let text = answer.failure(3);
            assert!(text.contains("the home directory is unknown"), "{text}");
            assert!(text.contains("set HOME"), "{text}");
        }
    }
}

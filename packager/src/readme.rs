//! `README.txt` of an archive: for the person who mounts it and has nothing else at hand.

use std::fmt::Write as _;

use schemas::SolutionId;

use crate::source::Collected;

/// Whether the archive has an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brings {
    /// Container images alone.
    Images,
    /// Container images and an operator.
    Operator,
}

/// The shell lines that verify an archive without this tool; the tests run them.
pub(crate) const VERIFY: &str = include_str!("../templates/verify.sh");

/// The text. It must not depend on who signs: signatures are added later without changing any file.
pub(crate) fn text(id: &SolutionId, brings: Brings, images: &[Collected], tool: &str) -> String {
    let (what, operator) = match brings {
        Brings::Images => ("container images", ""),
        Brings::Operator => (
            "container images and an operator",
            "  operator/                its CustomResourceDefinitions and its rights\n",
        ),
    };
    let verify: String = VERIFY.lines().map(|line| format!("  {line}\n")).collect();
    let listed = images.iter().fold(String::new(), |mut listed, image| {
        let digest = image.documents[0].digest;
        writeln!(listed, "  {}\n    {digest}", image.place)
            .expect("writing to a string cannot fail");
        listed
    });
    let id = id.to_string();
    include_str!("../templates/README.txt")
        .replace("@RULE@", &"=".repeat(id.len()))
        .replace("@ID@", &id)
        .replace("@WHAT@", what)
        .replace("@OPERATOR@", operator)
        .replace("@VERIFY@", &verify)
        .replace("@IMAGES@", &listed)
        .replace("@TOOL@", tool)
}

#[cfg(test)]
mod tests {
    use schemas::Digest;

    use super::*;
    use crate::source::Document;

    #[test]
    fn the_text_is_complete_and_fits_a_terminal() {
        let image = Collected {
            place: "demo-operator:1.0.0".parse().unwrap(),
            reference: None,
            documents: vec![Document {
                digest: Digest::new([1; 32]),
                media_type: String::new(),
                bytes: Vec::new(),
            }],
            blobs: Vec::new(),
        };
        let id = SolutionId::new("demo".parse().unwrap(), "1.0.0".parse().unwrap()).unwrap();
        let text = text(&id, Brings::Operator, std::slice::from_ref(&image), "0.1.0");
        assert!(text.starts_with("demo-1.0.0\n==========\n\nThis is a Solution archive: container images and an operator\n"), "{text}");
        assert!(
            text.contains("\n  demo-operator:1.0.0\n    sha256:0101"),
            "{text}"
        );
        assert!(text.ends_with("\nWritten by solution 0.1.0.\n"), "{text}");
        for line in text.lines() {
            assert!(
                line.len() <= 80 && line.is_ascii() && !line.contains('@'),
                "{line}"
            );
        }
        let without = super::text(&id, Brings::Images, &[], "0.1.0");
        assert!(!without.contains("operator/"), "{without}");
    }
}

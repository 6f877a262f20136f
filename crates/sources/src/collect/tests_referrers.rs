//! Referrers of images in a layout, and invalid referrers.

use std::fmt::Write as _;

use fixtures::artifact::{Document as Artifact, policy_of};
use fixtures::image::Descriptor;
use fixtures::layout::OciLayout;
use progress::Watch;
use tempfile::TempDir;

use super::tests::{image, means};
use super::*;
use crate::cache::Cache;
use crate::unpacking::UnpackSession;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// A layout of an image with the tag `1` and these documents, each with its tag if it has one.
fn layout(documents: &[(Option<String>, Artifact)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let layout = OciLayout::create(directory.path().join("layout")).unwrap();
    let mut layout = layout.add(&image("amd64").into(), Some("1")).unwrap();
    for (tag, document) in documents {
        layout = layout.add_document(document, tag.as_deref()).unwrap();
    }
    layout.finish().unwrap();
    directory
}

fn collected(directory: &TempDir) -> Result<Vec<CollectedImage>, FailedImage> {
    let cache = Cache::new(&directory.path().join("cache"));
    let watch = Watch::silent(Cancel::never());
    let means = means(&cache, UnpackSession::new(limits::UNPACK_LIMIT), &watch);
    let means = SourceContext {
        with_referrers: true,
        ..means
    };
    let wanted: SourceImage =
        serde_json::from_str(r#"{"name":"app","tag":"1","source":"oci:layout:1"}"#).unwrap();
    let collected = super::collect(directory.path(), &[wanted], &means);
    collected.map_err(|mut failed| failed.remove(0))
}

/// Returns the tags of all referrers.
fn tags(directory: &TempDir) -> Vec<String> {
    let found = collected(directory).unwrap();
    let referrers = found.iter().filter(|image| image.subject.is_some());
    referrers.map(|image| image.place.tag.to_string()).collect()
}

fn error(directory: &TempDir) -> SourceError {
    *collected(directory).unwrap_err().error
}

fn subject() -> Descriptor {
    image("amd64").descriptor().clone()
}

/// Returns the tag of a document's referrers.
fn tag(of: &Descriptor, suffix: &str) -> String {
    of.digest.replace(':', "-") + suffix
}

/// A manifest without a subject, like cosign's; `text` distinguishes two of them.
fn signature(text: &str) -> Artifact {
    let layer = text.as_bytes().to_vec();
    let (digest, size) = (files::digest(&layer), layer.len());
    let content = format!(r#""digest":"{digest}","size":{size}"#);
    let text = format!(
        r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}","config":{{"mediaType":"c",{content}}},"layers":[{{"mediaType":"l",{content}}}]}}"#
    );
    Artifact {
        media_type: MANIFEST,
        bytes: text.into_bytes(),
        contents: vec![layer],
    }
}

/// An index of these, like registries without the referrers API store it.
fn list(of: &[Descriptor]) -> Artifact {
    let mut entries = String::new();
    for (number, descriptor) in of.iter().enumerate() {
        let comma = if number == 0 { "" } else { "," };
        let (digest, size) = (&descriptor.digest, descriptor.size);
        write!(
            entries,
            r#"{comma}{{"mediaType":"{MANIFEST}","digest":"{digest}","size":{size}}}"#
        )
        .unwrap();
    }
    let text = format!(r#"{{"schemaVersion":2,"mediaType":"{INDEX}","manifests":[{entries}]}}"#);
    Artifact {
        media_type: INDEX,
        bytes: text.into_bytes(),
        contents: Vec::new(),
    }
}

#[test]
fn nothing_refers_to_most_images() {
    assert_eq!(tags(&layout(&[])), [""; 0]);
}

#[test]
fn a_list_is_made_of_what_refers_to_an_image_by_its_own_words() {
    let policy = policy_of(&subject());
    let by_entry = layout(&[(None, policy.clone())]);
    let listed = list(&[policy.descriptor()]);
    let by_tag = layout(&[
        (Some(tag(&subject(), "")), listed),
        (Some("policy".to_owned()), policy.clone()),
    ]);
    let [one, other] = [by_entry, by_tag].map(|directory| {
        let found = collected(&directory).unwrap();
        let found = found
            .into_iter()
            .find(|image| image.subject.is_some())
            .unwrap();
        let root = &found.contents.root;
        assert_eq!(found.place.tag.as_str(), tag(&subject(), ""));
        assert_eq!(found.contents.children.len(), 1);
        String::from_utf8(root.bytes.to_vec()).unwrap()
    });
    assert_eq!(one, other);
    let Descriptor { digest, size, .. } = policy.descriptor();
    let entry = format!(
        r#"{{"mediaType":"{MANIFEST}","digest":"{digest}","size":{size},"artifactType":"application/vnd.example.policy.v1"}}"#
    );
    let expected = format!(r#"{{"schemaVersion":2,"mediaType":"{INDEX}","manifests":[{entry}]}}"#);
    assert_eq!(one, expected);
}

/// Returns the list of an image's referrers after one more was added: the digests in the list. Asserts that all of them
/// and their contents are present.
fn with_one_more(directory: &TempDir) -> Vec<String> {
    let mut images = collected(directory).unwrap();
    let made = signature("made here");
    let digest = files::digest(&made.bytes);
    let (manifest, _) = Document::read(digest, made.bytes.clone()).unwrap();
    let content = files::digest(&made.contents[0]);
    let referrer = GeneratedReferrer {
        name: images[0].place.name.clone(),
        subject: subject().digest.parse().unwrap(),
        manifest: Arc::new(manifest),
        blobs: vec![LocalBlob::whole_file(content, 9, "made".into())],
    };
    add_referrers(&mut images, vec![referrer]).unwrap();
    let places: Vec<_> = images.iter().map(|image| image.place.to_string()).collect();
    assert_eq!(
        places,
        ["app:1".to_owned(), format!("app:{}", tag(&subject(), ""))]
    );
    let list = &images[1];
    assert_eq!(list.subject, images[0].contents.documents().next());
    let there: Vec<Digest> = list.contents.documents().collect();
    let blobs = list.contents.blobs.iter().map(ImageBlob::digest);
    assert!(blobs.collect::<Vec<_>>().contains(&content));
    let listed = list.contents.root.needs.iter();
    let listed = listed.inspect(|digest| assert!(there.contains(digest)));
    listed.map(Digest::to_string).collect()
}

#[test]
fn what_is_made_here_stands_in_one_list_with_what_came() {
    let made = signature("made here").descriptor().digest;
    assert_eq!(with_one_more(&layout(&[])), std::slice::from_ref(&made));
    let policy = policy_of(&subject());
    let mut both = [made, policy.descriptor().digest];
    both.sort();
    assert_eq!(with_one_more(&layout(&[(None, policy)])), both);
}

#[test]
fn signatures_of_signatures_come_and_theirs_do_not() {
    let [first, second, third] = ["first", "second", "third"].map(signature);
    let directory = layout(&[
        (Some(tag(&subject(), ".sig")), first.clone()),
        (Some(tag(&first.descriptor(), ".att")), second.clone()),
        (Some(tag(&second.descriptor(), ".sig")), third),
    ]);
    let mut expected = [tag(&subject(), ".sig"), tag(&first.descriptor(), ".att")];
    expected.sort();
    assert_eq!(tags(&directory), expected);
}

#[test]
fn what_refers_to_something_else_is_refused() {
    let other = image("arm64").descriptor().clone();
    let of_other = policy_of(&other);
    for (what, document) in [
        ("", list(&[of_other.descriptor()])),
        (".sig", of_other.clone()),
        // It has no subject.
        ("", list(&[signature("a").descriptor()])),
    ] {
        let directory = layout(&[
            (Some(tag(&subject(), what)), document),
            (Some("other".to_owned()), of_other.clone()),
            (Some("a".to_owned()), signature("a")),
        ]);
        let error = error(&directory);
        assert!(matches!(error, SourceError::OtherSubject { .. }), "{error}");
    }
}

#[test]
fn lists_that_are_none_or_too_long_are_refused() {
    let tagged = |document| layout(&[(Some(tag(&subject(), "")), document)]);
    let none = error(&tagged(signature("a")));
    assert!(matches!(none, SourceError::NoList(_)), "{none}");
    let many = 0..=registry::limits::REFERRERS;
    let many: Vec<Descriptor> = many
        .map(|number| signature(&number.to_string()).descriptor())
        .collect();
    let long = error(&tagged(list(&many)));
    assert!(matches!(long, SourceError::Referrers(_)), "{long}");
    let short = error(&tagged(list(&many[1..])));
    assert!(
        matches!(short, SourceError::MissingDocument { .. }),
        "{short}"
    );
}

#[test]
fn what_is_listed_itself_is_left_as_it_is() {
    let own = signature("own");
    let directory = layout(&[(Some(tag(&subject(), ".sig")), own)]);
    let cache = Cache::new(&directory.path().join("cache"));
    let watch = Watch::silent(Cancel::never());
    let means = means(&cache, UnpackSession::new(limits::UNPACK_LIMIT), &watch);
    let means = SourceContext {
        with_referrers: true,
        ..means
    };
    let sig = tag(&subject(), ".sig");
    let wanted = format!(
        r#"[{{"name":"app","tag":"1","source":"oci:layout:1"}},{{"name":"app","tag":"{sig}","source":"oci:layout:{sig}"}}]"#
    );
    let wanted: Vec<SourceImage> = serde_json::from_str(&wanted).unwrap();
    let found = super::collect(directory.path(), &wanted, &means).unwrap();
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|image| image.subject.is_none()));
}

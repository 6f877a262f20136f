//! Objects of a release: every text is split at its placeholders, and each object is compiled. Compiling a compiled
//! object changes nothing. Text outside placeholders and pieces is only a `$` before a literal.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use manifests::{Compiler, KnownImages, ManifestFile};
use schemas::{ImageReference, Namespace, placeholder};

fn images() -> &'static KnownImages {
    static IMAGES: OnceLock<KnownImages> = OnceLock::new();
    IMAGES.get_or_init(|| {
        let images = [
            ("a:1", "r.test/a:1"),
            ("b:1", "r.test/b:1"),
            ("b:2", "r.test/b:2"),
            ("nginx:1", "nginx:1"),
        ];
        let images = images.map(|(place, reference)| {
            let reference: ImageReference = reference.parse().expect("it is a reference");
            (place.parse().expect("it is a place"), reference)
        });
        KnownImages::new(
            images
                .iter()
                .map(|(place, reference)| (schemas::ImagePlace::clone(place), reference)),
        )
    })
}

fuzz_target!(|bytes: &[u8]| {
    let files = [ManifestFile {
        name: "release.yaml".to_owned(),
        bytes: bytes.to_vec(),
    }];
    let Ok(objects) = manifests::parse(&files) else {
        return;
    };
    let namespaces: [Namespace; 1] = ["ns".parse().expect("it is a namespace")];
    let compiler = Compiler {
        images: images(),
        namespaces: &namespaces,
        templates: &[],
    };
    for object in objects.all {
        placeholder::each_text(&object.value, &mut |pointer, text| {
            assert_eq!(
                object
                    .value
                    .pointer(pointer)
                    .and_then(|value| value.as_str()),
                Some(text)
            );
            let Ok(pieces) = placeholder::pieces(text) else {
                return;
            };
            let mut end = 0;
            for (range, _) in pieces {
                assert!(matches!(&text[end..range.start], "" | "$"), "{text}");
                end = range.end;
            }
            assert!(matches!(&text[end..], "" | "$"), "{text}");
        });
        let mut compiled = object.value;
        compiler.compile(&mut compiled);
        let mut again = compiled.clone();
        compiler.compile(&mut again);
        assert_eq!(again, compiled);
    }
});

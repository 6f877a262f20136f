//! Untrusted text in a printable form: one line, without characters that control a terminal or are invisible.
//! [`printable`] is the entry point.
//!
//! Archives, registries and clusters choose names and messages. A line feed in them could imitate a line of the
//! program's output, an escape sequence could change colours or erase text, a bidirectional control could reorder
//! words, and an invisible character could make two names look equal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns the text with control and invisible characters as escapes: `\n`, `\u{1b}`, `\u{202e}`. Letters and signs of
/// all languages are kept.
///
/// A backslash is kept, too, so that printable text in another message does not change again. An escape in the result
/// may therefore have been in the text. The result is for people and is never parsed.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unprintable(c) {
            write!(shown, "{}", c.escape_default()).expect("writing to a string cannot fail");
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Returns at most this many characters of a text in [`printable`] form, with `…` if it is longer.
#[must_use]
pub fn printable_within(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => printable(&text[..end]).into_owned() + "…",
        None => printable(text).into_owned(),
    }
}

/// Returns whether a character controls a terminal or is invisible.
///
/// These are the control characters, the separators of lines and paragraphs, the interlinear annotations, and the
/// characters that Unicode lets programs ignore (`DerivedCoreProperties.txt`, `Default_Ignorable_Code_Point`).
/// Unassigned characters are excepted, and so are variation selectors: emoji have them, and they only select the form
/// of the preceding character.
#[must_use]
pub const fn is_unprintable(c: char) -> bool {
    matches!(
        c,
        // C0, DEL and C1.
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        // Soft hyphen, grapheme joiner, the mark of Arabic letters.
        | '\u{ad}' | '\u{34f}' | '\u{61c}'
        // Fillers for missing letters of Hangul, inherent vowels of Khmer, Mongolian's vowel separator.
        | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180e}' | '\u{3164}' | '\u{ffa0}'
        // Of no width; marks of direction.
        | '\u{200b}'..='\u{200f}'
        // Separators of lines and paragraphs; embeddings and overrides of direction.
        | '\u{2028}'..='\u{202e}'
        // Joiners, invisible operators, isolates of direction, shapes of digits.
        | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}'
        // The byte order mark; interlinear annotations.
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        // Controls of shorthand and of music.
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        // Tags, which can encode an invisible text.
        | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_a_terminal_or_hides_becomes_an_escape() {
        for (text, shown) in [
            ("a\nerror: b", r"a\nerror: b"),
            ("a\r\tb", r"a\r\tb"),
            ("\0\u{1f}", r"\u{0}\u{1f}"),
            ("a\u{1b}[2Jb", r"a\u{1b}[2Jb"),
            (
                "\u{7f}\u{80}\u{85}\u{9b}\u{9f}",
                r"\u{7f}\u{80}\u{85}\u{9b}\u{9f}",
            ),
            ("so\u{ad}ft", r"so\u{ad}ft"),
            ("\u{61c}\u{200e}\u{200f}", r"\u{61c}\u{200e}\u{200f}"),
            ("a\u{2028}b\u{2029}c", r"a\u{2028}b\u{2029}c"),
            ("iso.\u{202e}dekcah", r"iso.\u{202e}dekcah"),
            (
                "\u{202a}\u{202b}\u{202c}\u{202d}",
                r"\u{202a}\u{202b}\u{202c}\u{202d}",
            ),
            (
                "\u{2066}\u{2067}\u{2068}\u{2069}",
                r"\u{2066}\u{2067}\u{2068}\u{2069}",
            ),
            (
                "p\u{200b}r\u{200c}o\u{200d}d",
                r"p\u{200b}r\u{200c}o\u{200d}d",
            ),
            (
                "\u{2060}\u{2061}\u{2062}\u{2063}\u{2064}",
                r"\u{2060}\u{2061}\u{2062}\u{2063}\u{2064}",
            ),
            (
                "\u{feff}\u{fff9}\u{fffa}\u{fffb}",
                r"\u{feff}\u{fff9}\u{fffa}\u{fffb}",
            ),
            (
                "\u{e0001}\u{e0041}\u{e007f}",
                r"\u{e0001}\u{e0041}\u{e007f}",
            ),
            ("\u{115f}\u{3164}\u{ffa0}", r"\u{115f}\u{3164}\u{ffa0}"),
        ] {
            assert_eq!(printable(text), shown, "{text:?}");
        }
    }

    #[test]
    fn what_people_write_stays_as_it_is() {
        for text in [
            "",
            "registry.example/app:1.0.0",
            "é ñ ß, Ελληνικά, кириллица, עברית, العربية",
            "漢字 かな 한국어 ภาษาไทย",
            "a\u{a0}b \u{3000}c …",
            "🚀 ❤\u{fe0f}",
            // Not assigned, and for private use.
            "\u{2065}\u{e0080}\u{378}\u{e000}",
            r"C:\name \n \u{202e}",
        ] {
            assert!(
                matches!(printable(text), Cow::Borrowed(same) if same == text),
                "{text:?}"
            );
        }
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(printable_within("é\né", 3), r"é\né");
        assert_eq!(printable_within("é\né", 2), r"é\n…");
        assert_eq!(printable_within("", 0), "");
    }

    #[test]
    fn text_that_is_printable_does_not_change_again() {
        let once = printable("a\n\u{1b}[31m\u{202e}b").into_owned();
        assert_eq!(printable(&once), once);
    }
}

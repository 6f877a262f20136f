//! What a chart's templates ask for besides their values, by the functions that they name: of Helm itself and of its
//! library sprig. A word that only looks like one costs a rendering.

use std::ops::BitOr;

/// Functions whose answer is another one each time.
const CHANGING: [&str; 20] = [
    "ago",
    "bcrypt",
    "encryptAES",
    "genCA",
    "genCAWithKey",
    "genPrivateKey",
    "genSelfSignedCert",
    "genSelfSignedCertWithKey",
    "genSignedCert",
    "genSignedCertWithKey",
    "htpasswd",
    "now",
    "randAlpha",
    "randAlphaNum",
    "randAscii",
    "randBytes",
    "randInt",
    "randNumeric",
    "shuffle",
    "uuidv4",
];

/// The things that templates ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asks {
    /// Whether they ask for objects of the cluster.
    pub cluster: bool,
    /// Whether they ask for values that are others each time: passwords, keys, certificates, the time.
    pub chance: bool,
}

impl Asks {
    /// Returns what a text asks for.
    #[must_use]
    pub fn of(text: &[u8]) -> Self {
        let words = text.split(|byte| !byte.is_ascii_alphanumeric());
        words.fold(Self::default(), |asks, word| Self {
            cluster: asks.cluster || word == b"lookup",
            chance: asks.chance || CHANGING.iter().any(|it| it.as_bytes() == word),
        })
    }
}

impl BitOr for Asks {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self {
            cluster: self.cluster || other.cluster,
            chance: self.chance || other.chance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_whole_words() {
        let asks = |text: &str| Asks::of(text.as_bytes());
        let nothing = Asks::default();
        assert_eq!(
            asks("a: {{ .Values.lookups }} {{ .Values.known }}"),
            nothing
        );
        let cluster = Asks {
            cluster: true,
            ..nothing
        };
        assert_eq!(
            asks("{{- (lookup \"v1\" \"Secret\" \"a\" \"b\") }}"),
            cluster
        );
        let chance = Asks {
            chance: true,
            ..nothing
        };
        assert_eq!(asks("{{randAlphaNum 8}}"), chance);
        assert_eq!(asks("{{ $ca := genCA \"a\" 365 }}"), chance);
        assert_eq!(chance | cluster, asks("lookup, now"));
    }
}

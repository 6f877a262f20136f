//! The inputs that a chart's templates use besides their values, derived from the functions of Helm and sprig that they
//! call. A word that is only spelled like a function causes an unnecessary rendering, but no wrong result.

use std::ops::BitOr;

/// The functions that return another result at each call.
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

/// The inputs that templates use besides their values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TemplateInputs {
    /// True if templates read objects of the cluster.
    pub cluster: bool,
    /// True if templates generate values that differ in each rendering: passwords, keys, certificates, times.
    pub chance: bool,
}

impl TemplateInputs {
    /// Returns the inputs that a template's text uses.
    #[must_use]
    pub fn from_template(text: &[u8]) -> Self {
        let words = text.split(|byte| !byte.is_ascii_alphanumeric());
        words.fold(Self::default(), |asks, word| Self {
            cluster: asks.cluster || word == b"lookup",
            chance: asks.chance || CHANGING.iter().any(|function| function.as_bytes() == word),
        })
    }
}

impl BitOr for TemplateInputs {
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
        let asks = |text: &str| TemplateInputs::from_template(text.as_bytes());
        let nothing = TemplateInputs::default();
        assert_eq!(
            asks("a: {{ .Values.lookups }} {{ .Values.known }}"),
            nothing
        );
        let cluster = TemplateInputs {
            cluster: true,
            ..nothing
        };
        assert_eq!(
            asks("{{- (lookup \"v1\" \"Secret\" \"a\" \"b\") }}"),
            cluster
        );
        let chance = TemplateInputs {
            chance: true,
            ..nothing
        };
        assert_eq!(asks("{{randAlphaNum 8}}"), chance);
        assert_eq!(asks("{{ $ca := genCA \"a\" 365 }}"), chance);
        assert_eq!(chance | cluster, asks("lookup, now"));
    }
}

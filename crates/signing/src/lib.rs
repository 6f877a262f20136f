//! Keys, signatures and the threshold rule.

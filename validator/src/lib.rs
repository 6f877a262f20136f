//! Archive to report, and the proof of acceptance.

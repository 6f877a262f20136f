//! Archive to report, and the proof of acceptance.
mod catalogue;
mod error;
mod expansion;
mod files;
mod finding;
mod images;
mod limits;
mod manifest;
mod operator;

//! Foreign readers as judges.

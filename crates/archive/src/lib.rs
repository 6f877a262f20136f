//! How a Solution lies in an ISO image, and the stages from opened to verified.

//! A bounded reader for images by any tool.

//! The words of the project: checked names, digests, references and documents.

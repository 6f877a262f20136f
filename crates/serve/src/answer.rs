//! HTTP answers: [`HttpAnswer`] with its status, fields and body, and the encoding of its head. The error codes are
//! those of the distribution specification.

use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use schemas::Document;
use serde::Serialize;

use crate::content::ServedBlob;
use crate::head::{ConnectionFate, Method};

/// An answer to a request.
#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: AnswerStatus,
    pub(crate) fields: Vec<(&'static str, String)>,
    pub(crate) body: AnswerBody,
}

/// The body of an answer.
#[derive(Debug)]
pub(crate) enum AnswerBody {
    /// No body, and no `Content-Length` for one.
    None,
    /// Bytes in memory.
    Bytes(Bytes),
    /// A manifest.
    Document(Arc<Document>),
    /// The bytes `from..to` of a blob.
    Blob {
        blob: Arc<ServedBlob>,
        from: u64,
        to: u64,
    },
}

impl AnswerBody {
    /// Returns the length of the body.
    pub(crate) fn length(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Document(document) => document.bytes.len() as u64,
            Self::Blob { from, to, .. } => to - from,
        }
    }
}

/// The status of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerStatus {
    Ok,
    PartialContent,
    NotModified,
    BadRequest,
    Unauthorized,
    NotFound,
    MethodNotAllowed,
    RequestTimeout,
    RangeNotSatisfiable,
    HeadTooLarge,
    Internal,
    VersionNotSupported,
}

impl AnswerStatus {
    /// Returns the numeric code of the status.
    pub(crate) fn code(self) -> u16 {
        match self {
            Self::Ok => 200,
            Self::PartialContent => 206,
            Self::NotModified => 304,
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::RequestTimeout => 408,
            Self::RangeNotSatisfiable => 416,
            Self::HeadTooLarge => 431,
            Self::Internal => 500,
            Self::VersionNotSupported => 505,
        }
    }

    fn phrase(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::PartialContent => "Partial Content",
            Self::NotModified => "Not Modified",
            Self::BadRequest => "Bad Request",
            Self::Unauthorized => "Unauthorized",
            Self::NotFound => "Not Found",
            Self::MethodNotAllowed => "Method Not Allowed",
            Self::RequestTimeout => "Request Timeout",
            Self::RangeNotSatisfiable => "Range Not Satisfiable",
            Self::HeadTooLarge => "Request Header Fields Too Large",
            Self::Internal => "Internal Server Error",
            Self::VersionNotSupported => "HTTP Version Not Supported",
        }
    }
}

/// An error code of the distribution specification ("Error Codes"). `PaginationNumberInvalid` and `Unknown` are codes
/// of the program distribution, for errors that the specification's list does not cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Code {
    BlobUnknown,
    DigestInvalid,
    ManifestUnknown,
    NameInvalid,
    NameUnknown,
    PaginationNumberInvalid,
    SizeInvalid,
    Unauthorized,
    Unknown,
    Unsupported,
}

impl Code {
    fn status(self) -> AnswerStatus {
        match self {
            Self::BlobUnknown | Self::ManifestUnknown | Self::NameUnknown => AnswerStatus::NotFound,
            Self::DigestInvalid | Self::NameInvalid | Self::PaginationNumberInvalid => {
                AnswerStatus::BadRequest
            }
            Self::SizeInvalid => AnswerStatus::RangeNotSatisfiable,
            Self::Unauthorized => AnswerStatus::Unauthorized,
            Self::Unknown => AnswerStatus::Internal,
            Self::Unsupported => AnswerStatus::MethodNotAllowed,
        }
    }
}

#[derive(Serialize)]
struct Errors<'a> {
    errors: [Error<'a>; 1],
}

#[derive(Serialize)]
struct Error<'a> {
    code: Code,
    message: &'a str,
}

impl HttpAnswer {
    /// Creates an answer with a content type and a body.
    pub(crate) fn bytes(content_type: &'static str, bytes: impl Into<Bytes>) -> Self {
        Self {
            status: AnswerStatus::Ok,
            fields: vec![("Content-Type", content_type.to_owned())],
            body: AnswerBody::Bytes(bytes.into()),
        }
    }

    /// Creates an answer with JSON.
    pub(crate) fn json<T: Serialize>(value: &T) -> Self {
        Self::bytes(
            "application/json",
            serde_json::to_vec(value).unwrap_or_default(),
        )
    }

    /// Creates an error answer in the specification's format, with the usual status of its code.
    pub(crate) fn error(code: Code, message: &str) -> Self {
        Self::error_as(code.status(), code, message)
    }

    /// Creates an error answer in the specification's format, with another status than the usual one of its code.
    pub(crate) fn error_as(status: AnswerStatus, code: Code, message: &str) -> Self {
        let errors = [Error { code, message }];
        Self {
            status,
            ..Self::json(&Errors { errors })
        }
    }

    /// Adds a field.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// Encodes the head. Values from outside cannot inject fields: their checked grammars exclude line breaks.
    pub(crate) fn head(&self, then: ConnectionFate) -> String {
        let mut head = format!(
            "HTTP/1.1 {} {}\r\nDocker-Distribution-Api-Version: registry/2.0\r\nX-Content-Type-Options: nosniff\r\n",
            self.status.code(),
            self.status.phrase()
        );
        for (name, value) in &self.fields {
            debug_assert!(!value.contains(['\r', '\n']), "{value}");
            let _ = write!(head, "{name}: {value}\r\n");
        }
        // The field in a `304` would be the length of the content, although no body follows (RFC 9110, section 8.6).
        if self.status != AnswerStatus::NotModified {
            let _ = write!(head, "Content-Length: {}\r\n", self.body.length());
        }
        if then == ConnectionFate::Close {
            head.push_str("Connection: close\r\n");
        }
        head.push_str("\r\n");
        head
    }

    /// Returns the number of bytes after the head, if the answer is for this method.
    pub(crate) fn follows(&self, method: &Method) -> u64 {
        match method {
            Method::Head => 0,
            Method::Get | Method::Other(_) => self.body.length(),
        }
    }
}

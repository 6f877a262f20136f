//! A container engine, Docker or podman, that is accessed through its socket (Docker Engine API, `GET
//! /images/NAME/json` and `GET /images/NAME/get`, which are the same in every version).
//!
//! The engine runs on this machine, but its answers are still limited in size and time.

use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use progress::{Progress, ProgressSink};
use reqwest::{Response, StatusCode};
use schemas::{Digest, ImageReference};
use serde::Deserialize;
use tokio::time::timeout;

use crate::writer::SinkWriter;
use crate::{limits, tls};

/// The reason why an engine does not deliver an image.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The HTTP client could not be set up.
    #[error("cannot set up the HTTP client")]
    Setup(#[source] reqwest::Error),
    /// Nothing accepts connections at the socket.
    #[error("cannot reach a container engine at `{}`", .0.display())]
    Unreachable(PathBuf, #[source] io::Error),
    /// The connection broke.
    #[error("the connection to the container engine at `{}` broke", .0.display())]
    Interrupted(PathBuf, #[source] reqwest::Error),
    /// The engine sent nothing for too long.
    #[error("the container engine at `{}` sent nothing for {} seconds", .0.display(), limits::ENGINE_TIMEOUT.as_secs())]
    TimedOut(PathBuf),
    /// The engine has no such image.
    #[error("the container engine at `{}` has no image `{image}`", socket.display())]
    NoSuchImage {
        /// The socket.
        socket: PathBuf,
        /// The image that it was asked for.
        image: String,
    },
    /// The engine refused the request, or another server answered.
    #[error("the container engine at `{}` answers {status}: {message}", socket.display())]
    Refused {
        /// The socket.
        socket: PathBuf,
        /// The HTTP status.
        status: u16,
        /// The engine's message, shortened.
        message: String,
    },
    /// The answer is longer than its limit.
    #[error("the container engine at `{}` sends more than {limit} bytes", socket.display())]
    TooLong {
        /// The socket.
        socket: PathBuf,
        /// The limit in bytes.
        limit: u64,
    },
    /// The received content could not be stored.
    #[error("cannot store the data from the container engine")]
    Store(#[source] io::Error),
}

/// An image in an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineImage {
    /// The engine's id of the image, which does not depend on tags: the digest of its configuration or manifest.
    pub id: Digest,
    /// The size of its layers in bytes, unpacked; 0 if the engine does not state it.
    pub size: u64,
}

/// A container engine.
#[derive(Debug)]
pub struct Engine {
    http: reqwest::Client,
    socket: PathBuf,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct InspectedImage {
    id: String,
    #[serde(default)]
    size: u64,
}

#[derive(Deserialize)]
struct EngineRefusal {
    message: String,
}

impl Engine {
    /// Creates a client for the engine at this socket. Sends nothing yet.
    pub fn new(socket: &Path) -> Result<Self, EngineError> {
        let http = reqwest::Client::builder()
            .unix_socket(socket)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .http1_only()
            .tls_backend_preconfigured(tls::config_without_tls())
            .build()
            .map_err(EngineError::Setup)?;
        Ok(Self {
            http,
            socket: socket.to_owned(),
        })
    }

    /// Looks up the id of an image.
    pub async fn find(&self, image: &ImageReference) -> Result<EngineImage, EngineError> {
        let answer = self.get(&format!("{image}/json"), image).await?;
        let body = self.body(answer).await?;
        let unusable = || EngineError::Refused {
            socket: self.socket.clone(),
            status: 200,
            message: "an answer that is not a description of an image".to_owned(),
        };
        let inspected: InspectedImage = serde_json::from_slice(&body).map_err(|_| unusable())?;
        let hex = inspected.id.strip_prefix("sha256:");
        let id = Digest::from_hex(hex.unwrap_or(&inspected.id)).map_err(|_| unusable())?;
        let size = inspected.size;
        Ok(EngineImage { id, size })
    }

    /// Saves the image found by [`Engine::find`] into a sink, in the format of `docker save`, and returns the sink.
    /// Saving by id is independent of tags that have moved since. Reports progress in bytes, and fails above `limit`
    /// bytes.
    pub async fn save<S: io::Write + Send + 'static>(
        &self,
        image: &EngineImage,
        limit: u64,
        sink: S,
        tell: ProgressSink<'_, Progress>,
    ) -> Result<S, EngineError> {
        let id = image.id;
        let mut answer = self.get(&format!("{id}/get"), &id).await?;
        let mut writer = SinkWriter::start(sink, |sink: &mut S, bytes| sink.write_all(bytes));
        let mut position = 0;
        while let Some(piece) = self.piece(&mut answer).await? {
            position += piece.len() as u64;
            if position > limit {
                let socket = self.socket.clone();
                return Err(EngineError::TooLong { socket, limit });
            }
            // The writer has failed; `end` returns its error.
            if !writer.take(piece).await {
                break;
            }
            // The archive can be larger than its layers.
            let total = image.size.max(position);
            tell(Progress {
                done: position,
                total,
            });
        }
        let (mut sink, written) = writer.end().await;
        written
            .and_then(|()| sink.flush())
            .map_err(EngineError::Store)?;
        Ok(sink)
    }

    async fn get(
        &self,
        path: &str,
        image: &dyn std::fmt::Display,
    ) -> Result<Response, EngineError> {
        // References contain no characters that a path has to escape. The host is a placeholder.
        let request = self.http.get(format!("http://engine/images/{path}"));
        let answer = timeout(limits::ENGINE_TIMEOUT, request.send()).await;
        let answer = answer.map_err(|_| self.timed_out())?;
        let answer = answer.map_err(|error| self.connection_error(error))?;
        match answer.status() {
            StatusCode::OK => Ok(answer),
            StatusCode::NOT_FOUND => Err(EngineError::NoSuchImage {
                socket: self.socket.clone(),
                image: image.to_string(),
            }),
            status => {
                let body = self.body(answer).await.unwrap_or_default();
                let message = serde_json::from_slice(&body).map_or_else(
                    |_| String::from_utf8_lossy(&body).into_owned(),
                    |refusal: EngineRefusal| refusal.message,
                );
                Err(EngineError::Refused {
                    socket: self.socket.clone(),
                    status: status.as_u16(),
                    message: message.chars().take(limits::MESSAGE).collect(),
                })
            }
        }
    }

    async fn body(&self, answer: Response) -> Result<Vec<u8>, EngineError> {
        let mut answer = answer;
        let mut body = Vec::new();
        while let Some(piece) = self.piece(&mut answer).await? {
            if body.len() + piece.len() > limits::ENGINE_ANSWER {
                return Err(EngineError::TooLong {
                    socket: self.socket.clone(),
                    limit: limits::ENGINE_ANSWER as u64,
                });
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }

    async fn piece(&self, answer: &mut Response) -> Result<Option<Bytes>, EngineError> {
        let piece = timeout(limits::ENGINE_TIMEOUT, answer.chunk()).await;
        let piece = piece.map_err(|_| self.timed_out())?;
        piece.map_err(|error| self.connection_error(error))
    }

    fn timed_out(&self) -> EngineError {
        EngineError::TimedOut(self.socket.clone())
    }

    fn connection_error(&self, error: reqwest::Error) -> EngineError {
        let socket = self.socket.clone();
        let source = error.without_url();
        if source.is_connect()
            && let Some(kind) = io_kind(&source)
        {
            let source = kind.into();
            return EngineError::Unreachable(socket, source);
        }
        EngineError::Interrupted(socket, source)
    }
}

/// Returns the system's error, which is nested in the client's errors.
fn io_kind(error: &reqwest::Error) -> Option<io::ErrorKind> {
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        source = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixListener;

    use tempfile::TempDir;

    use super::*;

    const ID: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";

    /// Creates an engine that answers every request with these bytes and closes the connection.
    fn answering(answer: Vec<u8>) -> (TempDir, Engine) {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("engine.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        std::thread::spawn(move || {
            for mut connection in listener.incoming().flatten() {
                let mut request = [0; 4096];
                let read = connection.read(&mut request);
                // The client may close the connection before it has read everything.
                let _ = read.and_then(|_| connection.write_all(&answer));
            }
        });
        let engine = Engine::new(&socket).unwrap();
        (directory, engine)
    }

    fn with_body(status: &str, body: &[u8]) -> Vec<u8> {
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n");
        [head.as_bytes(), body].concat()
    }

    async fn find(answer: Vec<u8>) -> Result<EngineImage, EngineError> {
        let (_directory, engine) = answering(answer);
        engine.find(&"app:1".parse().unwrap()).await
    }

    async fn save(answer: Vec<u8>, limit: u64) -> Result<Vec<u8>, EngineError> {
        let (_directory, engine) = answering(answer);
        let id = ID.parse().unwrap();
        let image = EngineImage { id, size: 0 };
        engine.save(&image, limit, Vec::new(), &|_| ()).await
    }

    #[tokio::test]
    async fn what_an_engine_says_of_an_image_is_bounded_and_checked() {
        let good = format!(r#"{{"Id":"{ID}","Size":7,"RepoTags":[]}}"#);
        let image = find(with_body("200 OK", good.as_bytes())).await.unwrap();
        assert_eq!((image.id.to_string().as_str(), image.size), (ID, 7));
        for bad in ["", "{}", "[]", r#"{"Id":"../../etc/passwd"}"#] {
            let error = find(with_body("200 OK", bad.as_bytes())).await.unwrap_err();
            assert!(matches!(error, EngineError::Refused { .. }), "{error:?}");
        }
        let endless = vec![b' '; limits::ENGINE_ANSWER + 1];
        let error = find(with_body("200 OK", &endless)).await.unwrap_err();
        assert!(matches!(error, EngineError::TooLong { .. }), "{error:?}");
        let error = find(with_body("404 Not Found", b"{}")).await.unwrap_err();
        assert!(error.to_string().contains("no image `app:1`"), "{error}");
        let words = br#"{"message":"storage is broken"}"#;
        let error = find(with_body("500 Oh", words)).await.unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("answers 500: storage is broken")
        );
    }

    #[tokio::test]
    async fn a_save_is_whole_or_an_error() {
        let all = with_body("200 OK", b"some bytes");
        assert_eq!(save(all.clone(), 10).await.unwrap(), b"some bytes");
        let error = save(all.clone(), 9).await.unwrap_err();
        assert!(
            matches!(error, EngineError::TooLong { limit: 9, .. }),
            "{error:?}"
        );
        let cut = all[..all.len() - 1].to_vec();
        let error = save(cut, 10).await.unwrap_err();
        assert!(matches!(error, EngineError::Interrupted(..)), "{error:?}");
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n";
        let error = save(chunked.to_vec(), 10).await.unwrap_err();
        assert!(matches!(error, EngineError::Interrupted(..)), "{error:?}");
    }

    #[tokio::test]
    async fn what_cannot_be_kept_is_said() {
        struct Full;
        impl io::Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (_directory, engine) = answering(with_body("200 OK", b"some bytes"));
        let id = ID.parse().unwrap();
        let image = EngineImage { id, size: 0 };
        let saved = engine.save(&image, 10, Full, &|_| ()).await;
        let full = |error: &io::Error| error.kind() == io::ErrorKind::StorageFull;
        assert!(matches!(saved, Err(EngineError::Store(error)) if full(&error)));
    }
}

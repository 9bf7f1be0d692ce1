//! Traces in JSON: those of `torch.profiler` (Kineto), of ONNX Runtime, and others in the Chrome trace event format.

mod chrome;
mod head;
mod kineto;
mod onnxruntime;
mod pairs;
mod scan;
mod stream;
mod threads;
mod value;

use std::io::Read;
use std::path::Path;

use self::chrome::Reader;
use self::stream::{Found, LARGEST, Stream};
use super::assemble::Assembler;
use crate::ImportError;

/// What a JSON trace turned out to be.
pub(crate) struct JsonTrace {
    /// The format's name.
    pub format: &'static str,
    /// What its devices are called.
    pub device_kind: &'static str,
}

/// Reads a trace of any size.
///
/// # Errors
/// Returns an error if it is no trace, or what is read cannot be stored. Damage is no error: it is named, and what
/// could be read is taken.
pub(crate) fn read(path: &Path, from: impl Read, into: &mut Assembler) -> Result<JsonTrace, ImportError> {
    let mut stream = Stream::new(from);
    let mut reader = Reader::new(into);
    let no_trace = || {
        let reason = "it is JSON, but no trace: neither an array of events nor an object with `traceEvents`";
        ImportError::unknown(path, reason)
    };
    let found_events = match stream.peek() {
        Some(b'[') => {
            stream.take();
            events(&mut stream, &mut reader)?;
            true
        }
        Some(b'{') => {
            stream.take();
            object(&mut stream, &mut reader)?
        }
        _ => false,
    };
    if let Some(error) = stream.broken() {
        let at = stream.position();
        reader.damaged(format!("the file cannot be read any further after byte {at}: {error}"));
    } else if !found_events {
        return Err(no_trace());
    }
    Ok(reader.finish())
}

/// Reads the members of the outermost object. Returns whether events were among them.
fn object<R: Read>(stream: &mut Stream<R>, reader: &mut Reader<'_>) -> Result<bool, ImportError> {
    let mut found = false;
    loop {
        match stream.peek() {
            Some(b'}') => break,
            Some(b',' | b':') => stream.take(),
            Some(b'"') => {
                let Found::Whole(range) = stream.value() else { break reader.truncated(stream.position()) };
                let key = String::from_utf8_lossy(stream.bytes(range)).trim_matches('"').to_owned();
                while stream.peek() == Some(b':') {
                    stream.take();
                }
                if key == "traceEvents" && stream.peek() == Some(b'[') {
                    stream.take();
                    found = true;
                    if !events(stream, reader)? {
                        break;
                    }
                    continue;
                }
                match stream.value() {
                    Found::Whole(range) => reader.member(&key, stream.bytes(range)),
                    _ => break reader.truncated(stream.position()),
                }
            }
            Some(_) => {
                let at = stream.position();
                break reader.damaged(format!("at byte {at} there is no name of a member, which JSON requires"));
            }
            None => break reader.truncated(stream.position()),
        }
    }
    Ok(found)
}

/// Reads the events up to the end of their array. Returns whether the end is there.
fn events<R: Read>(stream: &mut Stream<R>, reader: &mut Reader<'_>) -> Result<bool, ImportError> {
    let mut commas = 1;
    let mut members = Vec::new();
    loop {
        match stream.peek() {
            Some(b',') => {
                stream.take();
                commas += 1;
            }
            Some(b']') => {
                stream.take();
                return Ok(true);
            }
            Some(b'{') => {
                let at = stream.position();
                if commas != 1 {
                    reader.wrong_commas(at);
                }
                commas = 0;
                if let Some(object) = stream.object(&mut members) {
                    reader.event(object)?;
                    continue;
                }
                match stream.value() {
                    Found::Whole(range) => reader.event_in(stream.bytes(range), at)?,
                    Found::Truncated => {
                        reader.truncated(at);
                        return Ok(false);
                    }
                    Found::TooLarge => {
                        let most = opscope_text::shown_size(LARGEST as u64);
                        reader.damaged(format!(
                            "the event at byte {at} is larger than {most}; nothing after it was read"
                        ));
                        return Ok(false);
                    }
                }
            }
            Some(_) => {
                let at = stream.position();
                reader.damaged(format!("at byte {at} there is something that is no event; nothing after it was read"));
                return Ok(false);
            }
            None => {
                reader.truncated(stream.position());
                return Ok(false);
            }
        }
    }
}

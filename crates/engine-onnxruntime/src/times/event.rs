//! The events of a profile that ONNX Runtime has written: a JSON array with one event per line.

use std::io::{self, BufRead, Read};

/// The fields of an event that are read. Times are whole microseconds since the library began to profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event<'a> {
    /// Whether it is the execution of a node. The others belong to the session.
    pub is_node: bool,
    /// The event's name, including any escapes.
    pub name: &'a str,
    pub start: u64,
    pub duration: u64,
}

/// How many bytes of a line are kept. The fields that are read come before the event's arguments, which may be long.
const KEPT: usize = 4 << 10;

/// Calls `visit` with every event of a profile. Lines that are not events are skipped. The memory does not grow with
/// the profile or with its lines.
pub(crate) fn read_events(mut from: impl BufRead, mut visit: impl FnMut(Event<'_>)) -> io::Result<()> {
    let mut line = Vec::with_capacity(KEPT);
    loop {
        line.clear();
        let read = from.by_ref().take(KEPT as u64).read_until(b'\n', &mut line)?;
        if read == KEPT && !line.ends_with(b"\n") {
            from.skip_until(b'\n')?;
        }
        match parse(&line) {
            Some(event) => visit(event),
            None if read == 0 => return Ok(()),
            None => {}
        }
    }
}

/// Reads the fields of an event up to its arguments.
fn parse(line: &[u8]) -> Option<Event<'_>> {
    let mut rest = line.strip_prefix(b"{")?;
    let (mut category, mut name, mut start, mut duration) = (None, None, None, None);
    loop {
        rest = skip(rest, b" ,");
        if rest.starts_with(b"}") || rest.is_empty() {
            break;
        }
        let (key, after) = string(rest)?;
        rest = skip(skip(after, b" ").strip_prefix(b":")?, b" ");
        match (key, rest.first()?) {
            // The arguments are the last field.
            (b"args", _) => break,
            (b"cat", _) => (category, rest) = some(string(rest)?),
            (b"name", _) => (name, rest) = some(string(rest)?),
            (b"ts", _) => (start, rest) = some(number(rest)?),
            (b"dur", _) => (duration, rest) = some(number(rest)?),
            (_, b'"') => rest = string(rest)?.1,
            (_, _) => rest = number(rest)?.1,
        }
    }
    Some(Event {
        is_node: category? == b"Node",
        name: std::str::from_utf8(name?).ok()?,
        start: start?,
        duration: duration?,
    })
}

fn some<T>((value, rest): (T, &[u8])) -> (Option<T>, &[u8]) {
    (Some(value), rest)
}

fn skip<'a>(text: &'a [u8], bytes: &[u8]) -> &'a [u8] {
    let end = text.iter().position(|byte| !bytes.contains(byte)).unwrap_or(text.len());
    &text[end..]
}

/// Returns the text between quotes, and what follows.
fn string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b"\"")?;
    let mut at = 0;
    loop {
        match text.get(at)? {
            b'"' => return Some((&text[..at], &text[at + 1..])),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let digits = std::str::from_utf8(&text[..end]).ok()?;
    Some((digits.parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    /// A profile written by ONNX Runtime 1.31.1.
    const WRITTEN: &str = r#"[
{"cat" : "Session","pid" :21307,"tid" :21307,"dur" :10727,"ts" :2394,"ph" : "X","name" :"session_initialization","args" : {}},
{"cat" : "Node","pid" :21307,"tid" :21307,"dur" :199,"ts" :13339,"ph" : "X","name" :"opscope:8_kernel_time","args" : {"thread_scheduling_stats" : "","node_index" : "4","op_name" : "Add","output_type_shape" : [{"float":[4,4,64]}]}},
{"cat" : "Session","pid" :21307,"tid" :21307,"dur" :537,"ts" :16886,"ph" : "X","name" :"model_run","args" : {}}
]
"#;

    fn all(bytes: &[u8], buffer: usize) -> Vec<(bool, String, u64, u64)> {
        let mut found = Vec::new();
        let visit = |event: Event<'_>| {
            found.push((event.is_node, event.name.to_owned(), event.start, event.duration));
        };
        read_events(BufReader::with_capacity(buffer, bytes), visit).expect("memory");
        found
    }

    #[test]
    fn the_events_of_the_library_are_read_whatever_the_buffer_holds() {
        for buffer in [1, 7, 64, 1 << 16] {
            let expected = [
                (false, "session_initialization".to_owned(), 2_394, 10_727),
                (true, "opscope:8_kernel_time".to_owned(), 13_339, 199),
                (false, "model_run".to_owned(), 16_886, 537),
            ];
            assert_eq!(all(WRITTEN.as_bytes(), buffer), expected);
        }
    }

    #[test]
    fn what_follows_an_event_with_endless_arguments_is_read() {
        let head = r#"{"cat" : "Node","dur" :1,"ts" :2,"name" :"a_kernel_time","args" : {"x" : ""#;
        let long = [head.as_bytes(), &vec![b'x'; 1 << 20], b"\"}},\n", WRITTEN.as_bytes()].concat();
        assert_eq!(all(&long, 1 << 12).len(), 4);
    }

    proptest! {
        #[test]
        fn bytes_that_are_no_profile_are_read_without_harm(
            noise in prop::collection::vec(any::<u8>(), 0..400),
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
            cut in any::<prop::sample::Index>(),
        ) {
            all(&noise, 16);
            let mut damaged = WRITTEN.as_bytes().to_vec();
            for (at, byte) in flips {
                let at = at.index(damaged.len());
                damaged[at] = byte;
            }
            damaged.truncate(cut.index(damaged.len() + 1));
            let braces = damaged.iter().filter(|byte| **byte == b'{').count();
            prop_assert!(all(&damaged, 64).len() <= braces);
        }
    }
}

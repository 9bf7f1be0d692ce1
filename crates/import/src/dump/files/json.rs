//! JSON as Python writes it, with arrays in it that are larger than memory.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The longest text that is passed on. Longer ones are data.
const LONGEST_TEXT: usize = 4096;

/// What a text that stands for data begins with.
const MARK: &str = "\u{1}data:";

/// Reads the JSON that Python's `json` writes as JSON that others read. `NaN` becomes a text, and `Infinity` the
/// largest number. A text of more than 4 KiB becomes a short one that says where in the file it is.
pub(crate) struct Shortened<R> {
    reader: BufReader<R>,
    /// How many bytes were read.
    at: u64,
    /// What is to be passed on, and how much of it was.
    ready: Vec<u8>,
    passed: usize,
    /// How many bytes may still be passed on.
    left: u64,
}

impl<R: Read> Shortened<R> {
    /// Creates a reader that passes on at most this many bytes.
    pub fn new(reader: R, most: u64) -> Self {
        let reader = BufReader::with_capacity(1 << 18, reader);
        Self { reader, at: 0, ready: Vec::new(), passed: 0, left: most }
    }

    /// Prepares the next part: a whole text, or bytes between texts.
    fn prepare(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.passed = 0;
        let bytes = self.reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(());
        }
        let plain = memchr::memchr3(b'"', b'N', b'I', bytes).unwrap_or(bytes.len());
        if plain > 0 {
            self.ready.extend_from_slice(&bytes[..plain]);
            self.skip(plain);
            return Ok(());
        }
        if bytes[0] == b'"' { self.text() } else { self.word() }
    }

    fn skip(&mut self, count: usize) {
        self.reader.consume(count);
        self.at += count as u64;
    }

    fn text(&mut self) -> io::Result<()> {
        self.ready.push(b'"');
        self.skip(1);
        let (begin, mut length, mut is_escaped) = (self.at, 0u64, false);
        loop {
            let bytes = self.reader.fill_buf()?;
            if bytes.is_empty() {
                return Ok(());
            }
            let mut count = 0;
            let mut ends = false;
            for &byte in bytes {
                count += 1;
                match byte {
                    _ if is_escaped => is_escaped = false,
                    b'\\' => is_escaped = true,
                    b'"' => {
                        ends = true;
                        break;
                    }
                    _ => {}
                }
            }
            let inner = count - usize::from(ends);
            if self.ready.len() <= LONGEST_TEXT + 1 {
                let more = inner.min(LONGEST_TEXT + 2 - self.ready.len());
                self.ready.extend_from_slice(&bytes[..more]);
            }
            length += inner as u64;
            self.skip(count);
            if ends {
                break;
            }
        }
        if length > LONGEST_TEXT as u64 {
            self.ready = format!("\"\\u0001data:{begin}:{length}").into_bytes();
        }
        self.ready.push(b'"');
        Ok(())
    }

    /// Passes on a number that JSON does not have as a text.
    fn word(&mut self) -> io::Result<()> {
        let mut word = Vec::new();
        while word.len() < 8
            && let Some(&byte) = self.reader.fill_buf()?.first().filter(|byte| byte.is_ascii_alphabetic())
        {
            word.push(byte);
            self.skip(1);
        }
        // A minus in front was passed on already, so infinity has to stay a number: the largest.
        self.ready = match word.as_slice() {
            b"NaN" => b"\"NaN\"".to_vec(),
            b"Infinity" => b"1.7976931348623157e308".to_vec(),
            _ => word,
        };
        Ok(())
    }
}

impl<R: Read> Read for Shortened<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.passed == self.ready.len() {
            self.prepare()?;
            let ready = self.ready.len() as u64;
            let text = "it has more text beside its arrays than any dump";
            self.left = self.left.checked_sub(ready).ok_or_else(|| io::Error::other(text))?;
        }
        let count = into.len().min(self.ready.len() - self.passed);
        into[..count].copy_from_slice(&self.ready[self.passed..self.passed + count]);
        self.passed += count;
        Ok(count)
    }
}

/// Returns where the data is that a text stands for: its offset in the file, and its length.
pub(crate) fn data(text: &str) -> Option<(u64, u64)> {
    let (offset, length) = text.strip_prefix(MARK)?.split_once(':')?;
    Some((offset.parse().ok()?, length.parse().ok()?))
}

/// A step on the way to a value in JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// The key of an object.
    Key(String),
    /// The place in an array.
    Place(usize),
}

/// Calls `each` with every text and the way to it. Text that cannot be read ends the walk with an error, and what was
/// before it was handed over.
///
/// # Errors
/// Returns the error of the reader, or what is wrong with the JSON.
pub(crate) fn texts(reader: impl Read, mut each: impl FnMut(&[Step], &str)) -> serde_json::Result<()> {
    let mut way = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_reader(reader);
    Texts { way: &mut way, each: &mut each }.deserialize(&mut deserializer)?;
    deserializer.end()
}

/// Calls `each` with the entries of the object at `key`, or of the outermost object if that is `None`, one by one.
///
/// # Errors
/// As [`texts`].
pub(crate) fn entries(
    reader: impl Read,
    key: Option<&str>,
    mut each: impl FnMut(String, serde_json::Value),
) -> serde_json::Result<()> {
    let mut deserializer = serde_json::Deserializer::from_reader(reader);
    Entries { key, each: &mut each }.deserialize(&mut deserializer)?;
    deserializer.end()
}

struct Texts<'t> {
    way: &'t mut Vec<Step>,
    each: &'t mut dyn FnMut(&[Step], &str),
}

impl<'de> DeserializeSeed<'de> for Texts<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Texts<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        (self.each)(self.way, text);
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for place in 0.. {
            self.way.push(Step::Place(place));
            let next = items.next_element_seed(Texts { way: self.way, each: self.each })?;
            self.way.pop();
            if next.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key()? {
            self.way.push(Step::Key(key));
            map.next_value_seed(Texts { way: self.way, each: self.each })?;
            self.way.pop();
        }
        Ok(())
    }
}

struct Entries<'e> {
    key: Option<&'e str>,
    each: &'e mut dyn FnMut(String, serde_json::Value),
}

impl<'de> DeserializeSeed<'de> for Entries<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(found) = map.next_key::<String>()? {
            match self.key {
                None => (self.each)(found, map.next_value()?),
                Some(key) if key == found => map.next_value_seed(Entries { key: None, each: self.each })?,
                Some(_) => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

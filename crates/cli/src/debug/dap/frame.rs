//! The messages of the Debug Adapter Protocol as they are sent: a header with the length, an empty line, and JSON.

use std::io::{self, BufRead, Write};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The longest message that is read, and the longest line of a header. An editor's longest messages are lists of
/// breakpoints.
const LONGEST: usize = 16 << 20;
const LONGEST_LINE: usize = 1 << 12;

/// Reads the next message. Returns `None` at the end of the input.
///
/// # Errors
/// Returns an error if the input is not a message of the protocol. Nothing that follows can be understood then.
pub fn read(from: &mut impl BufRead) -> Result<Option<Value>> {
    let mut length = None;
    loop {
        let line = match line(from)? {
            None if length.is_none() => return Ok(None),
            None => bail!("the input ended inside of a message"),
            Some(line) => line,
        };
        match line.split_once(':') {
            _ if line.is_empty() => break,
            Some((name, number)) if name.eq_ignore_ascii_case("content-length") => {
                let number = number.trim().parse().ok().filter(|length| *length <= LONGEST);
                length = Some(number.with_context(|| format!("'{line}' is not a length of at most {LONGEST} bytes"))?);
            }
            // Other fields of a header are allowed.
            Some(_) => {}
            None => bail!("'{line}' is no header; right is, for example, Content-Length: 119"),
        }
    }
    let length = length.context("a message has no Content-Length")?;
    let mut json = vec![0; length];
    from.read_exact(&mut json).context("the input ended inside of a message")?;
    serde_json::from_slice(&json).map(Some).context("a message is no JSON")
}

/// Writes a message.
pub fn write(to: &mut impl Write, message: &Value) -> io::Result<()> {
    let json = message.to_string();
    write!(to, "Content-Length: {}\r\n\r\n{json}", json.len())?;
    to.flush()
}

/// Reads a line of a header, without its end. Returns `None` at the end of the input.
fn line(from: &mut impl BufRead) -> Result<Option<String>> {
    let mut line = Vec::new();
    io::Read::take(&mut *from, LONGEST_LINE as u64).read_until(b'\n', &mut line)?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned())),
        Some(_) => bail!("a line of a header has no end, or more than {LONGEST_LINE} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_are_read_one_after_the_other_as_they_were_written() {
        let messages = [json!({"seq": 1, "text": "ü\n"}), json!({"seq": 2})];
        let mut bytes = Vec::new();
        messages.iter().for_each(|message| write(&mut bytes, message).unwrap());
        let mut from = &bytes[..];
        assert_eq!(messages.map(Some), [(); 2].map(|()| read(&mut from).unwrap()));
        assert_eq!(read(&mut from).unwrap(), None);
    }

    #[test]
    fn what_is_no_message_is_an_error_that_says_what_is_wrong() {
        for (bytes, says) in [
            ("Content-Length: 5\r\n\r\n{}", "ended inside"),
            ("Content-Length: -1\r\n\r\n", "not a length"),
            ("Content-Length: 99999999999\r\n\r\n", "not a length"),
            ("Content-Type: json\r\n\r\n{}", "no Content-Length"),
            ("hello\r\n\r\n", "no header"),
            ("Content-Length: 2", "no end"),
            ("Content-Length: 2\r\n", "ended inside"),
            ("content-length: 2\r\n\r\n{]", "no JSON"),
        ] {
            let error = format!("{:#}", read(&mut bytes.as_bytes()).unwrap_err());
            assert!(error.contains(says), "{bytes:?}: {error}");
        }
        let endless = vec![b'x'; 1 << 20];
        assert!(read(&mut &endless[..]).is_err());
    }
}

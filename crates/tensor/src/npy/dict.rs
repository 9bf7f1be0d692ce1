//! The dictionary in an npy header, a Python literal of which only a small part of the syntax can occur.

use super::NpyError;

/// The contents of the dictionary.
#[derive(Debug, PartialEq)]
pub(super) struct Dict {
    pub descr: String,
    pub fortran_order: bool,
    pub shape: Vec<usize>,
}

/// Parses the dictionary: each of the three keys once, in any order, and then only white space.
pub(super) fn parse(text: &[u8]) -> Result<Dict, NpyError> {
    let mut cursor = Cursor { text, at: 0 };
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    cursor.expect(b'{')?;
    while !cursor.takes(b'}') {
        let key_at = cursor.at;
        let key = cursor.string()?;
        cursor.expect(b':')?;
        let repeated = match key.as_str() {
            "descr" => descr.replace(cursor.string()?).is_some(),
            "fortran_order" => fortran_order.replace(cursor.boolean()?).is_some(),
            "shape" => shape.replace(cursor.tuple()?).is_some(),
            _ => return Err(wrong(key_at, format!("the key '{}' is not known", key.escape_default()))),
        };
        if repeated {
            return Err(wrong(key_at, format!("the key '{key}' occurs twice")));
        }
        if !cursor.takes(b',') {
            cursor.expect(b'}')?;
            break;
        }
    }
    cursor.blank();
    if cursor.at != text.len() {
        return Err(wrong(cursor.at, "only white space may follow the dictionary".into()));
    }
    match (descr, fortran_order, shape) {
        (Some(descr), Some(fortran_order), Some(shape)) => Ok(Dict { descr, fortran_order, shape }),
        _ => Err(wrong(text.len(), "'descr', 'fortran_order' and 'shape' are all needed".into())),
    }
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn blank(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn takes(&mut self, byte: u8) -> bool {
        self.blank();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), NpyError> {
        if self.takes(byte) { Ok(()) } else { Err(wrong(self.at, format!("'{}' was expected", byte as char))) }
    }

    fn string(&mut self) -> Result<String, NpyError> {
        self.blank();
        let quote = self.peek().filter(|byte| matches!(byte, b'\'' | b'"'));
        let quote = quote.ok_or_else(|| wrong(self.at, "a string was expected".into()))?;
        let rest = &self.text[self.at + 1..];
        let length = rest.iter().position(|&byte| byte == quote || byte == b'\\').filter(|&end| rest[end] == quote);
        let length = length.ok_or_else(|| wrong(self.at, "a string without escapes was expected".into()))?;
        let string =
            std::str::from_utf8(&rest[..length]).map_err(|_| wrong(self.at, "a string is not UTF-8".into()))?;
        self.at += length + 2;
        Ok(string.to_owned())
    }

    fn boolean(&mut self) -> Result<bool, NpyError> {
        self.blank();
        let rest = &self.text[self.at..];
        let (value, length) = match rest {
            _ if rest.starts_with(b"True") => (true, 4),
            _ if rest.starts_with(b"False") => (false, 5),
            _ => return Err(wrong(self.at, "True or False was expected".into())),
        };
        self.at += length;
        Ok(value)
    }

    fn tuple(&mut self) -> Result<Vec<usize>, NpyError> {
        let mut dims = Vec::new();
        self.expect(b'(')?;
        while !self.takes(b')') {
            dims.push(self.dimension()?);
            if !self.takes(b',') {
                if dims.len() == 1 {
                    return Err(wrong(self.at, "',' was expected: a tuple of one".into()));
                }
                self.expect(b')')?;
                break;
            }
        }
        Ok(dims)
    }

    fn dimension(&mut self) -> Result<usize, NpyError> {
        self.blank();
        let digits = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = std::str::from_utf8(&self.text[self.at..self.at + digits]).ok().and_then(|text| text.parse().ok());
        let number = number.ok_or_else(|| wrong(self.at, "a dimension was expected".into()))?;
        self.at += digits;
        // Python 2 wrote long integers with this suffix.
        self.at += usize::from(self.peek() == Some(b'L'));
        Ok(number)
    }
}

fn wrong(at: usize, reason: String) -> NpyError {
    NpyError::Header { at, reason }
}

use std::str::FromStr;

use super::{Axis, Slice, SliceError};

impl FromStr for Slice {
    type Err = SliceError;

    fn from_str(text: &str) -> Result<Self, SliceError> {
        let mut reader = Reader { text, at: 0 };
        let axes = reader.axes()?;
        match reader.skip_space().chars().next() {
            None => Slice::new(axes),
            Some(_) => Err(reader.wrong("nothing more")),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    /// The number of bytes that were consumed.
    at: usize,
}

impl<'a> Reader<'a> {
    fn axes(&mut self) -> Result<Vec<Axis>, SliceError> {
        if !self.take("[") {
            return Err(self.wrong("'['"));
        }
        let mut axes = vec![self.axis()?];
        loop {
            if self.take("]") {
                return Ok(axes);
            }
            if !self.take(",") {
                return Err(self.wrong("',' or ']'"));
            }
            // As in numpy, a trailing comma is allowed.
            if self.take("]") {
                return Ok(axes);
            }
            axes.push(self.axis()?);
        }
    }

    fn axis(&mut self) -> Result<Axis, SliceError> {
        if self.take("...") {
            return Ok(Axis::Ellipsis);
        }
        let start = self.number()?;
        if !self.take(":") {
            return start.map(Axis::Index).ok_or_else(|| self.wrong("an index, a range such as 1:4, or '...'"));
        }
        let stop = self.number()?;
        let step = if self.take(":") { self.number()? } else { None };
        Ok(Axis::Range { start, stop, step: step.unwrap_or(1) })
    }

    fn number(&mut self) -> Result<Option<i64>, SliceError> {
        let rest = self.skip_space();
        let digits = rest.strip_prefix('-').unwrap_or(rest);
        let length = digits.len() - digits.trim_start_matches(|character: char| character.is_ascii_digit()).len();
        if length == 0 {
            return Ok(None);
        }
        let number = &rest[..rest.len() - digits.len() + length];
        let Ok(value) = number.parse() else { return Err(self.wrong("a number of at most 63 bits")) };
        self.at += number.len();
        Ok(Some(value))
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.skip_space().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn skip_space(&mut self) -> &'a str {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        rest
    }

    fn wrong(&mut self, expected: &'static str) -> SliceError {
        let rest = self.skip_space();
        let found = match rest.split_terminator([' ', ',', ']']).next() {
            None => "the end".to_owned(),
            Some("") => rest.chars().take(1).collect(),
            Some(word) => word.chars().take(20).collect(),
        };
        SliceError::Syntax { at: self.text[..self.at].chars().count(), found, expected }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_numpy_reads_it_and_written_back_short() {
        for (text, written) in [
            ("[0]", "[0]"),
            (" [ 0 , : 4 ] ", "[0, :4]"),
            ("[...,-1]", "[..., -1]"),
            ("[::2]", "[::2]"),
            ("[5:1:-1,]", "[5:1:-1]"),
            ("[::]", "[:]"),
            ("[1:2:1]", "[1:2]"),
        ] {
            assert_eq!(text.parse::<Slice>().unwrap().to_string(), written);
        }
    }

    #[test]
    fn what_is_wrong_and_where_is_said() {
        for (text, message) in [
            ("", "'the end' at character 1 of a slice is wrong: '[' would be right"),
            ("[]", "']' at character 2 of a slice is wrong: an index, a range such as 1:4, or '...' would be right"),
            ("[1 2]", "'2' at character 4 of a slice is wrong: ',' or ']' would be right"),
            (
                "[1, x]",
                "'x' at character 5 of a slice is wrong: an index, a range such as 1:4, or '...' would be right",
            ),
            ("[1:2:3:4]", "':4' at character 7 of a slice is wrong: ',' or ']' would be right"),
            ("[1][2]", "'[2' at character 4 of a slice is wrong: nothing more would be right"),
            ("[9223372036854775808]", "a number of at most 63 bits"),
            ("[::0]", "step of a range is 0"),
            ("[..., ...]", "'...' is there twice"),
        ] {
            let error = text.parse::<Slice>().expect_err(text).to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}

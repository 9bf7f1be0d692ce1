//! The tokens of a text, and a parser over them.

use std::fmt;

use opscope_tensor::SliceError;

use super::ConditionError;

/// The maximum depth to which parentheses, `not` and signs may be nested.
const DEEPEST: usize = 64;

/// A parser over the tokens of a text.
pub(super) struct Parser<'a> {
    source: &'a str,
    tokens: Vec<Token<'a>>,
    next: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    pub fn new(source: &'a str) -> Result<Self, ConditionError> {
        Ok(Self { source, tokens: tokens(source)?, next: 0, depth: 0 })
    }

    pub fn source(&self) -> &'a str {
        self.source
    }

    pub fn peek(&self) -> &TokenKind<'a> {
        &self.tokens[self.next].kind
    }

    /// Returns the byte at which the next token begins.
    pub fn at(&self) -> usize {
        self.tokens[self.next].at
    }

    pub fn at_end(&self) -> bool {
        *self.peek() == TokenKind::End
    }

    /// Takes the next token. The end token is never consumed.
    pub fn advance(&mut self) {
        self.next = (self.next + 1).min(self.tokens.len() - 1);
    }

    pub fn at_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), TokenKind::Sign(found) if *found == sign)
    }

    /// Returns whether the next token is this sign or this word.
    pub fn at_token(&self, token: &str) -> bool {
        self.at_sign(token) || self.word() == Some(token)
    }

    /// Takes the next token if it is this sign or this word.
    pub fn take(&mut self, token: &str) -> bool {
        let found = self.at_token(token);
        if found {
            self.advance();
        }
        found
    }

    pub fn expect(&mut self, sign: &str) -> Result<(), ConditionError> {
        if self.take(sign) { Ok(()) } else { Err(self.wrong(format!("'{sign}'"))) }
    }

    pub fn end(&self, right: &str) -> Result<(), ConditionError> {
        if self.at_end() { Ok(()) } else { Err(self.wrong(right)) }
    }

    pub fn word(&self) -> Option<&'a str> {
        match self.peek() {
            TokenKind::Word(word) => Some(word),
            _ => None,
        }
    }

    pub fn literal(&mut self) -> Option<f64> {
        let TokenKind::Number(number) = *self.peek() else { return None };
        self.advance();
        Some(number)
    }

    pub fn text(&mut self, right: &str) -> Result<String, ConditionError> {
        let TokenKind::Text(text) = self.peek() else { return Err(self.wrong(right)) };
        let text = text.clone();
        self.advance();
        Ok(text)
    }

    /// Parses a number that is an index or a size.
    pub fn integer(&mut self, right: &str) -> Result<usize, ConditionError> {
        match *self.peek() {
            TokenKind::Number(number) if number.fract() == 0.0 && number <= f64::from(u32::MAX) => {
                self.advance();
                Ok(number as usize)
            }
            _ => Err(self.wrong(right)),
        }
    }

    /// Calls a function for a nested part. Refuses it if the nesting is too deep.
    pub fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, ConditionError>,
    ) -> Result<T, ConditionError> {
        if self.depth == DEEPEST {
            return Err(self.wrong(format!("at most {DEEPEST} parentheses, signs and 'not' inside of each other")));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Returns the error for a next token that should have been `right`.
    pub fn wrong(&self, right: impl Into<String>) -> ConditionError {
        self.wrong_at(self.at(), self.peek().to_string(), right)
    }

    pub fn wrong_at(&self, at: usize, found: impl Into<String>, right: impl Into<String>) -> ConditionError {
        ConditionError::new(self.source, at, found, right)
    }

    /// Returns the error for a slice whose text begins at `start`.
    pub fn wrong_slice(&self, start: usize, text: &str, error: &SliceError) -> ConditionError {
        match error {
            SliceError::Syntax { at, found, expected } => {
                let inside = text.char_indices().nth(*at).map_or(text.len(), |(byte, _)| byte);
                self.wrong_at(start + inside, format!("there is '{found}'"), *expected)
            }
            error => self.wrong_at(start, error.to_string(), "a slice such as [0, :4], [..., -1] or [::2]"),
        }
    }
}

/// The longest accepted text, in bytes.
pub(super) const LONGEST: usize = 4 << 10;

/// One token, with its position.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token<'a> {
    pub kind: TokenKind<'a>,
    /// The offset of its first byte.
    pub at: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind<'a> {
    Number(f64),
    Word(&'a str),
    /// A quoted text, without the quotes and escapes.
    Text(String),
    /// An operator, a bracket or a comma.
    Sign(&'static str),
    End,
}

/// Longer signs come before their prefixes.
const SIGNS: [&str; 22] = [
    "...", "<=", ">=", "==", "!=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "(", ")", "[", "]", ",", ":", "=",
    "&",
];

/// Splits a text into tokens. The last one is the end.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, ConditionError> {
    if text.len() > LONGEST {
        let found = format!("the text has {} bytes", text.len());
        return Err(ConditionError::new("", 0, found, format!("at most {LONGEST}")));
    }
    let mut tokens = Vec::new();
    loop {
        let at = tokens.last().map_or(0, |(_, end)| *end);
        let rest = text[at..].trim_start();
        let at = text.len() - rest.len();
        let (kind, length) = token(text, at)?;
        let end = kind == TokenKind::End;
        tokens.push((Token { kind, at }, at + length));
        if end {
            return Ok(tokens.into_iter().map(|(token, _)| token).collect());
        }
    }
}

/// Returns the token at a position, and its length in bytes.
fn token(text: &str, at: usize) -> Result<(TokenKind<'_>, usize), ConditionError> {
    let rest = &text[at..];
    let Some(first) = rest.chars().next() else { return Ok((TokenKind::End, 0)) };
    let number = |text: &str| text.starts_with(|character: char| character.is_ascii_digit());
    if number(rest) || rest.strip_prefix('.').is_some_and(number) {
        return self::number(text, at);
    }
    if first.is_ascii_alphabetic() || first == '_' {
        let word = word(rest);
        return Ok((TokenKind::Word(word), word.len()));
    }
    if first == '"' || first == '\'' {
        return quoted(text, at, first);
    }
    match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        Some(sign) => Ok((TokenKind::Sign(sign), sign.len())),
        None => {
            let found = format!("there is '{}'", first.escape_debug());
            Err(ConditionError::new(text, at, found, "a number, a word, an operator or a bracket"))
        }
    }
}

fn word(text: &str) -> &str {
    let end = text.find(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    &text[..end.unwrap_or(text.len())]
}

/// Returns the length of a number. A dot that no digit follows belongs to the next token, as in `1...`.
fn number(text: &str, at: usize) -> Result<(TokenKind<'_>, usize), ConditionError> {
    let rest = &text[at..];
    let digits = |from: usize| {
        let rest = &rest[from..];
        rest.len() - rest.trim_start_matches(|character: char| character.is_ascii_digit()).len()
    };
    let mut length = digits(0);
    if rest[length..].starts_with('.') && digits(length + 1) > 0 {
        length += 1 + digits(length + 1);
    }
    if rest[length..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[length + 1..].starts_with(['+', '-']));
        let exponent = digits(length + 1 + sign);
        length += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    let wrong = |found: String, right: &str| Err(ConditionError::new(text, at, found, right));
    let after = word(&rest[length..]);
    if !after.is_empty() {
        let found = format!("there is '{}{after}'", &rest[..length]);
        return wrong(found, "a number, as in 12, 0.5 or 1e-3, with a space or an operator behind it");
    }
    match rest[..length].parse::<f64>() {
        Ok(number) if number.is_finite() => Ok((TokenKind::Number(number), length)),
        _ => wrong(format!("{} is too large", &rest[..length]), "a number below 1.8e308"),
    }
}

/// Reads a quoted text, in which a backslash escapes the next character.
fn quoted(text: &str, at: usize, quote: char) -> Result<(TokenKind<'_>, usize), ConditionError> {
    let mut name = String::new();
    let mut characters = text[at + 1..].char_indices();
    while let Some((offset, character)) = characters.next() {
        match character {
            '\\' => name.extend(characters.next().map(|(_, escaped)| escaped)),
            _ if character == quote => return Ok((TokenKind::Text(name), 1 + offset + 1)),
            _ => name.push(character),
        }
    }
    let right = format!("another {quote} behind the name");
    Err(ConditionError::new(text, at, "a quotation mark that nothing closes", right))
}

/// Quotes a name so that it is parsed as the same name.
pub(super) fn write_quoted(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    write!(f, "\"{}\"", name.replace('\\', r"\\").replace('"', "\\\""))
}

impl fmt::Display for TokenKind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenKind::Number(number) => write!(f, "there is {number}"),
            TokenKind::Word(word) => write!(f, "there is '{word}'"),
            TokenKind::Text(text) => write!(f, "there is \"{}\"", text.escape_debug()),
            TokenKind::Sign(sign) => write!(f, "there is '{sign}'"),
            TokenKind::End => f.write_str("the text ends"),
        }
    }
}

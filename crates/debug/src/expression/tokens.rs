use std::fmt;

use super::error::ConditionError;

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

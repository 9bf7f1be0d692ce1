use opscope_tensor::SliceError;

use super::error::ConditionError;
use super::tokens::{Token, TokenKind, tokens};

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

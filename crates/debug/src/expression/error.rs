use std::fmt;

/// An error in the text of a condition or of a reference to a tensor, with its position.
///
/// `{}` is one line; `{:#}` also shows the text, with a mark below the position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionError(Box<ErrorDetails>);

/// The content of the error. It is boxed, so that results are small: the parser has one on the stack for each level of
/// nesting.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ErrorDetails {
    text: String,
    /// The position in bytes.
    at: usize,
    found: String,
    right: String,
}

/// The number of characters of a long text that are shown on either side of the position.
const SHOWN: usize = 60;

impl ConditionError {
    /// Creates an error from what was found at a byte of the text, and what would be right there.
    pub(super) fn new(text: &str, at: usize, found: impl Into<String>, right: impl Into<String>) -> Self {
        Self(Box::new(ErrorDetails { text: text.to_owned(), at, found: found.into(), right: right.into() }))
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Returns the position of the error in the text: a number of characters, from 1.
    pub fn column(&self) -> usize {
        self.0.text[..self.0.at].chars().count() + 1
    }

    /// Returns what the text has there.
    pub fn found(&self) -> &str {
        &self.0.found
    }

    /// Returns what would be right there.
    pub fn right(&self) -> &str {
        &self.0.right
    }
}

impl std::error::Error for ConditionError {}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}; right would be {}", self.column(), self.found(), self.right())?;
        if f.alternate() {
            // Every character takes one column, including tabs and line ends.
            let visible = |character: char| if character.is_control() { ' ' } else { character };
            let (before, after) = self.0.text.split_at(self.0.at);
            let skipped = (self.column() - 1).saturating_sub(SHOWN);
            let before: String = before.chars().skip(skipped).map(visible).collect();
            let after: String = after.chars().take(SHOWN).map(visible).collect();
            write!(f, "\n  {before}{after}\n  {:1$}^", "", before.chars().count())?;
        }
        Ok(())
    }
}

use std::fmt;

/// What is wrong with the text of a condition or of a reference to a tensor, and where.
///
/// `{}` is one line; `{:#}` shows the text as well, with a mark below the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionError(Box<Wrong>);

/// Kept apart, so that results are small: they are on the stack once for each level of nesting.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wrong {
    text: String,
    /// Bytes before the place.
    at: usize,
    found: String,
    right: String,
}

/// What is shown of a long text on either side of the place.
const SHOWN: usize = 60;

impl ConditionError {
    /// What was found at a byte of the text, and what would be right there.
    pub(super) fn new(text: &str, at: usize, found: impl Into<String>, right: impl Into<String>) -> Self {
        Self(Box::new(Wrong { text: text.to_owned(), at, found: found.into(), right: right.into() }))
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Where in the text it is wrong: a number of characters, from 1.
    pub fn column(&self) -> usize {
        self.0.text[..self.0.at].chars().count() + 1
    }

    /// What stands there.
    pub fn found(&self) -> &str {
        &self.0.found
    }

    /// What would be right.
    pub fn right(&self) -> &str {
        &self.0.right
    }
}

impl std::error::Error for ConditionError {}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}; right would be {}", self.column(), self.found(), self.right())?;
        if f.alternate() {
            // Every character takes one column, also tabs and line ends.
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

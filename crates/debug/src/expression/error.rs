use std::fmt;

/// What is wrong with the text of a condition or of a reference to a tensor, and where.
///
/// `{}` is one line; `{:#}` shows the text as well, with a mark below the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionError {
    pub(super) text: String,
    /// Bytes before the place.
    pub(super) at: usize,
    pub(super) found: String,
    pub(super) right: String,
}

/// What is shown of a long text on either side of the place.
const SHOWN: usize = 60;

impl ConditionError {
    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where in the text it is wrong: a number of characters, from 1.
    pub fn column(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    /// What stands there.
    pub fn found(&self) -> &str {
        &self.found
    }

    /// What would be right.
    pub fn right(&self) -> &str {
        &self.right
    }
}

impl std::error::Error for ConditionError {}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}; right would be {}", self.column(), self.found, self.right)?;
        if f.alternate() {
            // Every character takes one column, also tabs and line ends.
            let visible = |character: char| if character.is_control() { ' ' } else { character };
            let (before, after) = self.text.split_at(self.at);
            let skipped = (self.column() - 1).saturating_sub(SHOWN);
            let before: String = before.chars().skip(skipped).map(visible).collect();
            let after: String = after.chars().take(SHOWN).map(visible).collect();
            write!(f, "\n  {before}{after}\n  {:1$}^", "", before.chars().count())?;
        }
        Ok(())
    }
}

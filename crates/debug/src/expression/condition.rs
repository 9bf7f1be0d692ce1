use std::fmt;
use std::str::FromStr;

use opscope_tensor::{Asked, Depth};

use super::error::ConditionError;
use super::evaluate::{EvaluateError, Evaluation, Tensors};
use super::function::Quantity;
use super::grammar;
use super::needs::Needs;
use super::tree::{Subject, Truth};

/// A parsed condition of a breakpoint. The language is described [here](super).
///
/// Two conditions are equal if they have the same syntax tree, however they are spaced and spelled.
#[derive(Debug, Clone)]
pub struct Condition {
    text: String,
    pub(super) truth: Truth,
    /// What to find in the elements of each tensor, or of all tensors of a side together.
    pub(super) plan: Vec<(Subject, Asked)>,
}

impl Condition {
    /// Parses a condition. Text of more than 4 KiB, or with more than 64 nested parentheses, is refused.
    ///
    /// # Errors
    /// When the text is wrong: the error says where, and what would be right.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        let truth = grammar::condition(text)?;
        let mut plan: Vec<(Subject, Asked)> = Vec::new();
        truth.for_each_subject(&mut |subject, quantity, presence| {
            let asked = quantity.map_or(Asked::default(), |quantity| asked(quantity, presence));
            match plan.iter_mut().find(|(known, _)| known == subject) {
                Some((_, known)) => *known = known.or(asked),
                None => plan.push((subject.clone(), asked)),
            }
        });
        Ok(Self { text: text.trim().to_owned(), truth, plan })
    }

    /// Returns whether the condition holds for these tensors. An unknown condition does not hold.
    ///
    /// # Errors
    /// When a tensor that it names does not exist, does not have the named part, or cannot be read.
    pub fn holds(&self, tensors: &dyn Tensors) -> Result<bool, EvaluateError> {
        Ok(self.evaluate(tensors)?.unwrap_or(false))
    }

    /// Returns whether the condition holds for these tensors; `None` if that is [unknown](super).
    ///
    /// # Errors
    /// As [`holds`](Self::holds).
    pub fn evaluate(&self, tensors: &dyn Tensors) -> Result<Option<bool>, EvaluateError> {
        Evaluation::new(&self.plan, tensors).truth(&self.truth)
    }

    /// Returns the tensors that it reads.
    pub fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        self.plan.iter().for_each(|(subject, _)| needs.add(subject));
        needs
    }
}

/// Returns what to find for a quantity, or for its presence.
fn asked(quantity: Quantity, presence: bool) -> Asked {
    let depth = if presence { Depth::Presence } else { Depth::Count };
    match quantity {
        Quantity::Nan => Asked { nan: depth, ..Asked::default() },
        Quantity::Inf => Asked { infinite: depth, ..Asked::default() },
        Quantity::Zeros => Asked { zeros: depth, ..Asked::default() },
        Quantity::Count => Asked::default(),
        Quantity::AbsMax => Asked { absmax: true, ..Asked::default() },
        Quantity::Min | Quantity::Max => Asked { range: true, ..Asked::default() },
        Quantity::Mean | Quantity::Std | Quantity::L2 => Asked { moments: true, ..Asked::default() },
    }
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        Self::parse(text)
    }
}

/// Displays the text that was parsed.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.truth == other.truth
    }
}

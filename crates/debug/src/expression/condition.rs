//! A parsed condition, and the tensors that it reads.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use opscope_tensor::{Detail, ScanQuery};

use super::evaluate::{EvaluateError, Evaluation, Tensors};
use super::function::Quantity;
use super::tensor_ref::{TensorPart, TensorRef};
use super::tree::{Subject, Truth};
use super::{ConditionError, grammar};

/// A parsed condition of a breakpoint. The language is described [here](super).
///
/// Two conditions are equal if they have the same syntax tree, however they are spaced and spelled.
#[derive(Debug, Clone)]
pub struct Condition {
    text: String,
    pub(super) truth: Truth,
    /// The searches: what to find in the elements of each tensor, or of all tensors of a side together.
    pub(super) plan: Vec<(Subject, ScanQuery)>,
}

impl Condition {
    /// Parses a condition. Text of more than 4 KiB, or with more than 64 nested parentheses, is refused.
    ///
    /// # Errors
    /// Returns an error that says where the text is wrong, and what would be right there.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        let truth = grammar::condition(text)?;
        let mut plan: Vec<(Subject, ScanQuery)> = Vec::new();
        truth.for_each_subject(&mut |subject, quantity, presence| {
            let query = quantity.map_or(ScanQuery::default(), |quantity| query(quantity, presence));
            match plan.iter_mut().find(|(known, _)| known == subject) {
                Some((_, known)) => *known = known.or(query),
                None => plan.push((subject.clone(), query)),
            }
        });
        Ok(Self { text: text.trim().to_owned(), truth, plan })
    }

    /// Returns whether the condition holds for these tensors. An unknown condition does not hold.
    ///
    /// # Errors
    /// Returns an error if a tensor that it names does not exist, does not have the named part, or cannot be read.
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

/// Returns the query for a quantity, or only for its presence.
fn query(quantity: Quantity, presence: bool) -> ScanQuery {
    let detail = if presence { Detail::Presence } else { Detail::Count };
    match quantity {
        Quantity::Nan => ScanQuery { nan: detail, ..ScanQuery::default() },
        Quantity::Inf => ScanQuery { infinite: detail, ..ScanQuery::default() },
        Quantity::Zeros => ScanQuery { zeros: detail, ..ScanQuery::default() },
        Quantity::Count => ScanQuery::default(),
        Quantity::AbsMax => ScanQuery { absmax: true, ..ScanQuery::default() },
        Quantity::Min | Quantity::Max => ScanQuery { range: true, ..ScanQuery::default() },
        Quantity::Mean | Quantity::Std | Quantity::L2 => ScanQuery { moments: true, ..ScanQuery::default() },
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

/// The tensors that a condition reads. They decide whether a breakpoint stops before or after an operator.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// Whether it has a function without an argument, which reads all tensors of the side at which the run is stopped.
    pub stopped: bool,
    /// Whether it reads an input of the operator by its slot.
    pub inputs: bool,
    /// Whether it reads an output of the operator by its slot, which exists only after the operator.
    pub outputs: bool,
    /// Whether it reads a weight of the operator.
    pub weights: bool,
    /// The values of the run that it reads by name.
    pub values: BTreeSet<String>,
}

impl Needs {
    pub(super) fn add(&mut self, subject: &Subject) {
        match subject {
            Subject::Stopped => self.stopped = true,
            Subject::Tensor(TensorPart { tensor: TensorRef::Input(_), .. }) => self.inputs = true,
            Subject::Tensor(TensorPart { tensor: TensorRef::Output(_), .. }) => self.outputs = true,
            Subject::Tensor(TensorPart { tensor: TensorRef::Weight(_), .. }) => self.weights = true,
            Subject::Tensor(TensorPart { tensor: TensorRef::Value(name), .. }) => {
                self.values.insert(name.clone());
            }
        }
    }
}

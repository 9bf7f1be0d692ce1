use crate::expression::ConditionError;

/// Why a breakpoint cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BreakpointError {
    /// Its condition cannot be parsed. The message shows the position in the text.
    #[error("{0:#}")]
    Condition(ConditionError),
    /// It watches for elements that operators compute, but stops before the operators.
    #[error("what an operator computes is seen after it, not before; use 'after'")]
    FirstBefore,
    /// It watches for elements that operators compute, and also has a condition.
    #[error("'first' is a condition already; use a breakpoint on an operator for another one")]
    FirstWithCondition,
    /// Its condition reads outputs before they exist.
    #[error("'{condition}' asks for outputs, which do not exist before the operator; use 'after'")]
    OutputsBefore {
        /// The condition.
        condition: String,
    },
}

use std::ops::Range;
use std::sync::Arc;

use opscope_model::{Action, Dispatch, OpenOperator, RunObserver, TensorType};
use opscope_tensor::{Statistics, TensorView};

use crate::{Place, Strided};

/// Called with each input of the current step when it is taken for the first time. An input is a tensor that no
/// operator of the step has computed.
pub type GivenInputs = Box<dyn FnMut(&GivenInput<'_>) + Send>;

/// An input of a step.
pub struct GivenInput<'a> {
    /// Its name: that of a parameter, or the operator that takes it first and the slot.
    pub name: &'a str,
    /// Its data. `None` if the host cannot read it, or the operator that takes it first has written to it.
    pub view: Option<TensorView<'a>>,
    /// A number that changes when it is written, for a parameter.
    pub version: Option<u64>,
}

/// An operator that was executed.
pub struct Execution<'a> {
    /// Where.
    pub place: &'a Place,
    /// The tensors that it took.
    pub inputs: &'a [Taken<'a>],
    /// The slots of those that it wrote to.
    pub written: &'a [usize],
    /// The tensors that it computed or wrote to.
    pub outputs: &'a [Shown<'a>],
}

/// A tensor that an operator took.
pub struct Taken<'a> {
    /// The name of the parameter that it is.
    pub parameter: Option<Arc<str>>,
    /// The number of writes to the parameter.
    pub version: Option<u64>,
    /// The memory of its device that it lies in.
    pub region: Range<usize>,
    /// Its data, if the host can read it.
    pub tensor: Option<Strided<'a>>,
}

/// A tensor that an operator computed or wrote to.
pub enum Shown<'a> {
    /// Its data.
    Tensor {
        /// The tensor.
        tensor: Strided<'a>,
        /// The memory of its device that it lies in.
        region: Range<usize>,
    },
    /// It is known that all its elements are finite, and that is all that the instruments ask for.
    Finite {
        /// The memory of its device that it lies in.
        region: Range<usize>,
    },
    /// A device computes its statistics, which come with [`Program::resolve`](crate::Program::resolve).
    Deferred {
        /// Its type and shape.
        tensor: TensorType,
        /// The memory of its device that it lies in.
        region: Range<usize>,
    },
    /// It cannot be shown, for this reason.
    Hidden(String),
}

impl Shown<'_> {
    pub(crate) fn view(&self) -> Option<TensorView<'_>> {
        match self {
            Self::Tensor { tensor, .. } => Some(tensor.view()),
            Self::Finite { .. } | Self::Deferred { .. } | Self::Hidden(_) => None,
        }
    }
}

/// An output that is shown when the step ends, in the order in which the operators were executed.
pub(crate) struct Deferred {
    pub operator: Arc<OpenOperator>,
    pub slot: usize,
    pub output: DeferredOutput,
}

/// What is shown of such an output.
pub(crate) enum DeferredOutput {
    /// Its statistics, which the program has computed.
    Known(TensorType, Statistics),
    /// Its statistics, which a device is computing.
    Awaited(TensorType),
    /// Why it cannot be shown.
    Hidden(String),
}

/// Shows the outputs of an execution to an observer. Returns what it wants.
pub(crate) fn show(observer: &dyn RunObserver, dispatch: &Dispatch<'_>, outputs: &[Shown<'_>]) -> Action {
    if outputs.iter().all(|output| matches!(output, Shown::Finite { .. })) {
        return Action::Continue;
    }
    if outputs.iter().all(|output| matches!(output, Shown::Tensor { .. })) {
        let views: Vec<TensorView<'_>> = outputs.iter().filter_map(Shown::view).collect();
        return observer.after(dispatch, &views);
    }
    for (slot, output) in outputs.iter().enumerate() {
        if let Shown::Hidden(reason) = output {
            observer.not_shown(dispatch, slot, reason);
        }
    }
    // Outputs before the first hidden one are shown with their slots. Each output after it is reported with a reason.
    let shown: Vec<TensorView<'_>> = outputs.iter().map_while(Shown::view).collect();
    for (slot, output) in outputs.iter().enumerate().skip(shown.len()) {
        if matches!(output, Shown::Tensor { .. }) {
            observer.not_shown(dispatch, slot, "an earlier output cannot be shown");
        }
    }
    observer.after(dispatch, &shown)
}

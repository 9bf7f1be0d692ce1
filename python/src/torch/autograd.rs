//! What autograd is doing on the current thread.

use pyo3::intern;
use pyo3::prelude::*;

/// PyTorch's functions about autograd.
pub struct Autograd {
    current_node: Py<PyAny>,
    next_number: Py<PyAny>,
    is_enabled: Py<PyAny>,
    queue_callback: Py<PyAny>,
}

/// What autograd does around an operator.
pub enum Around<'py> {
    /// Nothing: it is a forward pass, or an optimizer's step. The next node gets this number.
    Forward {
        /// The number.
        next: u64,
    },
    /// It evaluates a node of its graph.
    Backward {
        /// The node.
        node: Node<'py>,
        /// Whether operators make nodes.
        is_enabled: bool,
    },
}

/// The node of autograd's graph that is being evaluated.
pub enum Node<'py> {
    /// It adds a gradient to that of a parameter.
    Accumulate(Bound<'py, PyAny>),
    /// It has a number, by which the operator of the forward pass is found.
    Numbered {
        /// The number, which is one of the thread that made the node.
        number: u64,
        /// The node.
        node: Bound<'py, PyAny>,
    },
}

/// Returns whether a node is of the class that an operator makes, as far as their names say so: `AddmmBackward0` for
/// `aten.addmm.default`.
pub fn is_made_by(node: &Bound<'_, PyAny>, operator: &str) -> bool {
    let name: Option<String> = node.call_method0(intern!(node.py(), "name")).and_then(|name| name.extract()).ok();
    let class = name.as_deref().and_then(|name| name.split("Backward").next());
    let short = operator.split('.').nth(1).unwrap_or(operator).replace('_', "");
    class.is_some_and(|class| class.eq_ignore_ascii_case(&short))
}

impl Autograd {
    pub fn new(py: Python<'_>) -> PyResult<Self> {
        let torch = py.import("torch")?;
        let internal = torch.getattr("_C")?;
        Ok(Self {
            current_node: internal.getattr("_current_autograd_node")?.unbind(),
            next_number: internal.getattr("_autograd")?.getattr("_get_sequence_nr")?.unbind(),
            queue_callback: torch
                .getattr("autograd")?
                .getattr("Variable")?
                .getattr("_execution_engine")?
                .getattr("queue_callback")?
                .unbind(),
            is_enabled: torch.getattr("is_grad_enabled")?.unbind(),
        })
    }

    /// Returns what autograd does on this thread.
    pub fn around<'py>(&self, py: Python<'py>) -> Around<'py> {
        match self.node(py) {
            None => Around::Forward { next: self.next_number(py) },
            Some(node) => Around::Backward { node, is_enabled: self.is_enabled(py) },
        }
    }

    /// Returns the node that is being evaluated. `None` in a forward pass.
    fn node<'py>(&self, py: Python<'py>) -> Option<Node<'py>> {
        let node = self.current_node.bind(py).call0().ok()?;
        if node.is_none() {
            return None;
        }
        let number: u64 =
            node.call_method0(intern!(py, "_sequence_nr")).and_then(|number| number.extract()).unwrap_or(u64::MAX);
        if number == u64::MAX
            && let Ok(variable) = node.getattr(intern!(py, "variable"))
        {
            return Some(Node::Accumulate(variable));
        }
        Some(Node::Numbered { number, node })
    }

    /// Returns whether autograd is evaluating its graph on this thread.
    pub fn is_backward(&self, py: Python<'_>) -> bool {
        self.current_node.bind(py).call0().is_ok_and(|node| !node.is_none())
    }

    /// Returns the number that the next node on this thread gets.
    fn next_number(&self, py: Python<'_>) -> u64 {
        self.next_number.bind(py).call0().and_then(|number| number.extract()).unwrap_or(0)
    }

    /// Lets the engine call a function at the end of the backward pass that it is in.
    pub fn queue_callback(&self, py: Python<'_>, function: &Bound<'_, PyAny>) -> PyResult<()> {
        self.queue_callback.bind(py).call1((function,)).map(drop)
    }

    /// Returns whether operators make nodes.
    pub fn is_enabled(&self, py: Python<'_>) -> bool {
        self.is_enabled.bind(py).call0().and_then(|enabled| enabled.extract()).unwrap_or(false)
    }
}

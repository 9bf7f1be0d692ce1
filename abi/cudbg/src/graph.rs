//! A model's operators and values, as the debuggee describes them.

use std::collections::HashMap;

use opscope_debug::client::Client;
use opscope_debug::protocol::{OperatorRow, ProducerInfo, ValueInfo};
use opscope_debug::{DebugError, ModelId};
use opscope_tensor::DType;

/// A model's graph.
#[derive(Debug, Clone)]
pub struct Graph {
    pub model: ModelId,
    /// Its name in the file.
    pub name: String,
    /// The operators by index, which is the order of execution.
    pub operators: Vec<Operator>,
    pub values: Vec<Value>,
}

/// An operator.
#[derive(Debug, Clone)]
pub struct Operator {
    /// Its name in the file.
    pub name: String,
    pub op_type: String,
    /// The indices of its inputs; `None` for one that is left out.
    pub inputs: Vec<Option<u32>>,
    /// The indices of its outputs; `None` for one that is left out.
    pub outputs: Vec<Option<u32>>,
}

/// A named tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// Its name in the file.
    pub name: String,
    /// The type of its elements, if the file says it.
    pub dtype: Option<DType>,
    /// Its dimensions, if the file says them: numbers, names, or `?`.
    pub shape: Option<Vec<String>>,
    /// Whether it is an initializer of the file.
    pub is_initializer: bool,
}

impl Graph {
    /// Asks the debuggee for a model's graph.
    ///
    /// # Errors
    /// Returns an error if the connection fails, or if the model is no longer loaded.
    pub fn of(client: &Client, model: ModelId) -> Result<Self, DebugError> {
        let info = client.model(model)?;
        let values = pages(|offset| client.values(model, offset, usize::MAX).map(|page| (page.values, page.total)))?;
        let values: Vec<Value> = values.into_iter().map(Value::from).collect();
        let rows =
            pages(|offset| client.operators(model, "*", offset, usize::MAX).map(|page| (page.operators, page.total)))?;
        let indices = values.iter().enumerate().map(|(index, value)| (value.name.as_str(), index as u32)).collect();
        let operators = rows.into_iter().map(|row| Operator::new(row, &indices)).collect();
        Ok(Self { model, name: info.name, operators, values })
    }
}

/// Requests one page after another, and returns the content of all.
fn pages<T>(page: impl Fn(usize) -> Result<(Vec<T>, u64), DebugError>) -> Result<Vec<T>, DebugError> {
    let mut all = Vec::new();
    loop {
        let (mut next, total) = page(all.len())?;
        if next.is_empty() {
            return Ok(all);
        }
        all.append(&mut next);
        if all.len() as u64 >= total {
            return Ok(all);
        }
    }
}

impl Operator {
    fn new(row: OperatorRow, indices: &HashMap<&str, u32>) -> Self {
        let slots =
            |names: Vec<Option<String>>| names.into_iter().map(|name| indices.get(name?.as_str()).copied()).collect();
        Self { name: row.name, op_type: row.op_type, inputs: slots(row.inputs), outputs: slots(row.outputs) }
    }
}

impl From<ValueInfo> for Value {
    fn from(value: ValueInfo) -> Self {
        let ValueInfo { name, dtype, shape, producer, .. } = value;
        Self { name, dtype, shape, is_initializer: producer == ProducerInfo::Initializer }
    }
}

impl Value {
    /// Returns how many bytes the tensor has. `None` if the file does not say its type and all of its dimensions.
    pub fn bytes(&self) -> Option<u64> {
        let dtype = self.dtype?;
        let mut dimensions = self.shape.as_deref()?.iter().map(|dimension| dimension.parse::<u64>().ok());
        let elements = dimensions.try_fold(1_u64, |elements, dimension| elements.checked_mul(dimension?))?;
        dtype.bytes_of(usize::try_from(elements).ok()?).map(|bytes| bytes as u64)
    }
}

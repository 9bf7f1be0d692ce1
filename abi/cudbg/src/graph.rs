//! What the debuggee says of a model: its operators and values.

use std::collections::HashMap;

use opscope_debug::client::Client;
use opscope_debug::protocol::{ProducerInfo, ValueInfo};
use opscope_debug::{DebugError, ModelId};
use opscope_tensor::DType;

/// A model's graph.
#[derive(Debug, Clone)]
pub struct Graph {
    pub model: ModelId,
    /// Its name in the file.
    pub name: String,
    /// In the order of execution, which is that of their indices.
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
    /// Those of its outputs.
    pub outputs: Vec<Option<u32>>,
}

/// A named tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// Its name in the file.
    pub name: String,
    /// The type of its elements, where the file says so.
    pub dtype: Option<String>,
    /// Its dimensions, where the file says so: numbers, names, or `?`.
    pub shape: Option<Vec<String>>,
    /// Whether it is an initializer of the file.
    pub is_initializer: bool,
}

/// Makes a list of values, each of them once.
#[derive(Default)]
struct Values {
    known: Vec<Value>,
    indices: HashMap<String, u32>,
}

impl Graph {
    /// Asks the debuggee for a model's graph.
    ///
    /// # Errors
    /// Those of the connection, and of a model that is not loaded any more.
    pub fn of(client: &Client, model: ModelId) -> Result<Self, DebugError> {
        let info = client.model(model)?;
        let mut values = Values::default();
        values.slots(info.inputs.into_iter().map(Some).collect());
        let operators = (0..info.operators).map(|index| {
            let operator = client.operator(model, index)?;
            Ok(Operator {
                name: operator.name,
                op_type: operator.op_type,
                inputs: values.slots(operator.inputs),
                outputs: values.slots(operator.outputs),
            })
        });
        let operators = operators.collect::<Result<_, DebugError>>()?;
        values.slots(info.outputs.into_iter().map(Some).collect());
        Ok(Self { model, name: info.name, operators, values: values.known })
    }
}

impl Value {
    /// Returns how many bytes the tensor has, where the file says so.
    pub fn bytes(&self) -> Option<u64> {
        let dtype: DType = self.dtype.as_deref()?.parse().ok()?;
        let mut dimensions = self.shape.as_deref()?.iter().map(|dimension| dimension.parse::<u64>().ok());
        let elements = dimensions.try_fold(1_u64, |elements, dimension| elements.checked_mul(dimension?))?;
        dtype.bytes_of(usize::try_from(elements).ok()?).map(|bytes| bytes as u64)
    }
}

impl Values {
    fn slots(&mut self, slots: Vec<Option<ValueInfo>>) -> Vec<Option<u32>> {
        slots.into_iter().map(|slot| slot.map(|value| self.index(value))).collect()
    }

    fn index(&mut self, value: ValueInfo) -> u32 {
        let Self { known, indices } = self;
        *indices.entry(value.name).or_insert_with_key(|name| {
            known.push(Value {
                name: name.clone(),
                dtype: value.dtype,
                shape: value.shape,
                is_initializer: value.producer == ProducerInfo::Initializer,
            });
            known.len() as u32 - 1
        })
    }
}

//! The addresses of operators and tensors, as debuggers see them. An address stays the same while its model is loaded.
//!
//! | from | what |
//! |---|---|
//! | 2^48 | code: 2^32 bytes for each model, in the order of their ids, with [`OPERATOR_BYTES`] for each operator |
//! | 2^62 | tensors: [`TENSOR_BYTES`] for each value of each model; an address is never reused |
//!
//! No program has memory of its own there, because programs map memory only below 2^47.

use std::collections::BTreeMap;

use opscope_debug::{ModelId, Moment};

const CODE: u64 = 1 << 48;
const CODE_OF_MODEL: u64 = 1 << 32;
const TENSORS: u64 = 1 << 62;

/// The size of an operator's code: two instructions. A run stops at the first one before the operator is executed, and
/// at the second one after it was executed.
pub const OPERATOR_BYTES: u64 = 2 * INSTRUCTION_BYTES;

/// The size of an instruction, which debuggers infer from the device's type.
pub const INSTRUCTION_BYTES: u64 = 16;

/// The size of a tensor's address range. How many bytes the tensor has is known only while a run is stopped.
pub const TENSOR_BYTES: u64 = 1 << 36;

/// A byte of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodePlace {
    pub model: ModelId,
    /// The operator's index in the graph.
    pub operator: u32,
    pub moment: Moment,
    /// The distance from the instruction's first byte.
    pub offset: u64,
}

/// A byte of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorPlace {
    pub model: ModelId,
    /// The value's index in the [graph](crate::graph::Graph).
    pub value: u32,
    /// The distance from the tensor's first byte.
    pub offset: u64,
}

/// Returns the address at which the code of a model begins.
pub fn code_of(model: ModelId) -> u64 {
    CODE + u64::from(model.0) * CODE_OF_MODEL
}

/// Returns the address of an operator's first instruction, for the moment before it, or of its second, for the moment
/// after.
pub fn operator(model: ModelId, operator: u32, moment: Moment) -> u64 {
    let entry = code_of(model) + u64::from(operator) * OPERATOR_BYTES;
    match moment {
        Moment::Before => entry,
        Moment::After => entry + INSTRUCTION_BYTES,
    }
}

/// The models that have addresses.
#[derive(Debug, Clone, Default)]
pub struct Addresses {
    models: BTreeMap<u32, Model>,
    /// How many values have received addresses, including those of unloaded models.
    values: u64,
}

#[derive(Debug, Clone)]
struct Model {
    operators: u32,
    values: u32,
    /// The address of its first tensor.
    tensors: u64,
}

impl Addresses {
    /// Assigns addresses to a model, unless it has some already.
    pub fn add(&mut self, model: ModelId, operators: u32, values: u32) {
        let tensors = TENSORS + self.values * TENSOR_BYTES;
        self.models.entry(model.0).or_insert_with(|| {
            self.values += u64::from(values);
            Model { operators, values, tensors }
        });
    }

    /// Removes the addresses of a model.
    pub fn remove(&mut self, model: ModelId) {
        self.models.remove(&model.0);
    }

    /// Returns the address of a value, if the model has it.
    pub fn tensor(&self, model: ModelId, value: u32) -> Option<u64> {
        let known = self.models.get(&model.0)?;
        (value < known.values).then(|| known.tensors + u64::from(value) * TENSOR_BYTES)
    }

    /// Returns the instruction at an address.
    pub fn code_at(&self, address: u64) -> Option<CodePlace> {
        let distance = address.checked_sub(CODE)?;
        let model = u32::try_from(distance / CODE_OF_MODEL).ok()?;
        let within = distance % CODE_OF_MODEL;
        let operator = (within / OPERATOR_BYTES) as u32;
        if operator >= self.models.get(&model)?.operators {
            return None;
        }
        let moment = match within % OPERATOR_BYTES < INSTRUCTION_BYTES {
            true => Moment::Before,
            false => Moment::After,
        };
        Some(CodePlace { model: ModelId(model), operator, moment, offset: within % INSTRUCTION_BYTES })
    }

    /// Returns the tensor whose address range contains an address.
    pub fn tensor_at(&self, address: u64) -> Option<TensorPlace> {
        self.models.iter().find_map(|(&model, known)| {
            let distance = address.checked_sub(known.tensors)?;
            let value = u32::try_from(distance / TENSOR_BYTES).ok().filter(|value| *value < known.values)?;
            Some(TensorPlace { model: ModelId(model), value, offset: distance % TENSOR_BYTES })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENTS: [Moment; 2] = [Moment::Before, Moment::After];

    #[test]
    fn every_address_leads_back_to_what_it_is_the_address_of() {
        let mut addresses = Addresses::default();
        for (model, operators, values) in [(1, 16, 40), (2, 0, 0), (7, 3, 1)] {
            addresses.add(ModelId(model), operators, values);
        }
        let mut seen = std::collections::HashSet::new();
        for (model, operators, values) in [(1, 16, 40), (7, 3, 1)] {
            let model = ModelId(model);
            for (index, moment) in (0..operators).flat_map(|index| MOMENTS.map(|moment| (index, moment))) {
                let address = operator(model, index, moment);
                assert!(seen.insert(address));
                for offset in [0, 1, INSTRUCTION_BYTES - 1] {
                    let place = CodePlace { model, operator: index, moment, offset };
                    assert_eq!(addresses.code_at(address + offset), Some(place));
                }
                assert_eq!(addresses.tensor_at(address), None);
            }
            for value in 0..values {
                let address = addresses.tensor(model, value).expect("the model has it");
                assert!(seen.insert(address) && address < 1 << 63);
                for offset in [0, TENSOR_BYTES - 1] {
                    assert_eq!(addresses.tensor_at(address + offset), Some(TensorPlace { model, value, offset }));
                }
                assert_eq!(addresses.code_at(address), None);
            }
            assert_eq!(addresses.tensor(model, values), None);
        }
    }

    #[test]
    fn what_is_no_address_of_a_loaded_model_leads_nowhere() {
        let mut addresses = Addresses::default();
        addresses.add(ModelId(3), 2, 2);
        let end = operator(ModelId(3), 2, Moment::Before);
        let mapped = std::ptr::from_ref(&addresses) as u64;
        let beyond = addresses.tensor(ModelId(3), 1).expect("a tensor") + TENSOR_BYTES;
        for address in [0, 1, mapped, CODE, CODE - 1, end, TENSORS - 1, beyond, u64::MAX] {
            assert_eq!((addresses.code_at(address), addresses.tensor_at(address)), (None, None), "{address:#x}");
        }
    }

    #[test]
    fn a_tensor_of_an_unloaded_model_is_not_taken_for_one_of_the_next() {
        let mut addresses = Addresses::default();
        addresses.add(ModelId(1), 1, 5);
        let old = addresses.tensor(ModelId(1), 4).expect("a tensor");
        addresses.add(ModelId(1), 9, 9);
        assert_eq!(addresses.tensor(ModelId(1), 4), Some(old), "a model that is added twice keeps its addresses");
        addresses.remove(ModelId(1));
        addresses.add(ModelId(2), 1, 5);
        assert_eq!((addresses.tensor_at(old), addresses.tensor(ModelId(1), 4)), (None, None));
        assert_eq!(addresses.code_at(code_of(ModelId(1))), None);
    }
}

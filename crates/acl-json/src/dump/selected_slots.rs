use std::collections::{HashMap, HashSet};

use opscope_dump::{IoSelection, Position};

use super::list::{DumpedModel, Excluded};
use super::model_names::ModelNames;
use super::section::DumpSection;

/// The inputs and outputs of a model that a [`DumpSection`] selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedSlots {
    sides: IoSelection,
    /// One per operator, in execution order.
    operators: Vec<OfOperator>,
}

/// What is selected of an operator.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum OfOperator {
    #[default]
    Nothing,
    AllBut(HashSet<Position>),
}

impl OfOperator {
    /// Adds what an entry selects, which leaves out what these of its blacklists name.
    pub(crate) fn add<'e>(&mut self, excluded: impl Iterator<Item = &'e Excluded>) {
        let Some(slots) = excluded_slots(excluded) else { return };
        *self = match std::mem::take(self) {
            OfOperator::Nothing => OfOperator::AllBut(slots),
            OfOperator::AllBut(before) => OfOperator::AllBut(before.intersection(&slots).copied().collect()),
        };
    }

    pub(crate) fn contains(&self, slot: Position) -> bool {
        matches!(self, OfOperator::AllBut(excluded) if !excluded.contains(&slot))
    }
}

impl SelectedSlots {
    /// Returns whether this input or output of the operator with this index is selected.
    pub fn contains(&self, operator: usize, slot: Position) -> bool {
        self.sides.contains(slot.io) && self.operators.get(operator).is_some_and(|selected| selected.contains(slot))
    }
}

impl DumpSection {
    /// Returns the inputs and outputs of a model that the section selects. An entry that matches the model selects
    /// those of the operators in its `layer` and `opname_range`, or of all operators if it has neither, except for
    /// those in its blacklists. The result is the union of all entries: the blacklist of one does not affect what
    /// another selects.
    pub fn selected_slots(&self, model: &ModelNames<'_>) -> SelectedSlots {
        let mut operators = vec![OfOperator::default(); model.operators.len()];
        let index = model.indices();
        for entry in self.models.iter().filter(|entry| entry.matches(model)) {
            let chosen = entry.chosen(model, &index);
            let by_type: HashMap<&str, Vec<&Excluded>> = by_name(&entry.optype_blacklist);
            let by_operator = by_name(&entry.opname_blacklist);
            for (selected, (operator, chosen)) in operators.iter_mut().zip(model.operators.iter().zip(chosen)) {
                if !chosen {
                    continue;
                }
                let excluded =
                    by_operator.get(operator.name).into_iter().chain(by_type.get(operator.op_type)).flatten();
                selected.add(excluded.copied());
            }
        }
        SelectedSlots { sides: self.mode, operators }
    }
}

impl DumpedModel {
    fn chosen(&self, model: &ModelNames<'_>, index: &HashMap<&str, usize>) -> Vec<bool> {
        let all = self.layers.is_empty() && self.ranges.is_empty();
        let mut chosen = vec![all; model.operators.len()];
        for layer in &self.layers {
            if let Some(at) = index.get(layer.as_str()) {
                chosen[*at] = true;
            }
        }
        for range in &self.ranges {
            if let (Some(begin), Some(end)) = (index.get(range.begin.as_str()), index.get(range.end.as_str())) {
                chosen.iter_mut().take(end + 1).skip(*begin).for_each(|chosen| *chosen = true);
            }
        }
        chosen
    }
}

/// Returns the slots that these blacklist entries leave out; `None` if one of them leaves out the whole operator.
fn excluded_slots<'e>(entries: impl Iterator<Item = &'e Excluded>) -> Option<HashSet<Position>> {
    let mut slots = HashSet::new();
    for entry in entries {
        if entry.slots.is_empty() {
            return None;
        }
        slots.extend(entry.slots.iter().copied());
    }
    Some(slots)
}

fn by_name(entries: &[Excluded]) -> HashMap<&str, Vec<&Excluded>> {
    let mut by_name: HashMap<&str, Vec<&Excluded>> = HashMap::new();
    for entry in entries {
        by_name.entry(&entry.name).or_default().push(entry);
    }
    by_name
}

//! The kernels of a recording: their labels, and the times of their dispatches.

use std::collections::HashMap;
use std::sync::Arc;

use opscope_profile::{KernelLabels, LabelTable, Recording};

use crate::rows::dispatches::Times;

/// Kernels of the current plan with numbers below this are found without hashing.
const DENSE: usize = 1 << 16;
const UNKNOWN: u32 = u32::MAX;

/// The kernels of all plans and those that occurred in dispatches, numbered in that order.
pub(crate) struct Kernels<'a> {
    labels: LabelTable<'a>,
    kernels: Vec<Kernel>,
    numbers: HashMap<(u64, u32), u32>,
    /// The numbers of the kernels of the plan of the last dispatch.
    plan: u64,
    of_plan: Vec<u32>,
}

/// A kernel of a plan.
pub(crate) struct Kernel {
    pub plan: u64,
    pub kernel: u32,
    pub labels: Arc<KernelLabels>,
    pub times: Times,
}

impl<'a> Kernels<'a> {
    /// Creates the table of a recording: the kernels of its plans come first.
    pub(crate) fn new(recording: &'a Recording) -> Self {
        let (labels, of_plan) = (recording.labels(), Vec::new());
        let mut kernels = Self { labels, kernels: Vec::new(), numbers: HashMap::new(), plan: 0, of_plan };
        for names in recording.plans().iter().flatten() {
            if let (Ok(plan), Ok(kernel)) = (u64::try_from(names.plan), u32::try_from(names.index)) {
                kernels.number(plan, kernel);
            }
        }
        kernels
    }

    /// Returns the number of a kernel.
    pub(crate) fn number(&mut self, plan: u64, kernel: u32) -> u32 {
        if plan != self.plan {
            self.plan = plan;
            self.of_plan.clear();
        }
        let index = kernel as usize;
        if let Some(&number) = self.of_plan.get(index)
            && number != UNKNOWN
        {
            return number;
        }
        let next = self.kernels.len() as u32;
        let number = *self.numbers.entry((plan, kernel)).or_insert(next);
        if number == next {
            let labels = self.labels.get(plan, kernel);
            self.kernels.push(Kernel { plan, kernel, labels, times: Times::default() });
        }
        if index < DENSE {
            if self.of_plan.len() <= index {
                self.of_plan.resize(index + 1, UNKNOWN);
            }
            self.of_plan[index] = number;
        }
        number
    }

    /// Returns a kernel by its number.
    pub(crate) fn get(&mut self, number: u32) -> &mut Kernel {
        &mut self.kernels[number as usize]
    }

    /// Returns all kernels, sorted by number.
    pub(crate) fn all(&self) -> &[Kernel] {
        &self.kernels
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn kernels_have_numbers_in_the_order_in_which_they_are_met() {
        let (stored, copy) =
            (Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"), tempfile::tempdir().expect("room"));
        for name in ["manifest.json", "names.jsonl", "records.bin"] {
            fs::copy(stored.join(name), copy.path().join(name)).expect("room");
        }
        let recording = Recording::open(copy.path()).expect("a recording");
        let mut kernels = Kernels::new(&recording);
        let known = kernels.all().len() as u32;
        let far = DENSE as u32;
        // A kernel after a gap, one in the gap, the first one that is found by hashing, and one of another plan.
        for (plan, kernel, number) in [
            (77, 5, 0),
            (77, 3, 1),
            (77, 5, 0),
            (77, far, 2),
            (77, far - 1, 3),
            (78, 5, 4),
            (77, 3, 1),
            (77, far, 2),
            (78, 5, 4),
            (77, 4, 5),
        ] {
            assert_eq!(kernels.number(plan, kernel), known + number, "kernel {kernel} of plan {plan}");
            let found = kernels.get(known + number);
            assert_eq!((found.plan, found.kernel), (plan, kernel));
        }
        assert_eq!(kernels.all().len() as u32, known + 6);
    }
}

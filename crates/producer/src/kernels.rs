//! For consumers: numbers for the kernels of all plans of all producers, and their names. Numbers are never reused, and
//! names are kept until the process ends.

use std::any::Any;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};

use opscope_sys::{Mutex, MutexGuard};

use crate::layout::Plan;
use crate::table::FromProducer;

#[derive(Default)]
struct Known {
    /// The number of each plan's first kernel, by the producer and the plan.
    plans: HashMap<(u64, u64), u64>,
    /// The name of each kernel. Kernel numbers begin with 1.
    names: Vec<&'static CStr>,
    texts: HashSet<&'static CStr>,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

thread_local! {
    /// The plan that this thread looked up last: the producer, the plan, and the number of its first kernel. The number
    /// is 0 if the plan is unknown.
    static LAST: Cell<(u64, u64, u64)> = const { Cell::new((0, 0, 0)) };
}

fn lock() -> MutexGuard<'static, Option<Known>> {
    KNOWN.lock()
}

/// Locks the numbers of the kernels, and returns the guard. A consumer holds it during a fork, so that no other thread
/// holds the lock at that moment, and the child can take it.
pub fn kernels_lock() -> Box<dyn Any> {
    Box::new(lock())
}

/// Assigns numbers to the kernels of a producer's plan. Returns the number of the first one; the others follow.
pub fn number_kernels(producer: u64, plan: &FromProducer<'_, Plan>) -> u64 {
    let names: Vec<CString> = plan.kernels().map(|kernel| kernel.name().to_owned()).collect();
    let mut locked = lock();
    let known = locked.get_or_insert_default();
    let first = known.names.len() as u64 + 1;
    for name in names {
        let name = known.keep(name);
        known.names.push(name);
    }
    known.plans.insert((producer, plan.id), first);
    first
}

/// Returns the number of a kernel, by its index in a plan; 0 if the plan is unknown, for example because the consumer
/// began after the plan was made.
pub fn kernel_number(producer: u64, plan: u64, kernel: u64) -> u64 {
    let last = LAST.get();
    if (last.0, last.1) == (producer, plan) && last.2 != 0 {
        return last.2 + kernel;
    }
    let first = lock().get_or_insert_default().plans.get(&(producer, plan)).copied().unwrap_or(0);
    LAST.set((producer, plan, first));
    if first == 0 { 0 } else { first + kernel }
}

/// Returns the name of the kernel with a number: that of the operator that its time counts for.
pub fn kernel_name(number: u64) -> Option<&'static CStr> {
    let index = usize::try_from(number).ok()?.checked_sub(1)?;
    lock().get_or_insert_default().names.get(index).copied()
}

/// Removes the numbers of a plan's kernels. Their names are kept.
pub fn forget_plan(producer: u64, plan: u64) {
    lock().get_or_insert_default().plans.remove(&(producer, plan));
}

/// Keeps a text as long as the process lives. Equal texts are kept only once.
pub fn keep_text(text: CString) -> &'static CStr {
    lock().get_or_insert_default().keep(text)
}

impl Known {
    fn keep(&mut self, text: CString) -> &'static CStr {
        if let Some(kept) = self.texts.get(text.as_c_str()) {
            return kept;
        }
        let kept: &'static CStr = Box::leak(text.into_boxed_c_str());
        self.texts.insert(kept);
        kept
    }
}

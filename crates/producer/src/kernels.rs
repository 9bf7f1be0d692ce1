//! In a consumer: numbers and names for the kernels of all plans of all producers, which last as long as the process.

use std::any::Any;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::layout::Plan;
use crate::table::Told;

#[derive(Default)]
struct Known {
    /// The number of each plan's first kernel, by the producer and the plan.
    plans: HashMap<(u64, u64), u64>,
    /// The name of each kernel. Their numbers begin with 1.
    names: Vec<&'static CStr>,
    texts: HashSet<&'static CStr>,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

thread_local! {
    /// The plan that was looked up last: the producer, the plan, and the number of its first kernel; 0 for none.
    static LAST: Cell<(u64, u64, u64)> = const { Cell::new((0, 0, 0)) };
}

fn lock() -> MutexGuard<'static, Option<Known>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the lock of the kernels' numbers, locked. A consumer holds it during a fork, so that the child does not find
/// it locked.
pub fn kernels_lock() -> Box<dyn Any> {
    Box::new(lock())
}

/// Gives numbers to the kernels of a plan that a producer made. Returns the number of the first; the others follow.
pub fn number_kernels(producer: u64, plan: &Told<'_, Plan>) -> u64 {
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

/// Returns the number of a kernel, by its index in a plan; 0 if the plan is not known, as when a consumer began after
/// it was made.
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

/// Forgets which numbers a plan has. They keep their names.
pub fn forget_plan(producer: u64, plan: u64) {
    lock().get_or_insert_default().plans.remove(&(producer, plan));
}

/// Keeps a text as long as the process lives, once.
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
